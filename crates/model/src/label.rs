//! Names that people give: tags, folders, brands, files, addresses.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::{
    decode::{At, Faults, Field, Json, List},
    ids::{Id, User, UserId},
};

/// Characters that cannot be seen, or that make text read as something else.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200c}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Joiners and variation selectors belong between emoji and after marks; after a letter they
/// make a second text that looks the same.
fn is_deceptive_text(text: &str) -> bool {
    let joins = |c: char| matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    let misplaced = |(before, c): (char, char)| joins(c) && before.is_alphabetic();
    text.chars().any(is_deceptive)
        || text.starts_with(joins)
        || text.chars().zip(text.chars().skip(1)).any(misplaced)
}

/// One line of visible text in its canonical form (NFC, no space at either end).
fn label(json: Json, most: usize, at: &At<'_>, faults: &mut Faults) -> Option<String> {
    let text = json.into_text(at, faults)?;
    let text: String = text.trim().nfc().collect();
    let length = text.chars().count();
    if text.is_empty() {
        faults.add(at, "too_short", "at least one visible character");
    } else if length > most {
        faults.add(at, "too_long", format!("at most {most} characters, got {length}"));
    } else if is_deceptive_text(&text) {
        faults.add(at, "invalid_character", "control and invisible characters are not allowed");
    } else {
        return Some(text);
    }
    None
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident $most:literal),* $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl Field for $name {
            fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
                label(json, $most, at, faults).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": $most })
            }
        }
    )* };
}

labels! {
    /// A label on a post or a media item.
    Tag 64,
    /// The name of a person, a brand, a workspace or a key.
    Name 120,
}

pub type Tags = List<Tag, 50>;

/// The same tag twice is one tag; the order is the caller's.
pub fn without_repeats(tags: Vec<Tag>) -> Vec<Tag> {
    let mut seen = std::collections::BTreeSet::new();
    tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect()
}

/// `campaigns/2026/spring`: never empty, never with a step upwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderPath(String);

impl FolderPath {
    pub const MOST_BYTES: usize = 512;
    pub const MOST_SEGMENTS: usize = 16;

    /// The path, if it is written in the one canonical way.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text: String = text.nfc().collect();
        if text.len() > Self::MOST_BYTES {
            return Err("at most 512 bytes");
        }
        if text.split('/').count() > Self::MOST_SEGMENTS {
            return Err("at most 16 levels");
        }
        text.split('/').try_for_each(judge_segment)?;
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path and all that lie above it, outermost first.
    pub fn lineage(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end]).chain([self.0.as_str()])
    }

    pub fn contains(&self, other: &Self) -> bool {
        other.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

fn judge_segment(segment: &str) -> Result<(), &'static str> {
    let lower = segment.to_ascii_lowercase();
    if segment.is_empty() {
        Err("no empty level: no slash at the start, at the end or twice in a row")
    } else if segment.trim() != segment {
        Err("no space at the start or end of a level")
    } else if matches!(segment, "." | "..") || lower.contains("%2e") || lower.contains("%2f") {
        Err("no relative steps")
    } else if segment.contains('\\') || is_deceptive_text(segment) {
        Err("no backslash, control or invisible characters")
    } else {
        Ok(())
    }
}

impl Field for FolderPath {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        Self::parse(&text).map_err(|reason| faults.add(at, "invalid_folder_path", reason)).ok()
    }
}

impl JsonSchema for FolderPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FolderPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": Self::MOST_BYTES,
            "description": "Folder names joined by slashes; missing folders are created.",
            "examples": ["campaigns/2026"],
        })
    }
}

/// `library/<user_id>/<file>`: where the media library put an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoragePath(String);

impl StoragePath {
    pub fn new(user: &UserId, file: &str) -> Self {
        Self(format!("library/{user}/{file}"))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (user, file) = text.strip_prefix("library/")?.split_once('/')?;
        let (stem, extension) = file.split_once('.')?;
        let plain = |part: &str| {
            !part.is_empty()
                && part.len() <= 64
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        let valid = Id::<User>::parse(user).is_some() && plain(stem) && plain(extension);
        valid.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn file(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl Field for StoragePath {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let path = Self::parse(&text);
        if path.is_none() {
            faults.add(
                at,
                "must_be_storage_path",
                "a storage path from the media library (library/<user_id>/<file>), not a URL: \
                 import the asset with POST /media-library first",
            );
        }
        path
    }
}

impl JsonSchema for StoragePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StoragePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^library/user_[0-7][0-9a-hjkmnp-tv-z]{25}/[a-z0-9_]{1,64}\\.[a-z0-9_]{1,64}$",
            "examples": ["library/user_01hf7yat00000000000000000a/media_01hf7yat00000000000000000b.jpg"],
        })
    }
}

/// An e-mail address, in lower case: one person, one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Email(String);

impl Email {
    pub fn parse(text: &str) -> Option<Self> {
        let text: String = text.trim().nfc().collect::<String>().to_lowercase();
        let (user, host) = text.rsplit_once('@')?;
        let valid = (3..=254).contains(&text.len())
            && !user.is_empty()
            && !host.is_empty()
            && !text.chars().any(|c| c.is_whitespace() || is_deceptive(c) || "<>,;\"".contains(c))
            && !user.contains('@');
        valid.then_some(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for Email {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let email = Self::parse(&text);
        if email.is_none() {
            faults.add(at, "invalid_email", "an e-mail address such as ada@example.org");
        }
        email
    }
}

impl JsonSchema for Email {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Email".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "email", "maxLength": 254 })
    }
}

/// Folds a text for searching: case and compatibility forms do not matter. It goes down, up
/// and down again because letters can have two forms on either side, such as ς and σ or ẞ and SS.
pub fn fold(text: &str) -> String {
    let lower = text.nfkc().flat_map(char::to_lowercase);
    let upper = lower.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).filter(|c| *c != '\0').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_path_has_one_spelling() {
        for good in ["a", "a/b", "Ümläut/🎉/x y", "50% off"] {
            assert!(FolderPath::parse(good).is_ok(), "{good}");
        }
        let deep = vec!["x"; 17].join("/");
        let long = "x".repeat(513);
        for wrong in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "%2e%2e",
            "..%2f",
            "a\\b",
            "C:\\",
            " a",
            "a\0",
            "a\u{202e}b",
            "a\nb",
            &deep,
            &long,
        ] {
            assert!(FolderPath::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_storage_path_cannot_climb() {
        let user = UserId::new(1);
        assert!(StoragePath::parse(&format!("library/{user}/media_1.jpg")).is_some());
        for wrong in [
            format!("library/{user}/../x.jpg"),
            format!("library/{user}/a/../../x.jpg"),
            format!("/library/{user}/x.jpg"),
            "https://example.org/x.jpg".to_owned(),
            format!("library/{}/x.jpg", user.as_str().to_uppercase()),
            format!("library/{user}/x"),
            format!("library/{user}/.jpg"),
            format!("library/{user}/X.jpg"),
        ] {
            assert!(StoragePath::parse(&wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn lineage_names_every_level() {
        let path = FolderPath::parse("a/b/c").unwrap();
        assert_eq!(path.lineage().collect::<Vec<_>>(), ["a", "a/b", "a/b/c"]);
        assert!(FolderPath::parse("a/b").unwrap().contains(&path));
        assert!(!FolderPath::parse("a/bc").unwrap().contains(&path));
    }
}
