//! The audit log: who did what, and proof that nobody changed it.

use campanile_model::time::{self, HOUR};
use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both},
    steps::{
        all_pages, each, expect_faults, from_now, list, new_brand, new_picture, new_post,
        post_path, session, text,
    },
};

const TAMPERINGS: [(&str, &str); 10] = [
    ("UPDATE audit_log SET user_id = 'user_x' WHERE action = 'post.created'", "an actor"),
    ("UPDATE audit_log SET after = replace(after, 'words', 'w0rds')", "a word"),
    ("UPDATE audit_log SET created_at = created_at + 1 WHERE action = 'post.created'", "a time"),
    ("UPDATE audit_log SET before = '' WHERE before IS NULL", "nothing into an empty text"),
    ("DELETE FROM audit_log WHERE action = 'post.created'", "one entry less"),
    (
        "INSERT INTO audit_log SELECT workspace_id, substr(id, 1, 31), brand_id, user_id, door,
            credential_id, request_id, ip, action, resource, resource_id, before, after,
            created_at FROM audit_log WHERE action = 'post.created'",
        "one entry more",
    ),
    ("UPDATE audit_log SET id = 'audit_z' WHERE action = 'post.created'", "an entry moved"),
    ("DELETE FROM audit_seals WHERE number = 1", "a link less"),
    ("DELETE FROM audit_seals", "no link left"),
    ("UPDATE audit_seals SET hash = previous WHERE number = 1", "a hash"),
];

#[track_caller]
fn entries(lab: &Lab, filter: &str) -> Vec<Value> {
    let path = format!("/audit-logs?limit=200{filter}");
    let log = lab.get(&path).key(&lab.key).send().expect(200).json;
    list(&log["audit_logs"]).clone()
}

#[track_caller]
fn newest(lab: &Lab) -> Value {
    entries(lab, "").swap_remove(0)
}

fn all_sealed(lab: &Lab) {
    crate::lab::wait_until("every entry is sealed", || {
        entries(lab, "").iter().all(|entry| entry["sealed"] == true)
    });
}

/// What `doctor` says about the chain, and whether it is content.
fn examine(lab: &Lab) -> (bool, String) {
    let output = lab.try_cli(&["doctor"], &[]);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    let line = said.lines().find(|line| line.contains("audit log")).unwrap_or(&said).to_owned();
    (output.status.success(), line)
}

both! {
    fn every_change_is_written_down_with_before_and_after(lab: Lab) {
        let token = session(&lab);
        let folder = |method: &str, body: Value| {
            lab.request(method, "/content-folders").key(&lab.key).json(body).send()
        };
        let mut expected = Vec::new();
        let mut note = |action: &str, before: Value, after: Value| {
            let entry = newest(&lab);
            assert_eq!(entry["action"], action, "{entry}");
            assert_eq!((&entry["before"], &entry["after"]), (&before, &after), "{entry}");
            expected.push(action.to_owned());
        };

        let post = new_post(&lab, json!({ "content": "one" }));
        note("post.created", Value::Null, post.clone());
        let path = post_path(&post);
        let change = json!({ "content": "two" });
        let changed = lab.patch(&path).key(&lab.key).json(change).send().expect(200).json;
        note("post.updated", post, changed["post"].clone());
        lab.delete(&path).key(&lab.key).send().expect(200);
        note("post.deleted", changed["post"].clone(), Value::Null);

        let place = |path: &str| json!({ "scope": "posts", "folder_path": path });
        folder("POST", place("a")).expect(201);
        note("folder.created", Value::Null, place("a"));
        folder("PATCH", json!({ "scope": "posts", "folder_path": "a", "name": "b" })).expect(200);
        note("folder.moved", place("a"), place("b"));
        folder("DELETE", place("b")).expect(200);
        note("folder.deleted", place("b"), Value::Null);

        let before = lab.get("/settings").key(&lab.key).send().expect(200).json;
        let change = json!({ "profile": { "name": "New" } });
        let after = lab.put("/settings").key(&lab.key).json(change).send().expect(200).json;
        note("settings.updated", before, after);
        let password = json!({ "current_password": lab.password, "new_password": "quite another" });
        lab.put("/settings/password").session(&token).json(password).send().expect(200);
        note("user.password_changed", Value::Null, Value::Null);

        let key = json!({ "name": "k", "scopes": ["posts:read"] });
        let key = lab.post("/keys").session(&token).json(key).send().expect(201).json;
        note("key.created", Value::Null, key["key"].clone());
        lab.delete(&format!("/keys/{}", text(&key["key"]["id"]))).session(&token).send().expect(200);
        let entry = newest(&lab);
        assert_eq!(entry["action"], "key.revoked");
        assert_eq!(entry["before"]["revoked_at"], Value::Null);
        assert!(entry["after"]["revoked_at"].is_string(), "{entry}");

        let brand = json!({ "name": "B" });
        let brand = lab.post("/api/internal/brands").session(&token).json(brand).send().expect(201).json;
        note("brand.created", Value::Null, json!({ "name": "B" }));
        let path = format!("/api/internal/brands/{}", text(&brand["brand"]["id"]));
        lab.patch(&path).session(&token).json(json!({ "name": "C" })).send().expect(200);
        note("brand.renamed", json!({ "name": "B" }), json!({ "name": "C" }));
        lab.delete(&path).session(&token).send().expect(200);
        note("brand.deleted", json!({ "name": "C" }), Value::Null);
        lab.post("/api/auth/sign-out").session(&token).send().expect(200);
        note("session.ended", Value::Null, Value::Null);
        assert_eq!(expected.len(), 13);
    }

    fn media_and_uploads_are_written_down_as_well(lab: Lab) {
        let picture = new_picture(&lab);
        let item = json!({ "storage_path": picture, "tags": ["a"] });
        let item = lab.post("/media-library").key(&lab.key).json(item).send().expect(201).json;
        let id = &item["item"]["id"];
        let change = json!({ "id": id, "tags": ["b"] });
        lab.patch("/media-library").key(&lab.key).json(change).send().expect(200);
        lab.delete("/media-library").key(&lab.key).json(json!({ "id": id })).send().expect(200);

        let actions: Vec<_> = entries(&lab, "").iter().map(|entry| entry["action"].clone()).collect();

        let expected = ["media.deleted", "media.updated", "media.created", "upload.completed", "upload.signed"];
        assert_eq!(actions[..5], expected);
        let updated = &entries(&lab, "&action=media.updated")[0];
        assert_eq!((&updated["before"]["tags"], &updated["after"]["tags"]), (&json!(["a"]), &json!(["b"])));
        assert_eq!(updated["resource_id"], *id);
    }

    fn an_entry_says_who_when_where_and_through_which_door(lab: Lab) {
        let (owner, token) = (lab.owner(), session(&lab));
        let second = new_brand(&lab, "Second");
        let request = lab.post("/posts").key(&lab.key).brand(&second).header("x-request-id", "my-own.id_7");
        let post = request.json(json!({})).send().expect(201).json;

        let by_key = newest(&lab);
        lab.post("/api/internal/posts").session(&token).json(json!({})).send().expect(201);
        let by_session = newest(&lab);
        lab.cli(&["brand", "create", "--user", &lab.email, "--name", "Third"]);
        let by_cli = newest(&lab);

        assert_eq!(by_key["resource"], "post");
        assert_eq!(by_key["resource_id"], post["post"]["id"]);
        assert_eq!((&by_key["brand_id"], &by_key["request_id"]), (&json!(second), &json!("my-own.id_7")));
        assert_eq!((&by_key["created_at"], &by_key["ip"]), (&post["post"]["created_at"], &json!("127.0.0.1")));
        let actor = json!({
            "door": "key", "user_id": owner.user_id, "credential_id": owner.whoami["key"]["id"],
        });
        assert_eq!(by_key["actor"], actor);
        assert_eq!(by_session["actor"]["door"], "session");
        assert!(text(&by_session["actor"]["credential_id"]).starts_with("sess_"));
        let nobody = json!({ "door": "cli", "user_id": null, "credential_id": null });
        assert_eq!((&by_cli["actor"], &by_cli["action"]), (&nobody, &json!("brand.created")));
    }

    fn reading_and_failing_leave_no_entry(lab: Lab) {
        let token = session(&lab);
        let path = post_path(&new_post(&lab, json!({})));
        let before = entries(&lab, "").len();

        lab.get("/posts").key(&lab.key).send().expect(200);
        lab.post("/posts").key(&lab.key).json(json!({ "content": 1 })).send().expect(422);
        let late = json!({ "scheduled_at": "2001-01-01T00:00:00Z" });
        lab.post("/posts").key(&lab.key).json(late).send().expect(422);
        lab.patch(&path).key(&lab.key).header("if-match", "\"old\"").json(json!({})).send().expect(412);
        lab.delete("/posts/post_01hf7yat00000000000000000a").key(&lab.key).send().expect(404);
        lab.delete("/keys/key_01hf7yat00000000000000000a").session(&token).send().expect(404);
        let folder = json!({ "scope": "posts", "folder_path": "nowhere" });
        lab.delete("/content-folders").key(&lab.key).json(folder).send().expect(404);

        assert_eq!(entries(&lab, "").len(), before);
    }

    fn filters_and_pages_work_as_elsewhere(lab: Lab) {
        let owner = lab.owner();
        let second = new_brand(&lab, "Second");
        let posts: Vec<_> = (0..5).map(|_| new_post(&lab, json!({}))).collect();
        lab.post("/posts").key(&lab.key).brand(&second).json(json!({})).send().expect(201);
        lab.delete(&post_path(&posts[0])).key(&lab.key).send().expect(200);
        let id = text(&posts[0]["id"]);
        let count = |filter: &str| entries(&lab, filter).len();
        let all = entries(&lab, "");

        assert_eq!(count("&action=post.created"), 6);
        assert_eq!(count("&resource=post"), 7);
        assert_eq!(count(&format!("&resource_id={id}")), 2);
        assert_eq!(count(&format!("&resource_id={id}&action=post.deleted")), 1);
        assert_eq!(count(&format!("&about_brand_id={second}")), 1);
        assert_eq!(count(&format!("&user_id={}&resource=post", owner.user_id)), 7);
        assert_eq!(count("&user_id=user_01hf7yat00000000000000000a"), 0);
        assert_eq!(count("&action=post.crea_ed"), 0);
        assert_eq!(count(&format!("&from={}", from_now(&lab, HOUR))), 0);
        assert_eq!(count(&format!("&to={}", from_now(&lab, HOUR))), all.len());
        let at = text(&all[0]["created_at"]);
        let same: Vec<_> = entries(&lab, &format!("&from={at}&to={at}"));
        assert!(same.contains(&all[0]), "the ends of a range belong to it");
        let before = time::format(time::parse(at).unwrap() - 1);
        assert!(!entries(&lab, &format!("&to={before}")).contains(&all[0]));

        let ids: Vec<_> = all.iter().map(|entry| text(&entry["id"]).to_owned()).collect();
        assert!(ids.is_sorted_by(|one, other| one > other), "newest first");
        assert_eq!(all_pages(&lab, "/audit-logs?limit=2", "audit_logs", "id"), ids);
        let filtered = all_pages(&lab, "/audit-logs?limit=1&action=post.created", "audit_logs", "id");
        assert_eq!(filtered.len(), 6);
        let wrong = lab.get("/audit-logs?from=now&user_id=me&who=x").key(&lab.key).send();
        expect_faults(wrong, &[("from", "invalid_time"), ("user_id", "invalid_id"), ("who", "unknown_field")]);
    }

    fn a_log_is_its_workspaces_own(lab: Lab) {
        let other = lab.tenant("other");
        new_post(&lab, json!({ "content": "mine" }));

        let theirs = lab.get("/audit-logs?limit=200").key(&other.key).send().expect(200);

        assert!(!theirs.text().contains("mine"));
        assert!(!theirs.text().contains(&lab.owner().user_id));
        assert!(each(&theirs.json["audit_logs"], "action").contains(&"user.created"));
    }

    fn no_secret_is_written_down(lab: Lab) {
        let token = session(&lab);
        let key = json!({ "name": "k", "scopes": ["*"] });
        let key = lab.post("/keys").session(&token).json(key).send().expect(201).json;
        new_picture(&lab);
        let password = "correct horse battery";
        let change = json!({ "current_password": lab.password, "new_password": password });
        lab.put("/settings/password").session(&token).json(change).send().expect(200);
        let other = lab.tenant("other");
        lab.sign_in(&other.email, &other.password);

        let mine = lab.get("/audit-logs?limit=200").key(&lab.key).send().expect(200).text();
        let theirs = lab.get("/audit-logs?limit=200").key(&other.key).send().expect(200).text();

        let made = text(&key["api_key"]);
        for secret in [
            made, &lab.key, &token, &lab.password, password, &other.key, &other.password,
            // Enough of any of them would be too much as well.
            &made[14..40], "$argon2", "password_hash", "signature=", "\"hash\"",
        ] {
            assert!(!mine.contains(secret) && !theirs.contains(secret), "{secret}");
        }
    }

    fn the_chain_holds_beside_a_running_server(lab: Lab) {
        for _ in 0..20 {
            new_post(&lab, json!({}));
        }

        let (content, said) = examine(&lab);
        assert!(content && said.starts_with("ok"), "{said}");
        all_sealed(&lab);
        let (content, said) = examine(&lab);
        assert!(content && said.contains("0 not sealed"), "{said}");
    }

    fn whoever_changes_the_log_by_hand_is_found_out(engine: Engine) {
        for (tampering, what) in TAMPERINGS {
            let lab = Lab::start(engine);
            new_post(&lab, json!({ "content": "words" }));
            all_sealed(&lab);
            lab.stop();
            let (content, said) = examine(&lab);
            assert!(content, "{said}");

            let touched = lab.tamper(tampering);

            assert!(touched > 0, "{what}");
            let (content, said) = examine(&lab);
            assert!(!content && said.contains("broken"), "{what}: {said}");
        }
    }
}
