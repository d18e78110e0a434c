//! API3: what fails inside is told in one word outside.

use std::fs;

use serde_json::json;

use crate::{
    lab::{Engine, Lab, Reply},
    media::try_import,
    peer::Peer,
    steps::new_post,
};

/// Fails when an answer tells how the service is built or where it lives.
#[track_caller]
fn expect_discreet(lab: &Lab, reply: &Reply) {
    let text = reply.text();
    let folder = lab.data_dir();
    for word in [
        folder.to_str().unwrap(),
        "/data/",
        "/tmp/",
        "SELECT",
        "INSERT",
        "sqlite",
        "SQLite",
        "postgres",
        "rusqlite",
        "panicked",
        ".rs:",
        "src/",
        "os error",
        "No such file",
        "Not a directory",
        "malformed",
        "tokio",
        "hyper",
        "serde",
        "object_store",
    ] {
        assert!(!text.contains(word), "{word:?} in {text}");
    }
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{text}");
    assert!(reply.json["request_id"].is_string(), "{text}");
}

// 3.08
#[test]
fn a_storage_that_fails_is_told_in_one_word() {
    let lab = Lab::start(Engine::Sqlite);
    let peer = Peer::files();
    let media = lab.data_dir().join("media");
    fs::remove_dir_all(&media).unwrap();
    fs::write(&media, "in the way").unwrap();

    let refused = try_import(&lab, &lab.key, &peer.url("photo.jpg"));

    assert!([500, 503, 507].contains(&refused.status), "{}", refused.text());
    expect_discreet(&lab, &refused);
    fs::remove_file(&media).unwrap();
    fs::create_dir(&media).unwrap();
    try_import(&lab, &lab.key, &peer.url("photo.jpg")).expect(201);
}

// 3.08
#[test]
fn a_lost_folder_for_temporary_files_is_told_in_one_word() {
    let lab = Lab::start(Engine::Sqlite);
    let peer = Peer::files();
    fs::remove_dir_all(lab.data_dir().join("tmp")).unwrap();

    let refused = try_import(&lab, &lab.key, &peer.url("photo.jpg"));

    assert!([500, 503, 507].contains(&refused.status), "{}", refused.text());
    expect_discreet(&lab, &refused);
}

// 3.08
#[test]
fn a_file_that_vanished_from_storage_is_told_in_one_word() {
    let lab = Lab::start(Engine::Sqlite);
    let item = crate::media::import(&lab, &lab.key, &Peer::files().url("photo.jpg"));
    let url = item["url"].as_str().unwrap();
    let path = url.split_once("/media/").unwrap().1.split_once('?').unwrap().0;
    fs::remove_file(lab.data_dir().join("media").join(path)).unwrap();

    for request in [lab.get(url), lab.get(url).header("range", "bytes=0-5")] {
        let refused = request.send();
        assert!([404, 410, 500, 503].contains(&refused.status), "{}", refused.text());
        expect_discreet(&lab, &refused);
    }
}

// 3.08
#[test]
fn a_store_that_is_damaged_is_told_in_one_word() {
    let lab = Lab::start(Engine::Sqlite);
    for number in 0..50 {
        new_post(&lab, json!({ "content": format!("{number} {}", "bells ".repeat(500)) }));
    }
    lab.restart();
    for name in ["campanile.db", "campanile.db-wal"] {
        let file = lab.data_dir().join(name);
        let mut bytes = fs::read(&file).unwrap_or_default();
        let half = bytes.len() / 2;
        bytes[half..].fill(0xa5);
        fs::write(&file, bytes).unwrap();
    }

    let mut failed = 0;
    for path in [
        "/posts?limit=200",
        "/posts?text=bells",
        "/posts?tag=x",
        "/audit-logs?limit=200",
        "/brands",
    ] {
        let reply = lab.get(path).key(&lab.key).send();
        if reply.status != 200 {
            assert!([500, 503].contains(&reply.status), "{path}: {}", reply.text());
            expect_discreet(&lab, &reply);
            failed += 1;
        }
    }

    assert!(failed > 0, "the damage was noticed nowhere");
    lab.get("/health").send().expect(200);
}

// 3.08
#[test]
fn a_refusal_never_quotes_the_machinery() {
    let lab = Lab::start(Engine::Sqlite);
    let json = "application/json";

    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{\"content\":}",
        "{\"content\":1}",
        "{'content':1}",
        "\u{feff}{}",
    ] {
        let request = lab.post("/posts").key(&lab.key).header("content-type", json);
        let refused = request.body(body).send();
        assert!([400, 422].contains(&refused.status), "{body}: {}", refused.text());
        let text = refused.text();
        for word in ["serde", "struct", "NewPost", "Deserialize", ".rs", "src/"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
    for path in ["/nothing", "/posts/x/y/z", "/posts?limit=x", "/posts?what=1", "/%ff%fe"] {
        let refused = lab.get(path).key(&lab.key).send();
        assert!([400, 404, 422].contains(&refused.status), "{path}: {}", refused.text());
        expect_discreet(&lab, &refused);
    }
}
