//! What the contract and the decisions say about a case.

use super::{
    cases::{Brand, Case, Credential, Door, Subject, Variant},
    world::World,
};
use crate::contract_table::Auth;

#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) status: u16,
    /// Of the problem; empty where any will do.
    pub(super) code: Option<&'static str>,
    /// What `required_scopes` lists.
    pub(super) required: Vec<&'static str>,
    /// The answer must be the same whether the thing is foreign, unknown or of another brand.
    pub(super) hides: bool,
}

impl Expected {
    fn problem(status: u16, code: &'static str) -> Self {
        Self { status, code: Some(code), ..Self::default() }
    }

    fn lacks(required: &[&'static str]) -> Self {
        Self { required: required.to_vec(), ..Self::problem(403, "insufficient_scope") }
    }

    fn good(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    fn hidden(status: u16, code: &'static str) -> Self {
        Self { hides: true, ..Self::problem(status, code) }
    }
}

pub(super) fn of(world: &World<'_>, case: &Case) -> Expected {
    let Case { variant, credential, brand, door } = case;
    let row = &variant.row;
    if row.auth == Auth::Nobody {
        return Expected::good(200);
    }
    if let Some(refusal) = refused_credential(*credential, *door) {
        return refusal;
    }
    let auth = match door {
        Door::External => row.auth,
        Door::Internal => Auth::Session,
    };
    match (credential, auth) {
        (Credential::Session, Auth::Key) => return Expected::problem(403, "api_key_required"),
        (Credential::Scope(_), Auth::Session) => return Expected::problem(403, "session_required"),
        (Credential::Scope(scope), _) if !satisfies(scope, &row.scopes) => {
            return Expected::lacks(&row.scopes);
        }
        _ => {}
    }
    if *brand == Brand::Foreign {
        return Expected::problem(404, "brand_not_found");
    }
    if world.is_later(&row.name()) {
        return Expected::problem(501, "not_yet_available");
    }
    if let Some(refusal) = wrong_tree(variant, *credential) {
        return refusal;
    }
    handled(variant, *brand)
}

fn refused_credential(credential: Credential, door: Door) -> Option<Expected> {
    let code = match (credential, door) {
        (Credential::Nothing, _) => "unauthenticated",
        (Credential::Malformed | Credential::Unknown, Door::External) => "invalid_api_key",
        (Credential::Malformed | Credential::Unknown, Door::Internal) => "",
        (Credential::Revoked, _) => "revoked_api_key",
        (Credential::Expired, _) => "expired_api_key",
        (Credential::Scope(_) | Credential::Session, _) => return None,
    };
    Some(Expected::problem(401, code))
}

fn satisfies(held: &str, any_of: &[&str]) -> bool {
    any_of.is_empty() || held == "*" || any_of.contains(&held)
}

/// Either of two scopes opens the door to folders; the request decides which one it takes.
fn wrong_tree(variant: &Variant, credential: Credential) -> Option<Expected> {
    let Credential::Scope(held) = credential else { return None };
    let needed = match variant.tree {
        "posts" => variant.row.scopes[0],
        "media" => variant.row.scopes[1],
        _ => return None,
    };
    let readable = variant.subject != Subject::Malformed;
    (readable && !satisfies(held, &[needed])).then(|| Expected::lacks(&[needed]))
}

/// What the handler answers to somebody who may call it.
fn handled(variant: &Variant, brand: Brand) -> Expected {
    let own = variant.subject == Subject::Own && brand != Brand::Second;
    let malformed = variant.subject == Subject::Malformed;
    let invalid = Expected::problem(422, "validation_failed");
    match (variant.row.method, variant.row.path) {
        ("POST", "/posts") if variant.subject == Subject::Nothing => Expected::good(201),
        ("POST", "/posts" | "/media-library") if own => Expected::good(201),
        ("POST", "/posts" | "/media-library") if malformed => invalid,
        ("POST", "/posts" | "/media-library") => Expected::hidden(422, "validation_failed"),
        ("DELETE", "/keys/:id") if variant.subject == Subject::Own => Expected::good(200),
        (_, "/posts/:id/publish-now") if own => Expected::good(202),
        (_, "/posts/:id" | "/keys/:id" | "/schedule/:id") if own => Expected::good(200),
        (_, "/posts/:id" | "/posts/:id/publish-now" | "/keys/:id" | "/schedule/:id") => {
            Expected::hidden(404, "not_found")
        }
        ("POST", "/connections/:platform") => match variant.subject {
            Subject::Own => Expected::good(201),
            // Another platform that exists, but nothing that it could be connected with.
            Subject::Foreign => invalid,
            _ => Expected::hidden(404, "not_found"),
        },
        ("DELETE", "/connections/:platform") if own => Expected::good(200),
        ("DELETE", "/connections/:platform") => Expected::hidden(404, "not_found"),
        ("PATCH" | "DELETE", "/media-library" | "/content-folders") if own => Expected::good(200),
        ("PATCH" | "DELETE", "/media-library" | "/content-folders") if malformed => invalid,
        ("PATCH" | "DELETE", "/media-library" | "/content-folders") => {
            Expected::hidden(404, "not_found")
        }
        ("PUT", "/settings/password") => invalid,
        ("POST", _) => Expected::good(201),
        _ => Expected::good(200),
    }
}
