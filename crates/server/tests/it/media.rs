//! The media library: what comes in, how it is found again, and how it is kept in order.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    lab::{Lab, Reply, both},
    peer::{Peer, fixture},
};

/// Imports a file of the peer and returns the item.
#[track_caller]
pub(crate) fn import(lab: &Lab, key: &str, url: &str) -> Value {
    try_import(lab, key, url).expect(201).json["item"].clone()
}

pub(crate) fn try_import(lab: &Lab, key: &str, url: &str) -> Reply {
    lab.post("/media-library").key(key).json(json!({ "source_url": url })).send()
}

/// The bytes behind an item's signed address.
#[track_caller]
pub(crate) fn download(lab: &Lab, item: &Value) -> Vec<u8> {
    lab.get(item["url"].as_str().unwrap()).send().expect(200).body
}

pub(crate) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// The items of a list, by id.
#[track_caller]
fn ids(list: &Reply) -> Vec<String> {
    let items = list.json["items"].as_array().unwrap_or_else(|| panic!("{}", list.text()));
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Name, type, extension, width, height and duration of the fixtures.
type Facts = (&'static str, &'static str, &'static str, u64, u64, Option<u64>);

const FILES: [Facts; 8] = [
    ("photo.jpg", "image/jpeg", "jpg", 32, 48, None),
    ("photo.png", "image/png", "png", 32, 48, None),
    ("lossy.webp", "image/webp", "webp", 32, 48, None),
    ("animated.webp", "image/webp", "webp", 24, 16, Some(800)),
    ("animated.gif", "image/gif", "gif", 24, 16, Some(800)),
    ("telemetry.mp4", "video/mp4", "mp4", 48, 32, Some(1000)),
    ("rotated.mov", "video/quicktime", "mov", 32, 48, Some(1000)),
    ("sound.webm", "video/webm", "webm", 48, 32, Some(1008)),
];

both! {
    fn an_import_measures_cleans_and_stores_every_kind_of_file(lab: Lab) {
        let peer = Peer::files();
        let owner = lab.owner();

        for (name, media_type, extension, width, height, duration) in FILES {
            let item = import(&lab, &lab.key, &peer.url(name));

            let id = item["id"].as_str().unwrap();
            let path = item["storage_path"].as_str().unwrap();
            let (folder, file) = path.rsplit_once('/').unwrap();
            assert_eq!(folder, format!("library/{}", owner.user_id), "{name}");
            assert!(file.ends_with(&format!(".{extension}")), "{name}: {path}");
            assert_eq!(item["media_type"], media_type, "{name}");
            assert_eq!(
                (&item["width"], &item["height"]),
                (&json!(width), &json!(height)),
                "{name}"
            );
            assert_eq!(item["duration_ms"], json!(duration), "{name}");
            assert_eq!(item["source_url"], peer.url(name), "{name}");
            assert_eq!(item["created_by"], owner.user_id.as_str(), "{name}");
            assert!(id.starts_with("media_"), "{name}: {id}");

            let before = fixture(name);
            let served = lab.get(item["url"].as_str().unwrap()).send().expect(200);
            assert_eq!(served.header("content-type"), Some(media_type), "{name}");
            assert_eq!(item["bytes"], served.body.len(), "{name}");
            let sum = Sha256::digest(&served.body);
            let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(item["sha256"], sum.as_str(), "{name}");
            assert!(contains(&before, b"CANARY"), "{name} has something to hide");
            for secret in [&b"CANARY"[..], b"52.516", b"52,30", b"+52.5", b"xmpmeta"] {
                assert!(!contains(&served.body, secret), "{name}: {}", secret.escape_ascii());
            }
        }
    }

    fn an_item_takes_a_name_tags_and_a_folder_along(lab: Lab) {
        let peer = Peer::files();
        let wanted = json!({
            "source_url": peer.url("photo.jpg"), "name": "Bell tower", "tags": ["bells", "noon"],
            "folder_path": "campaigns/2026",
        });

        let created = lab.post("/media-library").key(&lab.key).json(wanted).send().expect(201);

        assert!(created.header("etag").is_some());
        let item = &created.json["item"];
        assert_eq!(item["name"], "Bell tower");
        assert_eq!(item["tags"], json!(["bells", "noon"]));
        assert_eq!(item["folder_path"], "campaigns/2026");
        let folders = lab.get("/content-folders?scope=media").key(&lab.key).send().expect(200);
        let paths: Vec<_> = folders.json["folders"]
            .as_array()
            .unwrap()
            .iter()
            .map(|folder| folder["folder_path"].clone())
            .collect();
        assert_eq!(paths, ["campaigns", "campaigns/2026"]);
        let posts = lab.get("/content-folders?scope=posts").key(&lab.key).send().expect(200);
        assert_eq!(posts.json["folders"], json!([]), "the other tree is untouched");
    }

    fn a_list_is_filtered_by_folder_and_tag_and_turns_its_pages(lab: Lab) {
        let peer = Peer::files();
        let mut all = Vec::new();
        for (name, tags, folder) in [
            ("photo.jpg", json!(["red"]), "a"),
            ("photo.png", json!(["red", "blue"]), "a/b"),
            ("lossy.webp", json!(["blue"]), "a"),
        ] {
            let new = json!({ "source_url": peer.url(name), "tags": tags, "folder_path": folder });
            let item = lab.post("/media-library").key(&lab.key).json(new).send().expect(201);
            all.push(item.json["item"]["id"].as_str().unwrap().to_owned());
        }
        let [first, second, third] = [0, 1, 2].map(|at| all[at].as_str());
        let list = |query: &str| {
            ids(&lab.get(&format!("/media-library?{query}")).key(&lab.key).send().expect(200))
        };

        assert_eq!(list(""), [third, second, first], "newest first");
        assert_eq!(list("folder=a"), [third, first]);
        assert_eq!(list("tag=red"), [second, first]);
        assert_eq!(list("tag=red&folder=a"), [first]);
        assert_eq!(list("tag=green"), [""; 0]);

        let page = lab.get("/media-library?limit=2").key(&lab.key).send().expect(200);
        assert_eq!(ids(&page), [third, second]);
        let cursor = page.json["next_cursor"].as_str().unwrap();
        let rest = lab.get(&format!("/media-library?limit=2&cursor={cursor}")).key(&lab.key).send();
        assert_eq!(ids(&rest), [first]);
        assert_eq!(rest.json["next_cursor"], Value::Null);
    }

    fn several_items_change_together_or_not_at_all(lab: Lab) {
        let peer = Peer::files();
        let one = import(&lab, &lab.key, &peer.url("photo.jpg"));
        let two = import(&lab, &lab.key, &peer.url("photo.png"));
        let unknown = "media_01hf7yat00000000000000000b";
        let change = |body: Value| lab.patch("/media-library").key(&lab.key).json(body).send();

        let both = json!({ "ids": [one["id"], two["id"]], "tags": ["t"], "folder_path": "f" });
        let changed = change(both).expect(200);
        for item in changed.json["items"].as_array().unwrap() {
            assert_eq!((&item["tags"], &item["folder_path"]), (&json!(["t"]), &json!("f")));
        }
        let half = json!({ "ids": [one["id"], unknown], "tags": ["u"], "folder_path": "g" });
        change(half).expect_problem(404, "not_found");

        let list = lab.get("/media-library?tag=t&folder=f").key(&lab.key).send().expect(200);
        assert_eq!(ids(&list).len(), 2, "nothing was changed by half");
        let folders = lab.get("/content-folders?scope=media").key(&lab.key).send().expect(200);
        assert_eq!(folders.json["folders"].as_array().unwrap().len(), 1, "nor was a folder made");

        let cleared =
            change(json!({ "id": one["id"], "tags": null, "folder_path": null })).expect(200);
        let item = &cleared.json["items"][0];
        assert_eq!((&item["tags"], &item["folder_path"]), (&json!([]), &Value::Null));
        change(json!({ "id": one["id"] })).expect_problem(422, "validation_failed");
        change(json!({ "tags": [] })).expect_problem(422, "validation_failed");
        change(json!({ "ids": [], "tags": [] })).expect_problem(422, "validation_failed");
    }

    fn several_items_are_deleted_together_or_not_at_all(lab: Lab) {
        let peer = Peer::files();
        let one = import(&lab, &lab.key, &peer.url("photo.jpg"));
        let two = import(&lab, &lab.key, &peer.url("photo.png"));
        let unknown = "media_01hf7yat00000000000000000b";
        let delete = |body: Value| lab.delete("/media-library").key(&lab.key).json(body).send();

        delete(json!({ "ids": [one["id"], unknown] })).expect_problem(404, "not_found");
        assert_eq!(ids(&lab.get("/media-library").key(&lab.key).send()).len(), 2);
        download(&lab, &one);

        let gone = delete(json!({ "ids": [one["id"], two["id"]] })).expect(200);
        assert_eq!(gone.json["deleted"], true);
        assert_eq!(ids(&lab.get("/media-library").key(&lab.key).send()), [""; 0]);
        lab.get(one["url"].as_str().unwrap()).send().expect_problem(404, "not_found");
        delete(json!({ "id": one["id"] })).expect_problem(404, "not_found");
    }

    fn an_import_needs_exactly_one_origin(lab: Lab) {
        let owner = lab.owner();
        let path = format!("library/{}/media_1.jpg", owner.user_id);
        let create = |body: Value| lab.post("/media-library").key(&lab.key).json(body).send();

        create(json!({})).expect_problem(422, "validation_failed");
        let two = json!({ "source_url": "https://example.com/a.jpg", "storage_path": path });
        create(two).expect_problem(422, "validation_failed");
        let nothing =
            create(json!({ "storage_path": path })).expect_problem(422, "validation_failed");
        assert_eq!(nothing.json["errors"][0]["code"], "media_not_found");
    }
}
