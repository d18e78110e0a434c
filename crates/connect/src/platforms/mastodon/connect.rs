//! Connecting an account with a token that somebody made on the server.

use bytes::Bytes;
use campanile_model::time::Millis;
use http::Response;
use url::Url;

use super::answers::{failure, message};
use super::api::{Api, Pace, secret};
use super::instance::Instance;
use super::wire::{Application, Profile};
use crate::platforms::{Account, Connected, Form, Refusal, expect_json, from_fetch};
use crate::{Http, Policy, Target};

/// What publishing needs, each in its narrow and its wide form.
const NEEDED: [(&str, &str); 3] =
    [("read:statuses", "read"), ("write:statuses", "write"), ("write:media", "write")];

pub(super) async fn connect(
    http: &Http,
    form: &Form,
    now: Millis,
    pace: &Pace,
) -> Result<Connected, Refusal> {
    let origin = origin(field(form, "server"), http.policy())?;
    let token = field(form, "access_token");
    let api = Api::anonymous(http, &origin, pace, now);
    let Some(signed) = api.with_token(token).filter(|_| is_token(token)) else {
        let message = "paste the access token as the server shows it, without spaces";
        return Err(Refusal::Field("access_token", "invalid_format", message.to_owned()));
    };
    let instance = read_instance(&api).await?;
    let profile = profile(&signed).await?;
    let scopes = scopes(&signed).await?;
    let account = Account {
        remote_id: profile.id,
        handle: format!("{}@{}", profile.acct, domain(&origin, &instance)),
        server: origin,
        details: serde_json::to_value(&instance).unwrap_or_default(),
    };
    Ok(Connected { account, secret: secret(token), scopes })
}

fn field<'a>(form: &'a Form, name: &str) -> &'a str {
    form.get(name).map_or("", |value| value.trim())
}

fn is_token(token: &str) -> bool {
    (1..=2000).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// `https://host` of what somebody typed: a host, or any address on it.
fn origin(text: &str, policy: &Policy) -> Result<String, Refusal> {
    let wrong = |message: &str| Refusal::Field("server", "invalid_server", message.to_owned());
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let target = Target::parse(&text, policy).map_err(|refused| wrong(&refused.to_string()))?;
    let url = Url::parse(target.url()).map_err(|_| wrong("This is not a valid web address."))?;
    // Whoever listens in would have the token.
    if url.scheme() != "https" && !policy.allow_private {
        return Err(wrong("The address of the server must begin with https://."));
    }
    Ok(url.origin().ascii_serialization())
}

async fn read_instance(api: &Api<'_>) -> Result<Instance, Refusal> {
    Instance::read(api).await?.ok_or_else(|| {
        not_mastodon(
            "no server with Mastodon's interface answers there; \
             use the address under which the web site of the server is opened",
        )
    })
}

fn not_mastodon(message: &str) -> Refusal {
    Refusal::Field("server", "not_mastodon", message.to_owned())
}

async fn profile(api: &Api<'_>) -> Result<Profile, Refusal> {
    let answer = ask(api, "/api/v1/accounts/verify_credentials").await?;
    let no_accounts = || not_mastodon("the server does not have Mastodon's interface for accounts");
    match answer.status().as_u16() {
        200..=299 => expect_json(&answer).map_err(|_| no_accounts()),
        // 422: the token is an application's, which has no account.
        401 | 403 | 422 => Err(refused(&message(&answer))),
        300..=400 | 404 | 405 | 410 | 501 => Err(no_accounts()),
        _ => Err(Refusal::Platform(failure(&answer, api.now))),
    }
}

/// What the token may do; empty where the server does not tell.
async fn scopes(api: &Api<'_>) -> Result<Vec<String>, Refusal> {
    let answer = ask(api, "/api/v1/apps/verify_credentials").await?;
    if !answer.status().is_success() {
        return Ok(Vec::new());
    }
    let application = serde_json::from_slice::<Application>(answer.body());
    let scopes = application.map(|application| application.scopes).unwrap_or_default();
    let has = |scope: &str| scopes.iter().any(|own| own == scope);
    let missing = NEEDED.iter().filter(|(narrow, wide)| !has(narrow) && !has(wide));
    let missing: Vec<&str> = missing.map(|(narrow, _)| *narrow).collect();
    if scopes.is_empty() || missing.is_empty() {
        return Ok(scopes);
    }
    let missing = missing.join(", ");
    let message = format!("the token lacks {missing}; make one that has read and write");
    Err(Refusal::Field("access_token", "missing_scope", message))
}

async fn ask(api: &Api<'_>, path: &str) -> Result<Response<Bytes>, Refusal> {
    api.get(path).await.map_err(|error| Refusal::Platform(from_fetch(&error)))
}

fn refused(said: &str) -> Refusal {
    let message = format!("the server does not accept the token: {said}");
    Refusal::Field("access_token", "token_refused", message)
}

/// Accounts may be named after the domain above the server, which its word alone does not prove.
fn domain(origin: &str, instance: &Instance) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let is_above = host.strip_suffix(&instance.domain).is_some_and(|rest| rest.ends_with('.'));
    if is_above && instance.domain.contains('.') {
        instance.domain.clone()
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(text: &str) -> Result<String, String> {
        origin(text, &Policy::default()).map_err(|refusal| format!("{refusal:?}"))
    }

    #[test]
    fn a_server_is_named_by_its_host_or_any_address_on_it() {
        for text in [
            "example.social",
            "Example.Social.",
            "https://example.social",
            "https://example.social/@somebody?x=1#top",
            "example.social:443/about",
        ] {
            assert_eq!(strict(text).as_deref(), Ok("https://example.social"), "{text}");
        }
        assert_eq!(strict("example.social:3000").as_deref(), Ok("https://example.social:3000"));
    }

    #[test]
    fn what_is_no_public_server_is_refused() {
        for text in ["", "localhost", "127.0.0.1", "http://example.social", "ftp://a.bc", "me@a.bc"]
        {
            assert!(strict(text).is_err(), "{text}");
        }
        let http = Policy { allow_http: true, ..Policy::default() };
        assert!(origin("http://example.social", &http).is_err(), "a token needs a secret channel");
        let private = Policy { allow_private: true, ..Policy::default() };
        let local = origin("http://127.0.0.1:3000/", &private);
        assert_eq!(local.ok().as_deref(), Some("http://127.0.0.1:3000"));
    }

    #[test]
    fn a_handle_bears_the_host_or_the_domain_above_it() {
        let named = |domain: &str| Instance { domain: domain.to_owned(), ..Instance::default() };

        assert_eq!(domain("https://social.example.com", &named("example.com")), "example.com");
        for other in ["", "com", "ample.com", "other.example", "social.example.com"] {
            let found = domain("https://social.example.com", &named(other));
            assert_eq!(found, "social.example.com", "{other}");
        }
    }

    #[test]
    fn tokens_are_one_word() {
        assert!(is_token("AbC-123_x"));
        for text in ["", "two words", "new\nline", "ünicode"] {
            assert!(!is_token(text), "{text}");
        }
    }
}
