//! Paths and file names that are meant to lead elsewhere.

use std::io::Write;

use serde_json::json;

use crate::{
    lab::{Engine, Lab, both},
    media::import,
    peer::{Peer, fixture},
    steps::{each, encoded, faults, new_picture, text},
};

both! {
    // X.06
    fn a_folder_path_is_canonical_or_refused(lab: Lab) {
        let deep = vec!["x"; 17].join("/");
        let long = format!("{}/{}/{}", "x".repeat(200), "y".repeat(200), "z".repeat(111));
        assert_eq!(long.len(), 513);
        for wrong in [
            "",
            "..",
            ".",
            "/",
            "a/../b",
            "../a",
            "a/..",
            "/a",
            "a//b",
            "a/",
            "./a",
            "a/./b",
            "%2e%2e",
            "..%2f",
            "a%2fb",
            "%2E%2E/a",
            "a\\b",
            "..\\a",
            "C:\\",
            "a\u{0}",
            " a",
            "a ",
            "a/ b",
            "a\u{202e}b",
            "\u{200b}",
            "\u{feff}a",
            "a\tb",
            &deep,
            &long,
        ] {
            for (path, body) in [
                ("/content-folders", json!({ "scope": "posts", "folder_path": wrong })),
                ("/posts", json!({ "folder_path": wrong })),
                (
                    "/media-library",
                    json!({ "source_url": "https://127.0.0.1/", "folder_path": wrong }),
                ),
            ] {
                let refused = faults(lab.post(path).key(&lab.key).json(body).send());
                assert_eq!(refused[0].0, "folder_path", "{wrong:?}: {refused:?}");
            }
            if wrong.len() < 500 {
                let refused =
                    lab.get(&format!("/posts?folder={}", encoded(wrong))).key(&lab.key).send();
                refused.expect_problem(422, "validation_failed");
            }
        }
        for name in ["..", ".", "a/b", "", " "] {
            let body = json!({ "scope": "posts", "parent_path": "p", "name": name });
            assert_eq!(
                faults(lab.post("/content-folders").key(&lab.key).json(body).send())[0].0,
                "name"
            );
        }
        let longest = format!("{}/{}/{}", "x".repeat(200), "y".repeat(200), "z".repeat(110));
        for good in [
            "a",
            "...",
            "a..b",
            "50% off",
            "שלום/🎉",
            "C:",
            "con",
            "~",
            &longest,
            &vec!["x"; 16].join("/"),
        ] {
            let body = json!({ "scope": "posts", "folder_path": good });
            let made =
                lab.post("/content-folders").key(&lab.key).json(body).send().expect(201).json;
            assert_eq!(made["folder"]["folder_path"], good);
        }
        let listed = lab.get("/content-folders?scope=posts").key(&lab.key).send().expect(200).json;
        assert!(
            each(&listed["folders"], "folder_path")
                .iter()
                .all(|path| !path.split('/').any(|part| part == ".."))
        );
    }
}

// X.07
#[test]
fn a_storage_path_cannot_climb() {
    let lab = Lab::start(Engine::Sqlite);
    let mine = new_picture(&lab);
    let (folder, file) = mine.rsplit_once('/').unwrap();
    let other = lab.tenant("b").user_id;

    for wrong in [
        format!("{folder}/../{other}/{file}"),
        format!("{folder}/{file}/../../x.png"),
        format!("/{mine}"),
        format!("./{mine}"),
        format!("{folder}//{file}"),
        format!("{mine}/"),
        format!("{mine}?x"),
        format!("{mine}#x"),
        format!("{mine} "),
        format!("{mine}\n"),
        format!("{folder}/%2e%2e/{file}"),
        mine.replace('/', "\\"),
        mine.to_uppercase(),
        mine.replace("library/", "Library/"),
        format!("{}/{mine}", lab.origin()),
        format!("file:///{mine}"),
        format!("{}/{file}", folder.to_uppercase().replace("LIBRARY", "library")),
        "library//x.png".to_owned(),
        format!("{folder}/"),
        format!("{folder}/..png"),
        format!("{folder}/.png"),
        "/etc/passwd".to_owned(),
    ] {
        for (path, body, field) in [
            ("/posts", json!({ "media_url": wrong }), "media_url"),
            ("/media-library", json!({ "storage_path": wrong }), "storage_path"),
        ] {
            let refused = faults(lab.post(path).key(&lab.key).json(body).send());
            let expected = (field.to_owned(), "must_be_storage_path".to_owned());
            assert_eq!(refused, [expected], "{wrong}");
        }
    }
}

// X.08
#[test]
fn the_service_names_its_files_itself() {
    let lab = Lab::start(Engine::Sqlite);
    let naming = Peer::start(|_, stream| {
        let file = fixture("photo.png");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-disposition: attachment; filename=\"../../evil.exe\"\r\n\
             content-type: text/html\r\ncontent-length: {}\r\n\r\n",
            file.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&file)
    });

    let long = "a".repeat(300);
    for name in
        ["..%2f..%2fmaster.key", "con", "a%E2%80%AEgpj.exe", &long, ".htaccess", "-rf", "a.php"]
    {
        let item = import(&lab, &lab.key, &naming.url(name));
        let file = text(&item["storage_path"]).rsplit('/').next().unwrap();
        let stem = file.strip_suffix(".png").unwrap_or_else(|| panic!("{name}: {file}"));
        assert_eq!(stem, text(&item["id"]), "{name}");
    }
    assert_eq!(lab.data_dir().join("master.key").metadata().unwrap().len(), 43);
}
