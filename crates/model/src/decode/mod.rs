//! Reading what callers send: strictly, and with every fault named at once.
//!
//! A type that implements [`Field`] can stand in a body or a query. [`input!`] makes such a
//! type out of a struct; the same struct gives the JSON Schema, so document and check agree.

mod fields;
mod json;

use std::fmt;

pub use fields::{Future, Instant, List, Text, Whole};
pub use json::{Json, Malformed, parse};
use serde::Serialize;

use crate::time::Millis;

/// At most this many faults are told; nobody mends more in one go.
const MOST_FAULTS: usize = 100;
/// Of a field's name.
const MOST_CHARACTERS: usize = 200;

/// One thing that is wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub field: String,
    pub code: &'static str,
    pub message: String,
}

/// What was found wrong so far, and the moment by which times are judged.
#[derive(Debug)]
pub struct Faults {
    found: Vec<Fault>,
    now: Millis,
}

impl Faults {
    pub fn new(now: Millis) -> Self {
        Self { found: Vec::new(), now }
    }

    pub fn now(&self) -> Millis {
        self.now
    }

    pub fn add(&mut self, at: &At<'_>, code: &'static str, message: impl Into<String>) {
        self.add_field(at.to_string(), code, message);
    }

    /// A fault found after decoding, at a field of the body.
    pub fn add_field(
        &mut self,
        field: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) {
        if self.found.len() < MOST_FAULTS {
            let field = shortened(field.into());
            self.found.push(Fault { field, code, message: message.into() });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn into_vec(self) -> Vec<Fault> {
        self.found
    }

    /// The value, if nothing was wrong with it or anything else.
    pub fn check<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.found),
        }
    }
}

/// An answer does not repeat a megabyte of nonsense.
fn shortened(mut field: String) -> String {
    if let Some((end, _)) = field.char_indices().nth(MOST_CHARACTERS) {
        field.truncate(end);
        field.push('…');
    }
    field
}

/// Where in the input we are: `media[2].alt_text`.
#[derive(Clone, Copy)]
pub enum At<'a> {
    Root,
    Key(&'a At<'a>, &'a str),
    Index(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    pub fn key(&'a self, name: &'a str) -> At<'a> {
        At::Key(self, name)
    }

    pub fn index(&'a self, index: usize) -> At<'a> {
        At::Index(self, index)
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Root => Ok(()),
            At::Key(At::Root, name) => f.write_str(name),
            At::Key(parent, name) => write!(f, "{parent}.{name}"),
            At::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Something that can be read from input.
pub trait Field: Sized {
    /// Whether `null` is a value of this type, rather than an absent one.
    const TAKES_NULL: bool = false;

    /// Reads the value. `None` means that at least one fault was added.
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self>;

    /// What an absent field means.
    fn absent(at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        faults.add(at, "required", "this field is required");
        None
    }
}

/// Reads a whole body or query at the moment `now`.
pub fn decode<T: Field>(json: Json, now: Millis) -> Result<T, Vec<Fault>> {
    let mut faults = Faults::new(now);
    let value = T::decode(json, &At::Root, &mut faults);
    faults.check(value)
}

/// The fields of an object while they are being read.
pub struct Object<'a> {
    fields: std::collections::BTreeMap<String, Json>,
    at: &'a At<'a>,
}

impl<'a> Object<'a> {
    pub fn open(json: Json, at: &'a At<'a>, faults: &mut Faults) -> Option<Self> {
        match json {
            Json::Object(fields) => Some(Self { fields, at }),
            other => {
                faults.add(at, "wrong_type", format!("expected an object, got {}", other.kind()));
                None
            }
        }
    }

    pub fn take<T: Field>(&mut self, name: &str, faults: &mut Faults) -> Option<T> {
        let at = self.at.key(name);
        match self.fields.remove(name) {
            Some(json) => T::decode(json, &at, faults),
            None => T::absent(&at, faults),
        }
    }

    /// Names every field that nobody took.
    pub fn close(self, known: &[&str], read_only: &[&str], faults: &mut Faults) {
        for name in self.fields.keys() {
            let at = self.at.key(name);
            if read_only.contains(&name.as_str()) {
                faults.add(&at, "read_only", "this field is set by the service; leave it out");
            } else {
                let known = known.join(", ");
                faults.add(&at, "unknown_field", format!("there is no such field; known: {known}"));
            }
        }
    }
}

/// Declares a struct that callers may send: its schema, its decoder, its known fields.
///
/// Fields of type `Option<T>` may be left out. `read_only` names fields that callers see in
/// answers and may be tempted to send back.
#[macro_export]
macro_rules! input {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty ),* $(,)?
        }
        $(read_only: [$($read_only:literal),* $(,)?])?
    ) => {
        #[derive(Clone, Debug, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$meta])*
        $vis struct $name { $( $(#[$field_meta])* $vis $field: $type ),* }

        impl $crate::decode::Field for $name {
            #[allow(unused_mut, unused_variables, clippy::allow_attributes, reason = "a struct may have no fields")]
            fn decode(
                json: $crate::decode::Json,
                at: &$crate::decode::At<'_>,
                faults: &mut $crate::decode::Faults,
            ) -> Option<Self> {
                let mut object = $crate::decode::Object::open(json, at, faults)?;
                $( let $field = object.take(stringify!($field), faults); )*
                object.close(&[$(stringify!($field)),*], &[$($($read_only),*)?], faults);
                Some(Self { $( $field: $field? ),* })
            }
        }
    };
}

/// Declares an enum whose variants are words in the API, in the store and in the code alike.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:literal ),* $(,)? }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema,
            serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        $vis enum $name { $( $(#[$variant_meta])* #[serde(rename = $word)] $variant ),* }

        impl $name {
            $vis const ALL: &'static [Self] = &[$(Self::$variant),*];

            $vis fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            $vis fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl $crate::decode::Field for $name {
            fn decode(
                json: $crate::decode::Json,
                at: &$crate::decode::At<'_>,
                faults: &mut $crate::decode::Faults,
            ) -> Option<Self> {
                let text = json.into_text(at, faults)?;
                let found = Self::parse(&text);
                if found.is_none() {
                    faults.add(at, "invalid_choice", concat!("choose one of:" $(, " ", $word)*));
                }
                found
            }
        }
    };
}
