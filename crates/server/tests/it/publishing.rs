//! From a post to the world: jobs, their outcomes, and changing one's mind.

use campanile_model::time::{self, SECOND};
use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both, wait_until},
    steps::{each, expect_faults, from_now, list, new_picture, new_post, post_path, text},
};

/// Connects an account of the sandbox and returns its id.
#[track_caller]
pub(crate) fn sandbox(lab: &Lab, handle: &str) -> String {
    let request = lab.post("/connections/sandbox").key(&lab.key);
    let made = request.json(json!({ "handle": handle })).send().expect(201).json;
    text(&made["connection"]["id"]).to_owned()
}

/// What the sandbox shows of an account, newest first.
#[track_caller]
pub(crate) fn timeline(lab: &Lab, handle: &str) -> Vec<String> {
    let found = lab.get(&format!("/api/sandbox/{handle}")).key(&lab.key).send().expect(200).json;
    let texts = list(&found["posts"]).iter().map(|post| text(&post["content"]["text"]));
    texts.map(str::to_owned).collect()
}

fn to(connection: &str, content: &str, outcome: &str) -> Value {
    json!({
        "content": content,
        "targets": [{ "connection_id": connection, "options": { "outcome": outcome } }],
    })
}

#[track_caller]
pub(crate) fn publish_now(lab: &Lab, post: &Value) -> Value {
    let path = format!("{}/publish-now", post_path(post));
    lab.post(&path).key(&lab.key).send().expect(202).json["publish_job"].take()
}

#[track_caller]
pub(crate) fn job_of(lab: &Lab, post: &Value) -> Value {
    let path = format!("/schedule?post_id={}", text(&post["id"]));
    let found = lab.get(&path).key(&lab.key).send().expect(200).json;
    found["publish_jobs"].get(0).cloned().unwrap_or_default()
}

/// Waits until a job of the post is over.
#[track_caller]
pub(crate) fn outcome(lab: &Lab, post: &Value) -> Value {
    wait_until("the job is over", || {
        !["queued", "running"].contains(&text(&job_of(lab, post)["state"]))
    });
    job_of(lab, post)
}

fn status(lab: &Lab, post: &Value) -> String {
    let post = lab.get(&post_path(post)).key(&lab.key).send().expect(200).json;
    text(&post["post"]["status"]).to_owned()
}

// On PostgreSQL another process might be at it.
#[test]
fn a_renewal_that_a_power_cut_ended_is_not_waited_for() {
    let lab = Lab::start(Engine::Sqlite);
    let account = sandbox(&lab, "news");
    let post = new_post(&lab, to(&account, "never", "expired_token"));
    lab.kill();
    lab.tamper("UPDATE connections SET renewing_until = 9000000000000000");
    lab.begin();
    publish_now(&lab, &post);

    let job = outcome(&lab, &post);

    assert_eq!(text(&job["targets"][0]["failure"]["class"]), "auth", "{job}");
}

both! {
    fn a_post_goes_out_once_and_not_before_its_time(lab: Lab) {
        let account = sandbox(&lab, "news");
        let at = from_now(&lab, 2 * SECOND);
        let mut draft = to(&account, "good morning", "success");
        draft["scheduled_at"] = json!(at);
        let post = new_post(&lab, draft);
        assert_eq!(text(&post["status"]), "Scheduled");

        let job = outcome(&lab, &post);

        assert_eq!(text(&job["state"]), "succeeded");
        assert!(text(&job["started_at"]) >= at.as_str(), "{job}");
        assert_eq!(job["late"], false);
        assert_eq!(timeline(&lab, "news"), ["good morning"]);
        assert_eq!(status(&lab, &post), "Published");
        let seen = &job["targets"][0];
        assert_eq!((text(&seen["outcome"]), seen["attempts"].as_i64()), ("published", Some(1)));
        assert!(text(&seen["published"][0]["url"]).starts_with(&lab.origin()));
        assert_eq!(text(&job["attempts"][0]["state"]), "succeeded");
        let counts = lab.get("/brands").key(&lab.key).send().expect(200).json;
        assert_eq!(counts["brands"][0]["counts"]["published"], 1, "{counts}");
        assert_eq!(counts["brands"][0]["counts"]["scheduled"], 0, "{counts}");
    }

    fn the_sandbox_shows_every_outcome(lab: Lab) {
        let expected = [
            ("success", "succeeded", "published", "Published"),
            ("slow", "succeeded", "published", "Published"),
            ("lost_answer", "succeeded", "published", "Published"),
            ("transient_failure", "succeeded", "published", "Published"),
            ("rate_limit", "succeeded", "published", "Published"),
            ("rejection", "failed", "rejected", "Failed"),
            ("expired_token", "failed", "rejected", "Failed"),
            ("unknown", "needs_attention", "unknown", "NeedsAttention"),
        ];
        let posts: Vec<_> = expected
            .iter()
            .map(|(outcome, ..)| {
                // An account of its own, since a rate limit makes the whole account rest.
                let account = sandbox(&lab, outcome);
                let post = new_post(&lab, to(&account, outcome, outcome));
                publish_now(&lab, &post);
                post
            })
            .collect();
        for ((wish, state, target, shown), post) in expected.iter().zip(&posts) {
            let job = outcome(&lab, post);
            assert_eq!(text(&job["state"]), *state, "{wish}: {job}");
            assert_eq!(text(&job["targets"][0]["outcome"]), *target, "{wish}");
            assert_eq!(status(&lab, post), *shown, "{wish}");
            let out = usize::from(*target == "published");
            assert_eq!(timeline(&lab, wish).len(), out, "{wish}");
        }
        let connections = lab.get("/connections").key(&lab.key).send().expect(200).json;
        let expired = list(&connections["connections"]).iter().find(|c| c["status"] == "expired");
        assert_eq!(text(&expired.unwrap()["handle"]), "expired_token");
    }

    fn a_thread_goes_out_part_by_part(lab: Lab) {
        let account = sandbox(&lab, "news");
        let options = json!({ "thread": ["two", "three"] });
        let post = new_post(&lab, json!({
            "content": "one", "targets": [{ "connection_id": account, "options": options }],
        }));
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);

        assert_eq!(list(&job["targets"][0]["published"]).len(), 3);
        assert_eq!(timeline(&lab, "news"), ["three", "two", "one"]);
    }

    fn one_target_does_not_hold_another_back(lab: Lab) {
        let (good, bad) = (sandbox(&lab, "good"), sandbox(&lab, "bad"));
        let post = new_post(&lab, json!({
            "content": "to both",
            "targets": [
                { "connection_id": bad, "options": { "outcome": "rejection" } },
                { "connection_id": good, "content": "to the good one" },
            ],
        }));
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);

        assert_eq!(text(&job["state"]), "partially_succeeded");
        assert_eq!(status(&lab, &post), "PartiallyPublished");
        assert_eq!(each(&job["targets"], "outcome"), ["rejected", "published"]);
        assert_eq!(timeline(&lab, "good"), ["to the good one"]);

        // Again: only the account that does not have it yet is tried.
        publish_now(&lab, &post);
        let job = outcome(&lab, &post);
        assert_eq!(text(&job["targets"][0]["connection_id"]), bad);
        assert_eq!(timeline(&lab, "good").len(), 1);
    }

    fn what_is_out_on_one_account_is_neither_rewritten_nor_planned_anew(lab: Lab) {
        let (good, lost) = (sandbox(&lab, "good"), sandbox(&lab, "lost"));
        let post = new_post(&lab, json!({
            "content": "to both",
            "targets": [
                { "connection_id": good },
                { "connection_id": lost, "options": { "outcome": "unknown" } },
            ],
        }));
        publish_now(&lab, &post);
        assert_eq!(text(&outcome(&lab, &post)["state"]), "needs_attention");

        for change in [
            json!({ "scheduled_at": from_now(&lab, 2 * SECOND) }),
            json!({ "content": "other words" }),
        ] {
            let request = lab.patch(&post_path(&post)).key(&lab.key).json(change);
            request.send().expect_problem(409, "post_busy");
        }

        // Only the account that may not have it is tried again, when somebody says so.
        publish_now(&lab, &post);
        outcome(&lab, &post);
        assert_eq!(timeline(&lab, "good").len(), 1);
    }

    fn what_is_out_everywhere_is_not_published_again(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "once", "success"));
        publish_now(&lab, &post);
        outcome(&lab, &post);

        let path = format!("{}/publish-now", post_path(&post));
        lab.post(&path).key(&lab.key).send().expect_problem(409, "already_published");

        assert_eq!(timeline(&lab, "news").len(), 1);
    }

    fn publishing_through_a_patch_needs_both_scopes_and_is_all_or_nothing(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "first", "success"));
        let now = |key: &str, content: &str| {
            let body = json!({ "action": "publish_now", "content": content });
            lab.patch(&post_path(&post)).key(key).json(body).send()
        };
        let writer = lab.new_key(&lab.email, "posts:write");
        now(&writer, "second").expect_problem(403, "insufficient_scope");
        assert_eq!(status(&lab, &post), "Draft");
        // A text that the account does not take: neither the text nor the job is stored.
        now(&lab.key, &"x".repeat(5001)).expect_problem(422, "validation_failed");
        assert!(job_of(&lab, &post).is_null());

        let both = lab.new_key(&lab.email, "posts:write,posts:publish");
        let answer = now(&both, "third").expect(200).json;

        assert_eq!(text(&answer["publish_job"]["state"]), "queued");
        outcome(&lab, &post);
        assert_eq!(timeline(&lab, "news"), ["third"]);
    }

    fn targets_are_checked_before_anything_is_stored(lab: Lab) {
        let account = sandbox(&lab, "news");
        let foreign = lab.tenant("other");
        let stranger = {
            let request = lab.post("/connections/sandbox").key(&foreign.key);
            let made = request.json(json!({})).send().expect(201).json;
            text(&made["connection"]["id"]).to_owned()
        };
        let draft = json!({
            "content": "x".repeat(5001),
            "scheduled_at": from_now(&lab, 60 * SECOND),
            "targets": [
                { "connection_id": account, "options": { "poll": {
                    "options": ["a", "b"], "expires_in_seconds": 600 } } },
                { "connection_id": account },
                { "connection_id": stranger },
            ],
        });
        let expected = [
            ("targets[0].content", "too_long"),
            ("targets[0].options.poll", "option_not_supported"),
            ("targets[1].connection_id", "duplicate_target"),
            ("targets[2].connection_id", "connection_not_found"),
        ];
        for path in ["/posts", "/posts?validate_only=true"] {
            expect_faults(lab.post(path).key(&lab.key).json(draft.clone()).send(), &expected);
        }
        let good = to(&account, "fine", "success");
        let valid = lab.post("/posts?validate_only=true").key(&lab.key).json(good).send();
        assert_eq!(valid.expect(200).json, json!({ "valid": true }));
        let posts = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(posts["posts"], json!([]));
    }

    fn an_empty_post_can_be_written_but_not_planned(lab: Lab) {
        let account = sandbox(&lab, "news");
        let targets = json!([{ "connection_id": account }]);
        let post = new_post(&lab, json!({ "targets": targets }));

        let path = format!("{}/publish-now", post_path(&post));
        let refused = lab.post(&path).key(&lab.key).send();

        expect_faults(refused, &[("targets[0].content", "empty")]);
        let nobody = new_post(&lab, json!({ "content": "to nobody" }));
        let path = format!("{}/publish-now", post_path(&nobody));
        expect_faults(lab.post(&path).key(&lab.key).send(), &[("targets", "required")]);
    }

    fn a_canceled_job_publishes_nothing(lab: Lab) {
        let account = sandbox(&lab, "news");
        let mut draft = to(&account, "never", "success");
        draft["scheduled_at"] = json!(from_now(&lab, 2 * SECOND));
        let post = new_post(&lab, draft);
        let path = format!("/schedule/{}", text(&job_of(&lab, &post)["id"]));

        let canceled = lab.delete(&path).key(&lab.key).send().expect(200).json;

        assert_eq!(text(&canceled["status"]), "canceled");
        assert_eq!(text(&canceled["publish_job"]["state"]), "canceled");
        assert_eq!(status(&lab, &post), "Draft");
        // Once more is the same, and too late to move.
        lab.delete(&path).key(&lab.key).send().expect(200);
        let later = json!({ "scheduled_at": from_now(&lab, 60 * SECOND) });
        lab.patch(&path).key(&lab.key).json(later).send().expect_problem(409, "job_not_queued");
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert!(timeline(&lab, "news").is_empty());
    }

    fn a_call_that_has_begun_is_only_asked_to_stop(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "on its way", "slow"));
        publish_now(&lab, &post);
        wait_until("the call has begun", || {
            job_of(&lab, &post)["targets"][0]["stage"] == "calling"
        });
        let path = format!("/schedule/{}", text(&job_of(&lab, &post)["id"]));

        let asked = lab.delete(&path).key(&lab.key).send().expect(202).json;

        assert_eq!(text(&asked["status"]), "cancel_requested");
        let change = json!({ "content": "other words" });
        let request = lab.patch(&post_path(&post)).key(&lab.key).json(change);
        request.send().expect_problem(409, "publish_in_progress");
        lab.delete(&post_path(&post)).key(&lab.key).send().expect_problem(409, "publish_in_progress");
        let job = outcome(&lab, &post);
        assert_eq!(text(&job["state"]), "succeeded");
        assert_eq!(timeline(&lab, "news"), ["on its way"]);
        lab.delete(&path).key(&lab.key).send().expect_problem(409, "job_finished");
    }

    fn a_job_moves_with_its_post_and_the_other_way_round(lab: Lab) {
        let account = sandbox(&lab, "news");
        let mut draft = to(&account, "moved", "success");
        draft["scheduled_at"] = json!(from_now(&lab, 3600 * SECOND));
        let post = new_post(&lab, draft);
        let job = job_of(&lab, &post);
        let path = format!("/schedule/{}", text(&job["id"]));

        let (one, two) = (from_now(&lab, 7200 * SECOND), from_now(&lab, 9000 * SECOND));
        let moved = lab.patch(&path).key(&lab.key).json(json!({ "scheduled_at": one })).send();
        assert_eq!(text(&moved.expect(200).json["publish_job"]["scheduled_at"]), one);
        let shown = lab.get(&post_path(&post)).key(&lab.key).send().expect(200).json;
        assert_eq!(text(&shown["post"]["scheduled_at"]), one);
        let change = json!({ "scheduled_at": two });
        lab.patch(&post_path(&post)).key(&lab.key).json(change).send().expect(200);
        let again = job_of(&lab, &post);
        assert_eq!((text(&again["id"]), text(&again["scheduled_at"])), (text(&job["id"]), &*two));

        let draft = json!({ "scheduled_at": null });
        lab.patch(&post_path(&post)).key(&lab.key).json(draft).send().expect(200);
        assert_eq!(text(&job_of(&lab, &post)["state"]), "canceled");
        assert_eq!(status(&lab, &post), "Draft");
        let now = json!({ "scheduled_at": from_now(&lab, SECOND) });
        lab.patch(&post_path(&post)).key(&lab.key).json(now).send().expect(200);
        assert_eq!(text(&outcome(&lab, &post)["state"]), "succeeded");
        assert_eq!(timeline(&lab, "news"), ["moved"]);
    }

    fn slots_are_given_out_one_after_the_other(lab: Lab) {
        let account = sandbox(&lab, "news");
        let next = || {
            let slot = lab.get("/schedule/available-slot").key(&lab.key).send().expect(200).json;
            text(&slot["available_slot"]["scheduled_at"]).to_owned()
        };
        let first = next();
        let mut draft = to(&account, "in a slot", "success");
        draft["schedule"] = json!("next_slot");

        let post = new_post(&lab, draft.clone());
        let other = new_post(&lab, draft.clone());

        assert_eq!(text(&post["scheduled_at"]), first);
        assert!(text(&other["scheduled_at"]) > first.as_str());
        assert!(next().as_str() > text(&other["scheduled_at"]));
        draft["scheduled_at"] = json!(from_now(&lab, 60 * SECOND));
        let both = lab.post("/posts").key(&lab.key).json(draft).send();
        expect_faults(both, &[("schedule", "conflict")]);
    }

    fn a_deleted_post_leaves_an_orphan_that_publishes_nothing(lab: Lab) {
        let account = sandbox(&lab, "news");
        let mut draft = to(&account, "gone", "success");
        draft["scheduled_at"] = json!(from_now(&lab, SECOND));
        let post = new_post(&lab, draft);
        let job = job_of(&lab, &post);
        lab.delete(&post_path(&post)).key(&lab.key).send().expect(200);

        let schedule = lab.get("/schedule").key(&lab.key).send().expect(200).json;
        assert_eq!(schedule["publish_jobs"], json!([]));
        let missing = lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
        assert_eq!(text(&missing["jobs"][0]["publish_job_id"]), text(&job["id"]));
        assert_eq!(text(&missing["jobs"][0]["missing"][0]["kind"]), "post");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert!(timeline(&lab, "news").is_empty());
        let path = format!("/schedule/{}", text(&job["id"]));
        let deleted = lab.delete(&path).key(&lab.key).send().expect(200).json;
        assert_eq!((&deleted["orphaned_post"], &deleted["deleted"]), (&json!(true), &json!(true)));
        lab.delete(&path).key(&lab.key).send().expect_problem(404, "not_found");
    }

    fn a_post_deleted_between_two_tries_leaves_an_orphan_that_is_found(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "gone", "transient_failure"));
        publish_now(&lab, &post);
        wait_until("the first try has failed", || {
            let job = job_of(&lab, &post);
            job["state"] == "running" && job["targets"][0]["stage"] == "waiting"
        });
        let job = job_of(&lab, &post);
        lab.delete(&post_path(&post)).key(&lab.key).send().expect(200);

        let missing = || lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
        let found = missing();
        assert_eq!(each(&found["jobs"], "publish_job_id"), [text(&job["id"])]);
        assert_eq!(text(&found["jobs"][0]["missing"][0]["kind"]), "post");

        let path = format!("/schedule/{}", text(&job["id"]));
        let later = json!({ "scheduled_at": from_now(&lab, 60 * SECOND) });
        lab.patch(&path).key(&lab.key).json(later).send().expect_problem(409, "job_not_queued");
        let deleted = lab.delete(&path).key(&lab.key).send().expect(200).json;
        assert_eq!((&deleted["orphaned_post"], &deleted["deleted"]), (&json!(true), &json!(true)));
        assert_eq!(missing()["jobs"], json!([]));
        // The second try would have come by now.
        std::thread::sleep(std::time::Duration::from_millis(6500));
        assert!(timeline(&lab, "news").is_empty());
    }

    fn a_running_job_is_not_missing_what_it_has(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "on its way", "transient_failure"));
        publish_now(&lab, &post);
        wait_until("it has begun", || job_of(&lab, &post)["state"] == "running");
        let found = lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
        assert_eq!(found["jobs"], json!([]));
    }

    fn what_a_job_will_miss_is_said_before_and_after_its_time(lab: Lab) {
        let account = sandbox(&lab, "news");
        let picture = new_picture(&lab);
        let post = new_post(&lab, json!({
            "content": "with nobody", "media_url": picture, "scheduled_at": from_now(&lab, 3 * SECOND),
            "targets": [{ "connection_id": account }],
        }));
        let missing = || {
            let found = lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
            let things = list(&found["jobs"]).iter().flat_map(|job| list(&job["missing"]).clone());
            things.map(|thing| text(&thing["kind"]).to_owned()).collect::<Vec<_>>()
        };
        assert!(missing().is_empty());

        let gone = lab.delete("/connections/sandbox").key(&lab.key).send();
        gone.expect(200);

        assert_eq!(missing(), ["connection"]);
        let job = outcome(&lab, &post);
        assert_eq!(text(&job["state"]), "failed");
        assert_eq!(text(&job["targets"][0]["failure"]["code"]), "connection_gone");
        assert_eq!(text(&job["targets"][0]["failure"]["class"]), "missing_content");
    }

    fn attempts_are_cleared_and_jobs_stay(lab: Lab) {
        let account = sandbox(&lab, "news");
        for wish in ["rejection", "success"] {
            let post = new_post(&lab, to(&account, wish, wish));
            publish_now(&lab, &post);
            outcome(&lab, &post);
        }
        let attempts = || {
            let jobs = lab.get("/schedule").key(&lab.key).send().expect(200).json;
            list(&jobs["publish_jobs"]).iter().map(|job| list(&job["attempts"]).len()).sum::<usize>()
        };
        assert_eq!(attempts(), 2);
        let clear = |path: &str| lab.delete(path).key(&lab.key);
        clear("/schedule/attempts").send().expect_problem(422, "validation_failed");
        let both = clear("/schedule/attempts?scope=all").json(json!({ "scope": "failed" }));
        expect_faults(both.send(), &[("scope", "conflict")]);

        let cleared = clear("/schedule/attempts?scope=failed").send().expect(200).json;
        assert_eq!((&cleared["cleared_attempts"], attempts()), (&json!(1), 1));
        let all = clear("/schedule/attempts").json(json!({ "scope": "all" })).send();
        assert_eq!((&all.expect(200).json["cleared_attempts"], attempts()), (&json!(1), 0));
    }

    fn interrupted_publishing_goes_on_after_a_power_cut(lab: Lab) {
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "exactly once", "slow"));
        publish_now(&lab, &post);
        wait_until("the call has begun", || {
            job_of(&lab, &post)["targets"][0]["stage"] == "calling"
        });

        lab.kill();
        lab.begin();

        if lab.engine == Engine::Postgres {
            // Another process might be at it: its lease has to end first.
            lab.stop();
            lab.tamper("UPDATE publish_targets SET wake_at = 0");
            lab.begin();
        }
        let job = outcome(&lab, &post);
        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        assert_eq!(timeline(&lab, "news"), ["exactly once"]);
        assert_eq!(text(&job["attempts"][1]["code"]), "interrupted", "{job}");
    }

    fn after_an_outage_posts_of_one_account_keep_their_distance(lab: Lab) {
        let account = sandbox(&lab, "news");
        let mut draft = to(&account, "late", "success");
        draft["scheduled_at"] = json!(from_now(&lab, 3600 * SECOND));
        let posts: Vec<_> = (0..3).map(|_| new_post(&lab, draft.clone())).collect();
        lab.stop();
        let back = 2 * 3600 * SECOND;
        lab.tamper(&format!(
            "UPDATE publish_targets SET due_at = due_at - {back}, next_at = next_at - {back},
                    wake_at = wake_at - {back}"
        ));
        lab.begin();

        let started = posts.iter().map(|post| time::parse(text(&outcome(&lab, post)["started_at"])));
        let mut started: Vec<_> = started.map(Option::unwrap).collect();
        started.sort_unstable();
        let gaps: Vec<_> = started.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap >= 2 * SECOND), "{gaps:?}");
        assert_eq!(timeline(&lab, "news").len(), 3);
    }

    fn a_post_whose_time_is_long_past_waits_for_a_person(lab: Lab) {
        let account = sandbox(&lab, "news");
        let mut draft = to(&account, "too late", "success");
        draft["scheduled_at"] = json!(from_now(&lab, 3600 * SECOND));
        let (missed, late) = (new_post(&lab, draft.clone()), new_post(&lab, draft));
        lab.stop();
        for (post, hours) in [(&missed, 26), (&late, 3)] {
            let back = hours * 3600 * SECOND;
            lab.tamper(&format!(
                "UPDATE publish_targets SET due_at = due_at - {back}, next_at = next_at - {back},
                        wake_at = wake_at - {back} WHERE post_id = '{}'",
                text(&post["id"])
            ));
        }
        lab.begin();

        let job = outcome(&lab, &missed);
        assert_eq!(text(&job["state"]), "needs_attention");
        assert_eq!(text(&job["targets"][0]["outcome"]), "missed");
        let job = outcome(&lab, &late);
        assert_eq!((text(&job["state"]), &job["late"]), ("succeeded", &json!(true)));
        assert_eq!(timeline(&lab, "news").len(), 1);
    }

    fn when_no_job_can_be_queued_the_post_stays_as_it_was(engine: Engine) {
        let lab = Lab::start(engine);
        let account = sandbox(&lab, "news");
        let post = new_post(&lab, to(&account, "unchanged", "success"));
        lab.stop();
        lab.tamper(match engine {
            Engine::Sqlite => "CREATE TRIGGER no_jobs BEFORE INSERT ON publish_jobs
                               BEGIN SELECT RAISE(ABORT, 'no jobs today'); END",
            Engine::Postgres => "ALTER TABLE publish_jobs ADD CHECK (state <> 'queued')",
        });
        lab.begin();
        let before = lab.get(&post_path(&post)).key(&lab.key).send().expect(200).json;

        let path = format!("{}/publish-now", post_path(&post));
        let refused = lab.post(&path).key(&lab.key).send();

        let refused = refused.expect_problem(500, "queue_insert_failed");
        assert!(refused.json["publish_job"].is_null());
        let after = lab.get(&post_path(&post)).key(&lab.key).send().expect(200).json;
        assert_eq!(before, after);
    }
}
