//! Many at once, and the end without a warning.

use std::collections::BTreeSet;

use campanile_model::time::DAY;
use serde_json::json;

use crate::{
    lab::{Lab, both},
    steps::{all_pages, each, from_now, list, new_post, post_path, text},
};

both! {
    fn changes_at_once_leave_one_whole_post(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({})));

        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (lab, path) = (&lab, &path);
                scope.spawn(move || {
                    for round in 0..10 {
                        let name = format!("{writer}.{round}");
                        let change = json!({
                            "content": name, "tags": [name, writer.to_string()], "folder_path": name,
                        });
                        lab.patch(path).key(&lab.key).json(change).send().expect(200);
                    }
                });
            }
        });

        let post = lab.get(&path).key(&lab.key).send().expect(200).json["post"].take();
        let name = text(&post["content"]);
        assert_eq!((&post["tags"][0], &post["folder_path"]), (&json!(name), &json!(name)));
        for writer in 0..8 {
            let tagged = all_pages(&lab, &format!("/posts?tag={writer}"), "posts", "id");
            let mine = name.starts_with(&format!("{writer}."));
            assert_eq!(tagged.len(), usize::from(mine), "tags of a change that was overwritten");
        }
        let log = lab.get("/audit-logs?action=post.updated&limit=200").key(&lab.key).send().json;
        let entries = list(&log["audit_logs"]);
        assert_eq!(entries.len(), 80);
        for pair in entries.windows(2) {
            assert_eq!(pair[0]["before"], pair[1]["after"], "each change saw the one before it");
        }
    }

    fn counts_hold_when_many_write_at_once(lab: Lab) {
        let at = from_now(&lab, DAY);

        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..10 {
                        let path = post_path(&new_post(&lab, json!({ "tags": ["a", "b"] })));
                        if round % 2 == 0 {
                            let change = json!({ "scheduled_at": at });
                            lab.patch(&path).key(&lab.key).json(change).send().expect(200);
                        }
                        if round % 5 == 0 {
                            lab.delete(&path).key(&lab.key).send().expect(200);
                        }
                    }
                });
            }
        });

        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        let count = |filter: &str| all_pages(&lab, &format!("/posts?limit=200{filter}"), "posts", "id").len();
        assert_eq!(brands["brands"][0]["counts"]["posts"], 64);
        assert_eq!(brands["brands"][0]["counts"]["drafts"], 32);
        assert_eq!(brands["brands"][0]["counts"]["scheduled"], 32);
        assert_eq!((count(""), count("&status=Draft"), count("&tag=a")), (64, 32, 64));
    }

    fn a_change_and_a_deletion_at_once_leave_nothing_behind(lab: Lab) {
        for _ in 0..20 {
            let path = post_path(&new_post(&lab, json!({ "tags": ["before"] })));
            std::thread::scope(|scope| {
                for number in 0..3 {
                    let (lab, path) = (&lab, &path);
                    scope.spawn(move || {
                        let change = json!({ "tags": [format!("after {number}")] });
                        let status = lab.patch(path).key(&lab.key).json(change).send().status;
                        assert!([200, 404].contains(&status), "{status}");
                    });
                }
                scope.spawn(|| lab.delete(&path).key(&lab.key).send().expect(200));
            });
            lab.get(&path).key(&lab.key).send().expect_problem(404, "not_found");
        }

        for tag in ["before", "after%200", "after%201", "after%202"] {
            assert!(all_pages(&lab, &format!("/posts?tag={tag}"), "posts", "id").is_empty(), "{tag}");
        }
        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        assert_eq!(brands["brands"][0]["counts"]["posts"], 0);
    }

    fn what_was_answered_survives_a_power_cut(lab: Lab) {
        let made: BTreeSet<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..10)
                            .map(|_| text(&new_post(&lab, json!({}))["id"]).to_owned())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });

        lab.kill();
        lab.begin();

        let kept: BTreeSet<_> = all_pages(&lab, "/posts?limit=200", "posts", "id").into_iter().collect();
        assert_eq!(kept, made);
        let log = lab.get("/audit-logs?action=post.created&limit=200").key(&lab.key).send().json;
        let written: BTreeSet<_> = each(&log["audit_logs"], "resource_id").into_iter().map(str::to_owned).collect();
        assert_eq!(written, made);
        assert!(lab.cli(&["doctor"]).contains("audit log"));
    }
}
