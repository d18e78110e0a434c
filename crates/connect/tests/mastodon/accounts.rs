//! Connecting accounts.

use campanile_connect::platforms::{Endpoints, Platform, Platforms, Refusal};
use campanile_connect::{Http, Policy};
use campanile_model::publish::Safety;

use crate::double::{Double, TOKEN};
use crate::world::{World, connect, form, mock, now, quick};

fn field(refusal: &Refusal) -> (&'static str, &'static str) {
    match refusal {
        Refusal::Field(field, code, _) => (field, code),
        Refusal::Platform(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn mastodon_is_among_the_platforms() {
    let platforms = Platforms::new(&Endpoints::default(), Vec::new());
    assert_eq!(platforms.find("mastodon").expect("built in").about().name, "Mastodon");
}

#[tokio::test]
async fn an_account_of_mastodon_is_connected() {
    let world = World::mock().await;
    let account = &world.account;

    assert_eq!(account.server, mock());
    assert!(account.handle.ends_with(&format!("@{}", world.address())), "{account:?}");
    assert_eq!(account.details["software"], "mastodon");
    assert_eq!(account.details["version"], "4.6.0");
    assert_eq!(account.details["limits"]["image_bytes"], 10_485_760);
    assert_eq!(account.details["limits"]["video_bytes"], 41_943_040);
    let again = connect(&format!("{}/@anybody", mock()), &world.token).await.expect("connected");
    assert_eq!(again.account.remote_id, account.remote_id);
    assert!(!format!("{again:?}").contains(&world.token), "a token is not printed");
}

#[tokio::test]
async fn an_account_elsewhere_is_connected_with_its_scopes() {
    let double = Double::start().await;

    let connected = connect(&double.origin(), TOKEN).await.expect("connected");

    assert_eq!(connected.account.handle, format!("somebody@{}", double.address));
    assert_eq!(connected.account.details["software"], "gotosocial");
    assert_eq!(connected.account.details["limits"]["characters_per_url"], 25);
    assert_eq!(connected.scopes, ["read", "write"]);
}

#[tokio::test]
async fn a_wrong_token_is_named_as_the_fault() {
    let double = Double::start().await;
    for server in [mock(), double.origin()] {
        let refusal = connect(&server, "wrong").await.expect_err("refused");
        assert_eq!(field(&refusal), ("access_token", "token_refused"));
        let refusal = connect(&server, "two words").await.expect_err("refused");
        assert_eq!(field(&refusal), ("access_token", "invalid_format"));
    }
}

#[tokio::test]
async fn a_token_that_may_not_post_is_refused() {
    let double = Double::start().await;
    double.state().scopes = Some(vec!["read", "write:media"]);

    let refusal = connect(&double.origin(), TOKEN).await.expect_err("refused");

    assert_eq!(field(&refusal), ("access_token", "missing_scope"));
    assert!(format!("{refusal:?}").contains("lacks write:statuses;"), "{refusal:?}");
}

#[tokio::test]
async fn a_server_that_does_not_tell_about_scopes_is_believed() {
    let double = Double::start().await;
    double.state().scopes = None;
    assert!(connect(&double.origin(), TOKEN).await.expect("connected").scopes.is_empty());
}

#[tokio::test]
async fn an_old_server_is_understood() {
    let double = Double::start().await;
    double.state().has_v2 = false;
    assert!(connect(&double.origin(), TOKEN).await.is_ok());
}

#[tokio::test]
async fn a_server_that_does_not_name_its_software_is_read_back() {
    let double = Double::start().await;
    double.state().software = None;

    let connected = connect(&double.origin(), TOKEN).await.expect("connected");

    assert_eq!(connected.account.details["software"], "");
    assert_eq!(quick().safety(&connected.account), Safety::ReadBack);
}

#[tokio::test]
async fn another_kind_of_server_is_named_as_the_fault() {
    let double = Double::start().await;
    double.state().software = None;
    double.state().has_v2 = false;

    let refusal = connect(&double.origin(), TOKEN).await.expect_err("refused");

    assert_eq!(field(&refusal), ("server", "not_mastodon"));
    assert!(!double.state().requests.iter().any(|line| line.contains("verify")), "no token sent");
}

#[tokio::test]
async fn addresses_inside_are_refused_before_anything_is_sent() {
    let double = Double::start().await;
    let platform = quick();
    let manual = platform.manual().expect("connected by hand");
    let http = Http::new(Policy::default());

    for server in [double.origin().as_str(), "localhost", "10.0.0.1", ""] {
        let refusal = manual.connect(&http, &form(server, TOKEN), now()).await;
        assert_eq!(field(&refusal.expect_err("refused")), ("server", "invalid_server"));
    }

    assert!(double.state().requests.is_empty());
}

#[tokio::test]
async fn a_server_in_trouble_is_not_the_callers_fault() {
    let refusal = connect("http://127.0.0.1:1", TOKEN).await.expect_err("nobody is there");
    assert!(matches!(refusal, Refusal::Platform(_)), "{refusal:?}");
}
