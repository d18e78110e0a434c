//! One post: made, read, changed, deleted.

use campanile_model::time::{DAY, HOUR, SECOND};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, both},
    steps::{
        all_pages, expect_faults, from_now, list, new_picture, new_picture_of, new_post, post_path,
        text,
    },
};

/// What the service alone decides.
const READ_ONLY: [&str; 7] =
    ["id", "brand_id", "status", "created_by", "created_at", "updated_at", "published_at"];

#[track_caller]
fn change(lab: &Lab, path: &str, changes: Value) -> Value {
    lab.patch(path).key(&lab.key).json(changes).send().expect(200).json["post"].take()
}

#[track_caller]
fn refuse_change(lab: &Lab, path: &str, changes: Value, faults: &[(&str, &str)]) {
    expect_faults(lab.patch(path).key(&lab.key).json(changes).send(), faults);
}

#[track_caller]
fn refuse_new(lab: &Lab, draft: Value, faults: &[(&str, &str)]) {
    expect_faults(lab.post("/posts").key(&lab.key).json(draft).send(), faults);
}

both! {
    fn a_post_about_nothing_is_a_draft_with_every_field(lab: Lab) {
        let owner = lab.owner();

        let post = new_post(&lab, json!({}));

        let expected = json!({
            "id": post["id"], "brand_id": owner.brand_id, "status": "Draft", "content": "",
            "targets": [], "media_url": null, "media": [], "tags": [], "videohost": null,
            "folder_path": null, "scheduled_at": null, "published_at": null,
            "created_by": owner.user_id, "created_at": post["created_at"],
            "updated_at": post["created_at"],
        });
        assert_eq!(post, expected);
        assert!(text(&post["id"]).starts_with("post_"));
    }

    fn a_post_keeps_what_it_was_given(lab: Lab) {
        let at = from_now(&lab, 3 * DAY);
        let elsewhere = at.replace('Z', "+00:00");
        let draft = json!({
            "content": "Glocken läuten 🔔\nzweimal", "tags": ["b", "a", "b", "  a "],
            "folder_path": "campaigns/2026", "scheduled_at": elsewhere,
            "videohost": {
                "title": "Bells", "privacy": "unlisted", "made_for_kids": false, "tags": ["bell"],
                "publish_at": "2030-01-01T01:00:00+01:00",
            },
        });

        let created = lab.post("/posts").key(&lab.key).json(draft).send().expect(201);

        let post = &created.json["post"];
        assert_eq!(post["content"], "Glocken läuten 🔔\nzweimal");
        assert_eq!(post["tags"], json!(["b", "a"]), "the same tag twice is one tag");
        assert_eq!(post["folder_path"], "campaigns/2026");
        assert_eq!((&post["status"], &post["scheduled_at"]), (&json!("Scheduled"), &json!(at)));
        assert_eq!(post["videohost"]["title"], "Bells");
        assert_eq!(post["videohost"]["made_for_kids"], false);
        assert_eq!(post["videohost"]["publish_at"], "2030-01-01T00:00:00.000Z");
        assert_eq!(post["videohost"]["thumbnail"], Value::Null);
        let read = lab.get(&post_path(post)).key(&lab.key).send().expect(200);
        assert_eq!(read.body, created.body);
        assert_eq!(read.header("etag"), created.header("etag"));
        let listed = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(listed["posts"], json!([post]));
    }

    fn awkward_characters_come_back_as_they_went(lab: Lab) {
        let awkward = "\"quoted\" \\ back / slash {} [] \u{1}\u{7f}\u{2028}\t\r\n🔔 e\u{301}";
        let draft = json!({
            "content": awkward, "tags": ["\"a\"", "b\\", "{}"], "folder_path": "it's/\"here\"",
            "videohost": { "description": awkward },
        });

        let post = new_post(&lab, draft.clone());

        for field in ["content", "tags", "folder_path"] {
            assert_eq!(post[field], draft[field]);
        }
        assert_eq!(post["videohost"]["description"], awkward);
        let read = lab.get(&post_path(&post)).key(&lab.key).send().expect(200).json;
        assert_eq!(read["post"], post);
        let listed = lab.get("/posts?tag=%22a%22").key(&lab.key).send().expect(200).json;
        assert_eq!(listed["posts"], json!([post]));
    }

    fn a_change_touches_nothing_but_what_it_names(lab: Lab) {
        let picture = new_picture(&lab);
        let at = from_now(&lab, DAY);
        let post = new_post(&lab, json!({
            "content": "Before", "tags": ["a"], "folder_path": "f", "scheduled_at": at,
            "media_url": picture, "videohost": { "title": "Title" },
        }));
        let path = post_path(&post);

        for (field, value) in [
            ("content", json!("After")),
            ("tags", json!(["c", "b"])),
            ("folder_path", json!("g/h")),
            ("videohost", json!({ "description": "words" })),
        ] {
            let before = lab.get(&path).key(&lab.key).send().expect(200).json["post"].take();
            let after = change(&lab, &path, json!({ field: value }));

            let changed: Vec<_> = after
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, now)| before[name.as_str()] != **now)
                .map(|(name, _)| name.as_str())
                .filter(|name| *name != "updated_at")
                .collect();
            assert_eq!(changed, [field]);
        }
        let untouched = change(&lab, &path, json!({}));
        assert_eq!(untouched["created_at"], post["created_at"]);
        assert_eq!(untouched["media_url"], picture.as_str());
    }

    fn null_empties_a_field_and_an_empty_text_is_only_a_text(lab: Lab) {
        let picture = new_picture(&lab);
        let draft = json!({
            "content": "Before", "tags": ["a"], "folder_path": "f", "media_url": picture,
            "scheduled_at": from_now(&lab, DAY), "videohost": { "title": "Title" },
        });
        let path = post_path(&new_post(&lab, draft));

        for (field, emptied, wrong) in [
            ("content", json!(""), None),
            ("tags", json!([]), Some("wrong_type")),
            ("folder_path", Value::Null, Some("invalid_folder_path")),
            ("scheduled_at", Value::Null, Some("invalid_time")),
            ("videohost", Value::Null, Some("wrong_type")),
            ("media_url", Value::Null, Some("must_be_storage_path")),
            ("media", json!([]), Some("wrong_type")),
            ("targets", json!([]), Some("wrong_type")),
        ] {
            match wrong {
                Some(code) => refuse_change(&lab, &path, json!({ field: "" }), &[(field, code)]),
                None => assert_eq!(change(&lab, &path, json!({ field: "" }))[field], ""),
            }
            assert_eq!(change(&lab, &path, json!({ field: null }))[field], emptied, "{field}");
        }
        let empty = lab.get(&path).key(&lab.key).send().expect(200).json["post"].take();
        assert_eq!(empty["status"], "Draft", "without a time it is a draft again");
        assert_eq!(empty["media"], json!([]));
    }

    fn a_time_schedules_a_post_and_no_time_makes_it_a_draft(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({})));
        let at = from_now(&lab, HOUR);

        let scheduled = change(&lab, &path, json!({ "scheduled_at": at }));
        let draft = change(&lab, &path, json!({ "scheduled_at": null }));

        assert_eq!((&scheduled["status"], &scheduled["scheduled_at"]), (&json!("Scheduled"), &json!(at)));
        assert_eq!((&draft["status"], &draft["scheduled_at"]), (&json!("Draft"), &Value::Null));
    }

    fn a_schedule_lies_ahead_and_within_reach(lab: Lab) {
        let just_passed = from_now(&lab, -30 * SECOND);
        new_post(&lab, json!({ "scheduled_at": just_passed }));
        new_post(&lab, json!({ "scheduled_at": from_now(&lab, 4 * 365 * DAY) }));

        for (at, code) in [
            (from_now(&lab, -HOUR), "in_past"),
            ("1999-12-31T23:59:59Z".to_owned(), "in_past"),
            (from_now(&lab, 6 * 366 * DAY), "too_far"),
            ("9999-12-30T00:00:00Z".to_owned(), "too_far"),
            ("2030-01-01T09:30:00".to_owned(), "invalid_time"),
            ("2030-01-01".to_owned(), "invalid_time"),
            ("2030-02-30T09:30:00Z".to_owned(), "invalid_time"),
            ("tomorrow".to_owned(), "invalid_time"),
        ] {
            refuse_new(&lab, json!({ "scheduled_at": at }), &[("scheduled_at", code)]);
        }
        refuse_new(&lab, json!({ "scheduled_at": 1_900_000_000 }), &[("scheduled_at", "wrong_type")]);
    }

    fn a_time_before_the_year_nought_does_no_lasting_harm(lab: Lab) {
        let draft = json!({ "videohost": { "publish_at": "0000-01-01T00:00:00+14:00" } });
        let reply = lab.post("/posts").key(&lab.key).json(draft).send();

        // Refused or taken are both good answers; a post that nobody can touch again is not.
        if reply.status == 201 {
            let path = post_path(&reply.json["post"]);
            change(&lab, &path, json!({ "content": "still mine" }));
            lab.delete(&path).key(&lab.key).send().expect(200);
        } else {
            expect_faults(reply, &[("videohost.publish_at", "invalid_time")]);
        }
    }

    fn a_deleted_post_is_unknown_everywhere(lab: Lab) {
        let post = new_post(&lab, json!({ "content": "short", "tags": ["a"], "folder_path": "f" }));
        let path = post_path(&post);

        let gone = lab.delete(&path).key(&lab.key).send().expect(200);

        assert_eq!(gone.json["deleted"], true);
        lab.get(&path).key(&lab.key).send().expect_problem(404, "not_found");
        lab.delete(&path).key(&lab.key).send().expect_problem(404, "not_found");
        let change = lab.patch(&path).key(&lab.key).json(json!({ "content": "back" })).send();
        change.expect_problem(404, "not_found");
        for list in ["/posts", "/posts?tag=a", "/posts?folder=f", "/posts?text=short"] {
            assert!(all_pages(&lab, list, "posts", "id").is_empty(), "{list}");
        }
    }

    fn every_fault_of_a_body_is_told_at_once(lab: Lab) {
        let draft = json!({
            "content": 5, "tags": ["", 7, "x".repeat(65), "a\u{202e}b"], "folder_path": "a//b",
            "scheduled_at": "soon", "media_url": "https://example.org/a.jpg",
            "media": [{ "alt_text": "no path" }, { "storage_path": "x", "size": 1 }],
            "videohost": { "privacy": "secret", "made_for_kids": "no", "title": "" },
            "targets": [{}], "colour": "red", "id": "post_1",
        });
        let expected = [
            ("content", "wrong_type"),
            ("tags[0]", "too_short"),
            ("tags[1]", "wrong_type"),
            ("tags[2]", "too_long"),
            ("tags[3]", "invalid_character"),
            ("folder_path", "invalid_folder_path"),
            ("scheduled_at", "invalid_time"),
            ("media_url", "must_be_storage_path"),
            ("media[0].storage_path", "required"),
            ("media[1].storage_path", "must_be_storage_path"),
            ("media[1].size", "unknown_field"),
            ("videohost.privacy", "invalid_choice"),
            ("videohost.made_for_kids", "wrong_type"),
            ("videohost.title", "too_short"),
            ("targets[0].connection_id", "required"),
            ("colour", "unknown_field"),
            ("id", "read_only"),
        ];

        refuse_new(&lab, draft.clone(), &expected);
        refuse_change(&lab, &post_path(&new_post(&lab, json!({}))), draft, &expected);
        for (wrong, code) in [(json!([]), "wrong_type"), (json!("text"), "wrong_type")] {
            refuse_new(&lab, wrong, &[("", code)]);
        }
    }

    fn faults_of_form_and_of_sense_are_told_together(lab: Lab) {
        let draft = json!({ "content": 5, "scheduled_at": "2001-01-01T00:00:00Z" });

        refuse_new(&lab, draft, &[("content", "wrong_type"), ("scheduled_at", "in_past")]);
    }

    fn what_the_service_decides_cannot_be_sent(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({})));
        let body: Value = READ_ONLY.iter().map(|name| ((*name).to_owned(), json!("x"))).collect::<serde_json::Map<_, _>>().into();
        let expected = READ_ONLY.map(|name| (name, "read_only"));

        refuse_new(&lab, body.clone(), &expected);
        refuse_change(&lab, &path, body, &expected);
    }

    fn media_url_and_media_never_disagree(lab: Lab) {
        let (first, second) = (new_picture(&lab), new_picture(&lab));
        let entry = |path: &str| json!({ "storage_path": path, "alt_text": null });

        let one = new_post(&lab, json!({ "media_url": first }));
        assert_eq!(one["media"], json!([entry(&first)]));
        let described = json!([{ "storage_path": second, "alt_text": "a dot" }, entry(&first)]);
        let path = post_path(&one);
        let two = change(&lab, &path, json!({ "media": described }));
        assert_eq!((&two["media_url"], &two["media"]), (&json!(second), &described));
        let both = json!({ "media_url": first, "media": [entry(&first), entry(&second)] });
        assert_eq!(change(&lab, &path, both)["media_url"], first.as_str());

        let conflict = [("media_url", "media_conflict")];
        let crossed = json!({ "media_url": second, "media": [entry(&first)] });
        refuse_change(&lab, &path, crossed.clone(), &conflict);
        refuse_new(&lab, crossed, &conflict);
        refuse_new(&lab, json!({ "media_url": first, "media": [] }), &conflict);
        let kept = lab.get(&path).key(&lab.key).send().expect(200).json;
        assert_eq!(kept["post"]["media"].as_array().map(Vec::len), Some(2));
    }

    fn media_is_what_the_brand_has_in_storage(lab: Lab) {
        let other = lab.tenant("other");
        let foreign = new_picture_of(&lab, &other.key);
        let own = new_picture(&lab);
        let unknown = own.replace("media_", "media_0");

        refuse_new(&lab, json!({ "media_url": "https://example.org/a.png" }), &[("media_url", "must_be_storage_path")]);
        refuse_new(&lab, json!({ "media_url": foreign }), &[("media_url", "media_not_found")]);
        let references = [&own, &foreign, &unknown].map(|path| json!({ "storage_path": path }));
        let expected =
            [("media[1].storage_path", "media_not_found"), ("media[2].storage_path", "media_not_found")];
        refuse_new(&lab, json!({ "media": references }), &expected);
        let thumbnail = json!({ "videohost": { "thumbnail": foreign } });
        refuse_new(&lab, thumbnail, &[("videohost.thumbnail", "media_not_found")]);
        assert!(all_pages(&lab, "/posts", "posts", "id").is_empty());
    }

    fn checking_stores_nothing(lab: Lab) {
        let check = |draft: Value| lab.post("/posts?validate_only=true").key(&lab.key).json(draft).send();

        assert_eq!(check(json!({ "folder_path": "a" })).expect(200).json, json!({ "valid": true }));
        let wrong = json!({ "scheduled_at": "2001-01-01T00:00:00Z", "media_url": "x" });
        expect_faults(
            check(wrong),
            &[("media_url", "must_be_storage_path"), ("scheduled_at", "in_past")],
        );
        let past = check(json!({ "scheduled_at": "2001-01-01T00:00:00Z" }));
        expect_faults(past, &[("scheduled_at", "in_past")]);

        assert!(all_pages(&lab, "/posts", "posts", "id").is_empty());
        let folders = lab.get("/content-folders?scope=posts").key(&lab.key).send().expect(200);
        assert!(list(&folders.json["folders"]).is_empty());
        assert!(all_pages(&lab, "/audit-logs?resource=post", "audit_logs", "id").is_empty());
    }

    fn a_target_must_be_a_connection_of_the_brand(lab: Lab) {
        let unknown = json!({ "connection_id": "conn_01hf7yat00000000000000000a" });
        let misspelt = json!({ "connection_id": "bluesky" });

        refuse_new(&lab, json!({ "targets": [unknown, misspelt] }), &[("targets[1].connection_id", "invalid_id")]);
        refuse_new(&lab, json!({ "targets": [unknown] }), &[("targets[0].connection_id", "connection_not_found")]);
    }

    fn lengths_are_counted_in_characters_and_have_an_end(lab: Lab) {
        let longest = "ä".repeat(100_000);
        assert_eq!(new_post(&lab, json!({ "content": longest }))["content"], longest.as_str());
        let tags: Vec<_> = (0..50).map(|number| format!("{number}{}", "ü".repeat(60))).collect();
        assert_eq!(list(&new_post(&lab, json!({ "tags": tags }))["tags"]).len(), 50);

        refuse_new(&lab, json!({ "content": longest + "!" }), &[("content", "too_long")]);
        let too_many: Vec<_> = (0..51).map(|number| number.to_string()).collect();
        refuse_new(&lab, json!({ "tags": too_many }), &[("tags", "too_many")]);
        refuse_new(&lab, json!({ "content": "a\0b" }), &[("content", "invalid_character")]);
    }

    fn publishing_now_takes_a_scope_of_its_own(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({ "content": "ready" })));
        let writer = lab.new_key(&lab.email, "posts:write");
        let publisher = lab.new_key(&lab.email, "posts:write,posts:publish");
        let now = |key: &str| {
            lab.patch(&path).key(key).json(json!({ "action": "publish_now" })).send()
        };

        let refused = now(&writer).expect_problem(403, "insufficient_scope");
        expect_faults(now(&publisher), &[("targets", "required")]);

        assert_eq!(refused.json["required_scopes"], json!(["posts:publish"]));
        assert_eq!(refused.json["granted_scopes"], json!(["posts:write"]));
        let after = lab.get(&path).key(&lab.key).send().expect(200).json;
        assert_eq!(after["post"]["status"], "Draft");
        refuse_change(&lab, &path, json!({ "action": "explode" }), &[("action", "invalid_choice")]);
    }
}
