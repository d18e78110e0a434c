//! Times, numbers and parameters at and beyond their edges.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab},
    steps::{encoded, expect_faults, faults, from_now, new_post, post_path},
};

const DAY: i64 = 86_400_000;

/// What is no time, or nobody's.
const NO_TIMES: [&str; 38] = [
    "9999-12-31T23:59:60Z",
    "2026-06-30T23:59:60Z",
    "10000-01-01T00:00:00Z",
    "+10000-01-01T00:00:00Z",
    "99999-12-31T23:59:59Z",
    "-1",
    "9223372036854775807",
    "1e308",
    "NaN",
    "Infinity",
    "now",
    "tomorrow",
    "",
    " ",
    "2030-01-01",
    "2030-01-01T00:00",
    "2030-01-01T00:00:00",
    "2030-01-01 00:00:00Z",
    "2030-01-01T00:00:00+25:00",
    "2030-01-01T00:00:00+24:00",
    "2030-01-01T00:00:00+01:60",
    "2030-01-01T00:00:00 +01:00",
    "2030-01-01T24:00:01Z",
    "2030-01-01T25:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-02-30T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-00-10T00:00:00Z",
    "2030-W01-1T00:00:00Z",
    "2030-01-01T00:00:00Z[Europe/Berlin]",
    "2030-01-01T00:00:00[UTC]",
    "20300101T000000Z",
    "1893456000",
    "1893456000000",
    "2030-01-01T00:00:00Zx",
    "２０３０-01-01T00:00:00Z",
    "2030-01-01T00:00:00\u{a0}Z",
    "2030-01-01T00:00:00.Z",
];

// X.09
#[test]
fn a_time_that_is_none_is_refused_wherever_one_is_asked_for() {
    let lab = Lab::start(Engine::Sqlite);
    let post = post_path(&new_post(&lab, json!({})));
    let session = lab.sign_in(&lab.email, &lab.password);

    for wrong in NO_TIMES {
        let at = json!({ "scheduled_at": wrong });
        for refused in [
            lab.post("/posts").key(&lab.key).json(at.clone()).send(),
            lab.patch(&post).key(&lab.key).json(at).send(),
        ] {
            assert_eq!(
                faults(refused)[0],
                ("scheduled_at".to_owned(), "invalid_time".to_owned()),
                "{wrong:?}"
            );
        }
        let key = json!({ "name": "k", "scopes": ["*"], "expires_at": wrong });
        let refused = faults(lab.post("/keys").session(&session).json(key).send());
        assert_eq!(refused[0].0, "expires_at", "{wrong:?}");
        for (path, filter) in
            [("/posts", "created_from"), ("/posts", "scheduled_to"), ("/audit-logs", "from")]
        {
            let refused =
                lab.get(&format!("{path}?{filter}={}", encoded(wrong))).key(&lab.key).send();
            assert_eq!(faults(refused)[0].0, filter, "{wrong:?}");
        }
    }
    for wrong in [
        json!(1_893_456_000),
        json!(1_893_456_000_000_i64),
        json!(-1),
        json!(1e308),
        json!(true),
        json!([]),
    ] {
        let refused =
            lab.post("/posts").key(&lab.key).json(json!({ "scheduled_at": wrong })).send();
        expect_faults(refused, &[("scheduled_at", "wrong_type")]);
    }
}

// X.09
#[test]
fn a_time_in_letters_of_more_than_a_byte_is_refused_like_any_other() {
    let lab = Lab::start(Engine::Sqlite);

    let time = "2030-01-01T00:00:00.000+01:00";
    for at in 0..time.len() {
        for letter in ["é", "日", "😀"] {
            let wrong = format!("{}{letter}{}", &time[..at], &time[at + 1..]);
            let body = json!({ "scheduled_at": wrong });
            let refused = lab.post("/posts").key(&lab.key).json(body).try_send();
            let refused = refused.unwrap_or_else(|error| panic!("{wrong}: {error}"));
            expect_faults(refused, &[("scheduled_at", "invalid_time")]);
        }
    }
}

// X.09
#[test]
fn a_post_is_scheduled_between_a_minute_ago_and_five_years_ahead() {
    let lab = Lab::start(Engine::Sqlite);
    let schedule = |distance: i64| {
        let body = json!({ "scheduled_at": from_now(&lab, distance) });
        lab.post("/posts").key(&lab.key).json(body).send()
    };

    for good in [-50_000, 0, 1_000, DAY, 5 * 365 * DAY] {
        let post = schedule(good).expect(201).json;
        assert_eq!(post["post"]["status"], "Scheduled");
    }
    for past in [-62_000, -DAY, -50 * 365 * DAY] {
        expect_faults(schedule(past), &[("scheduled_at", "in_past")]);
    }
    for far in [5 * 367 * DAY, 500 * 365 * DAY] {
        expect_faults(schedule(far), &[("scheduled_at", "too_far")]);
    }
    for (given, kept) in [
        ("2030-01-01T00:00:00+01:00", "2029-12-31T23:00:00.000Z"),
        ("2030-01-01T00:00:00.123456789Z", "2030-01-01T00:00:00.123Z"),
        ("2030-01-01t00:00:00z", "2030-01-01T00:00:00.000Z"),
        ("2030-01-01T00:00:00-23:59", "2030-01-01T23:59:00.000Z"),
    ] {
        let body = json!({ "scheduled_at": given });
        let post = lab.post("/posts").key(&lab.key).json(body).send().expect(201).json;
        assert_eq!(post["post"]["scheduled_at"], kept, "{given}");
    }
}

// X.12
#[test]
fn a_number_is_whole_and_within_its_range() {
    let lab = Lab::start(Engine::Sqlite);
    let put = |number: &str| {
        let request = lab.put("/settings").key(&lab.key).header("content-type", "application/json");
        request.body(format!(r#"{{"schedule":{{"late_window_hours":{number}}}}}"#)).send()
    };

    for wrong in [
        "0",
        "-1",
        "169",
        "1.5",
        "1e3",
        "-0",
        "1e1",
        "123456789012345678901234567890",
        "9223372036854775808",
    ] {
        expect_faults(put(wrong), &[("schedule.late_window_hours", "out_of_range")]);
    }
    for wrong in ["0x10", "010", "+1", "1_000", ".5", "1.", "NaN", "١"] {
        put(wrong).expect_problem(400, "malformed_json");
    }
    // No machine can hold it: whether that is no JSON or no valid value is a matter of taste.
    let huge = put("1e400");
    assert!([400, 422].contains(&huge.status), "{}", huge.text());
    put("168").expect(200);
}

// X.13
#[test]
fn a_value_of_another_type_is_named_by_its_place() {
    let lab = Lab::start(Engine::Sqlite);
    let body = json!({
        "content": 1, "tags": "a", "media": {}, "folder_path": ["a"], "scheduled_at": 5,
        "media_url": true,
        "targets": [1, "x", { "connection_id": 1 }],
        "videohost": {
            "made_for_kids": "true", "notify_subscribers": 1, "title": ["t"],
            "tags": [1, "ok", null],
        },
    });

    expect_faults(
        lab.post("/posts").key(&lab.key).json(body).send(),
        &[
            ("content", "wrong_type"),
            ("tags", "wrong_type"),
            ("media", "wrong_type"),
            ("folder_path", "wrong_type"),
            ("scheduled_at", "wrong_type"),
            ("media_url", "wrong_type"),
            ("targets[0]", "wrong_type"),
            ("targets[1]", "wrong_type"),
            ("targets[2].connection_id", "wrong_type"),
            ("videohost.made_for_kids", "wrong_type"),
            ("videohost.notify_subscribers", "wrong_type"),
            ("videohost.title", "wrong_type"),
            ("videohost.tags[0]", "wrong_type"),
            ("videohost.tags[2]", "wrong_type"),
        ],
    );
    for whole in [json!([]), json!("x"), json!(1), json!(null), json!(true)] {
        let refused = lab.post("/posts").key(&lab.key).json(whole.clone()).send();
        assert_eq!(faults(refused)[0].1, "wrong_type", "{whole}");
    }
    for wrong in ["1", "TRUE", "yes", ""] {
        let path = format!("/posts?validate_only={wrong}");
        let refused = lab.post(&path).key(&lab.key).json(json!({})).send();
        assert_eq!(faults(refused)[0].0, "validate_only", "{wrong}");
    }
}

#[test]
fn a_refusal_always_names_a_field() {
    let lab = Lab::start(Engine::Sqlite);

    for zone in [
        "Etc/Unknown",
        "Local",
        "/etc/localtime",
        "../UTC",
        "Mars/Olympus",
        "",
        "UTC+1",
        "posixrules",
    ] {
        for body in [
            json!({ "profile": { "time_zone": zone } }),
            json!({ "schedule": { "time_zone": zone } }),
        ] {
            let reply = lab.put("/settings").key(&lab.key).json(body).send();
            let reply = reply.expect_problem(422, "validation_failed");
            assert_ne!(reply.json["errors"], json!([]), "{zone:?}: {}", reply.text());
        }
    }
}

// X.14
#[test]
fn a_query_has_few_parameters_each_of_them_once() {
    let lab = Lab::start(Engine::Sqlite);
    let ask = |query: String| lab.get(&format!("/posts?{query}")).key(&lab.key).send();
    let many = |count: usize| {
        (0..count).map(|number| format!("p{number}=1")).collect::<Vec<_>>().join("&")
    };

    ask(many(5_000)).expect_problem(414, "uri_too_long");
    let refused = ask(many(800)).expect_problem(422, "validation_failed");
    assert!(refused.body.len() < 64 * 1024, "{}", refused.body.len());
    ask("&".repeat(5000)).expect(200);
    for (query, expected) in [
        ("tag=a&tag=b", ("tag", "duplicate_parameter")),
        ("limit=1&limit=1", ("limit", "duplicate_parameter")),
        ("tag[]=a", ("tag[]", "unknown_field")),
        ("tag%5B0%5D=a", ("tag[0]", "unknown_field")),
        ("Tag=a", ("Tag", "unknown_field")),
        ("order=asc", ("order", "unknown_field")),
        ("limit", ("limit", "out_of_range")),
        ("status=draft", ("status", "invalid_choice")),
    ] {
        expect_faults(ask(query.to_owned()), &[expected]);
    }
    for harmless in ["", "?", "&", "tag=%", "tag=%zz", "tag=%ff%fe", "text=a+b", "tag=a;limit=1"] {
        let reply = ask(harmless.to_owned());
        assert!([200, 422].contains(&reply.status), "{harmless}: {}", reply.text());
    }
    let all: Value = ask("limit=0&what=1&status=x&scheduled_from=y".to_owned()).expect(422).json;
    assert_eq!(all["errors"].as_array().map(Vec::len), Some(4), "{all}");
}
