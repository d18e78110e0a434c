//! 6.05: moving a post to another time against publishing it.

use campanile_model::time;
use serde_json::json;

use crate::{
    lab::{Lab, Reply, both, wait_until},
    publishing::{job_of, sandbox},
    steps::{from_now, new_post, post_path, text},
};

use super::track::{Heat, Racer, chance, timeline, tournament, verdict};

/// After all clients have acted, so that a moved post is never in doubt about its times.
const LATER: time::Millis = 900;

fn heat(heat: &Heat<'_>) -> Vec<String> {
    let later = time::format(heat.due + LATER);
    // Half of them move the job, half of them the post.
    let replies = heat.run(|racer| {
        let path = match chance() % 2 {
            0 => format!("/schedule/{}", racer.job),
            _ => post_path(&racer.post),
        };
        let body = json!({ "scheduled_at": later });
        heat.lab.patch(&path).key(&heat.lab.key).json(body).send()
    });
    let jobs = heat.finish();
    let timeline = heat.timeline();
    let check = |(racer, reply): (&Racer, &Reply)| {
        let job = &jobs[text(&racer.post["id"])];
        let said = verdict(reply);
        let context = format!("{said}: {}\n{job}", reply.text());
        assert_eq!(text(&job["state"]), "succeeded", "{context}");
        let seen = timeline.get(&racer.words).cloned().unwrap_or_default();
        assert_eq!(seen.len(), 1, "published once, whatever happened: {seen:?} {context}");
        match said.as_str() {
            "200" => {
                assert!(seen[0] >= heat.due + LATER, "before the new time: {context}");
                assert_eq!(text(&job["scheduled_at"]), later, "{context}");
                assert!(text(&job["started_at"]) >= later.as_str(), "{context}");
            }
            "409 job_not_queued"
            | "409 publish_in_progress"
            | "409 post_busy"
            | "503 unavailable" => {
                assert!(seen[0] >= heat.due, "before its time: {context}");
                assert_eq!(text(&job["scheduled_at"]), time::format(heat.due), "{context}");
            }
            _ => panic!("an answer that says nothing: {context}"),
        }
        said
    };
    heat.racers.iter().zip(&replies).map(check).collect()
}

both! {
    fn a_moved_post_goes_out_once_and_not_before_its_new_time(lab: Lab) {
        let answers = tournament(&lab, heat);

        assert!(answers.len() > 1 && answers.contains_key("200"), "these were no races: {answers:?}");
        let total: u32 = answers.values().sum();
        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        let counts = &brands["brands"][0]["counts"];
        assert_eq!((&counts["published"], &counts["scheduled"]), (&json!(total), &json!(0)));
    }

    fn a_post_that_was_moved_back_and_forth_goes_out_once(lab: Lab) {
        let connection = sandbox(&lab, "news");
        let post = new_post(&lab, json!({
            "content": "once", "scheduled_at": from_now(&lab, time::HOUR),
            "targets": [{ "connection_id": connection }],
        }));
        let path = format!("/schedule/{}", text(&job_of(&lab, &post)["id"]));
        for round in 0..200 {
            let distance = if round % 2 == 0 { 5 * time::MINUTE } else { 10 * time::MINUTE };
            let body = json!({ "scheduled_at": from_now(&lab, distance) });
            lab.patch(&path).key(&lab.key).json(body).send().expect(200);
        }
        let body = json!({ "scheduled_at": from_now(&lab, 500) });
        lab.patch(&path).key(&lab.key).json(body).send().expect(200);

        wait_until("it is out", || job_of(&lab, &post)["state"] == "succeeded");

        std::thread::sleep(std::time::Duration::from_secs(1));
        assert_eq!(timeline(&lab, "news")["once"].len(), 1);
    }
}
