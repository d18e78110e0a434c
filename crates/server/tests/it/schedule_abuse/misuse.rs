//! API3, API4, API6: fields that are not the caller's, too much at once, and tricks with time.

use std::collections::BTreeSet;

use campanile_model::time::{self, SECOND};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, both, wait_until},
    publishing::{job_of, outcome, publish_now, sandbox, timeline},
    steps::{each, expect_faults, from_now, list, new_post, text},
};

fn planned(lab: &Lab) -> (String, Value) {
    let connection = sandbox(lab, "news");
    let post = new_post(
        lab,
        json!({
            "content": "words", "scheduled_at": from_now(lab, 3600 * SECOND),
            "targets": [{ "connection_id": connection }],
        }),
    );
    (format!("/schedule/{}", text(&job_of(lab, &post)["id"])), post)
}

#[track_caller]
fn expect_fields(found: &Value, expected: &[&str]) {
    let found: BTreeSet<_> = found.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, expected.iter().copied().collect());
}

both! {
    // 3.01
    fn a_new_time_is_all_that_can_be_given_to_a_job(lab: Lab) {
        let (path, post) = planned(&lab);
        let before = job_of(&lab, &post);
        for field in ["state", "id", "post_id", "targets", "late", "attempts", "created_by"] {
            let mut body = json!({ "scheduled_at": from_now(&lab, 60 * SECOND) });
            body[field] = json!("succeeded");
            let refused = lab.patch(&path).key(&lab.key).json(body).send();
            expect_faults(refused, &[(field, "unknown_field")]);
        }
        assert_eq!(job_of(&lab, &post), before);
    }

    // 3.06, 3.07
    fn answers_have_the_fields_they_should_and_no_others(lab: Lab) {
        let (_, post) = planned(&lab);
        publish_now(&lab, &post);
        let job = outcome(&lab, &post);
        expect_fields(&job, &[
            "id", "post_id", "state", "scheduled_at", "late", "cancel_requested", "targets",
            "attempts", "created_at", "updated_at", "started_at", "finished_at",
        ]);
        expect_fields(&job["targets"][0], &[
            "connection_id", "platform", "outcome", "stage", "published", "attempts",
            "next_attempt_at", "failure",
        ]);
        expect_fields(&job["attempts"][0], &[
            "target", "part", "attempt", "state", "class", "code", "message", "repeat_is_safe",
            "retry_at", "finished_at",
        ]);
        let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
        expect_fields(&found["connections"][0], &[
            "id", "platform", "remote_id", "handle", "server", "status", "scopes", "created_at",
            "updated_at",
        ]);
        let found = lab.get("/platforms").key(&lab.key).send().expect(200).json;
        for platform in list(&found["platforms"]) {
            expect_fields(platform, &[
                "id", "name", "ready", "connect", "post_types", "options", "limits", "connections",
            ]);
        }
    }

    // X.09
    fn a_job_cannot_be_moved_to_a_time_that_is_none(lab: Lab) {
        let (path, post) = planned(&lab);
        let before = job_of(&lab, &post);
        for time in [
            json!("9999-12-31T23:59:60Z"), json!("10000-01-01T00:00:00Z"), json!(-1), json!(1e308),
            json!("NaN"), json!("2030-01-01T00:00:00+25:00"), json!("2030-01-01T00:00:00"),
            json!("2030-01-01"), json!(1_893_456_000), json!(null), json!(true), json!([]),
            json!("2020-01-01T00:00:00Z"), json!("2130-01-01T00:00:00Z"), json!(""),
            json!("2030-02-30T00:00:00Z"), json!("2030-01-01T00:00:00Z\u{0}"),
        ] {
            let body = json!({ "scheduled_at": time });
            let refused = lab.patch(&path).key(&lab.key).json(body).send();
            let refused = refused.expect_problem(422, "validation_failed");
            assert_eq!(text(&refused.json["errors"][0]["field"]), "scheduled_at", "{time}");
        }
        assert_eq!(job_of(&lab, &post), before);
    }

    // 4.09, X.15
    fn filters_of_the_schedule_are_taken_literally(lab: Lab) {
        planned(&lab);
        for limit in ["-1", "0", "201", "1e9", "9223372036854775808", "ten", "", "1.5"] {
            let refused = lab.get(&format!("/schedule?limit={limit}")).key(&lab.key).send();
            let refused = refused.expect_problem(422, "validation_failed");
            assert_eq!(text(&refused.json["errors"][0]["field"]), "limit", "{limit}");
        }
        for query in ["status=Queued", "status=done", "post_id=x", "post_id=%25", "since=1"] {
            let refused = lab.get(&format!("/schedule?{query}")).key(&lab.key).send();
            refused.expect_problem(422, "validation_failed");
        }
        for tag in ["%25", "_", "'", "' OR 1=1 --", "*"] {
            let path = format!("/schedule?tag={}", crate::steps::encoded(tag));
            let found = lab.get(&path).key(&lab.key).send();
            if found.status == 200 {
                assert_eq!(found.json["publish_jobs"], json!([]), "{tag}");
            } else {
                found.expect_problem(422, "validation_failed");
            }
        }
    }

    // 4.15
    fn the_flood_of_one_does_not_make_another_late(lab: Lab) {
        let guest = lab.tenant("guest");
        let connection = sandbox(&lab, "flood");
        let form = json!({ "handle": "calm" });
        let made = lab.post("/connections/sandbox").key(&guest.key).json(form).send().expect(201);
        let at = from_now(&lab, 5 * SECOND);
        let draft = |connection: &Value, outcome: &str| json!({
            "content": "words", "scheduled_at": at,
            "targets": [{ "connection_id": connection, "options": { "outcome": outcome } }],
        });
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| for _ in 0..75 {
                    new_post(&lab, draft(&json!(connection), "slow"));
                });
            }
        });
        let draft = draft(&made.json["connection"]["id"], "success");
        lab.post("/posts").key(&guest.key).json(draft).send().expect(201);

        let job = || lab.get("/schedule").key(&guest.key).send().expect(200).json["publish_jobs"][0].take();
        wait_until("the one post of the other is out", || job()["state"] == "succeeded");

        let finished = time::parse(text(&job()["finished_at"])).unwrap();
        let lateness = finished - time::parse(&at).unwrap();
        assert!(lateness < 2 * SECOND, "{lateness} ms late");
    }

    // 6.07
    fn an_account_that_is_removed_while_it_publishes_is_not_used_again(lab: Lab) {
        let connection = sandbox(&lab, "news");
        let options = json!({ "outcome": "slow", "thread": ["second"] });
        let post = new_post(&lab, json!({
            "content": "first", "targets": [{ "connection_id": connection, "options": options }],
        }));
        publish_now(&lab, &post);
        wait_until("the call has begun", || {
            job_of(&lab, &post)["targets"][0]["stage"] == "calling"
        });

        lab.delete("/connections/sandbox").key(&lab.key).send().expect(200);

        let job = outcome(&lab, &post);
        assert_eq!(timeline(&lab, "news"), ["first"], "the call in flight and no other: {job}");
        assert_eq!(list(&job["targets"][0]["published"]).len(), 1, "{job}");
        assert!(["failed", "partially_succeeded"].contains(&text(&job["state"])), "{job}");
        assert_eq!(text(&job["targets"][0]["failure"]["code"]), "connection_gone", "{job}");
    }

    // 6.10
    fn clearing_attempts_clears_nothing_else(lab: Lab) {
        let (path, post) = planned(&lab);
        lab.delete(&path).key(&lab.key).send().expect(200);
        let before = job_of(&lab, &post);

        lab.delete("/schedule/attempts?scope=all").key(&lab.key).send().expect(200);

        assert_eq!(job_of(&lab, &post), before);
        assert_eq!(text(&before["state"]), "canceled");
        for scope in ["ALL", "all,failed", "", "canceled"] {
            let path = format!("/schedule/attempts?scope={scope}");
            lab.delete(&path).key(&lab.key).send().expect_problem(422, "validation_failed");
        }
    }

    fn an_account_that_many_connect_at_once_is_connected_once(lab: Lab) {
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let connect = || {
                let request = lab.post("/connections/sandbox").key(&lab.key);
                let reply = request.json(json!({ "handle": "news" })).send();
                assert!([200, 201].contains(&reply.status), "{}", reply.text());
                reply.status
            };
            let threads: Vec<_> = (0..12).map(|_| scope.spawn(connect)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
        let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
        assert_eq!(each(&found["connections"], "handle"), ["news"]);
    }
}
