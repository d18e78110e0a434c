//! No secret is logged, and none is stored in a form that could be read back.

use std::path::Path;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use serde_json::json;

use crate::{
    lab::{Engine, Lab, both},
    media::import,
    media_upload,
    peer::{Peer, fixture},
    steps::text,
};

/// A day in the life of the service, full of secrets; returns all of them with their names.
fn live_through_a_day(lab: &Lab) -> Vec<(&'static str, String)> {
    let mut secrets = Vec::new();
    let mut secret = |name, value: &str| {
        secrets.push((name, value.to_owned()));
        value.to_owned()
    };
    secret("the first password", &lab.password);
    secret("the first key", &lab.key);
    let other = lab.tenant("secretive");
    secret("a password of the command line", &other.password);
    secret("a key of the command line", &other.key);

    let session = secret("a session", &lab.sign_in(&lab.email, &lab.password));
    let new = json!({ "name": "k", "scopes": ["*"] });
    for repeat in [false, true, true] {
        let request = lab.post("/keys").session(&session).json(new.clone());
        let request = if repeat { request.header("idempotency-key", "again") } else { request };
        let made = request.send().expect(201).json;
        secret("a key that was made", text(&made["api_key"]));
    }
    let password = secret("a new password", "zebras gallop at midnight");
    let change = json!({ "current_password": lab.password, "new_password": password });
    lab.put("/settings/password").session(&session).json(change).send().expect(200);
    let guess = secret("a wrong password", "horses trot before noon");
    let form = json!({ "email": lab.email, "password": guess });
    lab.post("/api/auth/sign-in").json(form).send().expect(401);
    let by_mistake = secret("a password where the address belongs", "oxen plough at dusk");
    let form = json!({ "email": by_mistake, "password": "x", by_mistake.clone(): 1 });
    lab.post("/api/auth/sign-in").json(form).send().expect(422);
    let cookie = secret("a session in a cookie", &lab.sign_in(&lab.email, &password));
    let request = lab.post("/api/auth/sign-out").header("sec-fetch-site", "same-origin");
    request.header("cookie", format!("campanile_session={cookie}")).send().expect(200);

    // Secrets in the wrong places.
    let key = &lab.key;
    lab.get(&format!("/whoami?api_key={key}")).send().expect(401);
    lab.get(&format!("/{key}")).send().expect(404);
    lab.get(&format!("/posts/{key}")).key(key).send().expect(404);
    lab.delete(&format!("/keys/{key}")).session(&session).send().expect(404);
    lab.get("/posts").key(key).header("user-agent", key).header("referer", key).send().expect(200);
    lab.get("/whoami").header("x-request-id", format!("{key}!")).header("x-api-key", key).send();
    let cut = secret("half a key", &key[..40]);
    lab.get("/whoami").key(&cut).send().expect(401);
    lab.get("/whoami").header("authorization", format!("Basic {}", STANDARD.encode(key))).send();

    let item = import(lab, key, &Peer::files().url("photo.jpg"));
    let signature = |url: &str| url.split("signature=").nth(1).unwrap().to_owned();
    let url = text(&item["url"]);
    lab.get(url).send().expect(200);
    secret("the signature of a read", &signature(url));
    let file = fixture("photo.png");
    let upload = media_upload::sign(lab, key, "image/png", file.len());
    let url = text(&upload["url"]);
    media_upload::put(lab, &upload, url, file).expect(201);
    secret("the signature of an upload", &signature(url));
    let master = std::fs::read_to_string(lab.data_dir().join("master.key")).unwrap();
    secret("the master key", master.trim());
    secrets
}

/// A text in every form in which it might be written down by mistake.
fn forms(secret: &str) -> Vec<String> {
    let hex = |format: fn(&u8) -> String| secret.as_bytes().iter().map(format).collect::<String>();
    let mut forms = vec![
        secret.to_owned(),
        hex(|byte| format!("{byte:02x}")),
        hex(|byte| format!("{byte:02X}")),
        secret.replace(' ', "%20"),
        secret.replace(' ', "+"),
    ];
    for engine in [&STANDARD, &URL_SAFE] {
        // Where the secret begins in a longer text decides how its bits fall.
        for start in 0..3 {
            let shifted = [&b"\0\0\0"[..start], secret.as_bytes()].concat();
            let whole = shifted.len() / 3 * 4;
            forms.push(engine.encode(&shifted)[(start * 8).div_ceil(6)..whole].to_owned());
        }
    }
    forms
}

#[track_caller]
fn expect_none(secrets: &[(&str, String)], place: &str, bytes: &[u8]) {
    // Secrets and their forms are ASCII: what is not, separates.
    let text = String::from_utf8_lossy(bytes);
    for (name, secret) in secrets {
        for form in forms(secret) {
            assert!(!text.contains(&form), "{name} in {place}: {form}");
        }
    }
}

both! {
    fn no_secret_is_logged(engine: Engine) {
        let lab = Lab::start_with(engine, &[("CAMPANILE_LOG", "trace")]);
        let banner = lab.printed();

        let secrets = live_through_a_day(&lab);

        lab.stop();
        let log = lab.log();
        let lines = log.lines().count();
        assert!(lines > 25, "there is a log of {lines} lines");
        expect_none(&secrets, "the log", log.as_bytes());
        assert_eq!(lab.printed(), banner, "the secrets of the first start are shown once");
    }
}

#[test]
fn no_secret_is_stored() {
    let lab = Lab::start(Engine::Sqlite);
    let secrets = live_through_a_day(&lab);
    let backup = lab.data_dir().join("backup.db");
    lab.cli(&["backup", backup.to_str().unwrap()]);

    let scan = |when: &str| {
        let mut scanned = 0;
        visit(&lab.data_dir(), &mut |path, bytes| {
            if !path.ends_with("master.key") {
                expect_none(&secrets, &format!("{} {when}", path.display()), bytes);
                scanned += bytes.len();
            }
        });
        assert!(scanned > 100_000, "{scanned} bytes are no store");
    };
    scan("while the service runs");
    lab.stop();
    scan("after it was stopped");
}

fn visit(folder: &Path, look: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, look);
        } else if path.is_file() {
            look(&path, &std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn the_search_for_secrets_would_find_one() {
    let secrets = [("a secret", "zebras gallop at midnight".to_owned())];
    let found = |text: String| forms(&secrets[0].1).iter().any(|form| text.contains(form));

    for around in ["", "a", "ab", "abc"] {
        let text = format!("{around}zebras gallop at midnight{around}");
        assert!(found(text.clone()));
        assert!(found(STANDARD.encode(&text)), "{around:?}");
        assert!(found(text.bytes().map(|byte| format!("{byte:02x}")).collect()));
    }
    assert!(!found("zebras gallop at noon".to_owned()));
}
