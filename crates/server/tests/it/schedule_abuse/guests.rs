//! API1: nothing of another tenant can be seen, changed or used.

use campanile_model::time::SECOND;
use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, Tenant, both},
    publishing::{job_of, sandbox, timeline},
    steps::{from_now, new_post, post_path, text},
};

const NOBODY: &str = "01hf7yat00000000000000000a";

/// What the owner has, and somebody who should not get at it.
struct Scene<'l> {
    lab: &'l Lab,
    guest: Tenant,
    connection: String,
    post: Value,
    job: Value,
}

fn scene(lab: &Lab) -> Scene<'_> {
    let connection = sandbox(lab, "canary-account");
    let post = new_post(
        lab,
        json!({
            "content": "canary-words", "tags": ["canary-tag"],
            "scheduled_at": from_now(lab, 3600 * SECOND),
            "targets": [{ "connection_id": connection }],
        }),
    );
    let job = job_of(lab, &post);
    Scene { guest: lab.tenant("guest"), connection, post, job, lab }
}

impl Scene<'_> {
    /// Fails unless the answer is the same as to an id that nobody has.
    #[track_caller]
    fn expect_like_nobody(&self, method: &str, path: &str, id: &str, body: &Value) {
        let send = |path: &str| -> Value {
            let request = self.lab.request(method, path).key(&self.guest.key);
            let request = if body.is_null() { request } else { request.json(body.clone()) };
            let mut answer = request.send().expect_problem(404, "not_found").json;
            answer["request_id"] = Value::Null;
            answer
        };
        let prefix = id.split('_').next().unwrap();
        assert_eq!(send(path), send(&path.replace(id, &format!("{prefix}_{NOBODY}"))), "{path}");
    }

    #[track_caller]
    fn expect_untouched(&self) {
        assert_eq!(job_of(self.lab, &self.post), self.job);
        assert!(timeline(self.lab, "canary-account").is_empty());
    }

    #[track_caller]
    fn expect_empty(reply: Reply, name: &str) {
        let reply = reply.expect(200);
        assert_eq!(reply.json[name], json!([]), "{}", reply.text());
        assert!(!reply.text().contains("canary"), "{}", reply.text());
    }
}

both! {
    // 1.02
    fn nobody_publishes_the_post_of_another(lab: Lab) {
        let scene = scene(&lab);
        let id = text(&scene.post["id"]);
        let path = post_path(&scene.post);
        scene.expect_like_nobody("POST", &format!("{path}/publish-now"), id, &Value::Null);
        scene.expect_like_nobody("PATCH", &path, id, &json!({ "action": "publish_now" }));
        scene.expect_untouched();
    }

    // 1.05
    fn nobody_moves_or_cancels_the_job_of_another(lab: Lab) {
        let scene = scene(&lab);
        let id = text(&scene.job["id"]);
        let path = format!("/schedule/{id}");
        let later = json!({ "scheduled_at": from_now(&lab, 7200 * SECOND) });
        scene.expect_like_nobody("PATCH", &path, id, &later);
        scene.expect_like_nobody("DELETE", &path, id, &Value::Null);
        scene.expect_untouched();

        // Neither one whose post is gone.
        lab.delete(&post_path(&scene.post)).key(&lab.key).send().expect(200);
        scene.expect_like_nobody("DELETE", &path, id, &Value::Null);
        let missing = lab.get("/schedule/missing-content").key(&lab.key).send().expect(200).json;
        assert_eq!(text(&missing["jobs"][0]["publish_job_id"]), id);
    }

    // 1.06
    fn nobody_sees_the_jobs_and_accounts_of_another(lab: Lab) {
        let scene = scene(&lab);
        let ask = |path: &str| lab.get(path).key(&scene.guest.key).send();
        let post = text(&scene.post["id"]);
        for query in ["", "?tag=canary-tag", &format!("?post_id={post}"), "?status=queued"] {
            Scene::expect_empty(ask(&format!("/schedule{query}")), "publish_jobs");
        }
        Scene::expect_empty(ask("/schedule/missing-content"), "jobs");
        Scene::expect_empty(ask("/connections"), "connections");
        Scene::expect_empty(ask("/api/sandbox/canary-account"), "posts");
        let platforms = ask("/platforms").expect(200).json;
        let counts: Vec<_> = platforms["platforms"].as_array().unwrap().iter()
            .map(|platform| platform["connections"].as_u64().unwrap()).collect();
        assert!(counts.iter().all(|count| *count == 0), "{platforms}");
    }

    fn nobody_uses_or_removes_the_account_of_another(lab: Lab) {
        let scene = scene(&lab);
        let id = &scene.connection;
        let path = format!("/connections/sandbox?connection_id={id}");
        scene.expect_like_nobody("DELETE", &path, id, &Value::Null);
        let draft = json!({ "content": "mine", "targets": [{ "connection_id": id }] });
        let refused = lab.post("/posts").key(&scene.guest.key).json(draft).send();
        let field = [("targets[0].connection_id", "connection_not_found")];
        crate::steps::expect_faults(refused, &field);
        // The same name in the sandbox is another account there.
        let form = json!({ "handle": "canary-account" });
        lab.post("/connections/sandbox").key(&scene.guest.key).json(form).send().expect(201);
        scene.expect_untouched();
        let own = lab.get("/connections").key(&lab.key).send().expect(200).json;
        assert_eq!(text(&own["connections"][0]["id"]), id);
    }

    // 1.12
    fn a_foreign_brand_opens_nothing(lab: Lab) {
        let scene = scene(&lab);
        let brand = lab.owner().brand_id;
        let job = format!("/schedule/{}", text(&scene.job["id"]));
        let publish = format!("{}/publish-now", post_path(&scene.post));
        for (method, path) in [
            ("GET", "/schedule"), ("GET", "/schedule/missing-content"),
            ("GET", "/schedule/available-slot"), ("GET", "/connections"), ("GET", "/platforms"),
            ("POST", "/connections/sandbox"), ("DELETE", "/connections/sandbox"),
            ("DELETE", "/schedule/attempts?scope=all"), ("DELETE", &job), ("POST", &publish),
        ] {
            let request = lab.request(method, path).key(&scene.guest.key).brand(&brand);
            let request = if path == "/connections/sandbox" && method == "POST" {
                request.json(json!({}))
            } else {
                request
            };
            request.send().expect_problem(404, "brand_not_found");
        }
        scene.expect_untouched();
    }
}
