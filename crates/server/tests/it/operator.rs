//! What the operator does on the command line, beside a running server and without one.

use std::{fs, process::Output};

use serde_json::json;

use crate::{
    lab::{Engine, Lab, both, free_port},
    steps::{all_pages, each, from_now, new_post, text},
};

fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "it should have failed");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Fails unless the command complains in one line that has these words in it.
#[track_caller]
fn expect_one_line(output: &Output, words: &str) {
    let said = complaint(output);
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains(words), "{said}");
}

const ADA: [&str; 8] = [
    "user",
    "create",
    "--email",
    "Ada@Example.Test",
    "--name",
    "Ada",
    "--password",
    "ada's own password",
];

both! {
    fn a_user_made_beside_the_server_can_come_in_at_once(lab: Lab) {
        let said = lab.cli(&ADA);

        for word in ["user_", "ws_", "brand_"] {
            assert!(said.contains(word), "{said}");
        }
        let token = lab.sign_in("ada@example.test", "ada's own password");
        lab.get("/keys").session(&token).send().expect(200);
        let key = lab.new_key("ADA@example.test", "brands:read,posts:read");
        let brands = lab.get("/brands").key(&key).send().expect(200).json;
        assert_eq!(each(&brands["brands"], "name"), ["My brand"]);
        lab.get("/settings").key(&key).send().expect_problem(403, "insufficient_scope");
        expect_one_line(&lab.try_cli(&ADA, &[]), "exists already");
        let made_up = lab.cli(&["user", "create", "--email", "bob@example.test", "--name", "Bob"]);
        let line = made_up.lines().find(|line| line.starts_with("password")).unwrap();
        lab.sign_in("bob@example.test", line.split_whitespace().nth(1).unwrap());
    }

    fn a_disabled_user_is_out_until_enabled(lab: Lab) {
        lab.cli(&ADA);
        let key = lab.new_key("ada@example.test", "*");
        let token = lab.sign_in("ada@example.test", "ada's own password");
        let ask = || lab.get("/whoami").key(&key).send();
        let sign_in = || {
            let body = json!({ "email": "ada@example.test", "password": "ada's own password" });
            lab.post("/api/auth/sign-in").json(body).send()
        };
        ask().expect(200);

        lab.cli(&["user", "disable", "--email", "ada@example.test"]);
        ask().expect_problem(401, "invalid_api_key");
        lab.get("/keys").session(&token).send().expect_problem(401, "invalid_session");
        sign_in().expect_problem(401, "wrong_credentials");
        lab.cli(&["user", "enable", "--email", "ada@example.test"]);

        ask().expect(200);
        sign_in().expect(201);
        let unknown = lab.try_cli(&["user", "disable", "--email", "eve@example.test"], &[]);
        expect_one_line(&unknown, "eve@example.test");
    }

    fn a_brand_made_beside_the_server_is_within_reach_at_once(lab: Lab) {
        lab.get("/posts").key(&lab.key).send().expect(200);

        let id = lab.cli(&["brand", "create", "--user", &lab.email, "--name", "From outside"]);

        assert!(id.starts_with("brand_") && !id.contains(char::is_whitespace), "{id}");
        lab.get("/posts").key(&lab.key).brand(&id).send().expect(200);
        let nobody = lab.try_cli(&["brand", "create", "--user", "no@x.test", "--name", "B"], &[]);
        expect_one_line(&nobody, "no@x.test");
    }

    fn a_key_is_printed_alone_works_at_once_and_is_revoked_at_once(lab: Lab) {
        let create = |arguments: &[&str]| {
            let start = ["key", "create", "--user", &lab.email, "--name", "k"];
            lab.try_cli(&[&start, arguments].concat(), &[])
        };

        let made = create(&["--scopes", "posts:read,posts:read"]);
        let printed = String::from_utf8(made.stdout).unwrap();
        let key = printed.trim_end();
        let whoami = lab.get("/whoami").key(key).send().expect(200).json;
        let id = text(&whoami["key"]["id"]);
        lab.cli(&["key", "revoke", "--user", &lab.email, "--id", id]);

        assert_eq!(printed, format!("{key}\n"));
        assert_eq!(whoami["scopes"], json!(["posts:read"]));
        lab.get("/whoami").key(key).send().expect_problem(401, "revoked_api_key");
        let again = lab.try_cli(&["key", "revoke", "--user", &lab.email, "--id", id], &[]);
        expect_one_line(&again, "--id");
        expect_one_line(&create(&["--scopes", "posts:reed"]), "posts:reed");
        expect_one_line(&create(&["--scopes", ""]), "--scopes");
        let past = from_now(&lab, -1000);
        expect_one_line(&create(&["--scopes", "*", "--expires-at", &past]), "--expires-at");
        expect_one_line(&create(&["--scopes", "*", "--expires-at", "soon"]), "--expires-at");
        assert_eq!(all_pages(&lab, "/keys", "keys", "id").len(), 2, "none of these made a key");
    }

    fn wrong_words_on_the_command_line_change_nothing(lab: Lab) {
        for (arguments, words) in [
            (vec!["user", "create", "--email", "nonsense", "--name", "N"], "--email"),
            (vec!["user", "create", "--email", "a@b.test", "--name", " "], "--name"),
            (vec!["user", "create", "--email", "a@b.test", "--name", "N", "--password", "short"], "--password"),
            (vec!["user", "create", "--email", "a@b.test", "--name", "N", "--workspace", "ws_x"], "--workspace"),
            (vec!["user", "create", "--name", "N"], "--email"),
            (vec!["dance"], "dance"),
        ] {
            expect_one_line(&lab.try_cli(&arguments, &[]), words);
        }
        assert!(!lab.get("/audit-logs").key(&lab.key).send().text().contains("a@b.test"));
    }

    fn commands_work_without_a_server_as_well(lab: Lab) {
        lab.stop();

        lab.cli(&ADA);
        let key = lab.new_key("ada@example.test", "*");
        let said = lab.cli(&["doctor"]);
        lab.cli(&["migrate"]);

        assert!(said.lines().all(|line| line.starts_with("ok ") || line.starts_with("note ")), "{said}");
        lab.begin();
        lab.get("/whoami").key(&key).send().expect(200);
    }

    fn the_doctor_looks_at_everything(lab: Lab) {
        let said = lab.cli(&["doctor"]);

        for subject in ["store", "audit log", "master key", "media storage", "disk", "clock", "configuration"] {
            assert!(said.contains(subject), "{subject}: {said}");
        }
        assert!(!said.contains(&lab.key) && !said.contains(&lab.password));
    }

    fn another_master_key_is_noticed_before_any_harm(lab: Lab) {
        lab.stop();
        let other = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

        let output = lab.try_cli(&["serve"], &[("CAMPANILE_MASTER_KEY", other)]);

        expect_one_line(&output, "master key");
        lab.begin();
        lab.get("/whoami").key(&lab.key).send().expect(200);
    }

    fn a_store_from_the_future_is_left_alone(lab: Lab) {
        lab.stop();
        let later = "INSERT INTO schema_versions (number, name, applied_at) VALUES (9999, 'x', 0)";
        assert_eq!(lab.tamper(later), 1);

        for command in ["serve", "migrate", "doctor"] {
            expect_one_line(&lab.try_cli(&[command], &[]), "newer version");
        }
    }
}

#[test]
fn a_wrong_setting_stops_the_start_with_one_line() {
    let lab = Lab::start(Engine::Sqlite);
    lab.stop();
    let file = lab.data_dir().join("wrong.toml");
    fs::write(&file, "lisen = \"127.0.0.1:1\"").unwrap();
    let file = file.to_str().unwrap();

    for (name, value, words) in [
        ("CAMPANILE_LISTEN", "nowhere", "nowhere"),
        ("CAMPANILE_RATE_LIMIT", "0", "rate-limit"),
        ("CAMPANILE_RATE_LIMIT", "many", "many"),
        ("CAMPANILE_DATABASE_URL", "mysql://x", "sqlite:"),
        ("CAMPANILE_DATABASE_URL", "sqlite:", "file name"),
        ("CAMPANILE_PUBLIC_URL", "ftp://x", "http"),
        ("CAMPANILE_MASTER_KEY", "short", "master"),
        ("CAMPANILE_STORAGE_URL", "gopher:x", "gopher"),
        ("CAMPANILE_ALLOW_PRIVATE_NETWORKS", "perhaps", "perhaps"),
        ("CAMPANILE_METRICS_LISTEN", "x", "metrics-listen"),
        ("CAMPANILE_LOG", "loud", "loud"),
        ("CAMPANILE_IMAGE_LIMIT", "-1", "image-limit"),
        ("CAMPANILE_CONFIG", "/does/not/exist.toml", "exist.toml"),
        ("CAMPANILE_CONFIG", file, "lisen"),
        ("CAMPANILE_DATA_DIR", "/dev/null/data", "/dev/null"),
    ] {
        let output = lab.try_cli(&["serve"], &[(name, value)]);
        let said = complaint(&output);
        assert_eq!(said.trim_end().lines().count(), 1, "{name}={value}: {said}");
        assert!(said.contains(words), "{name}={value}: {said}");
    }
}

#[test]
fn a_wrong_database_password_is_not_repeated() {
    let lab = Lab::start(Engine::Sqlite);
    lab.stop();
    let url = format!("postgres://me:hunter2hunter2@127.0.0.1:{}/none", free_port());

    let output = lab.try_cli(&["serve"], &[("CAMPANILE_DATABASE_URL", &url)]);

    assert!(!complaint(&output).contains("hunter2"), "{output:?}");
}

#[test]
fn a_backup_beside_the_server_brings_the_same_posts_back() {
    let lab = Lab::start(Engine::Sqlite);
    for number in 0..10 {
        new_post(&lab, json!({ "content": number.to_string(), "tags": ["kept"] }));
    }
    let before = lab.get("/posts").key(&lab.key).send().expect(200);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let file = file.to_str().unwrap();

    lab.cli(&["backup", file]);
    new_post(&lab, json!({ "content": "after the backup" }));
    expect_one_line(&lab.try_cli(&["backup", file], &[]), "exists already");
    expect_one_line(&lab.try_cli(&["restore", file], &[]), "running");

    let other = Lab::start(Engine::Sqlite);
    other.stop();
    fs::copy(lab.data_dir().join("master.key"), other.data_dir().join("master.key")).unwrap();
    let said = other.cli(&["restore", file]);
    other.begin();
    let after = other.get("/posts").key(&lab.key).send().expect(200);

    assert!(said.contains("restored"), "{said}");
    assert_eq!(after.body, before.body);
    assert_eq!(all_pages(&lab, "/posts", "posts", "id").len(), 11);
    other.get("/whoami").key(&other.key).send().expect_problem(401, "invalid_api_key");
    assert!(other.cli(&["doctor"]).contains("audit log"));
}

#[test]
fn a_file_that_is_no_backup_does_no_harm() {
    let lab = Lab::start(Engine::Sqlite);
    new_post(&lab, json!({ "content": "precious" }));
    lab.stop();
    let folder = tempfile::tempdir().unwrap();
    let nonsense = folder.path().join("nonsense.db");
    fs::write(&nonsense, "this is no database".repeat(100)).unwrap();
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    let missing = folder.path().join("missing.db");

    for file in [&nonsense, &empty, &missing] {
        expect_one_line(&lab.try_cli(&["restore", file.to_str().unwrap()], &[]), "");
    }

    lab.begin();
    assert_eq!(all_pages(&lab, "/posts", "posts", "content"), ["precious"]);
}

#[test]
fn a_backup_on_postgres_is_left_to_its_own_tools() {
    let lab = Lab::start(Engine::Postgres);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let file = file.to_str().unwrap();

    for command in ["backup", "restore"] {
        expect_one_line(&lab.try_cli(&[command, file], &[]), "PostgreSQL");
    }
}

#[test]
fn a_second_server_says_why_it_does_not_start_and_the_first_goes_on() {
    let lab = Lab::start(Engine::Sqlite);
    let address = format!("127.0.0.1:{}", free_port());

    let second = lab.try_cli(&["serve"], &[("CAMPANILE_LISTEN", &address)]);

    expect_one_line(&second, "already running");
    new_post(&lab, json!({}));
    let taken = lab.origin().replace("http://", "");
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().to_str().unwrap();
    let settings = [("CAMPANILE_LISTEN", taken.as_str()), ("CAMPANILE_DATA_DIR", elsewhere)];
    expect_one_line(&lab.try_cli(&["serve"], &settings), "cannot listen");
}
