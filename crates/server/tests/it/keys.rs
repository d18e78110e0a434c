//! API keys: made in a session, shown once, revoked at once.

use campanile_model::time::{self, DAY, SECOND};
use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, Reply, both, wait_until},
    matrix::unknown_key,
    steps::{all_pages, each, expect_faults, from_now, list, now, session, text},
};

fn create(lab: &Lab, token: &str, body: Value) -> Reply {
    lab.post("/keys").session(token).json(body).send()
}

#[track_caller]
fn new_key(lab: &Lab, token: &str, scopes: &[&str]) -> (Value, String) {
    let body = json!({ "name": "a key", "scopes": scopes });
    let made = create(lab, token, body).expect(201).json;
    (made["key"].clone(), text(&made["api_key"]).to_owned())
}

#[track_caller]
fn listed(lab: &Lab, token: &str, id: &Value) -> Value {
    let keys = lab.get("/keys").session(token).send().expect(200).json;
    let found = list(&keys["keys"]).iter().find(|key| key["id"] == *id);
    found.unwrap_or_else(|| panic!("no {id} in {keys}")).clone()
}

both! {
    fn a_key_is_shown_once_and_works_at_once(lab: Lab) {
        let token = session(&lab);

        let (key, secret) = new_key(&lab, &token, &["posts:read", "brands:read"]);

        let whoami = lab.get("/whoami").key(&secret).send().expect(200).json;
        assert_eq!(whoami["scopes"], json!(["posts:read", "brands:read"]));
        assert_eq!((&whoami["key"]["id"], &whoami["key"]["name"]), (&key["id"], &json!("a key")));
        assert!(secret.starts_with("camp_live_") && secret.len() == 48, "{secret}");
        assert!(text(&key["id"]).starts_with("key_"));
        let keys = lab.get("/keys").session(&token).send().expect(200);
        assert_eq!(listed(&lab, &token, &key["id"]), key);
        assert!(!keys.text().contains(&secret[10..42]), "the list shows no key");
        assert!(!keys.text().contains("hash"), "{}", keys.text());
        let hint = text(&key["hint"]);
        assert!(hint.starts_with(&secret[..14]) && hint.ends_with(&secret[44..]), "{hint}");
    }

    fn a_list_shows_the_users_own_keys_to_a_session_and_to_a_key(lab: Lab) {
        let other = lab.tenant("other");
        let token = session(&lab);
        let (first, _) = new_key(&lab, &token, &["posts:read"]);
        let (second, reader) = new_key(&lab, &token, &["settings:read"]);

        let by_session = lab.get("/keys").session(&token).send().expect(200).json;
        let by_key = lab.get("/keys").key(&reader).send().expect(200).json;
        let internal = lab.get("/api/internal/keys").session(&token).send().expect(200).json;

        let ids = each(&by_session["keys"], "id");
        assert_eq!(ids[..2], [text(&second["id"]), text(&first["id"])], "newest first");
        assert_eq!(ids.len(), 3, "the third is from the first start");
        assert_eq!(each(&by_key["keys"], "id"), ids);
        assert_eq!(each(&internal["keys"], "id"), ids);
        assert_eq!(all_pages(&lab, "/keys?limit=1", "keys", "id"), ids);
        let theirs = lab.get("/keys").key(&other.key).send().expect(200).json;
        assert!(each(&theirs["keys"], "id").iter().all(|id| !ids.contains(id)));
        let cursor = text(&lab.get("/keys?limit=1").key(&lab.key).send().json["next_cursor"]).to_owned();
        let foreign = lab.get(&format!("/keys?cursor={cursor}")).key(&other.key).send();
        foreign.expect_problem(400, "invalid_cursor");
    }

    fn scopes_are_known_folded_and_at_least_one(lab: Lab) {
        let token = session(&lab);

        let (folded, _) = new_key(&lab, &token, &["posts:write", "posts:read", "posts:write"]);
        let mut scopes: Vec<_> = list(&folded["scopes"]).iter().map(text).collect();
        scopes.sort_unstable();

        assert_eq!(scopes, ["posts:read", "posts:write"]);
        let unknown = json!({ "name": "x", "scopes": ["posts:read", "posts:reed", 3] });
        expect_faults(
            create(&lab, &token, unknown),
            &[("scopes[1]", "unknown_scope"), ("scopes[2]", "wrong_type")],
        );
        let none = json!({ "name": "x", "scopes": [] });
        expect_faults(create(&lab, &token, none), &[("scopes", "too_short")]);
        let nothing = json!({ "id": "key_1", "colour": 1 });
        expect_faults(create(&lab, &token, nothing), &[
            ("name", "required"),
            ("scopes", "required"),
            ("id", "read_only"),
            ("colour", "unknown_field"),
        ]);
    }

    fn every_fault_of_a_new_key_is_told_at_once(lab: Lab) {
        let token = session(&lab);
        let body = json!({ "name": "x", "scopes": [], "expires_at": "2001-01-01T00:00:00Z" });

        let refused = create(&lab, &token, body);

        expect_faults(refused, &[("scopes", "too_short"), ("expires_at", "in_past")]);
    }

    fn a_key_ends_when_it_was_told_to(lab: Lab) {
        let token = session(&lab);
        let body = |at: &str| json!({ "name": "x", "scopes": ["*"], "expires_at": at });
        let soon = from_now(&lab, 2 * SECOND);

        let short = create(&lab, &token, body(&soon)).expect(201).json;
        let long = create(&lab, &token, body(&from_now(&lab, DAY))).expect(201).json;

        let secret = text(&short["api_key"]);
        wait_until("the key has expired", || lab.get("/whoami").key(secret).send().status != 200);
        assert!(now(&lab) >= time::parse(&soon).unwrap());
        lab.get("/whoami").key(secret).send().expect_problem(401, "expired_api_key");
        lab.get("/whoami").key(text(&long["api_key"])).send().expect(200);
        assert_eq!(short["key"]["expires_at"], soon.as_str());
        let late = create(&lab, &token, body("2001-01-01T00:00:00Z"));
        expect_faults(late, &[("expires_at", "in_past")]);
        let vague = create(&lab, &token, body("2090-01-01"));
        expect_faults(vague, &[("expires_at", "invalid_time")]);
    }

    fn a_revoked_key_is_refused_from_the_next_request_on(lab: Lab) {
        let token = session(&lab);
        let (key, secret) = new_key(&lab, &token, &["*"]);
        let path = format!("/keys/{}", text(&key["id"]));
        for _ in 0..5 {
            lab.get("/whoami").key(&secret).send().expect(200);
        }

        let revoked = lab.delete(&path).session(&token).send().expect(200);

        assert_eq!(revoked.json["deleted"], true);
        let refused = lab.get("/whoami").key(&secret).send().expect_problem(401, "revoked_api_key");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        let after = listed(&lab, &token, &key["id"]);
        assert!(after["revoked_at"].is_string());
        lab.delete(&path).session(&token).send().expect(200);
        assert_eq!(listed(&lab, &token, &key["id"])["revoked_at"], after["revoked_at"]);
        lab.restart();
        lab.get("/whoami").key(&secret).send().expect_problem(401, "revoked_api_key");
    }

    fn a_key_neither_makes_nor_revokes_keys(lab: Lab) {
        let body = json!({ "name": "x", "scopes": ["*"] });
        let id = lab.owner().whoami["key"]["id"].clone();
        let path = format!("/keys/{}", text(&id));

        let made = lab.post("/keys").key(&lab.key).json(body).send();
        made.expect_problem(403, "session_required");
        lab.delete(&path).key(&lab.key).send().expect_problem(403, "session_required");

        lab.get("/whoami").key(&lab.key).send().expect(200);
    }

    fn somebody_elses_key_cannot_be_revoked(lab: Lab) {
        let other = lab.tenant("other");
        let theirs = lab.sign_in(&other.email, &other.password);
        let id = text(&lab.owner().whoami["key"]["id"]).to_owned();

        let refused = lab.delete(&format!("/keys/{id}")).session(&theirs).send();

        refused.expect_problem(404, "not_found");
        lab.get("/whoami").key(&lab.key).send().expect(200);
    }

    fn the_last_use_of_a_key_is_written_down(lab: Lab) {
        let token = session(&lab);
        let (key, secret) = new_key(&lab, &token, &["posts:read"]);
        assert_eq!(listed(&lab, &token, &key["id"])["last_used_at"], Value::Null);
        let before = now(&lab);

        lab.get("/posts").key(&secret).send().expect(200);

        let used = || listed(&lab, &token, &key["id"])["last_used_at"].as_str().map(str::to_owned);
        wait_until("the use is written down", || used().is_some());
        let at = time::parse(&used().unwrap()).unwrap();
        assert!((before..=now(&lab)).contains(&at), "{at}");
    }

    // All callers have one address where a proxy stands in front of the service.
    fn a_stranger_who_guesses_does_not_shut_the_door_for_others(engine: Engine) {
        let lab = Lab::start_with(engine, &[("CAMPANILE_RATE_LIMIT", "600")]);
        for number in 0..80 {
            let refused = lab.get("/whoami").key(&unknown_key(number)).send().status;
            assert!([401, 429].contains(&refused), "{refused}");
        }

        lab.get("/whoami").key(&lab.key).send().expect(200);
    }

    fn whoami_tells_who_holds_the_key(lab: Lab) {
        let owner = lab.owner();

        let whoami = &owner.whoami;

        assert_eq!(whoami["scopes"], json!(["*"]));
        assert_eq!(whoami["user"]["email"], lab.email.as_str());
        assert!(text(&whoami["workspace"]["id"]).starts_with("ws_"));
        assert_eq!(whoami["session_id"], Value::Null);
        let token = session(&lab);
        let me = lab.get("/api/internal/whoami").session(&token).send().expect(200).json;
        assert_eq!((&me["user"], &me["key"]), (&whoami["user"], &Value::Null));
        assert!(text(&me["session_id"]).starts_with("sess_"));
    }
}
