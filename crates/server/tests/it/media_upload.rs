//! Signed uploads: one URL, one upload, exactly what was promised.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::{
    lab::{Engine, Lab, Reply, both},
    media::{contains, download},
    peer::fixture,
};

/// Asks for a signed URL for a fixture.
#[track_caller]
pub(crate) fn sign(lab: &Lab, key: &str, content_type: &str, size: usize) -> Value {
    let wanted = json!({ "content_type": content_type, "size": size });
    let signed = lab.post("/uploads/posts/sign").key(key).json(wanted).send().expect(201);
    signed.json["upload"].clone()
}

/// Sends bytes to a signed URL, with the headers that it asks for.
pub(crate) fn put(lab: &Lab, upload: &Value, url: &str, body: Vec<u8>) -> Reply {
    let content_type = upload["headers"]["content-type"].as_str().unwrap();
    lab.put(url).header("content-type", content_type).body(body).send()
}

fn url(upload: &Value) -> &str {
    upload["url"].as_str().unwrap()
}

/// Uploads a fixture and returns its storage path.
#[track_caller]
pub(crate) fn upload(lab: &Lab, key: &str, name: &str, content_type: &str) -> Value {
    let file = fixture(name);
    let upload = sign(lab, key, content_type, file.len());
    put(lab, &upload, url(&upload), file).expect(201);
    upload["storage_path"].clone()
}

both! {
    fn an_upload_becomes_an_item_and_the_media_of_a_post(lab: Lab) {
        let owner = lab.owner();
        let file = fixture("photo.jpg");
        let upload = sign(&lab, &lab.key, "image/jpeg", file.len());
        assert_eq!(upload["method"], "PUT");
        assert_eq!(upload["headers"]["content-length"], file.len().to_string());
        let path = upload["storage_path"].as_str().unwrap();
        assert!(path.starts_with(&format!("library/{}/", owner.user_id)), "{path}");

        let early = json!({ "content": "Too early", "media_url": path });
        let refused = lab.post("/posts").key(&lab.key).json(early).send();
        let refused = refused.expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["code"], "media_not_found");

        let stored = put(&lab, &upload, url(&upload), file).expect(201);
        assert_eq!(stored.json["storage_path"], path);
        let post = json!({ "content": "Bells", "media_url": path });
        let post = lab.post("/posts").key(&lab.key).json(post).send().expect(201).json;
        assert_eq!(post["post"]["media"][0]["storage_path"], path);

        let register = json!({ "storage_path": path, "tags": ["bells"], "folder_path": "a" });
        let item =
            lab.post("/media-library").key(&lab.key).json(register.clone()).send().expect(201);
        let item = &item.json["item"];
        assert_eq!(item["storage_path"], path);
        assert_eq!((&item["width"], &item["height"]), (&json!(32), &json!(48)));
        assert_eq!(item["source_url"], Value::Null);
        assert!(!contains(&download(&lab, item), b"CANARY"), "uploads are cleaned as well");
        let again = lab.post("/media-library").key(&lab.key).json(register).send();
        again.expect_problem(409, "already_exists");
    }

    fn a_signed_url_takes_one_upload(lab: Lab) {
        let file = fixture("photo.png");
        let upload = sign(&lab, &lab.key, "image/png", file.len());

        let replies: Vec<_> = std::thread::scope(|scope| {
            let puts: Vec<_> = (0..6)
                .map(|_| scope.spawn(|| put(&lab, &upload, url(&upload), file.clone())))
                .collect();
            puts.into_iter().map(|put| put.join().unwrap()).collect()
        });

        let first = replies.iter().filter(|reply| reply.status == 201).count();
        assert_eq!(first, 1, "{replies:?}");
        for reply in replies.into_iter().filter(|reply| reply.status != 201) {
            reply.expect_problem(409, "upload_used");
        }
        put(&lab, &upload, url(&upload), file).expect_problem(409, "upload_used");
        let logs = lab.get("/audit-logs?action=upload.completed").key(&lab.key).send().expect(200);
        assert_eq!(logs.json["audit_logs"].as_array().unwrap().len(), 1);
    }

    fn media_of_one_brand_cannot_be_used_in_another(lab: Lab) {
        let other = lab.tenant("other");
        let second = lab.cli(&["brand", "create", "--user", &lab.email, "--name", "Second"]);
        let path = upload(&lab, &lab.key, "photo.jpg", "image/jpeg");
        let item = json!({ "storage_path": path });
        let post = json!({ "content": "Bells", "media_url": path });
        let listed = json!({ "content": "Bells", "media": [{ "storage_path": path }] });
        let thumbnail = json!({ "videohost": { "title": "t", "thumbnail": path } });

        for (key, brand) in [(&lab.key, &second), (&other.key, &other.brand_id)] {
            for (place, body) in [
                ("/posts", &post),
                ("/posts", &listed),
                ("/posts", &thumbnail),
                ("/media-library", &item),
            ] {
                let refused = lab.post(place).key(key).brand(brand).json(body.clone()).send();
                let refused = refused.expect_problem(422, "validation_failed");
                assert_eq!(refused.json["errors"][0]["code"], "media_not_found");
            }
            let draft = lab.post("/posts").key(key).brand(brand).json(json!({})).send().expect(201);
            let id = draft.json["post"]["id"].as_str().unwrap();
            let patch = lab.patch(&format!("/posts/{id}")).key(key).brand(brand);
            let refused = patch.json(json!({ "media_url": path })).send();
            let refused = refused.expect_problem(422, "validation_failed");
            assert_eq!(refused.json["errors"][0]["code"], "media_not_found");
        }
        lab.post("/posts").key(&lab.key).json(post).send().expect(201);
    }
}

#[test]
fn a_public_address_is_no_media_of_a_post() {
    let lab = Lab::start(Engine::Sqlite);
    let draft = lab.post("/posts").key(&lab.key).json(json!({ "content": "Bells" })).send();
    let path = format!("/posts/{}", draft.json["post"]["id"].as_str().unwrap());
    let owner = lab.owner();

    for wrong in [
        "https://example.com/a.jpg",
        "//example.com/a.jpg",
        "file:///etc/passwd",
        "a.jpg",
        "",
        &format!("/library/{}/a.jpg", owner.user_id),
        &format!("library/{}/../a.jpg", owner.user_id),
    ] {
        for body in [
            json!({ "media_url": wrong }),
            json!({ "media": [{ "storage_path": wrong }] }),
            json!({ "videohost": { "thumbnail": wrong } }),
        ] {
            let created = lab.post("/posts").key(&lab.key).json(body.clone()).send();
            let changed = lab.patch(&path).key(&lab.key).json(body).send();
            for refused in [created, changed] {
                let refused = refused.expect_problem(422, "validation_failed");
                assert_eq!(refused.json["errors"][0]["code"], "must_be_storage_path", "{wrong}");
            }
        }
    }
}

#[test]
fn an_upload_must_be_what_was_promised() {
    let lab = Lab::start(Engine::Sqlite);
    let file = fixture("photo.png");
    let upload = sign(&lab, &lab.key, "image/png", file.len());
    let send = |content_type: &str, body: &[u8]| {
        lab.put(url(&upload)).header("content-type", content_type).body(body).send()
    };

    for wrong in ["image/jpeg", "image/png; charset=utf-8", "text/html", ""] {
        send(wrong, &file).expect_problem(415, "unsupported_media_type");
    }
    lab.put(url(&upload)).body(file.clone()).send().expect_problem(415, "unsupported_media_type");
    for wrong in [&file[1..], &[&file[..], b"x"].concat(), b""] {
        let refused = send("image/png", wrong).expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["code"], "size_mismatch");
    }
    let chunked =
        b"PUT_PATH HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: image/png\r\n\
        transfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let path = url(&upload).strip_prefix(&lab.origin()).unwrap();
    let chunked = String::from_utf8_lossy(chunked).replace("PUT_PATH", &format!("PUT {path}"));
    lab.raw(chunked.as_bytes()).unwrap().expect_problem(422, "validation_failed");

    let mut gif = fixture("animated.gif");
    gif.resize(file.len(), 0);
    let refused = send("image/png", &gif).expect(422);
    assert_eq!(refused.code(), "validation_failed");
    let mut jpeg = fixture("progressive.jpg");
    jpeg.resize(file.len(), 0);
    let refused = send("image/png", &jpeg).expect_problem(422, "validation_failed");
    assert_eq!(refused.json["errors"][0]["code"], "media_type_mismatch", "{}", refused.text());
    let refused =
        send("image/png", &vec![b'<'; file.len()]).expect_problem(422, "validation_failed");
    assert_eq!(refused.json["errors"][0]["code"], "unsupported_media_type", "{}", refused.text());

    send("image/png", &file).expect(201);
}

#[test]
fn what_cannot_be_uploaded_is_not_signed() {
    let lab = Lab::start(Engine::Sqlite);
    let sign = |body: Value| lab.post("/uploads/posts/sign").key(&lab.key).json(body).send();

    for content_type in ["image/svg+xml", "text/html", "application/pdf", "video/x-msvideo", "*/*"]
    {
        let refused = sign(json!({ "content_type": content_type, "size": 10 }));
        let refused = refused.expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["field"], "content_type", "{content_type}");
    }
    for size in [json!(0), json!(-1), json!(1.5), json!("10"), json!(u64::MAX), json!(null)] {
        let refused = sign(json!({ "content_type": "image/png", "size": size }));
        refused.expect_problem(422, "validation_failed");
    }
    let all =
        sign(json!({ "size": "x", "path": "library/x" })).expect_problem(422, "validation_failed");
    assert_eq!(all.json["errors"].as_array().unwrap().len(), 3, "{}", all.text());
}

// 1.17
#[test]
fn a_signed_upload_url_cannot_be_edited() {
    let lab = Lab::start(Engine::Sqlite);
    let other = lab.tenant("other");
    let file = fixture("photo.png");
    let mine = sign(&lab, &lab.key, "image/png", file.len());
    let theirs = sign(&lab, &other.key, "image/png", file.len());
    let (path, query) = url(&mine).split_once('?').unwrap();
    let foreign_path = url(&theirs).split_once('?').unwrap().0;
    let expires = query.split('&').find_map(|pair| pair.strip_prefix("expires=")).unwrap();
    let later = (expires.parse::<u64>().unwrap() + 1).to_string();
    let signature = query.split('&').find_map(|pair| pair.strip_prefix("signature=")).unwrap();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    let other_signature = format!("{first}{}", &signature[1..]);

    for edited in [
        format!("{foreign_path}?{query}"),
        format!("{path}?expires={later}&signature={signature}"),
        format!("{path}?expires=99999999999999999999&signature={signature}"),
        format!("{path}?expires=&signature={signature}"),
        format!("{path}?expires={expires}&signature={other_signature}"),
        format!("{path}?expires={expires}&signature={}", &signature[..10]),
        format!("{path}?expires={expires}&signature="),
        format!("{path}?expires={expires}"),
        format!("{path}?{query}&size=9"),
        path.to_owned(),
        format!("{path}x?{query}"),
        format!("{}/uploads/upload_01hf7yat00000000000000000a?{query}", lab.origin()),
        format!("{}/uploads/..%2fmaster.key?{query}", lab.origin()),
    ] {
        put(&lab, &mine, &edited, file.clone()).expect_problem(403, "invalid_signature");
    }
    put(&lab, &mine, url(&mine), file).expect(201);
    let theirs = json!({ "storage_path": theirs["storage_path"] });
    let nothing = lab.post("/media-library").key(&other.key).json(theirs).send();
    assert_eq!(nothing.expect(422).json["errors"][0]["code"], "media_not_found");
}

/// Signs as the service does, so that a test need not wait until a URL has expired.
fn signature(master: &[u8], purpose: &str, parts: &[&str]) -> String {
    let mac = |key: &[u8]| <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    let mut derive = mac(master);
    derive.update(b"campanile sign");
    let mut sign = mac(&derive.finalize().into_bytes());
    sign.update(purpose.as_bytes());
    for part in parts {
        sign.update(&(part.len() as u64).to_be_bytes());
        sign.update(part.as_bytes());
    }
    BASE64.encode(&sign.finalize().into_bytes()[..16])
}

#[test]
fn an_expired_url_says_so() {
    let master: [u8; 32] = std::array::from_fn(|at| at as u8);
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_MASTER_KEY", &BASE64.encode(master))]);
    let file = fixture("photo.png");
    let upload = sign(&lab, &lab.key, "image/png", file.len());
    let id = upload["id"].as_str().unwrap();
    let size = file.len().to_string();
    let signed_until = |expires: &str| {
        let signature = signature(&master, "upload", &["PUT", id, expires, "image/png", &size]);
        format!("{}/uploads/{id}?expires={expires}&signature={signature}", lab.origin())
    };
    let expires = url(&upload).split("expires=").nth(1).unwrap().split('&').next().unwrap();
    assert_eq!(signed_until(expires), url(&upload), "the test signs as the service does");

    let expired = put(&lab, &upload, &signed_until("1700000000000"), file.clone());
    expired.expect_problem(410, "signed_url_expired");

    put(&lab, &upload, url(&upload), file).expect(201);
    let item = json!({ "storage_path": upload["storage_path"] });
    let item = lab.post("/media-library").key(&lab.key).json(item).send().expect(201).json;
    let address = item["item"]["url"].as_str().unwrap().split_once('?').unwrap().0;
    let mut names = address.rsplit('/');
    let (blob, workspace) = (names.next().unwrap(), names.next().unwrap());
    let signature = signature(&master, "read", &["GET", workspace, blob, "1700000000000"]);
    let expired = lab.get(&format!("{address}?expires=1700000000000&signature={signature}")).send();
    expired.expect_problem(410, "signed_url_expired");
}
