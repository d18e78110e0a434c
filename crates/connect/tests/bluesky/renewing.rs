//! Tokens that end, and what brings new ones.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use campanile_connect::platforms::{Platform, Secret};
use campanile_model::publish::Class;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::world::{World, first, now, published, refused, text};

/// A token as the server makes them, which ended an hour ago.
fn ended(did: &str) -> String {
    let now = now() / 1000;
    let header = json!({ "typ": "at+jwt", "alg": "HS256" });
    let claims = json!({
        "scope": "com.atproto.appPass", "sub": did, "aud": "did:web:localhost",
        "iat": now - 10_800, "exp": now - 3600,
    });
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(header), encode(claims));
    let mut signer =
        Hmac::<Sha256>::new_from_slice(b"secret of the test server").expect("any length");
    signer.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signer.finalize().into_bytes()))
}

fn change(secret: &Secret, field: &str, value: &str) -> Secret {
    let mut content: Value = serde_json::from_str(&secret.0).expect("JSON");
    content[field] = json!(value);
    Secret(Zeroizing::new(content.to_string()))
}

#[tokio::test]
async fn an_ended_token_is_renewed_and_works_again() {
    let world = World::new();
    let mut desk = world.desk().await;
    desk.secret = change(&desk.secret, "access", &ended(&desk.account.remote_id));
    let frozen = desk.prepare(&text("x"), &first("ended")).await.unwrap();

    let failure = refused(desk.publish(&frozen).await);
    assert_eq!((failure.class, failure.code.as_str()), (Class::Auth, "ExpiredToken"));

    let before = world.platform.renew_before(&desk.secret);
    desk.secret = desk.renew().await.unwrap();
    published(desk.publish(&frozen).await);
    assert!(world.platform.renew_before(&desk.secret) >= before);
}

#[tokio::test]
async fn a_token_of_nobody_is_a_matter_of_credentials() {
    let world = World::new();
    let mut desk = world.desk().await;
    let frozen = desk.prepare(&text("x"), &first("nobody")).await.unwrap();
    for access in ["nonsense", "a.b.c", ""] {
        desk.secret = change(&desk.secret, "access", access);
        assert_eq!(refused(desk.publish(&frozen).await).class, Class::Auth, "{access:?}");
    }
}

#[tokio::test]
async fn after_the_end_of_the_session_the_app_password_opens_another() {
    let world = World::new();
    let mut desk = world.desk().await;
    world.platform.manual().unwrap().disconnect(&world.http, &desk.account, &desk.secret).await;

    desk.secret = desk.renew().await.unwrap();

    desk.post(&text("back"), &first("back")).await;
}

#[tokio::test]
async fn without_a_password_that_works_the_account_has_to_be_connected_again() {
    let world = World::new();
    let mut desk = world.desk().await;
    desk.secret = change(&desk.secret, "refresh", "nonsense");
    desk.secret = change(&desk.secret, "app_password", "aaaa-bbbb-cccc-dddd");

    let failure = desk.renew().await.unwrap_err();

    assert_eq!((failure.class, failure.code.as_str()), (Class::Auth, "AuthenticationRequired"));
}

#[tokio::test]
async fn a_server_that_is_away_says_nothing_about_the_credential() {
    let world = World::new();
    let mut desk = world.desk().await;
    desk.account.server = "http://127.0.0.1:1".to_owned();

    assert_eq!(desk.renew().await.unwrap_err().class, Class::Transient);
}
