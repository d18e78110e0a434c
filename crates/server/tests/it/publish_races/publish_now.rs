//! 4.16: many publish one post at the same time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both},
    publishing::{outcome, sandbox},
    steps::{list, new_post, post_path, text},
};

use super::track::{in_parallel, timeline, verdict};

const ROUNDS: usize = 25;

fn jobs(lab: &Lab, post: &Value) -> Vec<Value> {
    let path = format!("/schedule?post_id={}", text(&post["id"]));
    list(&lab.get(&path).key(&lab.key).send().expect(200).json["publish_jobs"]).clone()
}

/// A post of its own for each round, and its words.
fn draft(lab: &Lab, connection: &str, round: usize) -> (String, Value) {
    let words = format!("round {round}");
    let targets = json!([{ "connection_id": connection }]);
    let post = new_post(lab, json!({ "content": words, "targets": targets }));
    (words, post)
}

both! {
    fn however_many_publish_a_post_it_goes_out_once(lab: Lab) {
        let connection = sandbox(&lab, "news");
        for round in 0..ROUNDS {
            let (words, post) = draft(&lab, &connection, round);
            let path = format!("{}/publish-now", post_path(&post));
            // Nobody stops before it is out, so that some ask while it is being finished.
            let persist = |_| -> Vec<Reply> {
                let ask = || lab.post(&path).key(&lab.key).send();
                let mut replies = vec![ask()];
                while ["202", "409 publish_in_progress"].contains(&&*verdict(&replies[0])) {
                    replies.insert(0, ask());
                }
                replies
            };
            let replies = in_parallel(12, persist).concat();

            let mut queued = BTreeSet::new();
            for reply in replies {
                match verdict(&reply).as_str() {
                    "202" => {
                        queued.insert(text(&reply.json["publish_job"]["id"]).to_owned());
                    }
                    "409 publish_in_progress" | "409 already_published" => {}
                    other => panic!("{other}: {}", reply.text()),
                }
            }
            outcome(&lab, &post);
            let jobs = jobs(&lab, &post);
            assert_eq!((jobs.len(), queued.len()), (1, 1), "one job: {jobs:?}");
            assert_eq!(text(&jobs[0]["state"]), "succeeded");
            assert_eq!(timeline(&lab, "news")[&words].len(), 1);
        }
    }

    fn a_repeated_publish_with_one_key_is_one_publish(lab: Lab) {
        let connection = sandbox(&lab, "news");
        for round in 0..ROUNDS {
            let (words, post) = draft(&lab, &connection, round);
            let path = format!("{}/publish-now", post_path(&post));
            let ask = || {
                let request = lab.post(&path).key(&lab.key);
                request.header("idempotency-key", format!("key {round}")).send()
            };
            let replies = in_parallel(24, |_| ask());

            let done: Vec<_> = replies.iter().filter(|reply| reply.status == 202).collect();
            let others: Vec<_> = replies.iter().filter(|reply| reply.status != 202).collect();
            assert!(others.iter().all(|reply| reply.status == 409), "{others:?}");
            let first = |reply: &Reply| reply.header("idempotency-replayed").is_none();
            assert_eq!(done.iter().filter(|reply| first(reply)).count(), 1, "{done:?}");
            assert!(done.iter().all(|reply| reply.body == done[0].body), "{done:?}");
            outcome(&lab, &post);
            let late = ask().expect(202);
            assert_eq!(late.header("idempotency-replayed"), Some("true"));
            assert_eq!(late.body, done[0].body);
            assert_eq!(jobs(&lab, &post).len(), 1);
            assert_eq!(timeline(&lab, "news")[&words].len(), 1);
        }
    }

    fn publishing_now_and_at_a_time_at_once_is_one_publish(lab: Lab) {
        let connection = sandbox(&lab, "news");
        for round in 0..ROUNDS {
            let (words, post) = draft(&lab, &connection, round);
            let path = post_path(&post);
            let soon = crate::steps::from_now(&lab, 300);
            let replies = in_parallel(9, |number| match number % 3 {
                0 => lab.post(&format!("{path}/publish-now")).key(&lab.key).send(),
                1 => {
                    let change = json!({ "action": "publish_now" });
                    lab.patch(&path).key(&lab.key).json(change).send()
                }
                _ => {
                    let change = json!({ "scheduled_at": soon });
                    lab.patch(&path).key(&lab.key).json(change).send()
                }
            });
            let refusals = ["409 publish_in_progress", "409 already_published", "409 post_busy"];
            for reply in &replies {
                let said = verdict(reply);
                let known = ["200", "202"].contains(&&*said) || refusals.contains(&&*said);
                assert!(known, "{said}: {}", reply.text());
            }
            outcome(&lab, &post);
            std::thread::sleep(std::time::Duration::from_millis(350));
            assert_eq!(jobs(&lab, &post).len(), 1);
            assert_eq!(timeline(&lab, "news")[&words].len(), 1);
        }
    }
}
