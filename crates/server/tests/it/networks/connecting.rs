//! Accounts come and go; their secrets never come back.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both},
    steps::{each, list, text},
};

use super::{
    double::Double,
    world::{NETWORKS, Network, Person, connect, lab, lab_with},
};

fn connections(lab: &Lab) -> Value {
    lab.get("/connections").key(&lab.key).send().expect(200).json["connections"].take()
}

/// Fails the test when one of the secrets is in the text, plainly or in another notation.
#[track_caller]
fn expect_none(secrets: &[String], place: &str, bytes: &[u8]) {
    let found = String::from_utf8_lossy(bytes);
    for secret in secrets {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [secret, &hex] {
            assert!(!found.contains(form.as_str()), "{form} in {place}");
        }
    }
}

fn expect_none_in_files(secrets: &[String], folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            expect_none_in_files(secrets, &path);
        } else if path.is_file() {
            let place = path.display().to_string();
            expect_none(secrets, &place, &std::fs::read(&path).unwrap());
        }
    }
}

both! {
    fn the_platforms_are_listed_with_what_they_take(engine: Engine) {
        let lab = lab(engine);
        connect(&lab, Network::Mastodon, Person::new(Network::Mastodon).form());

        let found = lab.get("/platforms").key(&lab.key).send().expect(200).json;

        let platforms = list(&found["platforms"]);
        let expected = [
            ("bluesky", 300, 4, 0, json!(["handle", "app_password"])),
            ("mastodon", 500, 4, 1, json!(["server", "access_token"])),
            ("sandbox", 5000, 10, 0, json!([])),
        ];
        for (id, characters, media, connections, required) in expected {
            let platform = platforms.iter().find(|platform| platform["id"] == id);
            let platform = platform.unwrap_or_else(|| panic!("{id}: {found}"));
            assert_eq!(platform["limits"]["characters"], characters, "{id}");
            assert_eq!(platform["limits"]["media"], media, "{id}");
            assert_eq!(platform["connections"], connections, "{id}");
            assert_eq!(platform["connect"]["required"], required, "{id}");
            assert_eq!(platform["ready"], true, "{id}");
            assert!(list(&platform["post_types"]).contains(&json!("text")), "{id}");
        }
    }

    fn a_connected_account_is_shown_without_its_secret(engine: Engine) {
        let lab = lab_with(engine, &[("CAMPANILE_LOG", "trace")]);
        // Tokens of Bluesky begin like this.
        let mut secrets = vec!["eyJ0eXAi".to_owned()];
        let mut said = Vec::new();
        for network in NETWORKS {
            let person = Person::new(network);
            secrets.push(person.secret.clone());
            for _ in 0..2 {
                let answer = lab.post(&network.path()).key(&lab.key).json(person.form()).send();
                said.push(answer.text());
            }

            let found = connections(&lab);

            let found = list(&found).last().unwrap();
            assert_eq!(text(&found["platform"]), network.id());
            assert_eq!(text(&found["remote_id"]), person.id);
            assert_eq!(text(&found["status"]), "connected");
            assert!(text(&found["handle"]).starts_with(&person.name), "{found}");
            let port = network.origin().rsplit(':').next().unwrap().to_owned();
            assert!(text(&found["server"]).ends_with(&port), "{found}");
            lab.delete(&network.path()).key(&lab.key).send().expect(200);
            connect(&lab, network, person.form());
        }
        for path in ["/connections", "/platforms", "/audit-logs?limit=200", "/brands"] {
            said.push(lab.get(path).key(&lab.key).send().expect(200).text());
        }
        lab.stop();
        expect_none(&secrets, "an answer", said.join("\n").as_bytes());
        expect_none(&secrets, "the log", lab.log().as_bytes());
        expect_none_in_files(&secrets, &lab.data_dir());
        if engine == Engine::Postgres {
            for secret in &secrets {
                let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
                for table in ["connections", "audit_log", "outbox", "idempotency_keys"] {
                    let touched = lab.tamper(&format!(
                        "DELETE FROM {table} t
                          WHERE position('{secret}' in t::text) + position('{hex}' in t::text) > 0"
                    ));
                    assert_eq!(touched, 0, "a secret in {table}");
                }
            }
        }
    }

    fn connecting_again_renews_the_account(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let person = Person::new(network);
            let id = connect(&lab, network, person.form());

            let again = lab.post(&network.path()).key(&lab.key).json(person.form()).send();

            let again = again.expect(200).json;
            assert_eq!(text(&again["connection"]["id"]), id);
            assert_eq!(text(&again["connection"]["status"]), "connected");
        }
        assert_eq!(each(&connections(&lab), "platform"), ["bluesky", "mastodon"]);
        let path = "/audit-logs?action=connection.renewed";
        let log = lab.get(path).key(&lab.key).send().expect(200).json;
        assert_eq!(list(&log["audit_logs"]).len(), 2);
    }

    fn accounts_of_two_servers_may_have_the_same_number(lab: Lab) {
        let (one, other) = (Double::of("ada"), Double::of("bea"));
        let first = connect(&lab, Network::Mastodon, one.form());

        let second = connect(&lab, Network::Mastodon, other.form());

        assert_ne!(first, second);
        let found = connections(&lab);
        assert_eq!(each(&found, "remote_id"), ["1", "1"]);
        let names: Vec<_> = each(&found, "handle").iter().map(|name| &name[..3]).collect();
        assert_eq!(names, ["ada", "bea"]);
        // Each of them is still the same account when it is connected again.
        for (double, id) in [(&one, first), (&other, second)] {
            let again = lab.post("/connections/mastodon").key(&lab.key).json(double.form()).send();
            assert_eq!(text(&again.expect(200).json["connection"]["id"]), id);
        }
    }

    fn the_account_to_remove_has_to_be_named_when_there_are_several(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let path = network.path();
            let remove = |query: &str| lab.delete(&format!("{path}{query}")).key(&lab.key).send();
            let one = connect(&lab, network, Person::new(network).form());
            let two = connect(&lab, network, Person::new(network).form());

            remove("").expect_problem(409, "ambiguous_connection");
            assert_eq!(list(&connections(&lab)).len(), 2);
            // One of the other network's is not meant.
            let other = if network == Network::Bluesky { "mastodon" } else { "bluesky" };
            let wrong = format!("/connections/{other}?connection_id={one}");
            lab.delete(&wrong).key(&lab.key).send().expect_problem(404, "not_found");
            remove(&format!("?connection_id={one}")).expect(200);
            assert_eq!(each(&connections(&lab), "id"), [two]);
            remove("").expect(200);
            remove("").expect_problem(404, "not_found");
        }
        lab.delete("/connections/nowhere").key(&lab.key).send().expect_problem(404, "not_found");
    }
}
