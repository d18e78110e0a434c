//! API2: one key, whole, in one header, from its owner.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::{
    lab::{BASE_PATH, Engine, Lab, both},
    steps::{faults, list, text},
};

/// A key that looks right to the last character and belongs to nobody.
fn forged_key(number: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let text = format!("camp_live_{number:032}");
    let mut sum = crc32fast::hash(text.as_bytes()) as usize;
    let mut end = [0; 6];
    for digit in end.iter_mut().rev() {
        *digit = DIGITS[sum % 62];
        sum /= 62;
    }
    text + str::from_utf8(&end).unwrap()
}

// 2.01
#[test]
fn what_is_no_credential_opens_nothing() {
    let lab = Lab::start(Engine::Sqlite);
    let key = &lab.key;

    let none = lab.get("/whoami").send().expect_problem(401, "unauthenticated");
    assert_eq!(none.header("www-authenticate"), Some("Bearer"));
    for wrong in [
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        &format!("Bearer {key} {key}"),
        &format!("Bearer {key},{key}"),
        &format!("Bearer  {key}"),
        &format!("Bearer\t{key}"),
        &format!("Bearer\"{key}\""),
        &format!("Basic {key}"),
        &format!("Token {key}"),
        key,
        "Basic b3duZXI6cGFzc3dvcmQ=",
        "Digest username=\"owner\"",
        "Negotiate",
    ] {
        let refused = lab.get("/whoami").header("authorization", wrong).send().expect(401);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{wrong}");
        assert!(!refused.text().contains(key), "{wrong}");
    }
    for wrong in ["", "x", &format!("Bearer {key}")] {
        lab.get("/whoami").header("x-api-key", wrong).send().expect(401);
    }
    lab.get("/whoami").header("authorization", format!("bEaReR {key}")).send().expect(200);
}

// 2.02
#[test]
fn a_key_is_read_from_nowhere_but_its_headers() {
    let lab = Lab::start(Engine::Sqlite);
    let key = &lab.key;

    for name in ["api_key", "key", "x-api-key", "access_token", "token", "authorization"] {
        lab.get(&format!("/whoami?{name}={key}")).send().expect(401);
        lab.get(&format!("/posts?{name}={key}")).send().expect(401);
    }
    for name in
        ["api_key", "x-api-key", "authorization", "campanile_session", "__Host-campanile_session"]
    {
        let cookie = format!("{name}={key}");
        for path in ["/whoami", "/posts", "/keys"] {
            let refused = lab.get(path).header("cookie", &cookie).send();
            assert_eq!(refused.status, 401, "{path} with the cookie {name}: {}", refused.text());
        }
    }
    for name in ["x-auth-token", "api-key", "proxy-authorization", "x-original-authorization"] {
        lab.get("/whoami").header(name, format!("Bearer {key}")).send().expect(401);
    }
    lab.post("/posts").json(json!({ "api_key": key, "content": "x" })).send().expect(401);
}

// 2.03
#[test]
fn a_mistyped_key_is_recognised_without_a_look_into_the_store() {
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_RATE_LIMIT", "600")]);

    for at in 0..lab.key.len() {
        let mut mistyped = lab.key.clone().into_bytes();
        mistyped[at] = if mistyped[at] == b'x' { b'y' } else { b'x' };
        let mistyped = String::from_utf8(mistyped).unwrap();
        lab.get("/whoami").key(&mistyped).send().expect_problem(401, "invalid_api_key");
    }
    for _ in 0..60 {
        lab.get("/whoami").key(&lab.key[..30]).send().expect_problem(401, "invalid_api_key");
    }

    // Look-ups that fail are counted and soon refused: none of these was one.
    lab.get("/whoami").key(&forged_key(1)).send().expect_problem(401, "invalid_api_key");
    lab.get("/whoami").key(&lab.key).send().expect(200);
}

// 2.04
#[test]
fn guessing_keys_is_slowed_down_by_address() {
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_RATE_LIMIT", "600")]);
    let guess = |number: usize| {
        // An address that the caller makes up changes nothing.
        let made_up = format!("203.0.113.{number}");
        let request = lab.get("/whoami").key(&forged_key(number));
        request
            .header("x-forwarded-for", &made_up)
            .header("forwarded", format!("for={made_up}"))
            .send()
    };
    let mut plain = Value::Null;

    for number in 0..60 {
        let mut refused = guess(number).expect_problem(401, "invalid_api_key");
        refused.json["request_id"] = Value::Null;
        if number == 0 {
            plain = refused.json;
        } else {
            assert_eq!(refused.json, plain, "a stranger learns nothing from guess {number}");
        }
    }

    for number in 60..70 {
        let refused = guess(number).expect_problem(429, "rate_limited");
        assert!(refused.header("retry-after").is_some());
    }
    // Only strangers are slowed down, at this address and at others.
    lab.get("/whoami").key(&lab.key).send().expect(200);
    let mut elsewhere = lab.socket_from([127, 0, 0, 2]);
    let request = format!(
        "GET {BASE_PATH}/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        lab.key
    );
    elsewhere.say(request).unwrap();
    elsewhere.hear().unwrap().expect(200);
}

// 2.05, 2.06
#[test]
fn two_credentials_are_one_too_many() {
    let lab = Lab::start(Engine::Sqlite);
    let other = lab.tenant("b");
    let session = lab.sign_in(&lab.email, &lab.password);
    let bearer = |key: &str| format!("Bearer {key}");

    for (authorization, api_key) in [
        (bearer(&lab.key), &other.key),
        (bearer(&other.key), &lab.key),
        (bearer("nonsense"), &lab.key),
        (bearer(&lab.key), &"nonsense".to_owned()),
        (bearer(&session), &lab.key),
        ("Basic x".to_owned(), &lab.key),
    ] {
        let request = lab.get("/whoami").header("authorization", &authorization);
        let refused = request.header("x-api-key", api_key).send();
        refused.expect_problem(400, "ambiguous_credentials");
    }
    for second in [&lab.key, &other.key] {
        let twice = lab.get("/whoami").header("x-api-key", &lab.key).header("x-api-key", second);
        twice.send().expect_problem(400, "ambiguous_credentials");
        let twice = lab.get("/whoami").key(&lab.key).key(second);
        twice.send().expect_problem(400, "ambiguous_credentials");
    }
    let same = lab.get("/whoami").key(&lab.key).header("x-api-key", &lab.key).send();
    same.expect(200);
}

both! {
    // 2.07
    fn a_revoked_key_is_refused_from_the_next_request_on(lab: Lab) {
        let session = lab.sign_in(&lab.email, &lab.password);
        for round in 0..25 {
            let new = json!({ "name": format!("round {round}"), "scopes": ["*"] });
            let made = lab.post("/keys").session(&session).json(new).send().expect(201).json;
            let (key, id) = (text(&made["api_key"]), text(&made["key"]["id"]));
            let revoked = AtomicBool::new(false);
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let mut after = 0;
                        while after < 3 {
                            let late = revoked.load(Ordering::SeqCst);
                            let reply = lab.get("/whoami").key(key).send();
                            if late {
                                reply.expect_problem(401, "revoked_api_key");
                                after += 1;
                            }
                        }
                    });
                }
                lab.delete(&format!("/keys/{id}")).session(&session).send().expect(200);
                revoked.store(true, Ordering::SeqCst);
            });
        }
    }

    // 5.10
    fn the_keys_and_sessions_of_a_disabled_user_end_at_once(lab: Lab) {
        let other = lab.tenant("b");
        let session = lab.sign_in(&other.email, &other.password);
        lab.get("/whoami").key(&other.key).send().expect(200);

        lab.cli(&["user", "disable", "--email", &other.email]);

        lab.get("/whoami").key(&other.key).send().expect(401);
        lab.get("/keys").session(&session).send().expect(401);
        let form = json!({ "email": other.email, "password": other.password });
        let refused = lab.post("/api/auth/sign-in").json(form).send();
        refused.expect_problem(401, "wrong_credentials");
        lab.get("/whoami").key(&lab.key).send().expect(200);
        lab.cli(&["user", "enable", "--email", &other.email]);
        lab.get("/whoami").key(&other.key).send().expect(200);
    }
}

// 2.08
#[test]
fn a_key_in_another_dress_is_no_key() {
    let lab = Lab::start(Engine::Sqlite);
    let key = &lab.key;

    for dressed in [
        key.to_uppercase(),
        key.to_lowercase(),
        key.replace("camp_live_", "CAMP_LIVE_"),
        key.replace("_live_", "_test_"),
        key.replace('_', "-"),
        format!("x{key}"),
        format!("{key}x"),
        format!("\u{a0}{key}"),
        format!("{key}\u{200b}"),
        format!("'{key}'"),
        format!("{key}%00"),
    ] {
        lab.get("/whoami").key(&dressed).send().expect(401);
        lab.get("/whoami").header("x-api-key", &dressed).send().expect(401);
    }
    for byte in [0, 7, 127] {
        let mut dressed = key.clone().into_bytes();
        dressed.push(byte);
        // Being hung up on is a refusal too.
        if let Ok(refused) = lab.get("/whoami").header("x-api-key", &dressed).try_send() {
            assert!([400, 401].contains(&refused.status), "{byte}: {}", refused.text());
        }
    }
    let foreign =
        lab.get("/whoami").header("x-api-key", [&key.as_bytes()[..20], b"\xff\xfe"].concat());
    foreign.send().expect(401);
    lab.get("/whoami")
        .header("x-api-key", "x".repeat(20_000))
        .send()
        .expect_problem(431, "headers_too_large");
    // The connection may be gone before all of it is sent, and the answer with it.
    if let Ok(refused) = lab.get("/whoami").header("x-api-key", vec![b'x'; 1 << 20]).try_send() {
        refused.expect(431);
    }
    lab.get("/whoami").key(key).send().expect(200);
}

// 2.09
#[test]
fn a_session_is_no_key_and_a_key_no_session() {
    let lab = Lab::start(Engine::Sqlite);
    let session = lab.sign_in(&lab.email, &lab.password);

    for path in ["/whoami", "/posts", "/brands", "/settings", "/audit-logs"] {
        lab.get(path).session(&session).send().expect_problem(403, "api_key_required");
        let as_key = lab.get(path).header("x-api-key", &session).send();
        assert!([401, 403].contains(&as_key.status), "{path}: {}", as_key.text());
    }
    for path in ["/api/internal/posts", "/api/internal/whoami", "/api/internal/keys"] {
        lab.get(path).key(&lab.key).send().expect_problem(403, "session_required");
        lab.get(path).session(&session).send().expect(200);
    }
}

// 2.10, 5.11
#[test]
fn a_key_for_everything_is_still_no_session() {
    let lab = Lab::start(Engine::Sqlite);
    let owner = lab.owner();
    let own = format!("/keys/{}", text(&owner.whoami["key"]["id"]));
    let key = json!({ "name": "another", "scopes": ["posts:read"] });
    let password = json!({ "current_password": lab.password, "new_password": "a longer password" });

    for (method, path, body) in [
        ("POST", "/keys", &key),
        ("DELETE", &own, &json!({})),
        ("PUT", "/settings/password", &password),
        ("GET", "/connections/mastodon/start", &json!({})),
        ("GET", "/connections/mastodon/callback", &json!({})),
        ("POST", "/api/auth/sign-out", &json!({})),
        ("POST", "/api/internal/brands", &json!({ "name": "mine" })),
    ] {
        let refused = lab.request(method, path).key(&lab.key).json(body.clone()).send();
        refused.expect_problem(403, "session_required");
    }

    lab.get("/whoami").key(&lab.key).send().expect(200);
    let keys = lab.get("/keys").key(&lab.key).send().expect(200).json;
    assert_eq!(list(&keys["keys"]).len(), 1);
    lab.sign_in(&lab.email, &lab.password);
}

// 2.11
#[test]
fn a_key_gets_the_scopes_that_were_named_and_no_others() {
    let lab = Lab::start(Engine::Sqlite);
    let session = lab.sign_in(&lab.email, &lab.password);
    let create = |scopes: Value| {
        lab.post("/keys").session(&session).json(json!({ "name": "k", "scopes": scopes })).send()
    };

    for scopes in [json!(["*"]), json!(["posts:read", "posts:write"])] {
        let made = create(scopes.clone()).expect(201).json;
        assert_eq!(made["key"]["scopes"], scopes);
    }
    let folded = create(json!(["posts:read", "posts:read"])).expect(201).json;
    assert_eq!(folded["key"]["scopes"], json!(["posts:read"]));
    for wrong in [
        json!([]),
        json!(["posts:everything"]),
        json!(["posts:*"]),
        json!(["*:read"]),
        json!([" posts:read"]),
        json!(["posts:read "]),
        json!(["POSTS:READ"]),
        json!(["posts:read,posts:write"]),
        json!(["posts:read posts:write"]),
        json!(["posts:read\u{0}"]),
        json!([""]),
        json!([null]),
        json!([["posts:read"]]),
        json!("posts:read"),
        json!({ "posts:read": true }),
        json!(null),
        json!(vec!["posts:read"; 9_000]),
    ] {
        let shown: String = wrong.to_string().chars().take(60).collect();
        assert!(!faults(create(wrong)).is_empty(), "{shown}");
    }
    let keys = lab.get("/keys?limit=200").session(&session).send().expect(200).json;
    assert_eq!(list(&keys["keys"]).len(), 4);
}
