//! API8 and API9: what the service shows of itself to everybody.

use serde_json::json;

use crate::{
    lab::{BASE_PATH, Engine, Lab, Reply, free_port},
    media::import,
    peer::Peer,
    steps::{encoded, faults, new_post, post_path, text},
};

// 8.01
#[test]
fn a_line_break_gets_into_no_name_and_no_header() {
    let lab = Lab::start(Engine::Sqlite);
    let session = lab.sign_in(&lab.email, &lab.password);
    let peer = Peer::files();

    for bad in [
        "a\r\nset-cookie: x=y",
        "a\nb",
        "a\rb",
        "a\u{0}b",
        "a\u{b}b",
        "a\u{1b}[31m",
        "a\u{85}b",
        "a\u{2028}b",
    ] {
        for (path, body) in [
            ("/posts", json!({ "tags": [bad] })),
            ("/posts", json!({ "folder_path": bad })),
            ("/posts", json!({ "videohost": { "tags": [bad] } })),
            ("/content-folders", json!({ "scope": "posts", "name": bad })),
            ("/content-folders", json!({ "scope": "media", "folder_path": format!("a/{bad}") })),
            ("/media-library", json!({ "source_url": peer.url("photo.jpg"), "name": bad })),
            ("/media-library", json!({ "source_url": peer.url("photo.jpg"), "tags": [bad] })),
            ("/uploads/posts/sign", json!({ "content_type": bad, "size": 10 })),
        ] {
            let refused = lab.post(path).key(&lab.key).json(body).send();
            assert_eq!(refused.header("set-cookie"), None);
            assert!(!faults(refused).is_empty(), "{path} {bad:?}");
        }
        for (path, body) in [
            ("/keys", json!({ "name": bad, "scopes": ["*"] })),
            ("/api/internal/brands", json!({ "name": bad })),
        ] {
            assert!(
                !faults(lab.post(path).session(&session).json(body).send()).is_empty(),
                "{bad:?}"
            );
        }
        let settings = json!({ "profile": { "name": bad } });
        assert!(!faults(lab.put("/settings").key(&lab.key).json(settings).send()).is_empty());
    }
    assert_eq!(peer.connections(), 0, "a bad name is found before anything is fetched");
}

// 8.01
#[test]
fn a_request_id_is_taken_only_when_it_is_harmless() {
    let lab = Lab::start(Engine::Sqlite);
    let ask = |id: &str| lab.get("/nothing").header("x-request-id", id).send().expect(404);

    for good in ["a", "01J9.x_y-z", &"a".repeat(64)] {
        let reply = ask(good);
        assert_eq!(reply.header("x-request-id"), Some(good));
        assert_eq!(reply.json["request_id"], good);
    }
    for bad in [
        "",
        "a b",
        "<script>",
        "a;b",
        "a,b",
        "\"a\"",
        "a/../b",
        "é",
        &"a".repeat(65),
        "a\tb",
        "%0d%0a",
    ] {
        let reply = ask(bad);
        let id = reply.header("x-request-id").unwrap();
        assert!(id.starts_with("req_"), "{bad:?}: {id}");
        assert_eq!(reply.json["request_id"], id);
    }
    let mut twice =
        lab.get("/nothing").header("x-request-id", "one").header("x-request-id", "two").send();
    let ids: Vec<_> = twice.headers.drain(..).filter(|(name, _)| name == "x-request-id").collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

// 8.02
#[test]
fn no_other_site_may_read_an_answer() {
    let lab = Lab::start(Engine::Sqlite);

    for origin in
        ["https://evil.example.com", "null", &format!("{}.evil.example.com", lab.origin()), "*"]
    {
        for path in ["/health", "/whoami", "/posts", "/openapi.json", "/reference"] {
            let simple = lab.get(path).key(&lab.key).header("origin", origin).send();
            let asked = lab.request("OPTIONS", path).header("origin", origin);
            let asked = asked.header("access-control-request-method", "DELETE");
            let asked = asked.header("access-control-request-headers", "authorization").send();
            for reply in [simple, asked] {
                let open =
                    reply.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
                assert_eq!(open, None, "{path} from {origin}");
            }
        }
    }
}

/// One answer of every kind, good and bad.
fn every_kind(lab: &Lab) -> Vec<(&'static str, Reply)> {
    let post = post_path(&new_post(lab, json!({})));
    let item = import(lab, &lab.key, &Peer::files().url("photo.jpg"));
    let json = "application/json";
    let large = lab.post("/posts").key(&lab.key).header("content-type", json);
    vec![
        ("root", lab.get("/").send().expect(200)),
        ("health", lab.get("/health").send().expect(200)),
        ("private", lab.get("/whoami").key(&lab.key).send().expect(200)),
        ("post", lab.get(&post).key(&lab.key).send().expect(200)),
        ("list", lab.get("/posts").key(&lab.key).send().expect(200)),
        ("created", lab.post("/posts").key(&lab.key).json(json!({})).send().expect(201)),
        ("media", lab.get(text(&item["url"])).send().expect(200)),
        ("document", lab.get("/openapi.json").send().expect(200)),
        ("page", lab.get("/docs").send().expect(200)),
        ("options", lab.request("OPTIONS", "/posts").send().expect(204)),
        (
            "400",
            lab.post("/posts")
                .key(&lab.key)
                .header("content-type", json)
                .body("{")
                .send()
                .expect(400),
        ),
        ("401", lab.get("/posts").send().expect(401)),
        ("403", lab.get("/keys/x").key(&lab.key).send()),
        ("404", lab.get("/nothing").send().expect(404)),
        ("405", lab.put("/posts").key(&lab.key).send().expect(405)),
        ("406", lab.get("/posts").key(&lab.key).header("accept", "text/html").send().expect(406)),
        ("413", large.body(" ".repeat((1 << 20) + 1)).send().expect(413)),
        (
            "414",
            lab.get(&format!("/posts?text={}", "a".repeat(9000))).key(&lab.key).send().expect(414),
        ),
        ("415", lab.post("/posts").key(&lab.key).body("x").send().expect(415)),
        ("422", lab.get("/posts?limit=0").key(&lab.key).send().expect(422)),
        ("431", lab.get("/posts").header("x", "a".repeat(20_000)).send().expect(431)),
        ("501", lab.get("/analytics").key(&lab.key).send().expect(501)),
    ]
}

// 8.03, 8.08
#[test]
fn every_answer_carries_the_headers_that_protect_it() {
    let lab = Lab::start(Engine::Sqlite);

    for (name, reply) in every_kind(&lab) {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{name}");
        assert!(reply.header("x-request-id").is_some(), "{name}");
        assert_eq!(reply.header("server"), None, "{name}");
        assert_eq!(reply.header("x-powered-by"), None, "{name}");
        let cached = reply.header("cache-control").unwrap_or_else(|| panic!("{name}"));
        assert!(!cached.contains("public"), "{name}: {cached}");
        match name {
            "media" | "document" | "page" => {}
            _ => assert_eq!(cached, "no-store", "{name}"),
        }
        if reply.status >= 400 {
            assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{name}");
            assert_eq!(reply.json["status"], reply.status, "{name}");
            assert_eq!(reply.json["request_id"], reply.header("x-request-id").unwrap(), "{name}");
            assert!(!text(&reply.json["detail"]).is_empty(), "{name}");
        }
    }
    let page = lab.get("/docs").send().expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("unsafe"), "{policy}");
}

// 8.03
#[test]
fn a_public_service_insists_on_encryption() {
    let url = [("CAMPANILE_PUBLIC_URL", "https://bells.example.com")];
    let lab = Lab::start_with(Engine::Sqlite, &url);

    for path in ["/health", "/whoami", "/nothing", "/docs", "/openapi.json"] {
        let reply = lab.get(path).send();
        assert!(reply.header("strict-transport-security").is_some(), "{path}: {:?}", reply.headers);
    }
}

// 8.04
#[test]
fn nobody_tells_the_service_its_own_name_or_their_address() {
    let lab = Lab::start(Engine::Sqlite);
    let lie = "evil.example.com";
    let lying = |method: &str, path: &str| {
        let request = lab.request(method, path).key(&lab.key).header("host", lie);
        let request = request.header("x-forwarded-host", lie).header("x-forwarded-proto", "https");
        let request =
            request.header("x-forwarded-for", "203.0.113.7").header("x-real-ip", "203.0.113.7");
        request
            .header("forwarded", "for=203.0.113.7;host=evil.example.com")
            .header("x-original-url", "/keys")
    };

    let root = lying("GET", "/").send().expect(200);
    assert!(!root.text().contains(lie) && root.text().contains(&lab.origin()), "{}", root.text());
    let wanted = json!({ "content_type": "image/png", "size": 10 });
    let signed = lying("POST", "/uploads/posts/sign").json(wanted).send().expect(201);
    assert!(text(&signed.json["upload"]["url"]).starts_with(&lab.origin()), "{}", signed.text());
    assert!(!signed.text().contains(lie));
    lying("GET", "/posts").send().expect(200);
    let logs = lab.get("/audit-logs?action=upload.signed").key(&lab.key).send().expect(200).json;
    assert_eq!(logs["audit_logs"][0]["ip"], "127.0.0.1");

    let absolute = format!(
        "GET http://{lie}{BASE_PATH}/whoami HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         authorization: Bearer {}\r\n\r\n",
        lab.key
    );
    let reply = lab.raw(absolute.as_bytes()).unwrap();
    assert!([200, 400, 404, 421].contains(&reply.status), "{}", reply.text());
    assert!(!reply.text().contains(lie), "{}", reply.text());
}

// 8.05
#[test]
fn what_is_for_the_operator_is_not_on_the_public_side() {
    let inside = format!("127.0.0.1:{}", free_port());
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_METRICS_LISTEN", &inside)]);

    for path in [
        "/metrics",
        "/debug",
        "/debug/pprof",
        "/status",
        "/ready",
        "/env",
        "/.env",
        "/.git/config",
        "/server-status",
        "/actuator",
        "/admin",
    ] {
        for path in [format!("{}{path}", lab.origin()), path.to_owned()] {
            lab.get(&path).key(&lab.key).send().expect_problem(404, "not_found");
        }
    }
    let health = lab.get("/health").key(&lab.key).send().expect(200).json;
    assert_eq!(health, json!({ "status": "ok" }));
    lab.get("/health?verbose=true").send();
}

// 8.06
#[test]
fn the_service_speaks_json_and_nothing_else() {
    let lab = Lab::start(Engine::Sqlite);

    for accept in
        ["text/html", "application/xml", "text/plain, image/*", "application/vnd.api+json"]
    {
        let refused = lab.get("/posts").key(&lab.key).header("accept", accept).send();
        refused.expect_problem(406, "not_acceptable");
    }
    for accept in
        ["*/*", "application/*", "text/html, */*;q=0.1", "application/json", "APPLICATION/JSON", ""]
    {
        lab.get("/posts").key(&lab.key).header("accept", accept).send().expect(200);
    }
    for kind in [
        "application/xml",
        "text/xml",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/jsonx",
        "",
    ] {
        let request = lab.post("/posts").key(&lab.key).header("content-type", kind);
        request.body("{}").send().expect_problem(415, "unsupported_media_type");
    }
    for kind in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
    ] {
        let request = lab.post("/posts").key(&lab.key).header("content-type", kind);
        request.body("{}").send().expect(201);
    }
    lab.post("/posts").key(&lab.key).send().expect_problem(415, "unsupported_media_type");
}

// 8.07
#[test]
fn a_script_in_a_text_stays_a_text() {
    let lab = Lab::start(Engine::Sqlite);
    let script =
        "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}${7*7}</textarea>";
    let short = "<script>alert(1)</script>";
    let draft = json!({
        "content": script, "tags": [short], "folder_path": "<b>bold<b>",
        "videohost": { "title": short },
    });

    let post = new_post(&lab, draft);

    let read = lab.get(&post_path(&post)).key(&lab.key).send().expect(200);
    assert_eq!(read.json["post"]["content"], script, "kept as it was written");
    assert_eq!(read.json["post"]["tags"], json!([short]));
    assert_eq!(read.header("content-type"), Some("application/json"));
    assert_eq!(read.header("x-content-type-options"), Some("nosniff"));
    let refused = lab.get(&format!("/posts?{}=1", encoded(short))).key(&lab.key).send();
    let refused = refused.expect_problem(422, "validation_failed");
    assert_eq!(refused.header("x-content-type-options"), Some("nosniff"));
}
