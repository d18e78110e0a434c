//! A JSON value that was read strictly: no key twice, no deep nesting.

use std::{cell::Cell, collections::BTreeMap, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{At, Faults};

const DEEPEST: usize = 32;
/// No body has a use for more; a million small numbers would take many times their own size.
const MOST_VALUES: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
    /// From a query string, where a number looks like a text.
    Parameter(String),
}

/// Why a body is not JSON, and where.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

pub fn parse(bytes: &[u8]) -> Result<Json, Malformed> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let left = Cell::new(MOST_VALUES);
    let json = Place { depth: 0, left: &left }
        .deserialize(&mut reader)
        .map_err(|error| Malformed(error.to_string()))?;
    reader.end().map_err(|error| Malformed(error.to_string()))?;
    Ok(json)
}

impl Json {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) | Self::Parameter(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The text, if it is one that every store and every header can hold.
    pub fn into_text(self, at: &At<'_>, faults: &mut Faults) -> Option<String> {
        match self {
            Self::Text(text) | Self::Parameter(text) if !text.contains('\0') => Some(text),
            Self::Text(_) | Self::Parameter(_) => {
                faults.add(at, "invalid_character", "a NUL character is not allowed");
                None
            }
            other => {
                faults.add(at, "wrong_type", format!("expected a string, got {}", other.kind()));
                None
            }
        }
    }
}

/// Where the value being read lies below the top, and how many more there may be.
#[derive(Clone, Copy)]
struct Place<'a> {
    depth: usize,
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let left = self.left.get().checked_sub(1);
        let too_many = || D::Error::custom(format!("more than {MOST_VALUES} values"));
        self.left.set(left.ok_or_else(too_many)?);
        deserializer.deserialize_any(self)
    }
}

impl Place<'_> {
    fn below<E: Error>(self) -> Result<Self, E> {
        if self.depth >= DEEPEST {
            return Err(E::custom(format!("nested more than {DEEPEST} levels deep")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        serde_json::Number::from_f64(value)
            .map(Json::Number)
            .ok_or_else(|| E::custom("the number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let below = self.below()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(below)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let below = self.below()?;
        let mut fields = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(below)?;
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "the key {name:.40?} stands twice in one object"
                )));
            }
            fields.insert(name, value);
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_an_error() {
        assert!(parse(br#"{"a":1,"b":{"c":1}}"#).is_ok());
        assert!(parse(br#"{"a":1,"b":2,"a":3}"#).unwrap_err().to_string().contains("\"a\""));
    }

    #[test]
    fn what_is_no_json_is_refused_without_a_panic() {
        let deep = "[".repeat(33) + &"]".repeat(33);
        let endless = "[".repeat(100_000);
        let long = format!("[{}1]", "1,".repeat(10_000));
        for wrong in [
            &long,
            "",
            "{",
            "{} x",
            "\u{feff}{}",
            r#"{"a":"\ud800"}"#,
            "1e400",
            "nul",
            &deep,
            &endless,
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:.20}");
        }
        assert!(parse(b"{\"a\":\"\xff\"}").is_err());
        assert!(parse(("[".repeat(32) + &"]".repeat(32)).as_bytes()).is_ok());
    }
}
