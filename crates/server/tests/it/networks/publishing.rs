//! What is published can be seen on the network itself, once, as it was written.

use campanile_model::time::SECOND;
use serde_json::{Value, json};

use crate::{
    lab::{Engine, both},
    media::import,
    peer::Peer,
    publishing::{outcome, publish_now},
    steps::{each, expect_faults, from_now, list, new_post, text},
};

use super::world::{NETWORKS, Network, Person, connect, lab};

/// Fails the test unless the target's receipts are these posts of the network's, oldest first.
#[track_caller]
fn expect_receipts(person: &Person, target: &Value) {
    let posts = person.posts();
    let mut there: Vec<_> = posts.iter().map(|post| person.post_id(post)).collect();
    there.reverse();
    assert_eq!(each(&target["published"], "remote_id"), there, "{target}");
    for (receipt, post) in list(&target["published"]).iter().zip(posts.iter().rev()) {
        let url = text(&receipt["url"]);
        match person.network {
            Network::Bluesky => {
                let key = person.post_id(post).rsplit('/').next().unwrap();
                let end = format!("/profile/{}/post/{key}", person.id);
                let named = format!("/profile/{}/post/{key}", person.name);
                assert!(url.ends_with(&end) || url.ends_with(&named), "{url}");
            }
            Network::Mastodon => assert_eq!(url, text(&post["url"])),
        }
    }
}

both! {
    fn a_text_goes_out_once_at_its_time(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let person = Person::new(network);
            let id = connect(&lab, network, person.form());
            let at = from_now(&lab, 2 * SECOND);
            let post = new_post(&lab, json!({
                "content": "Doors open at nine.", "scheduled_at": at,
                "targets": [{ "connection_id": id }],
            }));
            assert!(person.posts().is_empty());

            let job = outcome(&lab, &post);

            assert_eq!(text(&job["state"]), "succeeded", "{job}");
            assert!(text(&job["started_at"]) >= at.as_str(), "{job}");
            assert_eq!(job["targets"][0]["attempts"], 1);
            assert_eq!(person.all_words(), ["Doors open at nine."]);
            expect_receipts(&person, &job["targets"][0]);
        }
    }

    fn links_mentions_and_hashtags_are_live_on_the_network(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let (person, friend) = (Person::new(network), Person::new(network));
            let id = connect(&lab, network, person.form());
            let words = format!("Grüße an @{}: https://example.com/päge #Türme", friend.name);
            let post = new_post(&lab, json!({
                "content": words, "targets": [{ "connection_id": id }],
            }));
            publish_now(&lab, &post);

            let job = outcome(&lab, &post);

            assert_eq!(text(&job["state"]), "succeeded", "{job}");
            let posts = person.posts();
            assert_eq!(posts.len(), 1, "{posts:?}");
            assert_eq!(person.words(&posts[0]), words);
            match network {
                Network::Bluesky => {
                    let facets = list(&posts[0]["value"]["facets"]);
                    let features = facets.iter().map(|facet| &facet["features"][0]);
                    let kinds: Vec<_> = features.clone().map(|one| text(&one["$type"])).collect();
                    for kind in ["mention", "link", "tag"] {
                        let whole = format!("app.bsky.richtext.facet#{kind}");
                        assert!(kinds.contains(&&*whole), "{facets:?}");
                    }
                    let mut mentioned = features.filter_map(|one| one["did"].as_str());
                    assert_eq!(mentioned.next(), Some(&*friend.id));
                }
                Network::Mastodon => {
                    assert_eq!(text(&posts[0]["mentions"][0]["id"]), friend.id);
                    assert_eq!(list(&posts[0]["tags"]).len(), 1, "{}", posts[0]);
                }
            }
        }
    }

    fn a_picture_of_the_media_library_goes_along_with_its_description(engine: Engine) {
        let lab = lab(engine);
        let item = import(&lab, &lab.key, &Peer::files().url("photo.jpg"));
        let people = NETWORKS.map(Person::new);
        let ids = people.each_ref().map(|person| connect(&lab, person.network, person.form()));
        let post = new_post(&lab, json!({
            "content": "From the tower",
            "media": [{ "storage_path": item["storage_path"], "alt_text": "Roofs in the fog" }],
            "targets": ids.map(|id| json!({ "connection_id": id })),
        }));
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);

        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        for (person, target) in people.iter().zip(list(&job["targets"])) {
            expect_receipts(person, target);
            let posts = person.posts();
            let (shown, field) = match person.network {
                Network::Bluesky => (&posts[0]["value"]["embed"]["images"], "alt"),
                Network::Mastodon => (&posts[0]["media_attachments"], "description"),
            };
            assert_eq!(list(shown).len(), 1, "{}", posts[0]);
            assert_eq!(text(&shown[0][field]), "Roofs in the fog");
        }
    }

    fn every_part_of_a_thread_answers_the_one_before_it(engine: Engine) {
        let lab = lab(engine);
        for network in NETWORKS {
            let person = Person::new(network);
            let id = connect(&lab, network, person.form());
            let options = json!({ "thread": ["two", "three"] });
            let post = new_post(&lab, json!({
                "content": "one", "targets": [{ "connection_id": id, "options": options }],
            }));
            publish_now(&lab, &post);

            let job = outcome(&lab, &post);

            assert_eq!(text(&job["state"]), "succeeded", "{job}");
            expect_receipts(&person, &job["targets"][0]);
            assert_eq!(person.all_words(), ["three", "two", "one"]);
            let posts = person.posts();
            for (answer, before) in [(0, 1), (1, 2)] {
                let parent = match network {
                    Network::Bluesky => &posts[answer]["value"]["reply"]["parent"]["uri"],
                    Network::Mastodon => &posts[answer]["in_reply_to_id"],
                };
                assert_eq!(text(parent), person.post_id(&posts[before]));
            }
        }
    }

    fn every_account_gets_its_own_words(engine: Engine) {
        let lab = lab(engine);
        let people = NETWORKS.map(Person::new);
        let ids = people.each_ref().map(|person| connect(&lab, person.network, person.form()));
        let post = new_post(&lab, json!({
            "content": "for everybody",
            "targets": [
                { "connection_id": ids[0] },
                { "connection_id": ids[1], "content": "for Mastodon alone" },
            ],
        }));
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);

        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        assert_eq!(people[0].all_words(), ["for everybody"]);
        assert_eq!(people[1].all_words(), ["for Mastodon alone"]);
        assert_eq!(each(&job["targets"], "platform"), ["bluesky", "mastodon"]);
    }

    fn a_draft_may_be_empty_until_it_is_planned(engine: Engine) {
        let lab = lab(engine);
        let targets = NETWORKS.map(|network| {
            let id = connect(&lab, network, Person::new(network).form());
            json!({ "connection_id": id })
        });
        let mut draft = json!({ "targets": targets });
        lab.post("/posts").key(&lab.key).json(draft.clone()).send().expect(201);

        draft["scheduled_at"] = json!(from_now(&lab, 3600 * SECOND));
        let planned = lab.post("/posts").key(&lab.key).json(draft).send();

        expect_faults(planned, &[("targets[0].content", "empty"), ("targets[1].content", "empty")]);
    }

    fn limits_are_checked_before_anything_is_planned(engine: Engine) {
        let lab = lab(engine);
        let people = NETWORKS.map(Person::new);
        let ids = people.each_ref().map(|person| connect(&lab, person.network, person.form()));
        // One grapheme of seven code points: it counts once.
        let family = "👨‍👩‍👧‍👦";
        let draft = |bluesky: usize, mastodon: usize| json!({
            "scheduled_at": from_now(&lab, 3600 * SECOND),
            "targets": [
                { "connection_id": ids[0], "content": family.repeat(bluesky) },
                { "connection_id": ids[1], "content": "ü".repeat(mastodon) },
            ],
        });
        let send = |draft: Value| lab.post("/posts").key(&lab.key).json(draft).send();

        let both = [("targets[0].content", "too_long"), ("targets[1].content", "too_long")];
        // A family is 25 bytes; the network also limits bytes, so plain letters here.
        let mut long = draft(1, 501);
        long["targets"][0]["content"] = json!("x".repeat(301));
        expect_faults(send(long.clone()), &both);
        expect_faults(lab.post("/posts?validate_only=true").key(&lab.key).json(long).send(), &both);
        expect_faults(send(draft(100, 501)), &both[1..]);
        let posts = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(posts["posts"], json!([]));

        let jobs = lab.get("/schedule").key(&lab.key).send().expect(200).json;
        assert_eq!(jobs["publish_jobs"], json!([]));
        send(draft(100, 500)).expect(201);
    }
}
