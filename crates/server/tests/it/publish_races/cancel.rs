//! 6.04: cancel against publish.

use crate::{
    lab::{Lab, Reply, both},
    steps::text,
};

use super::track::{Heat, Racer, timeline, tournament, verdict};

fn heat(heat: &Heat<'_>) -> Vec<String> {
    let replies = heat.run(|racer| {
        heat.lab.delete(&format!("/schedule/{}", racer.job)).key(&heat.lab.key).send()
    });
    let jobs = heat.finish();
    let timeline = heat.timeline();
    let check = |(racer, reply): (&Racer, &Reply)| {
        let job = &jobs[text(&racer.post["id"])];
        let state = text(&job["state"]);
        let seen = timeline.get(&racer.words).map_or(0, Vec::len);
        let said = verdict(reply);
        let context = format!("{said}: {}\n{job}", reply.text());
        match said.as_str() {
            "200" => assert_eq!((state, seen), ("canceled", 0), "{context}"),
            "202" => {
                assert_eq!(reply.json["status"], "cancel_requested", "{context}");
                let expected = if state == "succeeded" { 1 } else { 0 };
                assert!(["succeeded", "canceled"].contains(&state), "{context}");
                assert_eq!(seen, expected, "{context}");
            }
            "409 job_finished" => assert_eq!((state, seen), ("succeeded", 1), "{context}"),
            // A store that stands still for seconds: then it is as if nobody had asked.
            "503 unavailable" => {
                assert_eq!((state, seen), ("succeeded", 1), "{context}");
                assert_eq!(job["cancel_requested"], false, "{context}");
            }
            _ => panic!("an answer that says nothing: {context}"),
        }
        assert!(seen == 0 || timeline[&racer.words][0] >= heat.due, "before its time: {context}");
        said
    };
    heat.racers.iter().zip(&replies).map(check).collect()
}

both! {
    fn whatever_was_answered_to_a_cancel_is_true(lab: Lab) {
        let answers = tournament(&lab, heat);

        let canceled = answers.get("200").copied().unwrap_or(0);
        assert!(answers.len() > 1 && canceled > 0, "these were no races: {answers:?}");
        // Nothing comes out long after it was said to be canceled.
        let out: usize = (0..)
            .map(|number| timeline(&lab, &format!("heat{number}")).len())
            .take_while(|count| *count > 0)
            .sum();
        let total: u32 = answers.values().sum();
        assert!(out <= usize::try_from(total - canceled).unwrap());
        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        let counts = &brands["brands"][0]["counts"];
        assert_eq!(counts["scheduled"], 0, "{counts}");
        let (drafts, published) = (&counts["drafts"], &counts["published"]);
        assert_eq!(drafts.as_u64().unwrap() + published.as_u64().unwrap(), u64::from(total), "{counts}");
    }
}
