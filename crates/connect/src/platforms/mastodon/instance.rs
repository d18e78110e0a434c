//! What a server is, and what it allows.

use campanile_model::publish::Safety;
use campanile_model::time::{DAY, HOUR, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers::failure;
use super::api::Api;
use crate::FetchError;
use crate::platforms::{Account, Refusal, from_fetch};

/// What an account remembers of its server, in [`Account::details`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Instance {
    /// What the server calls itself: `mastodon`, `gotosocial`; empty when it does not say.
    pub software: String,
    pub version: String,
    /// The name that stands behind the `@` of its accounts.
    pub domain: String,
    pub read_at: Millis,
    pub limits: Bounds,
}

/// The limits of a server. The defaults are those of Mastodon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bounds {
    pub characters: u64,
    pub characters_per_url: u64,
    pub media: u64,
    /// Empty when the server does not say.
    pub media_types: Vec<String>,
    pub image_bytes: u64,
    pub image_pixels: u64,
    pub video_bytes: u64,
    pub video_pixels: u64,
    pub alt_text_characters: u64,
    pub poll_options: u64,
    pub poll_option_characters: u64,
    pub poll_least_seconds: u64,
    pub poll_most_seconds: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            characters: 500,
            characters_per_url: 23,
            media: 4,
            media_types: Vec::new(),
            image_bytes: 16_777_216,
            image_pixels: 33_177_600,
            video_bytes: 103_809_024,
            video_pixels: 8_294_400,
            // Newer servers allow more, and say so.
            alt_text_characters: 1500,
            poll_options: 4,
            poll_option_characters: 50,
            poll_least_seconds: 300,
            poll_most_seconds: 2_629_746,
        }
    }
}

impl Instance {
    pub(super) fn of(account: &Account) -> Self {
        Self::deserialize(&account.details).unwrap_or_default()
    }

    /// A repeated call is harmless only where the server is known to compare keys, and to let
    /// no second call with a key run beside the first. Pleroma compares them without that: a
    /// repetition of a call that is still at work would post twice. The others ignore keys.
    pub(super) fn safety(&self) -> Safety {
        if self.is_mastodon() { Safety::KeyWindow { millis: HOUR } } else { Safety::ReadBack }
    }

    /// Mastodon itself, or a variant of it.
    pub(super) fn is_mastodon(&self) -> bool {
        ["mastodon", "hometown", "glitch", "glitch-soc"].contains(&self.software.as_str())
    }

    pub(super) fn is(&self, software: &str) -> bool {
        self.software == software
    }

    /// Asks a server what it is. `None` when it does not speak Mastodon's language.
    pub(super) async fn read(api: &Api<'_>) -> Result<Option<Self>, Refusal> {
        let mut answer = api.get("/api/v2/instance").await.map_err(|error| unreachable(&error))?;
        if !answer.status().is_success() {
            answer = api.get("/api/v1/instance").await.map_err(|error| unreachable(&error))?;
        }
        if answer.status().is_server_error() || answer.status().as_u16() == 429 {
            return Err(Refusal::Platform(failure(&answer, api.now)));
        }
        let about = serde_json::from_slice::<Value>(answer.body()).ok();
        let Some(about) = about.filter(|about| about["version"].is_string()) else {
            return Ok(None);
        };
        let mut instance = Self::from_json(&about);
        instance.read_at = api.now;
        instance.software = software(api).await.unwrap_or_else(|| guess(&instance.version));
        Ok(Some(instance))
    }

    /// Servers are upgraded, and their limits changed, every now and then.
    pub(super) fn is_stale(&self, now: Millis) -> bool {
        now - self.read_at > DAY
    }

    /// The server as it is now; `None` when it does not say.
    pub(super) async fn read_again(&self, api: &Api<'_>) -> Option<Self> {
        let mut instance = Self::read(api).await.ok().flatten()?;
        // How repeating is made safe hangs on it, so one missing answer must not change it.
        if instance.software.is_empty() {
            instance.software.clone_from(&self.software);
        }
        Some(instance)
    }

    fn from_json(about: &Value) -> Self {
        let text = |path| short(about.pointer(path).and_then(Value::as_str).unwrap_or_default());
        // Nought would mean that nothing can be posted: then the server does not mean it.
        let number = |path: &str| about.pointer(path).and_then(Value::as_u64).filter(|&n| n > 0);
        let status = |name: &str| number(&format!("/configuration/statuses/{name}"));
        let media = |name: &str| number(&format!("/configuration/media_attachments/{name}"));
        let poll = |name: &str| number(&format!("/configuration/polls/{name}"));
        let usual = Bounds::default();
        let characters = status("max_characters").or_else(|| number("/max_toot_chars"));
        let limits = Bounds {
            characters: characters.unwrap_or(usual.characters),
            characters_per_url: status("characters_reserved_per_url")
                .unwrap_or(usual.characters_per_url),
            media: status("max_media_attachments").unwrap_or(usual.media),
            media_types: types(about),
            image_bytes: media("image_size_limit").unwrap_or(usual.image_bytes),
            image_pixels: media("image_matrix_limit").unwrap_or(usual.image_pixels),
            video_bytes: media("video_size_limit").unwrap_or(usual.video_bytes),
            video_pixels: media("video_matrix_limit").unwrap_or(usual.video_pixels),
            alt_text_characters: media("description_limit").unwrap_or(usual.alt_text_characters),
            poll_options: poll("max_options").unwrap_or(usual.poll_options),
            poll_option_characters: poll("max_characters_per_option")
                .unwrap_or(usual.poll_option_characters),
            poll_least_seconds: poll("min_expiration").unwrap_or(usual.poll_least_seconds),
            poll_most_seconds: poll("max_expiration").unwrap_or(usual.poll_most_seconds),
        };
        Self { version: text("/version"), domain: text("/domain"), limits, ..Self::default() }
    }
}

/// A wrong address is the caller's to mend; a server in trouble is not.
fn unreachable(error: &FetchError) -> Refusal {
    match error {
        FetchError::Refused(_) | FetchError::Dns(_) | FetchError::Tls(_) => {
            Refusal::Field("server", "unreachable", error.to_string())
        }
        error if error.is_foreign_tongue() => {
            Refusal::Field("server", "not_mastodon", error.to_string())
        }
        _ => Refusal::Platform(from_fetch(error)),
    }
}

/// What a stranger's server says is kept, so it must not be long.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

fn types(about: &Value) -> Vec<String> {
    let types = about.pointer("/configuration/media_attachments/supported_mime_types");
    let types = types.and_then(Value::as_array).into_iter().flatten();
    types.filter_map(Value::as_str).map(short).take(100).collect()
}

/// The name in the server's description of itself, if it has one on this very server.
async fn software(api: &Api<'_>) -> Option<String> {
    let links = api.get("/.well-known/nodeinfo").await.ok()?;
    let links: Value = serde_json::from_slice(links.body()).ok()?;
    let mut hrefs = links["links"].as_array()?.iter().filter_map(|link| link["href"].as_str());
    let path = hrefs.find_map(|href| api.path_of(href))?;
    let about: Value = serde_json::from_slice(api.get(&path).await.ok()?.body()).ok()?;
    let name = about.pointer("/software/name")?.as_str()?;
    Some(short(name).to_lowercase())
}

/// Pleroma and its relatives name themselves in the version.
fn guess(version: &str) -> String {
    let names = ["pleroma", "akkoma", "gotosocial", "pixelfed", "takahe", "snac"];
    let version = version.to_lowercase();
    names.into_iter().find(|name| version.contains(name)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_limits_are_taken_and_the_usual_ones_otherwise() {
        let about = serde_json::json!({
            "version": "4.7.0", "domain": "example.social",
            "configuration": {
                "statuses": { "max_characters": 5000, "max_media_attachments": 0 },
                "media_attachments": { "supported_mime_types": ["image/png", 7, "video/mp4"] },
                "polls": { "max_options": "many" },
            },
        });

        let instance = Instance::from_json(&about);

        assert_eq!(instance.limits.characters, 5000);
        assert_eq!(instance.limits.media_types, ["image/png", "video/mp4"]);
        assert_eq!(instance.limits.media, 4);
        assert_eq!(instance.limits.poll_options, 4);
        assert_eq!(instance.domain, "example.social");
    }

    #[test]
    fn old_servers_have_their_own_word_for_the_length() {
        let about = serde_json::json!({ "version": "2.7.2", "max_toot_chars": 3000 });
        assert_eq!(Instance::from_json(&about).limits.characters, 3000);
    }

    #[test]
    fn a_key_is_trusted_only_where_it_is_known_to_work() {
        let safety = |software: &str| {
            Instance { software: software.to_owned(), ..Instance::default() }.safety()
        };

        for software in ["mastodon", "hometown"] {
            assert_eq!(safety(software), Safety::KeyWindow { millis: 3_600_000 }, "{software}");
        }
        for software in ["gotosocial", "snac", "takahe", "pixelfed", "pleroma", "akkoma", "", "x"] {
            assert_eq!(safety(software), Safety::ReadBack, "{software}");
        }
    }

    #[test]
    fn what_is_remembered_is_read_again_even_when_parts_are_missing() {
        let account = |details| Account {
            remote_id: "1".into(),
            handle: "a@b".into(),
            server: "https://b".into(),
            details,
        };
        let instance =
            Instance { software: "snac".into(), version: "2".into(), ..Instance::default() };

        let whole = serde_json::to_value(&instance).unwrap();
        assert_eq!(Instance::of(&account(whole)), instance);
        let part = serde_json::json!({ "software": "mastodon", "limits": { "characters": 11 } });
        assert_eq!(Instance::of(&account(part)).limits.characters, 11);
        assert_eq!(Instance::of(&account(Value::Null)), Instance::default());
    }

    #[test]
    fn the_version_gives_some_servers_away() {
        assert_eq!(guess("2.7.2 (compatible; Pleroma 2.6.0)"), "pleroma");
        assert_eq!(guess("0.20.0+git-gotosocial"), "gotosocial");
        assert_eq!(guess("4.7.0"), "");
    }
}
