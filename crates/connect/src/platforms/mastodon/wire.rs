//! The JSON of Mastodon's interface, in its words, as far as anything here needs it.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Debug, Deserialize)]
pub(super) struct Profile {
    #[serde(deserialize_with = "id")]
    pub id: String,
    pub acct: String,
    #[serde(default, deserialize_with = "or_default")]
    pub followers_count: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub following_count: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub statuses_count: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Application {
    #[serde(default, deserialize_with = "or_default")]
    pub scopes: Vec<String>,
}

/// A status as servers show it.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    #[serde(deserialize_with = "id")]
    pub id: String,
    #[serde(default)]
    pub uri: Option<String>,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: String,
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    #[serde(default, deserialize_with = "or_default")]
    pub visibility: String,
    #[serde(default, deserialize_with = "optional_id")]
    pub in_reply_to_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub media_attachments: Vec<IgnoredAny>,
    #[serde(default)]
    pub poll: Option<ShownPoll>,
    #[serde(default)]
    pub reblog: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "or_default")]
    pub favourites_count: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub reblogs_count: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub replies_count: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub quotes_count: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownPoll {
    pub options: Vec<ShownOption>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownOption {
    pub title: String,
}

/// The text of a status as its author sent it.
#[derive(Debug, Deserialize)]
pub(super) struct Source {
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attachment {
    #[serde(deserialize_with = "id")]
    pub id: String,
    #[serde(default)]
    pub url: Option<String>,
}

/// What `POST /api/v1/statuses` is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewStatus {
    pub status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to_id: Option<String>,
    #[serde(default)]
    pub sensitive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoiler_text: Option<String>,
    pub visibility: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<NewPoll>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewPoll {
    pub options: Vec<String>,
    pub expires_in: i64,
    pub multiple: bool,
    pub hide_totals: bool,
}

/// Ids are texts, but some servers write them as numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        match id {
            Id::Text(text) => text,
            Id::Number(number) => number.to_string(),
        }
    }
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::from(Id::deserialize(deserializer)?);
    if id.is_empty() { Err(serde::de::Error::custom("an empty id")) } else { Ok(id) }
}

fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Id>::deserialize(deserializer)?.map(String::from))
}

/// Servers write `null` where Mastodon has an empty list or nought.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_status_is_understood() {
        let status: Status = serde_json::from_str(
            r#"{"id": 7, "media_attachments": null, "in_reply_to_id": null, "quotes_count": null}"#,
        )
        .unwrap();

        assert_eq!(
            (status.id.as_str(), status.in_reply_to_id, status.quotes_count),
            ("7", None, 0)
        );
        assert!(serde_json::from_str::<Status>(r#"{"id": ""}"#).is_err());
        assert!(serde_json::from_str::<Status>(r#"{"error": "Too bad"}"#).is_err());
    }

    #[test]
    fn what_was_not_chosen_is_not_sent() {
        let status =
            NewStatus { status: "a".into(), visibility: "public".into(), ..NewStatus::default() };

        let json = serde_json::to_string(&status).unwrap();

        assert_eq!(json, r#"{"status":"a","sensitive":false,"visibility":"public"}"#);
    }
}
