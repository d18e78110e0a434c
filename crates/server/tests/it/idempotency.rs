//! Requests that may be sent twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both},
    steps::{all_pages, list, new_brand, session, text},
};

fn send(lab: &Lab, key: &str, name: &str, body: Value) -> Reply {
    lab.post("/posts").key(key).header("idempotency-key", name).json(body).send()
}

#[track_caller]
fn count(lab: &Lab) -> usize {
    all_pages(lab, "/posts?limit=200", "posts", "id").len()
}

both! {
    fn a_repeated_request_gets_the_first_answer_again(lab: Lab) {
        let body = json!({ "content": "once" });

        let first = send(&lab, &lab.key, "a", body.clone()).expect(201);
        let again = send(&lab, &lab.key, "a", body.clone()).expect(201);

        assert_eq!(again.body, first.body);
        assert_eq!(again.header("content-type"), first.header("content-type"));
        assert_eq!(first.header("idempotency-replayed"), None);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(count(&lab), 1);
        lab.restart();
        assert_eq!(send(&lab, &lab.key, "a", body.clone()).expect(201).body, first.body);
        assert_eq!(send(&lab, &lab.key, "\"a\"", body).expect(201).body, first.body);
        assert_eq!(count(&lab), 1);
    }

    fn the_first_answer_comes_with_its_tag(lab: Lab) {
        let first = send(&lab, &lab.key, "a", json!({})).expect(201);
        let again = send(&lab, &lab.key, "a", json!({})).expect(201);

        assert!(first.header("etag").is_some());
        assert_eq!(again.header("etag"), first.header("etag"));
    }

    fn the_answer_is_the_first_one_whatever_became_of_the_post(lab: Lab) {
        let first = send(&lab, &lab.key, "a", json!({ "content": "before" })).expect(201);
        let path = crate::steps::post_path(&first.json["post"]);
        lab.patch(&path).key(&lab.key).json(json!({ "content": "after" })).send().expect(200);
        lab.delete(&path).key(&lab.key).send().expect(200);

        let again = send(&lab, &lab.key, "a", json!({ "content": "before" })).expect(201);

        assert_eq!(again.body, first.body);
        assert_eq!(count(&lab), 0);
    }

    fn a_key_belongs_to_one_request(lab: Lab) {
        send(&lab, &lab.key, "a", json!({ "content": "one" })).expect(201);

        let other_body = send(&lab, &lab.key, "a", json!({ "content": "two" }));
        other_body.expect_problem(422, "idempotency_key_reused");
        let other_query = lab.post("/posts?validate_only=true").key(&lab.key);
        let other_query = other_query.header("idempotency-key", "a").json(json!({ "content": "one" }));
        other_query.send().expect_problem(422, "idempotency_key_reused");
        let folder = json!({ "scope": "posts", "folder_path": "a" });
        let elsewhere = lab.post("/content-folders").key(&lab.key).header("idempotency-key", "a");
        elsewhere.json(folder).send().expect(201);

        assert_eq!(count(&lab), 1);
    }

    fn a_key_belongs_to_one_user_and_one_brand(lab: Lab) {
        let (other, second) = (lab.tenant("other"), new_brand(&lab, "Second"));
        let body = json!({ "content": "same words" });
        let mine = send(&lab, &lab.key, "a", body.clone()).expect(201).json;

        let theirs = send(&lab, &other.key, "a", body.clone()).expect(201);
        let there = lab.post("/posts").key(&lab.key).brand(&second).header("idempotency-key", "a");
        let there = there.json(body.clone()).send().expect(201);
        let another_key = lab.new_key(&lab.email, "*");
        let again = send(&lab, &another_key, "a", body).expect(201);

        assert_eq!(theirs.header("idempotency-replayed"), None);
        assert_eq!(theirs.json["post"]["created_by"], other.user_id.as_str());
        assert_ne!(there.json["post"]["id"], mine["post"]["id"]);
        assert_eq!(again.json, mine, "another key of the same user repeats the request");
    }

    fn a_failed_request_can_be_mended_and_sent_again(lab: Lab) {
        send(&lab, &lab.key, "a", json!({ "content": 5 })).expect(422);
        let weak = lab.new_key(&lab.email, "posts:read");
        send(&lab, &weak, "a", json!({ "content": "five" })).expect(403);

        let mended = send(&lab, &lab.key, "a", json!({ "content": "five" })).expect(201);

        assert_eq!(mended.header("idempotency-replayed"), None);
    }

    fn a_replay_still_needs_the_right_to_ask(lab: Lab) {
        let token = session(&lab);
        let key = json!({ "name": "k", "scopes": ["posts:write"] });
        let made = lab.post("/keys").session(&token).json(key).send().expect(201).json;
        let secret = text(&made["api_key"]);
        send(&lab, secret, "a", json!({})).expect(201);

        let weak = lab.new_key(&lab.email, "posts:read");
        send(&lab, &weak, "a", json!({})).expect_problem(403, "insufficient_scope");
        lab.delete(&format!("/keys/{}", text(&made["key"]["id"]))).session(&token).send().expect(200);
        send(&lab, secret, "a", json!({})).expect_problem(401, "revoked_api_key");
    }

    fn a_lost_key_is_given_again_to_whoever_repeats_the_request(lab: Lab) {
        let token = session(&lab);
        let create = || {
            let request = lab.post("/keys").session(&token).header("idempotency-key", "once");
            request.json(json!({ "name": "k", "scopes": ["*"] })).send().expect(201)
        };
        let before = all_pages(&lab, "/keys", "keys", "id").len();

        let (first, again) = (create(), create());

        assert_eq!(again.body, first.body);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        lab.get("/whoami").key(text(&again.json["api_key"])).send().expect(200);
        assert_eq!(all_pages(&lab, "/keys", "keys", "id").len(), before + 1);
    }

    fn of_many_at_once_exactly_one_makes_a_post(lab: Lab) {
        let replies: Vec<_> = std::thread::scope(|scope| {
            let one = || send(&lab, &lab.key, "race", json!({ "content": "winner" }));
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        let mut ids = BTreeSet::new();
        for reply in &replies {
            match reply.status {
                201 => drop(ids.insert(text(&reply.json["post"]["id"]).to_owned())),
                409 => {
                    assert_eq!(reply.code(), "idempotency_in_progress");
                    assert!(reply.header("retry-after").is_some());
                }
                _ => panic!("{}", reply.text()),
            }
        }
        assert_eq!((ids.len(), count(&lab)), (1, 1));
        let fresh = replies.iter().filter(|reply| {
            reply.status == 201 && reply.header("idempotency-replayed").is_none()
        });
        assert_eq!(fresh.count(), 1);
        send(&lab, &lab.key, "race", json!({ "content": "winner" })).expect(201);
        assert_eq!(list(&lab.get("/audit-logs?action=post.created").key(&lab.key).send().json["audit_logs"]).len(), 1);
    }

    fn a_name_is_short_and_visible(lab: Lab) {
        for wrong in ["", "ä", "a\tb", &"x".repeat(256)] {
            let refused = send(&lab, &lab.key, wrong, json!({}));
            refused.expect_problem(400, "invalid_header");
        }
        let twice = lab.post("/posts").key(&lab.key).header("idempotency-key", "a");
        let twice = twice.header("idempotency-key", "b").json(json!({})).send();
        twice.expect_problem(400, "duplicate_header");
        send(&lab, &lab.key, &"x".repeat(255), json!({})).expect(201);
        assert_eq!(count(&lab), 1);
    }
}
