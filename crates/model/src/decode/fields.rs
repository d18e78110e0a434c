//! The plain field types: text, numbers, lists, options, times, identifiers.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{At, Faults, Field, Json};
use crate::{
    ids,
    time::{DAY, MINUTE, Millis},
};

/// A text of `MIN` to `MAX` characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<const MIN: usize, const MAX: usize>(pub String);

impl<const MIN: usize, const MAX: usize> Field for Text<MIN, MAX> {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let length = text.chars().count();
        if length < MIN {
            faults.add(at, "too_short", format!("at least {MIN} characters, got {length}"));
            return None;
        }
        if length > MAX {
            faults.add(at, "too_long", format!("at most {MAX} characters, got {length}"));
            return None;
        }
        Some(Self(text))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX })
    }
}

/// A whole number of `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Whole<const MIN: i64, const MAX: i64>(pub i64);

impl<const MIN: i64, const MAX: i64> Field for Whole<MIN, MAX> {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let number = match &json {
            Json::Number(number) => number.as_i64(),
            Json::Parameter(text) => plain_number(text),
            other => {
                let kind = other.kind();
                faults.add(at, "wrong_type", format!("expected a whole number, got {kind}"));
                return None;
            }
        };
        match number {
            Some(number) if (MIN..=MAX).contains(&number) => Some(Self(number)),
            _ => {
                faults.add(at, "out_of_range", format!("a whole number from {MIN} to {MAX}"));
                None
            }
        }
    }
}

/// `+5` and `05` are other spellings of a number; an identifier of a page has one spelling.
fn plain_number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// `MIN` to `MAX` items; each of them is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct List<T, const MAX: usize, const MIN: usize = 0>(pub Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX, 0> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Field, const MAX: usize, const MIN: usize> Field for List<T, MAX, MIN> {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let Json::List(items) = json else {
            faults.add(at, "wrong_type", format!("expected a list, got {}", json.kind()));
            return None;
        };
        if items.len() > MAX {
            let count = items.len();
            faults.add(at, "too_many", format!("at most {MAX} items, got {count}"));
            return None;
        }
        if items.len() < MIN {
            faults.add(at, "too_short", format!("at least {MIN} items"));
            return None;
        }
        let mut good = Some(Vec::with_capacity(items.len()));
        for (index, item) in items.into_iter().enumerate() {
            let item = T::decode(item, &at.index(index), faults);
            good = good.zip(item).map(|(mut good, item)| {
                good.push(item);
                good
            });
        }
        good.map(Self)
    }
}

impl<T: JsonSchema, const MAX: usize, const MIN: usize> JsonSchema for List<T, MAX, MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({ "type": "array", "minItems": MIN, "maxItems": MAX, "items": items })
    }
}

/// `null` means absent, except where the inner type has a use for it: in `Option<Option<T>>`
/// an absent field is left as it is and `null` clears it.
impl<T: Field> Field for Option<T> {
    const TAKES_NULL: bool = true;

    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        if json == Json::Null && !T::TAKES_NULL {
            return Some(None);
        }
        T::decode(json, at, faults).map(Some)
    }

    fn absent(_: &At<'_>, _: &mut Faults) -> Option<Self> {
        Some(None)
    }
}

impl Field for bool {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        match &json {
            Json::Bool(value) => Some(*value),
            Json::Parameter(text) if text == "true" => Some(true),
            Json::Parameter(text) if text == "false" => Some(false),
            other => {
                let kind = other.kind();
                faults.add(at, "wrong_type", format!("expected true or false, got {kind}"));
                None
            }
        }
    }
}

/// An instant, written as RFC 3339 with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant(pub Millis);

impl Field for Instant {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let read = crate::time::parse(&text).map(Self);
        if read.is_none() {
            faults.add(
                at,
                "invalid_time",
                "a time in RFC 3339 with an offset, such as 2026-11-15T09:30:00Z",
            );
        }
        read
    }
}

/// An instant that has not come yet. A minute of grace allows for clocks that differ and
/// requests that travel; what lies within it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Future(pub Millis);

impl Future {
    const GRACE: Millis = MINUTE;
    const FARTHEST: Millis = 5 * 366 * DAY;
}

impl Field for Future {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let Instant(time) = Instant::decode(json, at, faults)?;
        let now = faults.now();
        if time < now - Self::GRACE {
            faults.add(at, "in_past", "choose a time in the future");
        } else if time > now + Self::FARTHEST {
            faults.add(at, "too_far", "choose a time within the next five years");
        } else {
            return Some(Self(time));
        }
        None
    }
}

impl JsonSchema for Future {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Future".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Instant::json_schema(generator)
    }
}

impl Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&crate::time::format(self.0))
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::time::parse(&text).map(Self).ok_or_else(|| D::Error::custom("not a time"))
    }
}

impl JsonSchema for Instant {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Instant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "date-time", "examples": ["2026-11-15T09:30:00.000Z"]
        })
    }
}

impl<K: ids::Kind> Field for ids::Id<K> {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let id = Self::parse(&text);
        if id.is_none() {
            let prefix = K::PREFIX;
            faults.add(at, "invalid_id", format!("an identifier that begins with {prefix}_"));
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, decode, parse};
    use super::*;

    crate::words! {
        enum Colour { Red = "red", Blue = "blue" }
    }

    crate::input! {
        struct Inner { name: Text<1, 3> }
    }

    crate::input! {
        struct Outer {
            count: Whole<1, 5>,
            inner: Option<List<Inner, 2>>,
            colour: Option<Colour>,
            note: Option<Option<Text<0, 9>>>,
        }
        read_only: ["id"]
    }

    fn faults(text: &str) -> Vec<(String, &'static str)> {
        let faults = decode::<Outer>(parse(text.as_bytes()).unwrap(), 0).unwrap_err();
        faults.into_iter().map(|Fault { field, code, .. }| (field, code)).collect()
    }

    #[test]
    fn every_fault_is_found_at_once() {
        let found = faults(
            r#"{"id":1,"inner":[{"name":""},{"nam":"x"}],"colour":"green","note":3,"what":null}"#,
        );

        let expected = [
            ("count", "required"),
            ("inner[0].name", "too_short"),
            ("inner[1].name", "required"),
            ("inner[1].nam", "unknown_field"),
            ("colour", "invalid_choice"),
            ("note", "wrong_type"),
            ("id", "read_only"),
            ("what", "unknown_field"),
        ];
        assert_eq!(found, expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn what_is_right_is_read_as_it_was_sent() {
        let text = r#"{"count":5,"inner":[{"name":"abc"}],"colour":"blue"}"#;
        let outer = decode::<Outer>(parse(text.as_bytes()).unwrap(), 0).unwrap();

        assert_eq!(outer.count, Whole(5));
        assert_eq!(outer.inner.unwrap().0[0].name, Text("abc".to_owned()));
        assert_eq!(outer.colour.map(Colour::as_str), Some("blue"));
        assert_eq!(Colour::ALL, [Colour::Red, Colour::Blue]);
    }

    #[test]
    fn null_clears_only_where_clearing_means_something() {
        let read = |text: &str| decode::<Outer>(parse(text.as_bytes()).unwrap(), 0).unwrap();

        assert_eq!(read(r#"{"count":1}"#).note, None);
        assert_eq!(read(r#"{"count":1,"note":null}"#).note, Some(None));
        assert_eq!(read(r#"{"count":1,"colour":null}"#).colour, None);
    }
}
