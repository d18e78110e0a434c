//! The first things that anybody does.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::lab::{Engine, Lab, Tenant, both, free_port};

/// Creates a post and returns its path.
fn new_post(lab: &Lab, tenant: &Tenant) -> String {
    let draft = json!({ "content": "Bells at noon" });
    let created = lab.post("/posts").key(&tenant.key).json(draft).send().expect(201).json;
    format!("/posts/{}", created["post"]["id"].as_str().unwrap())
}

both! {
    fn the_printed_key_opens_the_service(lab: Lab) {
        let owner = lab.owner();

        assert_eq!(owner.whoami["user"]["email"], lab.email.as_str());
        assert_eq!(owner.whoami["brand_id"], owner.brand_id.as_str());
        lab.get("/whoami").header("x-api-key", &lab.key).send().expect(200);
        lab.get("/whoami").send().expect_problem(401, "unauthenticated");
    }

    fn the_printed_password_opens_a_session_until_it_is_changed(lab: Lab) {
        let token = lab.sign_in(&lab.email, &lab.password);
        lab.get("/keys").session(&token).send().expect(200);

        let new = "a much better password";
        let change = json!({ "current_password": lab.password, "new_password": new });
        lab.put("/settings/password").session(&token).json(change).send().expect(200);

        let old = json!({ "email": lab.email, "password": lab.password });
        let refused = lab.post("/api/auth/sign-in").json(old).send();
        refused.expect_problem(401, "wrong_credentials");
        lab.sign_in(&lab.email, new);
    }

    fn a_post_lives_from_creation_to_deletion(lab: Lab) {
        let draft = json!({ "content": "Bells at noon", "tags": ["bells"] });
        let created = lab.post("/posts").key(&lab.key).json(draft).send().expect(201).json;
        let id = created["post"]["id"].as_str().unwrap();
        let path = format!("/posts/{id}");

        let read = lab.get(&path).key(&lab.key).send().expect(200).json;
        assert_eq!(read, created);
        let list = lab.get("/posts?tag=bells").key(&lab.key).send().expect(200).json;
        assert_eq!(list["posts"].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(list["posts"][0]["id"], id);

        let change = json!({ "content": "Bells at one" });
        let changed = lab.patch(&path).key(&lab.key).json(change).send().expect(200).json;
        assert_eq!(changed["post"]["content"], "Bells at one");
        assert_eq!(changed["post"]["tags"], json!(["bells"]));

        let gone = lab.delete(&path).key(&lab.key).send().expect(200).json;
        assert_eq!(gone["deleted"], true);
        lab.get(&path).key(&lab.key).send().expect_problem(404, "not_found");
        let list = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(list["posts"], json!([]));
    }

    fn a_restart_keeps_everything(lab: Lab) {
        let path = new_post(&lab, &lab.owner());
        let before = lab.get(&path).key(&lab.key).send().expect(200).json;

        let status = lab.stop();
        assert!(status.success(), "a graceful end is a success: {status}");
        lab.begin();
        assert_eq!(lab.get(&path).key(&lab.key).send().expect(200).json, before);

        lab.kill();
        lab.begin();
        assert_eq!(lab.get(&path).key(&lab.key).send().expect(200).json, before);
    }

    fn the_first_start_introduces_itself_once(lab: Lab) {
        lab.restart();

        let printed = lab.printed();
        assert_eq!(printed.matches(&lab.password).count(), 1, "{printed}");
        assert_eq!(printed.matches("camp_live_").count(), printed.matches(&lab.key).count());
        assert_eq!(printed.matches("curl ").count(), 1, "{printed}");
        let log = lab.log();
        assert!(!log.contains(&lab.key) && !log.contains(&lab.password), "secrets are not logged");
    }

    fn the_printed_curl_line_works_when_pasted(lab: Lab) {
        let printed = lab.printed();
        let line = printed.lines().map(str::trim).find(|line| line.starts_with("curl ")).unwrap();

        let output = std::process::Command::new("sh").args(["-c", line]).output().unwrap();

        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{line}\n{answer}");
        assert!(answer.contains(&lab.email), "{line}\n{answer}");
    }

    fn the_master_key_is_for_the_service_alone(lab: Lab) {
        let file = lab.data_dir().join("master.key");

        let mode = file.metadata().unwrap().permissions().mode();

        assert_eq!(mode & 0o777, 0o600);
    }

    fn tenants_do_not_see_each_other(lab: Lab) {
        let (owner, other) = (lab.owner(), lab.tenant("other"));
        assert_ne!(owner.user_id, other.user_id);
        lab.sign_in(&other.email, &other.password);
        let path = new_post(&lab, &owner);

        lab.get(&path).key(&other.key).send().expect_problem(404, "not_found");
        let into_foreign = lab.get("/posts").key(&other.key).brand(&owner.brand_id).send();
        into_foreign.expect_problem(404, "brand_not_found");
        lab.get("/posts").key(&owner.key).brand(&owner.brand_id).send().expect(200);
    }

    fn a_limit_is_kept_and_announced(engine: Engine) {
        let lab = Lab::start_with(engine, &[("CAMPANILE_RATE_LIMIT", "5")]);

        for _ in 0..5 {
            lab.get("/whoami").key(&lab.key).send().expect(200);
        }

        let refused = lab.get("/whoami").key(&lab.key).send().expect_problem(429, "rate_limited");
        assert!(refused.header("retry-after").is_some());
    }
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let lab = Lab::start(Engine::Sqlite);
    let address = format!("127.0.0.1:{}", free_port());

    let second = lab.try_cli(&["serve"], &[("CAMPANILE_LISTEN", &address)]);

    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("already"), "{said}");
    lab.get("/whoami").key(&lab.key).send().expect(200);
}

#[test]
fn what_is_not_http_does_no_harm() {
    let lab = Lab::start(Engine::Sqlite);

    // An answer is welcome, but a connection closed without one is as good.
    if let Ok(reply) = lab.raw(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n") {
        assert!((400..500).contains(&reply.status), "{reply:?}");
    }

    lab.get("/health").send().expect(200);
}
