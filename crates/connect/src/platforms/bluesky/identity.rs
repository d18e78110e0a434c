//! From a handle to the identity behind it, and to the server that keeps its posts.

use std::time::Duration;

use bytes::Bytes;
use campanile_model::time::Millis;
use http::Request;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::fault::Fault;
use super::xrpc::Server;
use crate::{AnswerLimits, DownloadLimits, Http};

/// Names under these are nobody's in public.
const LOCAL_NAMES: [&str; 9] =
    ["alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test"];

/// What somebody typed to say who they are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Identifier {
    Handle(String),
    Did(String),
}

impl Identifier {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if is_did(text) {
            return Some(Self::Did(text.to_owned()));
        }
        normal_handle(text.strip_prefix('@').unwrap_or(text)).map(Self::Handle)
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Handle(text) | Self::Did(text) => text,
        }
    }
}

/// Of the many kinds of identities the network uses two.
pub(super) fn is_did(text: &str) -> bool {
    let rest = text.strip_prefix("did:plc:").or_else(|| text.strip_prefix("did:web:"));
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    text.len() <= 2048 && rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(allowed))
}

/// The one spelling of a handle, if the text is one.
pub(super) fn normal_handle(text: &str) -> Option<String> {
    let handle = text.to_ascii_lowercase();
    let fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = handle.rsplit('.').next()?;
    let is_handle = handle.len() <= 253
        && handle.contains('.')
        && handle.split('.').all(fits)
        && !last.starts_with(|c: char| c.is_ascii_digit());
    is_handle.then_some(handle)
}

/// Whether a handle can exist outside of a private network.
pub(super) fn is_local(handle: &str) -> bool {
    handle.rsplit('.').next().is_some_and(|last| LOCAL_NAMES.contains(&last))
}

/// Asks a server whose handle it is.
///
/// Most handles are proved by a TXT record. Looking those up needs a resolver of our own, while
/// every server of the network has one and answers this question.
pub(super) async fn ask_server(server: &Server<'_>, handle: &str) -> Result<Option<String>, Fault> {
    #[derive(Deserialize)]
    struct Resolved {
        did: String,
    }
    let method = "com.atproto.identity.resolveHandle";
    match server.query::<Resolved>(method, &[("handle", handle)]).await {
        Ok(resolved) => Ok(Some(resolved.did).filter(|did| is_did(did))),
        Err(Fault::Said(said)) if said.status.as_u16() != 429 => Ok(None),
        Err(Fault::Garbled) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Where identities are looked up.
pub(super) struct Directory<'a> {
    pub(super) http: &'a Http,
    pub(super) plc: &'a str,
    pub(super) now: Millis,
}

impl Directory<'_> {
    /// The identity behind a handle: from a server, or else from the handle's own web site.
    pub(super) async fn did_of(&self, handle: &str, server: &str) -> Option<String> {
        let server = Server::new(self.http, server, self.now);
        match ask_server(&server, handle).await {
            Ok(Some(did)) => Some(did),
            Ok(None) | Err(_) => self.ask_site(handle).await,
        }
    }

    async fn ask_site(&self, handle: &str) -> Option<String> {
        let total = Duration::from_secs(10);
        let limits = DownloadLimits { total, ..DownloadLimits::up_to(2100) };
        let address = format!("https://{handle}/.well-known/atproto-did");
        let mut content = Vec::new();
        self.http.download(&address, &limits, &mut content).await.ok()?;
        let did = std::str::from_utf8(&content).ok()?.trim();
        is_did(did).then(|| did.to_owned())
    }

    /// The origin of the server that an identity says its posts are on.
    pub(super) async fn server_of(&self, did: &str) -> Option<String> {
        let address = match did.strip_prefix("did:web:") {
            // With a colon it would name a path or a port, which posts cannot be kept under.
            Some(host) if host.contains([':', '%']) => return None,
            Some(host) => format!("https://{host}/.well-known/did.json"),
            None => format!("{}/{did}", self.plc.trim_end_matches('/')),
        };
        let request = Request::get(address).body(Bytes::new()).ok()?;
        let answer = self.http.request(request, &AnswerLimits::default()).await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        server_in(&serde_json::from_slice(answer.body()).ok()?, did)
    }
}

/// Reads the origin of the server out of an identity's document.
pub(super) fn server_in(document: &Value, did: &str) -> Option<String> {
    if document.get("id")?.as_str()? != did {
        return None;
    }
    let is_server = |service: &&Value| {
        let text = |name: &str| service.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = text("id");
        let id = id.strip_prefix(did).unwrap_or(id);
        id == "#atproto_pds" && text("type") == "AtprotoPersonalDataServer"
    };
    let service = document.get("service")?.as_array()?.iter().find(is_server)?;
    origin(service.get("serviceEndpoint")?.as_str()?)
}

/// The origin of a web address; a bare host name is one too.
pub(super) fn origin(text: &str) -> Option<String> {
    let text = text.trim();
    let url = match text.contains("://") {
        true => Url::parse(text).ok()?,
        false => Url::parse(&format!("https://{text}")).ok()?,
    };
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none();
    plain.then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_handle_has_one_spelling() {
        let handle = |text: &str| Identifier::parse(text);

        assert_eq!(
            handle(" @Ada.Example.COM "),
            Some(Identifier::Handle("ada.example.com".to_owned()))
        );
        assert_eq!(handle("did:plc:abc234"), Some(Identifier::Did("did:plc:abc234".to_owned())));
        let long = format!("{}.com", "a".repeat(64));
        for wrong in [
            "",
            "ada",
            "@",
            "ada@example.com",
            "-a.com",
            "a-.com",
            "a..com",
            "a.1com",
            "ä.com",
            &long,
        ] {
            assert_eq!(handle(wrong), None, "{wrong}");
        }
        assert!(is_local("ada.test") && !is_local("ada.test.com"));
    }

    #[test]
    fn only_the_two_kinds_of_identities_count() {
        assert!(is_did("did:web:example.com"));
        for wrong in ["did:key:abc", "did:plc:", "did:plc:a b", "did:plc:a/b", "plc:abc"] {
            assert!(!is_did(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_server_is_the_one_entry_of_the_right_kind() {
        let did = "did:plc:abc";
        let service = |id: &str, kind: &str| json!({ "id": id, "type": kind, "serviceEndpoint": "https://pds.example.com/" });
        let found = |service: Value, document_id: &str| {
            server_in(&json!({ "id": document_id, "service": [service] }), did)
        };
        let kind = "AtprotoPersonalDataServer";

        let pds = Some("https://pds.example.com".to_owned());
        assert_eq!(found(service("#atproto_pds", kind), did), pds);
        assert_eq!(found(service("did:plc:abc#atproto_pds", kind), did), pds);
        assert_eq!(found(service("#atproto_labeler", kind), did), None);
        assert_eq!(found(service("#atproto_pds", "Other"), did), None);
        assert_eq!(found(service("#atproto_pds", kind), "did:plc:other"), None);
    }

    #[test]
    fn a_server_is_named_by_its_origin() {
        let example = Some("https://pds.example.com".to_owned());
        assert_eq!(origin("pds.example.com"), example);
        assert_eq!(origin("https://pds.example.com/"), example);
        assert_eq!(origin("http://127.0.0.1:2583"), Some("http://127.0.0.1:2583".to_owned()));
        for wrong in ["", "ftp://a.com", "https://u:p@a.com", "https://a.com/xrpc", "a.com?x=1"] {
            assert_eq!(origin(wrong), None, "{wrong}");
        }
    }
}
