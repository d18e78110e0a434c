//! A thread is several calls, and any of them can be the last that works.

use serde_json::json;

use crate::{
    lab::{Lab, both},
    publishing::{outcome, publish_now},
    steps::{new_post, text},
};

use super::{
    double::Double,
    world::{Network, connect},
};

both! {
    fn half_a_thread_is_finished_and_not_begun_again(lab: Lab) {
        let server = Double::of("ada");
        let connection = connect(&lab, Network::Mastodon, server.form());
        let options = json!({ "thread": ["two", "three"] });
        let targets = json!([{ "connection_id": connection, "options": options }]);
        let post = new_post(&lab, json!({ "content": "one", "targets": targets }));
        server.words().most = 1;

        publish_now(&lab, &post);

        let job = outcome(&lab, &post);
        assert_eq!(text(&job["state"]), "partially_succeeded", "{job}");
        let found = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(text(&found["posts"][0]["status"]), "PartiallyPublished", "{found}");

        server.words().most = usize::MAX;
        publish_now(&lab, &post);

        let job = outcome(&lab, &post);
        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        let words = server.words();
        let said: Vec<_> = words.statuses.iter().map(|status| text(&status["status"])).collect();
        assert_eq!(said, ["one", "two", "three"]);
        let answers: Vec<_> =
            words.statuses.iter().map(|status| status["in_reply_to_id"].clone()).collect();
        assert_eq!(answers, [json!(null), json!("1"), json!("2")]);
    }
}
