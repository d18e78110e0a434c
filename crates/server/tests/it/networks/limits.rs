//! Servers change their limits after their accounts were connected.

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both, wait_until},
    publishing::{outcome, publish_now},
    steps::{expect_faults, new_post, text},
};

use super::{
    double::Double,
    world::{Network, connect},
};

fn draft(connection: &str, characters: usize) -> Value {
    let targets = json!([{ "connection_id": connection }]);
    json!({ "content": "x".repeat(characters), "targets": targets })
}

fn check(lab: &Lab, draft: &Value) -> Reply {
    lab.post("/posts?validate_only=true").key(&lab.key).json(draft.clone()).send()
}

const TOO_LONG: [(&str, &str); 1] = [("targets[0].content", "too_long")];

both! {
    fn a_limit_that_was_raised_counts_after_a_day(lab: Lab) {
        let server = Double::of("ada");
        let long = draft(&connect(&lab, Network::Mastodon, server.form()), 600);
        expect_faults(check(&lab, &long), &TOO_LONG);
        server.words().characters = 1000;
        expect_faults(check(&lab, &long), &TOO_LONG);
        let questions = server.words().questions;
        lab.stop();
        lab.tamper("UPDATE connections SET details = replace(details, '\"read_at\":', '\"read_at\":-')");
        lab.begin();

        wait_until("the new limit counts", || check(&lab, &long).status == 200);

        // From now on it is known again, and nobody asks.
        for _ in 0..3 {
            check(&lab, &long).expect(200);
        }
        assert_eq!(server.words().questions, questions + 1);
    }

    fn a_limit_that_was_lowered_counts_after_the_first_refusal(lab: Lab) {
        let server = Double::of("ada");
        let long = draft(&connect(&lab, Network::Mastodon, server.form()), 300);
        let post = new_post(&lab, long.clone());
        (server.words().characters, server.words().publish) = (100, 422);
        publish_now(&lab, &post);
        let job = outcome(&lab, &post);
        assert_eq!(text(&job["targets"][0]["failure"]["code"]), "http_422", "{job}");

        wait_until("the new limit counts", || check(&lab, &long).status == 422);

        expect_faults(check(&lab, &long), &TOO_LONG);
    }

    fn a_server_that_does_not_answer_keeps_its_limits_and_gets_its_posts(lab: Lab) {
        let server = Double::of("ada");
        let short = draft(&connect(&lab, Network::Mastodon, server.form()), 400);
        server.words().is_mute = true;
        lab.stop();
        lab.tamper("UPDATE connections SET details = replace(details, '\"read_at\":', '\"read_at\":-')");
        lab.begin();
        let post = new_post(&lab, short.clone());
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);

        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        check(&lab, &short).expect(200);
    }
}
