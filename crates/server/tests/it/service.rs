//! The service as its operator meets it: its log, its configuration file, its end.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{
    lab::{BASE_PATH, Engine, Lab, both, wait_until},
    steps::{new_post, text},
};

/// The log's line about a request.
fn line_of(lab: &Lab, request_id: &str) -> Option<Value> {
    let log = lab.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut lines = lines.filter(|line| line["message"] == "request");
    lines.find(|line| line["request_id"] == request_id)
}

both! {
    fn every_request_is_one_line_that_says_who_did_what_and_how_long(lab: Lab) {
        let owner = lab.owner();
        let ask = |id: &str, key: &str| {
            lab.get("/posts?limit=7").key(key).header("x-request-id", id).send()
        };

        ask("a-good-one", &lab.key).expect(200);
        ask("a-bad-one", "camp_live_nobody").expect(401);

        for id in ["a-good-one", "a-bad-one"] {
            wait_until("the log has the line", || line_of(&lab, id).is_some());
        }
        let line = line_of(&lab, "a-good-one").unwrap();
        assert_eq!((text(&line["method"]), text(&line["level"])), ("GET", "INFO"));
        assert_eq!(text(&line["route"]), format!("{BASE_PATH}/posts"), "no query: it may be private");
        assert_eq!(line["status"], 200);
        assert_eq!(text(&line["user"]), owner.user_id);
        assert_eq!(text(&line["brand"]), owner.brand_id);
        assert!(line["duration_us"].as_u64().is_some_and(|took| took > 0), "{line}");
        assert!(campanile_model::time::parse(text(&line["time"])).is_some(), "{line}");
        let line = line_of(&lab, "a-bad-one").unwrap();
        assert_eq!((&line["status"], text(&line["user"])), (&json!(401), "-"));
        let once = lab.log().matches("a-good-one").count();
        assert_eq!(once, 1, "one line per request");
    }

    fn a_request_that_has_begun_is_answered_before_the_service_ends(lab: Lab) {
        let body = r#"{"content":"sent in two halves"}"#;
        let (first, second) = body.split_at(12);
        let mut socket = lab.socket();
        let head = format!(
            "POST {BASE_PATH}/posts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{first}",
            lab.key,
            body.len()
        );
        socket.say(head).unwrap();
        // Until the head has been read there is nothing to wait for.
        std::thread::sleep(std::time::Duration::from_millis(300));

        let reply = std::thread::scope(|scope| {
            let stopping = scope.spawn(|| lab.stop());
            wait_until("the service is about to end", || lab.log().contains("\"stopping\"")
                || std::net::TcpStream::connect(lab.origin().trim_start_matches("http://")).is_err());
            socket.say(second).unwrap();
            let reply = socket.hear().unwrap();
            assert!(stopping.join().unwrap().success());
            reply
        });

        assert_eq!(reply.status, 201, "{}", reply.text());
        lab.begin();
        let posts = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(text(&posts["posts"][0]["content"]), "sent in two halves");
    }
}

#[test]
fn a_configuration_file_is_read_and_flags_and_variables_come_before_it() {
    let lab = Lab::start(Engine::Sqlite);
    let file = lab.data_dir().join("campanile.toml");
    std::fs::write(&file, "public_url = \"https://posts.example.org\"\nrate_limit = \"77\"\n")
        .unwrap();
    let file = file.to_str().unwrap();
    lab.stop();

    let said = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut arguments = vec!["--config", file];
        arguments.extend(flags);
        arguments.push("doctor");
        String::from_utf8(lab.try_cli(&arguments, variables).stdout).unwrap()
    };

    assert!(said(&[], &[]).contains("https://posts.example.org"), "{}", said(&[], &[]));
    let variable = said(&[("CAMPANILE_PUBLIC_URL", "https://variable.example.org")], &[]);
    assert!(variable.contains("https://variable.example.org"), "{variable}");
    let flag = said(
        &[("CAMPANILE_PUBLIC_URL", "https://variable.example.org")],
        &["--public-url", "https://flag.example.org"],
    );
    assert!(flag.contains("https://flag.example.org"), "{flag}");
}

#[test]
fn storage_that_is_not_there_yet_is_refused_with_one_line() {
    let lab = Lab::start(Engine::Sqlite);
    lab.stop();

    let output = lab.try_cli(&["serve"], &[("CAMPANILE_STORAGE_URL", "s3:bucket")]);

    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        complaint.lines().any(|line| line.contains("S3") || line.contains("s3")),
        "{complaint}"
    );
}

#[test]
fn people_at_a_terminal_read_lines_and_programs_read_json() {
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_campanile");
    let port = crate::lab::free_port();
    let run = format!(
        "timeout 20 {binary} serve --listen 127.0.0.1:{port} --data-dir {}",
        folder.path().join("data").display()
    );
    let log = folder.path().join("log.txt");

    // `script` gives the process a terminal of its own and writes down what it shows.
    let mut shown = Command::new("script")
        .args(["-qefc", &run])
        .arg(&log)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("the service says that it listens", || read().contains("listening"));
    shown.kill().unwrap();
    shown.wait().unwrap();

    let line = read().lines().find(|line| line.contains("listening")).unwrap().to_owned();
    assert!(line.contains("INFO"), "{line}");
    assert!(serde_json::from_str::<Value>(line.trim()).is_err(), "{line}");
    // The lab's services write to a file.
    let lab = Lab::start(Engine::Sqlite);
    new_post(&lab, json!({}));
    wait_until("the log has a line", || lab.log().contains("\"message\":\"request\""));
    let log = lab.log();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}
