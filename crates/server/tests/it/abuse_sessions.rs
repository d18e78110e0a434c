//! API2: passwords, sessions and cookies.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, Reply, both},
    steps::{list, text},
};

fn try_sign_in(lab: &Lab, email: &str, password: &str) -> Reply {
    let form = json!({ "email": email, "password": password });
    lab.post("/api/auth/sign-in").json(form).send()
}

/// The cookie that an answer sets: its name with its value, and its attributes.
#[track_caller]
fn cookie(reply: &Reply) -> (String, String) {
    let header = reply.header("set-cookie").expect("a cookie");
    let (pair, attributes) = header.split_once(';').expect("attributes");
    (pair.to_owned(), attributes.to_owned())
}

both! {
    // 2.12
    fn wrong_passwords_close_an_account_for_a_while_and_never_for_good(lab: Lab) {
        let mut closed_for = Vec::new();
        for _ in 0..8 {
            let refused = try_sign_in(&lab, &lab.email, "not the password");
            if refused.status == 429 {
                closed_for.push(refused.header("retry-after").unwrap().parse::<u64>().unwrap());
                assert_eq!(refused.code(), "rate_limited");
            } else {
                refused.expect_problem(401, "wrong_credentials");
            }
        }
        assert!(!closed_for.is_empty(), "eight wrong passwords in a row are too many");
        assert!(closed_for.iter().all(|seconds| (1..=4).contains(seconds)), "{closed_for:?}");
        try_sign_in(&lab, &lab.email, &lab.password).expect_problem(429, "rate_limited");

        let begun = Instant::now();
        loop {
            let reply = try_sign_in(&lab, &lab.email, &lab.password);
            if reply.status == 201 {
                break;
            }
            reply.expect_problem(429, "rate_limited");
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "the right password works after the wait"
            );
            thread::sleep(Duration::from_millis(100));
        }
        try_sign_in(&lab, &lab.email, "not the password").expect_problem(401, "wrong_credentials");
    }

    // 2.16
    fn a_new_password_ends_every_other_session(lab: Lab) {
        let [this, other] = [0, 1].map(|_| lab.sign_in(&lab.email, &lab.password));
        let change = |current: &str, new: &str| {
            let body = json!({ "current_password": current, "new_password": new });
            lab.put("/settings/password").session(&this).json(body).send()
        };
        let new = "an even better password";

        change("not the password", new).expect_problem(403, "wrong_password");
        change(&lab.password, "short").expect_problem(422, "validation_failed");
        change(&lab.password, &"x".repeat(257)).expect_problem(422, "validation_failed");
        change(&lab.password, &"ü".repeat(129)).expect_problem(422, "validation_failed");
        lab.get("/keys").session(&other).send().expect(200);
        change(&lab.password, new).expect(200);

        lab.get("/keys").session(&other).send().expect_problem(401, "invalid_session");
        lab.get("/keys").session(&this).send().expect(200);
        try_sign_in(&lab, &lab.email, &lab.password).expect_problem(401, "wrong_credentials");
        lab.sign_in(&lab.email, new);
        let logs =
            lab.get("/audit-logs?action=user.password_changed").key(&lab.key).send().expect(200);
        assert_eq!(list(&logs.json["audit_logs"]).len(), 1);
        assert!(!logs.text().contains(new) && !logs.text().contains(&lab.password));
    }

    fn signing_out_ends_the_session(lab: Lab) {
        let token = lab.sign_in(&lab.email, &lab.password);

        let out = lab.post("/api/auth/sign-out").session(&token).send().expect(200);

        let (pair, attributes) = cookie(&out);
        assert!(pair.ends_with('=') && attributes.contains("Max-Age=0"), "{pair};{attributes}");
        lab.get("/keys").session(&token).send().expect_problem(401, "invalid_session");
    }
}

#[test]
fn guessing_the_current_password_is_slowed_down_as_well() {
    let lab = Lab::start(Engine::Sqlite);
    let session = lab.sign_in(&lab.email, &lab.password);

    let statuses: Vec<_> = (0..8)
        .map(|_| {
            let body =
                json!({ "current_password": "a guess", "new_password": "a longer password" });
            lab.put("/settings/password").session(&session).json(body).send().status
        })
        .collect();

    assert!(statuses.starts_with(&[403; 5]) && statuses.contains(&429), "{statuses:?}");
}

// 2.13
#[test]
fn a_flood_of_sign_ins_is_cut_off_without_filling_the_memory() {
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_RATE_LIMIT", "600")]);
    try_sign_in(&lab, "warm@example.test", "warming up").expect(401);
    let before = lab.memory("VmRSS");
    lab.forget_peak_memory();

    let statuses: Vec<u16> = thread::scope(|scope| {
        let flood: Vec<_> = (0..40)
            .map(|one| {
                let lab = &lab;
                scope.spawn(move || {
                    (0..5)
                        .map(|two| {
                            let email = format!("nobody-{one}-{two}@example.test");
                            try_sign_in(lab, &email, "some password").status
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        flood.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });

    assert!(statuses.iter().all(|status| [401, 429, 503].contains(status)), "{statuses:?}");
    let tried = statuses.iter().filter(|status| **status == 401).count();
    assert!(tried <= 80, "{tried} of 200 passwords were tried");
    assert!(statuses.contains(&429), "{statuses:?}");
    // Two hashes at once take 19 MiB each.
    let grown = lab.memory("VmHWM").saturating_sub(before);
    assert!(grown < 80 << 20, "grew by {grown} bytes");
    lab.get("/health").send().expect(200);
}

// 2.14
#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    let lab = Lab::start(Engine::Sqlite);
    let known: Vec<_> = (0..4).map(|number| lab.tenant(&format!("known{number}")).email).collect();
    let mut times = [Vec::new(), Vec::new()];
    let mut bodies = Vec::new();
    try_sign_in(&lab, "warm@example.test", "warming up").expect(401);

    for round in 0..12 {
        let emails = [known[round % 4].clone(), format!("unknown{}@example.test", round % 4)];
        for (which, email) in emails.iter().enumerate() {
            let begun = Instant::now();
            let refused = try_sign_in(&lab, email, "not the password");
            times[which].push(begun.elapsed());
            let mut refused = refused.expect_problem(401, "wrong_credentials");
            refused.json["request_id"] = Value::Null;
            bodies.push(refused.json);
        }
    }

    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    let [known, unknown] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    let close = known < unknown * 2 && unknown < known * 2;
    assert!(close, "{known:?} for a known user, {unknown:?} for an unknown one");
}

// 2.15
#[test]
fn a_sign_in_makes_a_session_of_its_own() {
    let lab = Lab::start(Engine::Sqlite);
    let preset = lab.sign_in(&lab.email, &lab.password);
    let form = json!({ "email": lab.email, "password": lab.password });

    let request =
        lab.post("/api/auth/sign-in").header("cookie", format!("campanile_session={preset}"));
    let reply = request.json(form).send().expect(201);

    let token = text(&reply.json["session"]["token"]);
    assert_ne!(token, preset);
    let (pair, attributes) = cookie(&reply);
    assert_eq!(pair, format!("campanile_session={token}"));
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(attributes.contains(attribute), "{attributes}");
    }
    assert!(!attributes.contains("Domain"), "{attributes}");
}

// 2.15
#[test]
fn a_public_service_binds_its_cookie_to_its_host() {
    let url = [("CAMPANILE_PUBLIC_URL", "https://bells.example.com")];
    let lab = Lab::start_with(Engine::Sqlite, &url);

    let (pair, attributes) = cookie(&try_sign_in(&lab, &lab.email, &lab.password).expect(201));

    assert!(pair.starts_with("__Host-campanile_session="), "{pair}");
    assert!(attributes.contains("; Secure") && attributes.contains("HttpOnly"), "{attributes}");
}

// 2.19
#[test]
fn another_site_cannot_act_with_a_cookie() {
    let lab = Lab::start(Engine::Sqlite);
    let (pair, _) = cookie(&try_sign_in(&lab, &lab.email, &lab.password).expect(201));
    let body = json!({ "name": "k", "scopes": ["*"] });
    let create = |headers: &[(&str, &str)]| {
        let request = lab.post("/api/internal/keys").header("cookie", &pair).json(body.clone());
        headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send()
    };

    for hostile in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", &lab.origin())],
        &[("origin", "https://evil.example.com")],
        &[("origin", "null")],
        &[("origin", &format!("{}.evil.example.com", lab.origin()))],
        &[("referer", &lab.origin())],
        &[],
    ] {
        create(hostile).expect_problem(403, "cross_site_request");
    }
    let form = lab.post("/api/internal/keys").header("cookie", &pair);
    let form = form.header("sec-fetch-site", "same-origin");
    let form = form.header("content-type", "application/x-www-form-urlencoded").body("name=k");
    form.send().expect_problem(415, "unsupported_media_type");
    let plain = lab.post("/api/internal/keys").header("cookie", &pair);
    let plain = plain.header("sec-fetch-site", "same-origin").header("content-type", "text/plain");
    plain.body(body.to_string()).send().expect_problem(415, "unsupported_media_type");
    let keys = lab.get("/api/internal/keys").header("cookie", &pair).send().expect(200).json;
    assert_eq!(list(&keys["keys"]).len(), 1, "nothing was made");

    create(&[("sec-fetch-site", "same-origin")]).expect(201);
    create(&[("origin", &lab.origin())]).expect(201);
}

// 2.19
#[test]
fn a_form_on_another_site_cannot_sign_anybody_in() {
    let lab = Lab::start(Engine::Sqlite);
    let form = json!({ "email": lab.email, "password": lab.password }).to_string();

    for kind in
        ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"]
    {
        let request = lab.post("/api/auth/sign-in").header("content-type", kind).body(form.clone());
        let refused = request.send().expect_problem(415, "unsupported_media_type");
        assert_eq!(refused.header("set-cookie"), None);
    }
}
