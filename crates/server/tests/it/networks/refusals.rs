//! What is wrong with a form is said at the field that is wrong, and nothing is kept of it.

use std::io::Write;

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both, free_port},
    peer::{Peer, give},
    steps::expect_faults,
};

use super::{
    double::Double,
    world::{NETWORKS, Network, Person, lab},
};

#[track_caller]
fn expect_nothing_kept(lab: &Lab) {
    let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
    assert_eq!(found["connections"], json!([]));
    let path = "/audit-logs?action=connection.created";
    let log = lab.get(path).key(&lab.key).send().expect(200).json;
    assert_eq!(log["audit_logs"], json!([]));
}

both! {
    fn a_wrong_secret_is_named_and_not_repeated(engine: Engine) {
        let lab = lab(engine);
        let guess = "a-wrong-guess-of-mine";
        for (network, field, code) in [
            (Network::Bluesky, "app_password", "wrong_password"),
            (Network::Mastodon, "access_token", "token_refused"),
        ] {
            let mut form = Person::new(network).form();
            form[field] = json!(guess);

            let refused = lab.post(&network.path()).key(&lab.key).json(form).send();

            assert!(!refused.text().contains(guess), "{}", refused.text());
            expect_faults(refused, &[(field, code)]);
        }
        expect_nothing_kept(&lab);
        assert!(!lab.log().contains(guess));
    }

    fn nobody_can_be_connected_who_is_not_there(engine: Engine) {
        let lab = lab(engine);
        let form = json!({ "handle": "nobody-at-all.test", "app_password": "abcd-efgh-ijkl-mnop" });
        let refused = lab.post("/connections/bluesky").key(&lab.key).json(form).send();
        expect_faults(refused, &[("app_password", "wrong_password")]);
        for handle in ["nobody", "somebody@example.com", "https://bsky.app/profile/a.test"] {
            let form = json!({ "handle": handle, "app_password": "abcd-efgh-ijkl-mnop" });
            let refused = lab.post("/connections/bluesky").key(&lab.key).json(form).send();
            expect_faults(refused, &[("handle", "invalid_handle")]);
        }
        expect_nothing_kept(&lab);
    }

    fn a_server_of_another_kind_or_none_is_named(engine: Engine) {
        let lab = lab(engine);
        let closed = format!("http://127.0.0.1:{}", free_port());
        let pages = Peer::start(|_, stream| give(stream, "text/html", b"<html>Welcome"));
        // Has a version like many others, and nothing else of Mastodon's.
        let vague = Peer::start(|_, stream| give(stream, "text/html", br#"{"version":"1"}"#));
        let mail = Peer::start(|_, stream| stream.write_all(b"220 mail.example ESMTP\r\n"));
        let double = Double::of("somebody");
        for (network, code) in [(Network::Bluesky, "no_server"), (Network::Mastodon, "not_mastodon")]
        {
            let try_at = |server: &str| {
                let mut form = Person::new(network).form();
                form["server"] = json!(server);
                lab.post(&network.path()).key(&lab.key).json(form).send()
            };
            let other = if network == Network::Bluesky { Network::Mastodon } else { Network::Bluesky };
            let wrong = [pages.url(""), vague.url(""), mail.url(""), other.origin(), double.origin()];
            for server in wrong.iter().map(|server| server.trim_end_matches('/')) {
                if network == Network::Mastodon && server == double.origin() {
                    continue;
                }
                expect_faults(try_at(server), &[("server", code)]);
            }
            let failed = try_at(&closed).expect_problem(502, "upstream_failed");
            assert!(failed.json["platform_message"].is_string(), "{}", failed.text());
        }
        for (network, server) in [
            (Network::Bluesky, "ftp://example.com"),
            (Network::Bluesky, "https://somebody:secret@example.com"),
            (Network::Mastodon, "ftp://example.com"),
            (Network::Mastodon, "https://somebody:secret@example.com"),
        ] {
            let mut form = Person::new(network).form();
            form["server"] = json!(server);
            let refused = lab.post(&network.path()).key(&lab.key).json(form).send();
            expect_faults(refused, &[("server", "invalid_server")]);
        }
        expect_nothing_kept(&lab);
    }

    fn each_network_says_which_fields_it_takes(engine: Engine) {
        let lab = lab(engine);
        let faults = |network: Network, form: Value, expected: &[(&str, &str)]| {
            expect_faults(lab.post(&network.path()).key(&lab.key).json(form).send(), expected);
        };
        for network in NETWORKS {
            let whole = Person::new(network).form();
            let fields: Vec<_> = whole.as_object().unwrap().keys().map(String::as_str).collect();
            let missing: Vec<_> = fields.iter().map(|field| (*field, "required")).collect();
            faults(network, json!({}), &missing);
            for field in &fields {
                let mut form = whole.clone();
                form.as_object_mut().unwrap().remove(*field);
                faults(network, form, &[(field, "required")]);
                let mut form = whole.clone();
                form[*field] = json!(7);
                faults(network, form, &[(field, "wrong_type")]);
            }
            let foreign = if network == Network::Bluesky { "access_token" } else { "app_password" };
            let mut form = whole.clone();
            form[foreign] = json!("not for this network");
            faults(network, form, &[(foreign, "unknown_field")]);
            for name in ["status", "refresh_token", "brand_id"] {
                let mut form = whole.clone();
                form[name] = json!("mine");
                faults(network, form, &[(name, "unknown_field")]);
            }
        }
        expect_nothing_kept(&lab);
    }
}
