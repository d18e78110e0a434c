//! Brands: many in one workspace, one at a time in a request.

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both},
    steps::{
        each, expect_faults, list, new_brand, new_picture, new_post, post_path, session, text,
    },
};

#[track_caller]
fn brands(lab: &Lab, key: &str) -> Value {
    lab.get("/brands").key(key).send().expect(200).json["brands"].take()
}

fn path(id: &str) -> String {
    format!("/api/internal/brands/{id}")
}

/// The answer without what is different each time.
fn anonymous(reply: &Reply) -> String {
    reply.text().replace(reply.header("x-request-id").unwrap_or("none"), "…")
}

both! {
    fn a_brand_is_made_renamed_and_deleted_in_a_session(lab: Lab) {
        let token = session(&lab);

        let made = lab.post("/api/internal/brands").session(&token).json(json!({ "name": " Zoë & Co " }));
        let made = made.send().expect(201).json["brand"].take();
        let id = text(&made["id"]);
        let renamed = lab.patch(&path(id)).session(&token).json(json!({ "name": "Zoë" })).send();
        let renamed = renamed.expect(200).json["brand"].take();

        assert_eq!((&made["name"], &made["is_default"]), (&json!("Zoë & Co"), &json!(false)));
        assert_eq!((&renamed["id"], &renamed["name"]), (&made["id"], &json!("Zoë")));
        assert_eq!(each(&brands(&lab, &lab.key), "name"), ["My brand", "Zoë"]);
        let gone = lab.delete(&path(id)).session(&token).send().expect(200);
        assert_eq!(gone.json["deleted"], true);
        assert_eq!(each(&brands(&lab, &lab.key), "name"), ["My brand"]);
        lab.get("/posts").key(&lab.key).brand(id).send().expect_problem(404, "brand_not_found");
        lab.patch(&path(id)).session(&token).json(json!({ "name": "x" })).send().expect_problem(404, "not_found");
        lab.delete(&path(id)).session(&token).send().expect_problem(404, "not_found");
    }

    fn keys_do_not_manage_brands(lab: Lab) {
        let owner = lab.owner();
        let body = json!({ "name": "x" });

        for request in [
            lab.post("/api/internal/brands"),
            lab.patch(&path(&owner.brand_id)),
            lab.delete(&path(&owner.brand_id)),
        ] {
            request.key(&lab.key).json(body.clone()).send().expect_problem(403, "session_required");
        }
        lab.post("/brands").key(&lab.key).json(body).send().expect_problem(405, "method_not_allowed");
        assert_eq!(each(&brands(&lab, &lab.key), "name"), ["My brand"]);
    }

    fn a_brand_needs_a_name_that_can_be_read(lab: Lab) {
        let token = session(&lab);
        for (body, faults) in [
            (json!({}), vec![("name", "required")]),
            (json!({ "name": " " }), vec![("name", "too_short")]),
            (json!({ "name": "x".repeat(121) }), vec![("name", "too_long")]),
            (json!({ "name": "a\u{200b}" }), vec![("name", "invalid_character")]),
            (json!({ "name": null }), vec![("name", "wrong_type")]),
            (json!({ "name": "x", "id": "y", "counts": {}, "z": 1 }), vec![("id", "read_only"), ("counts", "read_only"), ("z", "unknown_field")]),
        ] {
            let reply = lab.post("/api/internal/brands").session(&token).json(body.clone()).send();
            assert_eq!(reply.status, 422, "{body}");
            expect_faults(reply, &faults);
        }
    }

    fn a_list_of_brands_counts_what_they_hold(lab: Lab) {
        let second = new_brand(&lab, "Second");
        let posts: Vec<_> = (0..3).map(|_| post_path(&new_post(&lab, json!({})))).collect();
        let at = crate::steps::from_now(&lab, campanile_model::time::DAY);
        let schedule = json!({ "scheduled_at": at });
        lab.patch(&posts[0]).key(&lab.key).json(schedule).send().expect(200);
        lab.delete(&posts[1]).key(&lab.key).send().expect(200);
        lab.post("/posts").key(&lab.key).brand(&second).json(json!({})).send().expect(201);
        let item = json!({ "storage_path": new_picture(&lab) });
        lab.post("/media-library").key(&lab.key).json(item).send().expect(201);
        let refused = json!({ "scheduled_at": "2001-01-01T00:00:00Z" });
        lab.post("/posts").key(&lab.key).json(refused).send().expect(422);

        let brands = brands(&lab, &lab.key);

        let counts = json!({ "posts": 2, "drafts": 1, "scheduled": 1, "published": 0, "media": 1 });
        assert_eq!(brands[0]["counts"], counts);
        let counts = json!({ "posts": 1, "drafts": 1, "scheduled": 0, "published": 0, "media": 0 });
        assert_eq!((&brands[1]["id"], &brands[1]["counts"]), (&json!(second), &counts));
        assert_eq!((&brands[0]["is_default"], &brands[1]["is_default"]), (&json!(true), &json!(false)));
    }

    fn a_brand_is_named_in_the_header_or_in_the_query(lab: Lab) {
        let (first, second) = (lab.owner().brand_id, new_brand(&lab, "Second"));
        let brand_of = |reply: Reply| reply.expect(201).json["post"]["brand_id"].take();
        let new = |path: &str| lab.post(path).key(&lab.key).json(json!({}));
        let query = |id: &str| format!("/posts?brand_id={id}");

        assert_eq!(brand_of(new("/posts").send()), first.as_str());
        assert_eq!(brand_of(new("/posts").brand(&second).send()), second.as_str());
        assert_eq!(brand_of(new(&query(&second)).send()), second.as_str());
        assert_eq!(brand_of(new(&query(&second)).brand(&second).send()), second.as_str());

        new(&query(&first)).brand(&second).send().expect_problem(400, "brand_conflict");
        let both = format!("{}&brand_id={second}", query(&first));
        new(&both).send().expect_problem(400, "brand_conflict");
        new("/posts").brand(&first).brand(&second).send().expect_problem(400, "duplicate_header");
        new("/posts").brand(&first).brand(&first).send().expect_problem(400, "duplicate_header");
        assert_eq!(list(&lab.get("/posts").key(&lab.key).send().json["posts"]).len(), 1);
    }

    fn a_brand_out_of_reach_is_never_replaced_by_another(lab: Lab) {
        let other = lab.tenant("other");
        let unknown = "brand_01hf7yat00000000000000000a";
        let new = |brand: &str| lab.post("/posts").key(&lab.key).brand(brand).json(json!({})).send();

        let answers = [&other.brand_id, unknown, "nonsense", "", "*", "My brand"].map(|brand| {
            let refused = new(brand).expect_problem(404, "brand_not_found");
            anonymous(&refused)
        });

        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        for key in [&lab.key, &other.key] {
            assert!(list(&lab.get("/posts").key(key).send().expect(200).json["posts"]).is_empty());
        }
    }

    fn foreign_unknown_and_malformed_brands_look_the_same_to_a_session(lab: Lab) {
        let (token, other) = (session(&lab), lab.tenant("other"));
        let unknown = "brand_01hf7yat00000000000000000a";

        for method in ["PATCH", "DELETE"] {
            let answers = [&other.brand_id, unknown, "nonsense", "%00"].map(|id| {
                let request = lab.request(method, &path(id)).session(&token);
                anonymous(&request.json(json!({ "name": "mine" })).send().expect_problem(404, "not_found"))
            });
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        }
        assert_eq!(each(&brands(&lab, &other.key), "name"), ["My brand"]);
    }

    fn the_last_brand_stays_and_the_next_becomes_the_default(lab: Lab) {
        let (token, first) = (session(&lab), lab.owner().brand_id);

        let last = lab.delete(&path(&first)).session(&token).send();
        last.expect_problem(409, "last_brand");
        let second = new_brand(&lab, "Second");
        lab.delete(&path(&first)).session(&token).send().expect(200);

        let post = new_post(&lab, json!({}));
        assert_eq!(post["brand_id"], second.as_str());
        assert_eq!(brands(&lab, &lab.key)[0]["is_default"], true);
        assert_eq!(lab.get("/whoami").key(&lab.key).send().json["brand_id"], second.as_str());
    }

    fn a_colleague_reaches_the_brands_they_are_a_member_of(lab: Lab) {
        let workspace = text(&lab.owner().whoami["workspace"]["id"]).to_owned();
        lab.cli(&[
            "user", "create", "--email", "ada@example.test", "--name", "Ada", "--password",
            "ada's own password", "--workspace", &workspace,
        ]);
        let ada = lab.new_key("ada@example.test", "*");
        let hidden = new_brand(&lab, "Hidden");
        let draft = json!({ "content": "hidden words" });
        lab.post("/posts").key(&lab.key).brand(&hidden).json(draft).send().expect(201);

        assert_eq!(each(&brands(&lab, &ada), "name"), ["My brand"]);
        lab.get("/posts").key(&ada).brand(&hidden).send().expect_problem(404, "brand_not_found");
        let log = lab.get("/audit-logs?limit=200").key(&ada).send().expect(200).text();
        assert!(!log.contains("hidden words"), "the log tells what the brand does not");
        let token = lab.sign_in("ada@example.test", "ada's own password");
        let first = lab.owner().brand_id;
        lab.delete(&path(&first)).session(&token).send().expect_problem(403, "not_permitted");
        lab.delete(&path(&hidden)).session(&token).send().expect_problem(404, "not_found");

        let made = lab.cli(&["brand", "create", "--user", "ada@example.test", "--name", "Ada's"]);
        assert_eq!(each(&brands(&lab, &ada), "name"), ["My brand", "Ada's"]);
        assert!(each(&brands(&lab, &lab.key), "id").contains(&made.as_str()), "owners see all");
    }

    fn a_rename_based_on_an_old_name_is_refused(lab: Lab) {
        let (token, id) = (session(&lab), new_brand(&lab, "First name"));
        let rename = |name: &str, tag: &str| {
            let request = lab.patch(&path(&id)).session(&token).header("if-match", tag);
            request.json(json!({ "name": name })).send()
        };

        let second = rename("Second name", "*").expect(200);
        let tag = second.header("etag").unwrap().to_owned();
        let third = rename("Third name", &tag).expect(200);
        rename("Late", &tag).expect_problem(412, "precondition_failed");

        assert_ne!(third.header("etag"), Some(tag.as_str()));
        assert_eq!(each(&brands(&lab, &lab.key), "name"), ["My brand", "Third name"]);
    }
}
