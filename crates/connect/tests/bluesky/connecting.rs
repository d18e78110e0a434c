//! Connecting accounts, with right and wrong credentials.

use campanile_connect::platforms::{Connected, Platform, Refusal};
use campanile_model::publish::Class;
use serde_json::{Value, json};

use crate::world::{World, now};

fn field(outcome: Result<Connected, Refusal>) -> (&'static str, &'static str) {
    match outcome {
        Err(Refusal::Field(field, code, message)) => {
            assert!(!message.is_empty());
            (field, code)
        }
        other => panic!("no field was refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_handle_alone_leads_to_the_server_of_the_account() {
    let world = World::new();
    let person = world.person().await;
    let typed = format!(" @{} ", person.handle.to_uppercase());

    let connected =
        world.connect(&[("handle", &typed), ("app_password", &person.app_password)]).await.unwrap();

    let account = &connected.account;
    assert_eq!((&account.remote_id, &account.handle), (&person.did, &person.handle));
    // The identity names its server so; the test knows it by its address.
    assert_eq!(account.server, world.pds.replace("127.0.0.1", "localhost"));
    assert_eq!(account.details, json!({}));
    assert_eq!(connected.scopes, ["com.atproto.appPass"]);
    let renew_before = world.platform.renew_before(&connected.secret).unwrap();
    assert!((100 * 60_000..120 * 60_000).contains(&(renew_before - now())), "{renew_before}");
    let secret: Value = serde_json::from_str(&connected.secret.0).unwrap();
    assert_eq!(secret["app_password"], json!(person.app_password));
}

#[tokio::test]
async fn an_identity_and_a_server_can_be_named() {
    let world = World::with(|endpoints| "http://127.0.0.1:1".clone_into(&mut endpoints.bluesky));
    let person = world.person().await;
    let fields = [
        ("handle", person.did.as_str()),
        ("app_password", &person.app_password),
        ("server", &world.pds),
    ];

    let connected = world.connect(&fields).await.unwrap();

    assert_eq!(connected.account.remote_id, person.did);
    assert_eq!(connected.account.handle, person.handle);
}

#[tokio::test]
async fn without_a_directory_the_default_server_is_asked() {
    let world = World::with(|endpoints| "http://127.0.0.1:1".clone_into(&mut endpoints.plc));
    let person = world.person().await;

    let connected = world
        .connect(&[("handle", &person.handle), ("app_password", &person.app_password)])
        .await
        .unwrap();

    assert_eq!(connected.account.remote_id, person.did);
}

#[tokio::test]
async fn a_wrong_password_is_the_fault_of_that_field() {
    let world = World::new();
    let person = world.person().await;

    let outcome =
        world.connect(&[("handle", &person.handle), ("app_password", "aaaa-bbbb-cccc-dddd")]).await;
    assert_eq!(field(outcome), ("app_password", "wrong_password"));
    let outcome = world.connect(&[("handle", "nobody-at-all.test"), ("app_password", "x")]).await;
    assert_eq!(field(outcome), ("app_password", "wrong_password"));
}

#[tokio::test]
async fn fields_are_checked_before_anything_is_sent() {
    let world = World::with(|endpoints| "http://127.0.0.1:1".clone_into(&mut endpoints.bluesky));

    for (fields, refused) in [
        (vec![("handle", ""), ("app_password", "x")], ("handle", "required")),
        (vec![("app_password", "x")], ("handle", "required")),
        (vec![("handle", "ada"), ("app_password", "x")], ("handle", "invalid_handle")),
        (vec![("handle", "ada@example.com"), ("app_password", "x")], ("handle", "invalid_handle")),
        (vec![("handle", "ada.test"), ("app_password", " ")], ("app_password", "required")),
        (
            vec![("handle", "ada.test"), ("app_password", "x"), ("server", "https://a.com/b")],
            ("server", "invalid_server"),
        ),
        (
            vec![("handle", "ada.test"), ("app_password", "x"), ("server", "https://u:p@a.com")],
            ("server", "invalid_server"),
        ),
    ] {
        assert_eq!(field(world.connect(&fields).await), refused, "{fields:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_none_is_told_apart_from_one_that_is_away() {
    let world = World::new();
    let fields = |server| [("handle", "ada.test"), ("app_password", "x"), ("server", server)];
    let page = crate::fake::Fake::start(|_| {
        Box::pin(async { ("404 Not Found".to_owned(), "<html>".to_owned()) })
    })
    .await;

    assert_eq!(field(world.connect(&fields(&page.origin)).await), ("server", "no_server"));
    match world.connect(&fields("http://127.0.0.1:1")).await {
        Err(Refusal::Platform(failure)) => assert_eq!(failure.class, Class::Transient),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_cannot_pass_off_an_account_of_another() {
    let world = World::new();
    let person = world.person().await;
    let session = json!({
        "did": person.did, "handle": person.handle, "accessJwt": "a.b.c", "refreshJwt": "d.e.f",
    });
    let liar = crate::fake::Fake::start(move |_| {
        let session = session.to_string();
        Box::pin(async move { ("200 OK".to_owned(), session) })
    })
    .await;

    let fields =
        [("handle", person.handle.as_str()), ("app_password", "x"), ("server", &liar.origin)];
    match world.connect(&fields).await {
        Err(Refusal::Platform(failure)) => assert_eq!(failure.class, Class::Auth),
        other => panic!("{other:?}"),
    }
}
