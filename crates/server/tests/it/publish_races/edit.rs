//! Changing a post against publishing it.

use serde_json::json;

use crate::{
    lab::{Lab, Reply, both},
    steps::{all_pages, post_path, text},
};

use super::track::{Heat, Racer, tournament, verdict};

fn new_words(heat: &Heat<'_>) -> Vec<String> {
    let replies = heat.run(|racer| {
        let change = json!({ "content": format!("{} corrected", racer.words) });
        heat.lab.patch(&post_path(&racer.post)).key(&heat.lab.key).json(change).send()
    });
    let jobs = heat.finish();
    let timeline = heat.timeline();
    let check = |(racer, reply): (&Racer, &Reply)| {
        let job = &jobs[text(&racer.post["id"])];
        let said = verdict(reply);
        let context = format!("{said}: {}\n{job}", reply.text());
        let seen = |words: &str| timeline.get(words).map_or(0, Vec::len);
        let found = (seen(&racer.words), seen(&format!("{} corrected", racer.words)));
        let expected = match said.as_str() {
            "200" => (0, 1),
            "409 publish_in_progress" | "409 post_busy" | "503 unavailable" => (1, 0),
            _ => panic!("an answer that says nothing: {context}"),
        };
        assert_eq!(found, expected, "{context}");
        said
    };
    heat.racers.iter().zip(&replies).map(check).collect()
}

/// A label has no bearing on what is published, so it can be changed at any time.
fn new_labels(heat: &Heat<'_>) -> Vec<String> {
    let replies = heat.run(|racer| {
        let change = json!({ "tags": ["seen"] });
        heat.lab.patch(&post_path(&racer.post)).key(&heat.lab.key).json(change).send()
    });
    heat.finish();
    let timeline = heat.timeline();
    let check = |(racer, reply): (&Racer, Reply)| {
        let said = verdict(&reply);
        reply.expect(200);
        assert_eq!(timeline.get(&racer.words).map_or(0, Vec::len), 1);
        let shown = heat.lab.get(&post_path(&racer.post)).key(&heat.lab.key).send().expect(200);
        assert_eq!(text(&shown.json["post"]["status"]), "Published", "{}", shown.text());
        assert!(shown.json["post"]["published_at"].is_string(), "{}", shown.text());
        said
    };
    heat.racers.iter().zip(replies).map(check).collect()
}

both! {
    fn what_was_accepted_as_a_change_is_what_goes_out(lab: Lab) {
        let answers = tournament(&lab, new_words);

        assert!(answers.len() > 1 && answers.contains_key("200"), "these were no races: {answers:?}");
    }

    fn a_label_does_not_make_the_outcome_undone(lab: Lab) {
        let answers = tournament(&lab, new_labels);

        let total: u32 = answers.values().sum();
        let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
        let counts = &brands["brands"][0]["counts"];
        assert_eq!((&counts["published"], &counts["scheduled"]), (&json!(total), &json!(0)));
        let tagged = all_pages(&lab, "/posts?tag=seen&status=Published&limit=200", "posts", "id");
        assert_eq!(tagged.len(), usize::try_from(total).unwrap());
    }
}
