//! 6.06: deleting a post against publishing it.

use std::sync::Mutex;

use serde_json::json;

use crate::{
    lab::{Lab, Reply, both},
    steps::post_path,
};

use super::track::{Heat, Racer, tournament, verdict};

fn heat(heat: &Heat<'_>) -> Vec<String> {
    let answered = Mutex::new(std::collections::BTreeMap::new());
    let replies = heat.run(|racer| {
        let reply = heat.lab.delete(&post_path(&racer.post)).key(&heat.lab.key).send();
        answered.lock().unwrap().insert(racer.words.clone(), heat.watch.now());
        reply
    });
    let answered = answered.into_inner().unwrap();
    // Jobs of posts that are gone are not listed, so there is nothing to wait for but time.
    std::thread::sleep(std::time::Duration::from_millis(700));
    let timeline = heat.timeline();
    let check = |(racer, reply): (&Racer, &Reply)| {
        let said = verdict(reply);
        let seen = timeline.get(&racer.words).cloned().unwrap_or_default();
        let context = format!("{said}: {} {seen:?}", reply.text());
        assert!(seen.len() <= 1, "twice: {context}");
        match said.as_str() {
            // What was out already may be deleted; nothing goes out after the answer.
            "200" => assert!(seen.iter().all(|at| *at <= answered[&racer.words] + 1), "{context}"),
            "409 publish_in_progress" | "503 unavailable" => assert_eq!(seen.len(), 1, "{context}"),
            _ => panic!("an answer that says nothing: {context}"),
        }
        format!("{said}, {} out", seen.len())
    };
    heat.racers.iter().zip(&replies).map(check).collect()
}

both! {
    fn nothing_of_a_deleted_post_goes_out_after_the_answer(lab: Lab) {
        let answers = tournament(&lab, heat);

        assert!(answers.len() > 1 && answers.contains_key("200, 0 out"), "no races: {answers:?}");
        let refused: u32 = answers.iter().filter(|(said, _)| !said.starts_with("200")).map(|(_, n)| n).sum();
        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        let counts = &brands["brands"][0]["counts"];
        assert_eq!((&counts["posts"], &counts["scheduled"]), (&json!(refused), &json!(0)));
        // Every job that was left behind is found, and can be removed.
        let missing = lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
        for job in missing["jobs"].as_array().unwrap() {
            let path = format!("/schedule/{}", job["publish_job_id"].as_str().unwrap());
            let gone = lab.delete(&path).key(&lab.key).send().expect(200).json;
            assert_eq!(gone["orphaned_post"], true);
        }
    }
}
