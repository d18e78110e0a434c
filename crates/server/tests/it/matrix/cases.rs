//! The cases, generated from the contract's table.

use std::fmt;

use crate::contract_table::{Row, SCOPES, rows};

/// What is sent to show who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    Nothing,
    Malformed,
    /// Of the right form, but nobody's.
    Unknown,
    Revoked,
    Expired,
    /// A key with this scope alone.
    Scope(&'static str),
    Session,
}

/// Whose the thing is that the request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// The request names none.
    Nothing,
    Own,
    Foreign,
    Unknown,
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brand {
    Unnamed,
    Own,
    /// The caller's own as well, but not the one that holds their things.
    Second,
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    External,
    Internal,
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "through the {self:?} door")
    }
}

/// A route together with what the request names.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) row: Row,
    pub(super) subject: Subject,
    /// The tree of folders, where the route has two.
    pub(super) tree: &'static str,
}

impl fmt::Display for Variant {
    /// The subject is left out: answers about different subjects are to be compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.row.name(), self.tree)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) variant: Variant,
    pub(super) credential: Credential,
    pub(super) brand: Brand,
    pub(super) door: Door,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variant, credential, brand, door } = self;
        let subject = variant.subject;
        write!(f, "{variant}, {credential:?}, {subject:?} thing, {brand:?} brand, {door}")
    }
}

pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for variant in rows().iter().flat_map(variants) {
        for (door, credential) in callers(&variant) {
            for brand in [Brand::Unnamed, Brand::Own, Brand::Second, Brand::Foreign] {
                let variant = variant.clone();
                cases.push(Case { variant, credential, brand, door });
            }
        }
    }
    cases
}

fn callers(variant: &Variant) -> Vec<(Door, Credential)> {
    let mut callers = vec![
        (Door::External, Credential::Nothing),
        (Door::External, Credential::Malformed),
        (Door::External, Credential::Unknown),
        (Door::External, Credential::Revoked),
        (Door::External, Credential::Expired),
        (Door::External, Credential::Session),
    ];
    callers.extend(SCOPES.map(|scope| (Door::External, Credential::Scope(scope))));
    if variant.row.auth != crate::contract_table::Auth::Nobody {
        callers.extend([
            (Door::Internal, Credential::Nothing),
            (Door::Internal, Credential::Malformed),
            (Door::Internal, Credential::Revoked),
            (Door::Internal, Credential::Expired),
            (Door::Internal, Credential::Scope("*")),
            (Door::Internal, Credential::Session),
        ]);
    }
    callers
}

fn variants(row: &Row) -> Vec<Variant> {
    use Subject::{Foreign, Malformed, Nothing, Own, Unknown};
    let subjects: &[Subject] = match (row.method, row.path) {
        ("POST", "/posts") => &[Nothing, Own, Foreign, Unknown, Malformed],
        ("POST" | "PATCH" | "DELETE", "/media-library")
        | ("PATCH" | "DELETE", "/content-folders") => &[Own, Foreign, Unknown, Malformed],
        (_, path) if path.contains(':') => &[Own, Foreign, Unknown, Malformed],
        _ => &[Nothing],
    };
    let trees: &[_] = if row.path == "/content-folders" { &["posts", "media"] } else { &[""] };
    let with = |tree: &'static str| {
        subjects.iter().map(move |subject| Variant { row: row.clone(), subject: *subject, tree })
    };
    trees.iter().flat_map(|tree| with(tree)).collect()
}
