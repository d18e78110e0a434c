//! Lists of posts: filters, pages and cursors.

use std::collections::BTreeSet;

use campanile_model::time::{self, DAY, HOUR};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, both},
    steps::{
        all_pages, each, encoded, expect_faults, from_now, list, new_brand, new_post, post_path,
        text,
    },
};

/// Posts that a filter finds, by their content, sorted.
#[track_caller]
fn found(lab: &Lab, filter: &str) -> Vec<String> {
    let mut found = all_pages(lab, &format!("/posts?{filter}"), "posts", "content");
    found.sort();
    found
}

#[track_caller]
fn next_cursor(page: &Value) -> String {
    text(&page["next_cursor"]).to_owned()
}

fn write_posts(lab: &Lab, names: &[&str]) {
    for name in names {
        new_post(lab, json!({ "content": name }));
    }
}

both! {
    fn filters_find_what_they_name_and_nothing_else(lab: Lab) {
        let soon = from_now(&lab, DAY);
        for (name, tags, folder, at) in [
            ("plain", json!([]), Value::Null, Value::Null),
            ("tagged", json!(["a", "b"]), Value::Null, Value::Null),
            ("filed", json!([]), json!("f"), Value::Null),
            ("deeper", json!(["a"]), json!("f/g"), Value::Null),
            ("timed", json!(["a"]), json!("f"), json!(soon)),
        ] {
            new_post(&lab, json!({ "content": name, "tags": tags, "folder_path": folder, "scheduled_at": at }));
        }

        for (filter, expected) in [
            ("", vec!["deeper", "filed", "plain", "tagged", "timed"]),
            ("tag=a", vec!["deeper", "tagged", "timed"]),
            ("tag=A", vec![]),
            ("tag=b", vec!["tagged"]),
            ("folder=f", vec!["filed", "timed"]),
            ("folder=f%2Fg", vec!["deeper"]),
            ("folder=nowhere", vec![]),
            ("status=Draft", vec!["deeper", "filed", "plain", "tagged"]),
            ("status=Scheduled", vec!["timed"]),
            ("status=Published", vec![]),
            ("text=ed", vec!["filed", "tagged", "timed"]),
            ("tag=a&folder=f", vec!["timed"]),
            ("tag=a&status=Draft", vec!["deeper", "tagged"]),
            ("folder=f&status=Draft", vec!["filed"]),
            ("tag=a&folder=f&status=Scheduled&text=TIME", vec!["timed"]),
            ("tag=a&folder=f&status=Draft", vec![]),
            ("tag=b&text=plain", vec![]),
        ] {
            assert_eq!(found(&lab, filter), expected, "{filter}");
        }
    }

    fn a_text_is_taken_literally_and_whatever_its_case(lab: Lab) {
        write_posts(&lab, &["100% wool", "100 percent", "snake_case", "snake case", "back\\slash", "ÄRGER", "straße", "e\u{301}te\u{301}"]);
        new_post(&lab, json!({ "content": "video", "videohost": { "title": "Wool for all" } }));

        for (wanted, expected) in [
            ("100%", vec!["100% wool"]),
            ("%", vec!["100% wool"]),
            ("_", vec!["snake_case"]),
            ("e_c", vec!["snake_case"]),
            ("\\", vec!["back\\slash"]),
            ("k\\s", vec!["back\\slash"]),
            ("ärger", vec!["ÄRGER"]),
            ("STRAß", vec!["straße"]),
            ("ÉTÉ", vec!["e\u{301}te\u{301}"]),
            ("WOOL", vec!["100% wool", "video"]),
            ("' OR 1=1 --", vec![]),
            ("*", vec![]),
        ] {
            assert_eq!(found(&lab, &format!("text={}", encoded(wanted))), expected, "{wanted}");
        }
    }

    fn a_word_in_capitals_finds_its_final_sigma(lab: Lab) {
        write_posts(&lab, &["ο δρόμος"]);

        assert_eq!(found(&lab, &format!("text={}", encoded("ΔΡΌΜΟΣ"))), ["ο δρόμος"]);
    }

    fn ranges_of_time_include_their_ends(lab: Lab) {
        let base = from_now(&lab, DAY);
        let base = time::parse(&base).unwrap();
        let at = |hours: i64| time::format(base + hours * HOUR);
        for hours in [1, 2, 3] {
            let content = hours.to_string();
            new_post(&lab, json!({ "content": content, "scheduled_at": at(hours) }));
        }
        new_post(&lab, json!({ "content": "draft" }));
        let range = |from: &str, to: &str| found(&lab, &format!("scheduled_from={from}&scheduled_to={to}"));

        assert_eq!(range(&at(1), &at(2)), ["1", "2"]);
        assert_eq!(range(&at(2), &at(2)), ["2"]);
        assert!(range(&at(3), &at(2)).is_empty());
        assert_eq!(found(&lab, &format!("scheduled_from={}", at(2))), ["2", "3"]);
        assert_eq!(found(&lab, &format!("scheduled_to={}&text=1", at(3))), ["1"]);

        let posts = lab.get("/posts").key(&lab.key).send().expect(200).json;
        let made = |content: &str| {
            let posts = posts["posts"].as_array().unwrap();
            let post = posts.iter().find(|post| post["content"] == content).unwrap();
            text(&post["created_at"]).to_owned()
        };
        let second = made("2");
        let between = found(&lab, &format!("created_from={second}&created_to={second}"));
        assert!(between.contains(&"2".to_owned()), "{between:?}");
        assert!(!found(&lab, &format!("created_to={}", from_now(&lab, -HOUR))).contains(&"1".to_owned()));
        let after = time::parse(&made("draft")).unwrap() + 1;
        assert!(found(&lab, &format!("created_from={}", time::format(after))).is_empty());
        let elsewhere = encoded(&at(2).replace("Z", "+00:00"));
        assert_eq!(found(&lab, &format!("scheduled_from={elsewhere}&scheduled_to={elsewhere}")), ["2"]);
    }

    fn pages_are_complete_and_newest_first(lab: Lab) {
        let made: Vec<_> = (0..60)
            .map(|number| {
                let tags = if number % 3 == 0 { json!(["third"]) } else { json!([]) };
                let post = new_post(&lab, json!({ "content": number.to_string(), "tags": tags }));
                text(&post["id"]).to_owned()
            })
            .collect();
        let newest_first: Vec<_> = made.iter().rev().cloned().collect();

        let usual = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(each(&usual["posts"], "id"), newest_first[..50]);
        for limit in [1, 7, 59, 60, 61, 200] {
            let paged = all_pages(&lab, &format!("/posts?limit={limit}"), "posts", "id");
            assert_eq!(paged, newest_first, "by {limit}");
        }
        let thirds: Vec<_> = newest_first.iter().rev().step_by(3).rev().cloned().collect();
        assert_eq!(all_pages(&lab, "/posts?tag=third&limit=3", "posts", "id"), thirds);
        assert_eq!(all_pages(&lab, "/posts?tag=third&text=5&limit=1", "posts", "content"), ["57", "54", "51", "45", "15"]);
    }

    fn a_page_is_not_disturbed_by_what_happens_meanwhile(lab: Lab) {
        write_posts(&lab, &["1", "2", "3", "4", "5", "6"]);
        let first = lab.get("/posts?limit=2").key(&lab.key).send().expect(200).json;
        let all = lab.get("/posts").key(&lab.key).send().expect(200).json;

        write_posts(&lab, &["newer", "newest"]);
        let shown_already = post_path(&all["posts"][1]);
        lab.delete(&shown_already).key(&lab.key).send().expect(200);
        let still_to_come = post_path(&all["posts"][3]);
        lab.delete(&still_to_come).key(&lab.key).send().expect(200);
        let rest = format!("/posts?limit=200&cursor={}", next_cursor(&first));
        let rest = lab.get(&rest).key(&lab.key).send().expect(200).json;

        assert_eq!(each(&first["posts"], "content"), ["6", "5"]);
        assert_eq!(each(&rest["posts"], "content"), ["4", "2", "1"]);
        assert!(rest["next_cursor"].is_null());
    }

    fn a_cursor_is_good_for_its_own_list_alone(lab: Lab) {
        let other = lab.tenant("other");
        for tenant in [&lab.key, &other.key] {
            for _ in 0..3 {
                lab.post("/posts").key(tenant).json(json!({ "tags": ["a"] })).send().expect(201);
            }
        }
        let second = new_brand(&lab, "Second");
        let cursor_of = |key: &str, path: &str| next_cursor(&lab.get(path).key(key).send().expect(200).json);
        let own = cursor_of(&lab.key, "/posts?limit=1");
        let foreign = cursor_of(&other.key, "/posts?limit=1");
        let filtered = cursor_of(&lab.key, "/posts?limit=1&tag=a");
        let audit = cursor_of(&lab.key, "/audit-logs?limit=1");
        let changed = format!("{}{}", &own[..own.len() - 1], if own.ends_with('A') { 'B' } else { 'A' });

        for wrong in [
            format!("/posts?cursor={foreign}"),
            format!("/posts?cursor={filtered}"),
            format!("/posts?tag=b&cursor={filtered}"),
            format!("/posts?tag=a&cursor={own}"),
            format!("/posts?cursor={audit}"),
            format!("/audit-logs?cursor={own}"),
            format!("/posts?cursor={changed}"),
            format!("/posts?cursor={}", &own[..10]),
            format!("/posts?cursor={own}AAAA"),
            "/posts?cursor=nonsense".to_owned(),
            "/posts?cursor=%F0%9F%94%94".to_owned(),
            format!("/posts?cursor={own}&brand_id={second}"),
        ] {
            let refused = lab.get(&wrong).key(&lab.key).send();
            assert_eq!((refused.status, refused.code()), (400, "invalid_cursor"), "{wrong}");
        }
        lab.get(&format!("/posts?limit=2&cursor={own}")).key(&lab.key).send().expect(200);
        lab.restart();
        lab.get(&format!("/posts?cursor={own}")).key(&lab.key).send().expect(200);
    }

    fn a_query_is_as_strict_as_a_body(lab: Lab) {
        for (query, faults) in [
            ("limit=0", vec![("limit", "out_of_range")]),
            ("limit=201", vec![("limit", "out_of_range")]),
            ("limit=-1", vec![("limit", "out_of_range")]),
            ("limit=ten", vec![("limit", "out_of_range")]),
            ("limit=1.0", vec![("limit", "out_of_range")]),
            ("limit=", vec![("limit", "out_of_range")]),
            ("tags=a", vec![("tags", "unknown_field")]),
            ("tag=a&tag=b", vec![("tag", "duplicate_parameter")]),
            ("status=draft", vec![("status", "invalid_choice")]),
            ("folder=%2Fa", vec![("folder", "invalid_folder_path")]),
            ("tag=&text=", vec![("tag", "too_short"), ("text", "too_short")]),
            ("created_from=today&limit=999&x=1", vec![("created_from", "invalid_time"), ("limit", "out_of_range"), ("x", "unknown_field")]),
        ] {
            let reply = lab.get(&format!("/posts?{query}")).key(&lab.key).send();
            assert_eq!(reply.status, 422, "{query}");
            expect_faults(reply, &faults);
        }
        lab.get("/posts?limit=1").key(&lab.key).send().expect(200);
        lab.get("/posts?limit=200").key(&lab.key).send().expect(200);
    }

    fn each_brand_has_its_own_posts(lab: Lab) {
        let second = &new_brand(&lab, "Second");
        let draft = json!({ "content": "there" });
        let there = lab.post("/posts").key(&lab.key).brand(second).json(draft).send().expect(201).json;
        write_posts(&lab, &["here"]);

        assert_eq!(there["post"]["brand_id"], second.as_str());
        assert_eq!(found(&lab, ""), ["here"]);
        assert_eq!(found(&lab, &format!("brand_id={second}")), ["there"]);
        let path = post_path(&there["post"]);
        lab.get(&path).key(&lab.key).send().expect_problem(404, "not_found");
        lab.get(&path).key(&lab.key).brand(second).send().expect(200);
    }

    // A filter that no index serves looks through some thousand rows and lets the caller go on.
    fn a_rare_word_is_found_among_very_many_posts(lab: Lab) {
        write_posts(&lab, &["needle"]);
        lab.stop();
        let copies = lab.tamper(
            "WITH RECURSIVE counter(n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 12000)
             INSERT INTO posts (brand_id, id, status, created_by, created_at, updated_at,
                                document, search)
             SELECT brand_id, 'post_7' || substr('0000000000000000000000000', 1,
                    25 - length(CAST(n AS TEXT))) || CAST(n AS TEXT),
                    status, created_by, created_at, updated_at, document, 'hay'
               FROM posts, counter",
        );
        assert_eq!(copies, 12_000);
        lab.begin();

        let first = lab.get("/posts?text=needle").key(&lab.key).send().expect(200).json;

        assert!(list(&first["posts"]).is_empty());
        assert!(first["next_cursor"].is_string(), "there is more to look through");
        assert_eq!(found(&lab, "text=needle"), ["needle"]);
        let ids = all_pages(&lab, "/posts?text=hay&limit=200", "posts", "id");
        assert_eq!(ids.len(), 12_000);
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>().len(), 12_000);
    }
}
