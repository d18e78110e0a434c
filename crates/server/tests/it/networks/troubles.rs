//! Answers get lost, processes die, people change their minds, accounts are shut out: in the
//! end the job tells what the network shows.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both, wait_until},
    publishing::{job_of, outcome, publish_now},
    steps::{list, new_picture, new_post, text},
};

use super::{
    detour::Detour,
    proxy::Fate,
    world::{NETWORKS, Network, Person, connect, lab, settled},
};

/// Another process might be at it: on PostgreSQL the lease of one that died has to end first.
fn end_leases(lab: &Lab) {
    if lab.engine == Engine::Postgres {
        lab.tamper("UPDATE publish_targets SET wake_at = 0");
    }
}

fn lost_answer(engine: Engine, network: Network) {
    let detour = Detour::start(engine, network);
    let Detour { lab, proxy, person, .. } = &detour;
    proxy.set(Fate::LoseAnswer);
    let post = new_post(lab, detour.draft("said once"));
    publish_now(lab, &post);
    proxy.await_effect();

    let job = settled(lab, &post);

    assert_eq!(text(&job["state"]), "succeeded", "{job}");
    assert_eq!(person.all_words(), ["said once"]);
    let receipt = &job["targets"][0]["published"][0];
    assert_eq!(text(&receipt["remote_id"]), person.post_id(&person.posts()[0]));
    assert_eq!(proxy.carried(), 1, "what is out is not sent again");
    let attempts = list(&job["attempts"]);
    assert_eq!(text(&attempts.last().unwrap()["class"]), "ambiguous", "{job}");
    assert_eq!(attempts.last().unwrap()["repeat_is_safe"], false, "{job}");
}

fn power_cut(engine: Engine, network: Network) {
    let detour = Detour::start(engine, network);
    let Detour { lab, proxy, person, .. } = &detour;
    proxy.set(Fate::HoldAnswer);
    let post = new_post(lab, detour.draft("said once"));
    publish_now(lab, &post);
    proxy.await_effect();

    lab.kill();
    proxy.set(Fate::Pass);
    end_leases(lab);
    lab.begin();

    let job = settled(lab, &post);
    assert_eq!(text(&job["state"]), "succeeded", "{job}");
    assert_eq!(person.all_words(), ["said once"]);
    assert_eq!(proxy.carried(), 1, "what is out is not sent again");
    let interrupted = list(&job["attempts"]).iter().any(|one| one["code"] == "interrupted");
    assert!(interrupted, "{job}");
}

/// The call is on its way when somebody cancels; what then happens to it is the truth.
fn second_thoughts(engine: Engine, network: Network, fate: Fate) {
    let detour = Detour::start(engine, network);
    let Detour { lab, proxy, person, .. } = &detour;
    proxy.set(Fate::HoldRequest);
    let post = new_post(lab, detour.draft("perhaps"));
    let job = publish_now(lab, &post);
    proxy.await_call();
    let path = format!("/schedule/{}", text(&job["id"]));

    let asked = lab.delete(&path).key(&lab.key).send().expect(202).json;

    assert_eq!(text(&asked["status"]), "cancel_requested");
    assert_eq!(asked["publish_job"]["cancel_requested"], true);
    assert_eq!(text(&job_of(lab, &post)["state"]), "running");
    proxy.set(fate);
    let job = settled(lab, &post);
    let out = fate == Fate::Pass;
    let expected = if out { ("succeeded", "published") } else { ("canceled", "canceled") };
    let seen = (text(&job["state"]), text(&job["targets"][0]["outcome"]));
    assert_eq!(seen, expected, "{job}");
    assert_eq!(person.posts().len(), usize::from(out));
    let again = lab.delete(&path).key(&lab.key).send();
    if out {
        again.expect_problem(409, "job_finished");
    } else {
        assert_eq!(text(&again.expect(200).json["status"]), "canceled");
    }
}

both! {
    fn a_lost_answer_of_bluesky_is_found_out(engine: Engine) {
        lost_answer(engine, Network::Bluesky);
    }

    fn a_lost_answer_of_mastodon_is_found_out(engine: Engine) {
        lost_answer(engine, Network::Mastodon);
    }

    fn a_power_cut_while_bluesky_answers_does_not_publish_twice(engine: Engine) {
        power_cut(engine, Network::Bluesky);
    }

    fn a_power_cut_while_mastodon_answers_does_not_publish_twice(engine: Engine) {
        power_cut(engine, Network::Mastodon);
    }

    fn a_call_on_its_way_to_bluesky_is_reported_as_what_it_became(engine: Engine) {
        second_thoughts(engine, Network::Bluesky, Fate::Pass);
    }

    fn a_call_on_its_way_to_mastodon_is_reported_as_what_it_became(engine: Engine) {
        second_thoughts(engine, Network::Mastodon, Fate::Pass);
    }

    fn a_call_that_never_reached_bluesky_ends_as_canceled(engine: Engine) {
        second_thoughts(engine, Network::Bluesky, Fate::LoseRequest);
    }

    fn a_call_that_never_reached_mastodon_ends_as_canceled(engine: Engine) {
        second_thoughts(engine, Network::Mastodon, Fate::LoseRequest);
    }

    fn of_two_posts_with_the_same_words_none_is_taken_for_the_other(engine: Engine) {
        let detour = Detour::start(engine, Network::Mastodon);
        let Detour { lab, proxy, person, .. } = &detour;
        let twins = [(); 2].map(|()| new_post(lab, detour.draft("said twice")));
        publish_now(lab, &twins[0]);
        let first = outcome(lab, &twins[0]);
        proxy.set(Fate::LoseRequest);
        publish_now(lab, &twins[1]);
        wait_until("the call is lost", || job_of(lab, &twins[1])["targets"][0]["stage"] == "reading");
        proxy.set(Fate::Pass);

        let second = settled(lab, &twins[1]);

        assert_eq!(text(&second["state"]), "succeeded", "{second}");
        assert_eq!(person.all_words(), ["said twice", "said twice"]);
        let id = |job: &Value| job["targets"][0]["published"][0]["remote_id"].clone();
        assert_ne!(id(&first), id(&second));
    }

    fn an_account_that_was_removed_during_the_call_is_not_read(engine: Engine) {
        let detour = Detour::start(engine, Network::Bluesky);
        let Detour { lab, proxy, person, .. } = &detour;
        proxy.set(Fate::HoldAnswer);
        let post = new_post(lab, detour.draft("who knows"));
        publish_now(lab, &post);
        proxy.await_effect();

        lab.delete("/connections/bluesky").key(&lab.key).send().expect(200);
        let before = proxy.requests();
        proxy.set(Fate::LoseAnswer);

        let job = outcome(lab, &post);
        assert_eq!(text(&job["state"]), "needs_attention", "{job}");
        assert_eq!(text(&job["targets"][0]["outcome"]), "unknown", "{job}");
        assert_eq!(text(&job["targets"][0]["failure"]["code"]), "connection_gone", "{job}");
        assert_eq!(proxy.requests(), before, "the network was asked once more");
        assert_eq!(person.all_words(), ["who knows"]);
    }

    fn an_account_that_was_removed_during_an_upload_is_not_posted_to(engine: Engine) {
        let upload = "POST /api/v2/media ";
        let detour = Detour::spoiling(engine, Network::Mastodon, upload);
        let Detour { lab, proxy, person, .. } = &detour;
        let mut draft = detour.draft("never");
        draft["media_url"] = json!(new_picture(lab));
        let post = new_post(lab, draft);
        proxy.set(Fate::HoldAnswer);
        publish_now(lab, &post);
        proxy.await_effect();

        lab.delete("/connections/mastodon").key(&lab.key).send().expect(200);
        let before = proxy.requests();

        // The upload is broken off, so the job ends although the server keeps it waiting.
        let job = outcome(lab, &post);
        proxy.set(Fate::Pass);
        assert_eq!(text(&job["state"]), "failed", "{job}");
        assert_eq!(text(&job["targets"][0]["failure"]["code"]), "connection_gone", "{job}");
        assert_eq!(proxy.requests(), before, "the account was used once more");
        assert!(person.posts().is_empty());
    }

    fn an_account_that_was_shut_out_has_to_be_connected_again(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let person = Person::new(network);
            let id = connect(&lab, network, person.form());
            let draft = json!({ "content": "too late", "targets": [{ "connection_id": id }] });
            let post = new_post(&lab, draft);
            person.shut_out();
            publish_now(&lab, &post);

            let job = outcome(&lab, &post);

            assert_eq!(text(&job["state"]), "failed", "{job}");
            assert_eq!(text(&job["targets"][0]["failure"]["class"]), "auth", "{job}");
            let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
            let own = list(&found["connections"]).iter().find(|one| text(&one["id"]) == id);
            assert_eq!(text(&own.unwrap()["status"]), "expired", "{job}");
        }
    }
}
