//! A secret opens in its own row only, with its own key only, and says so where it does not.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, both},
    publishing::{outcome, publish_now, sandbox, timeline},
    steps::{list, new_post, text},
};

fn try_publish(lab: &Lab, connection: &str) -> Value {
    let targets = json!([{ "connection_id": connection }]);
    let post = new_post(lab, json!({ "content": "words", "targets": targets }));
    publish_now(lab, &post);
    outcome(lab, &post)
}

#[track_caller]
fn expect_unusable(lab: &Lab, connection: &str) {
    let job = try_publish(lab, connection);
    let failure = &job["targets"][0]["failure"];
    assert_eq!(text(&job["state"]), "failed", "{job}");
    let said = (text(&failure["class"]), text(&failure["code"]));
    assert_eq!(said, ("auth", "secret_unreadable"), "{job}");
    assert!(!text(&failure["message"]).is_empty(), "{job}");
    let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
    let own = list(&found["connections"]).iter().find(|one| text(&one["id"]) == connection);
    assert_eq!(text(&own.unwrap()["status"]), "expired", "{found}");
}

both! {
    fn a_secret_that_was_moved_to_another_row_does_not_open(lab: Lab) {
        let (victim, thief) = (sandbox(&lab, "victim"), sandbox(&lab, "thief"));
        lab.stop();
        let moved = lab.tamper(&format!(
            "UPDATE connections SET secret = (SELECT secret FROM connections WHERE id = '{victim}')
              WHERE id = '{thief}'"
        ));
        assert_eq!(moved, 1);
        lab.begin();

        expect_unusable(&lab, &thief);

        assert!(timeline(&lab, "thief").is_empty());
        assert_eq!(text(&try_publish(&lab, &victim)["state"]), "succeeded");
        // Connecting the account again is the way out.
        let request = lab.post("/connections/sandbox").key(&lab.key);
        request.json(json!({ "handle": "thief" })).send().expect(200);
        assert_eq!(text(&try_publish(&lab, &thief)["state"]), "succeeded");
    }

    fn a_secret_of_another_tenant_does_not_open(lab: Lab) {
        let guest = lab.tenant("guest");
        let form = json!({ "handle": "theirs" });
        let made = lab.post("/connections/sandbox").key(&guest.key).json(form).send().expect(201);
        let theirs = text(&made.json["connection"]["id"]).to_owned();
        let own = sandbox(&lab, "own");
        lab.stop();
        lab.tamper(&format!(
            "UPDATE connections SET secret = (SELECT secret FROM connections WHERE id = '{theirs}')
              WHERE id = '{own}'"
        ));
        lab.begin();

        expect_unusable(&lab, &own);
    }

    fn a_damaged_secret_is_a_failure_and_no_crash(engine: Engine) {
        let lab = Lab::start(engine);
        for damage in ["", "v1.", "v1.AAAAAAAA.short", "something else entirely"] {
            let id = sandbox(&lab, &format!("account{}", damage.len()));
            lab.stop();
            let bytes = match engine {
                Engine::Sqlite => format!("CAST('{damage}' AS BLOB)"),
                Engine::Postgres => format!("convert_to('{damage}', 'UTF8')"),
            };
            lab.tamper(&format!("UPDATE connections SET secret = {bytes} WHERE id = '{id}'"));
            lab.begin();
            expect_unusable(&lab, &id);
        }
        // Such an account can be removed all the same.
        let found = lab.get("/connections").key(&lab.key).send().expect(200).json;
        for connection in list(&found["connections"]) {
            let path = format!("/connections/sandbox?connection_id={}", text(&connection["id"]));
            lab.delete(&path).key(&lab.key).send().expect(200);
        }
    }
}
