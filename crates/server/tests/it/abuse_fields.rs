//! API3: nobody writes what is not theirs to write, or reads what is not theirs to know.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, Reply, both},
    steps::{expect_faults, faults, from_now, list, new_picture, new_post, post_path, text},
};

both! {
    // 3.01
    fn a_post_takes_nothing_that_the_service_decides(lab: Lab) {
        let post = new_post(&lab, json!({ "content": "as it was" }));
        let path = post_path(&post);
        let forbidden = json!({
            "id": "post_01hf7yat00000000000000000a", "user_id": "user_01hf7yat00000000000000000a",
            "brand_id": "brand_01hf7yat00000000000000000a", "state": "Published",
            "status": "Published", "published_at": "2030-01-01T00:00:00Z",
            "created_at": "2030-01-01T00:00:00Z", "updated_at": "2030-01-01T00:00:00Z",
            "created_by": "user_01hf7yat00000000000000000a", "approved": true, "remote_id": "1",
            "publish_job": {}, "workspace_id": "ws_01hf7yat00000000000000000a",
        });
        let names: Vec<_> = forbidden.as_object().unwrap().keys().cloned().collect();
        let mut body = forbidden.clone();
        body["content"] = json!("taken over");

        for refused in [
            lab.post("/posts").key(&lab.key).json(body.clone()).send(),
            lab.patch(&path).key(&lab.key).json(body).send(),
        ] {
            let named = faults(refused);
            for name in &names {
                let codes = ["unknown_field", "read_only"];
                let told = named
                    .iter()
                    .any(|(field, code)| field == name && codes.contains(&code.as_str()));
                assert!(told, "{name}: {named:?}");
            }
            assert_eq!(named.len(), names.len(), "{named:?}");
        }

        assert_eq!(lab.get(&path).key(&lab.key).send().expect(200).json["post"], post);
        let posts = lab.get("/posts").key(&lab.key).send().expect(200).json;
        assert_eq!(list(&posts["posts"]).len(), 1);
    }

    // 3.02
    fn settings_take_no_privileges(lab: Lab) {
        let before = lab.get("/settings").key(&lab.key).send().expect(200).json;
        let put = |body: Value| lab.put("/settings").key(&lab.key).json(body).send();
        let fields = [
            "role",
            "email",
            "email_verified",
            "plan",
            "spend_cap",
            "password_hash",
            "disabled_at",
            "workspace_id",
            "id",
        ];

        for name in fields {
            let codes: Vec<_> = [
                put(json!({ name: "owner", "profile": { "name": "Mallory" } })),
                put(json!({ "profile": { name: "owner", "name": "Mallory" } })),
                put(json!({ "schedule": { name: "owner" }, "profile": { "name": "Mallory" } })),
            ]
            .into_iter()
            .flat_map(faults)
            .map(|(_, code)| code)
            .collect();
            assert_eq!(codes.len(), 3, "{name}: {codes:?}");
            assert!(
                codes.iter().all(|code| ["unknown_field", "read_only"].contains(&code.as_str()))
            );
        }

        assert_eq!(lab.get("/settings").key(&lab.key).send().expect(200).json, before);
    }

    // 3.10
    fn null_empties_a_field_of_a_post_absence_keeps_it_and_the_empty_text_is_a_text(lab: Lab) {
        let picture = new_picture(&lab);
        let full = json!({
            "content": "bells", "tags": ["a"], "folder_path": "f", "media_url": picture,
            "scheduled_at": from_now(&lab, 3_600_000), "videohost": { "title": "t" },
        });
        let empty = json!({
            "content": "", "targets": [], "tags": [], "folder_path": null, "media_url": null,
            "media": [], "scheduled_at": null, "videohost": null,
        });
        let patch =
            |post: &Value, body: Value| lab.patch(&post_path(post)).key(&lab.key).json(body).send();

        for (field, nothing) in empty.as_object().unwrap() {
            let post = new_post(&lab, full.clone());
            let kept = patch(&post, json!({})).expect(200).json["post"].clone();
            assert_eq!(kept[field], post[field], "{field} absent");
            let cleared = patch(&post, json!({ field: null })).expect(200).json["post"].clone();
            assert_eq!(cleared[field], *nothing, "{field} null");
            for (other, _) in empty.as_object().unwrap() {
                let together = ["media", "media_url"];
                let tied = together.contains(&field.as_str()) && together.contains(&other.as_str());
                if other != field && !tied {
                    assert_eq!(cleared[other], post[other], "{other} while {field} is cleared");
                }
            }
            let text = patch(&post, json!({ field: "" }));
            match field.as_str() {
                "content" => assert_eq!(text.expect(200).json["post"]["content"], ""),
                _ => assert_eq!(faults(text)[0].0, *field),
            }
        }
    }
}

// 3.01
#[test]
fn no_other_body_takes_more_than_it_should() {
    let lab = Lab::start(Engine::Sqlite);
    let session = lab.sign_in(&lab.email, &lab.password);
    let picture = new_picture(&lab);

    for (path, body, field) in [
        ("/media-library", json!({ "storage_path": picture, "sha256": "00" }), "sha256"),
        ("/media-library", json!({ "storage_path": picture, "created_by": "x" }), "created_by"),
        ("/media-library", json!({ "storage_path": picture, "bytes": 1 }), "bytes"),
        ("/content-folders", json!({ "scope": "posts", "name": "a", "brand_id": "x" }), "brand_id"),
        (
            "/uploads/posts/sign",
            json!({ "content_type": "image/png", "size": 1, "storage_path": "x" }),
            "storage_path",
        ),
        (
            "/uploads/posts/sign",
            json!({ "content_type": "image/png", "size": 1, "expires_at": "x" }),
            "expires_at",
        ),
    ] {
        let refused = faults(lab.post(path).key(&lab.key).json(body).send());
        assert_eq!(refused.len(), 1, "{path}: {refused:?}");
        assert_eq!(refused[0].0, field);
    }
    for (path, body, field) in [
        ("/keys", json!({ "name": "k", "scopes": ["*"], "api_key": "camp_live_mine" }), "api_key"),
        ("/keys", json!({ "name": "k", "scopes": ["*"], "user_id": "x" }), "user_id"),
        ("/keys", json!({ "name": "k", "scopes": ["*"], "last_used_at": null }), "last_used_at"),
        ("/api/internal/brands", json!({ "name": "b", "workspace_id": "x" }), "workspace_id"),
        ("/api/internal/brands", json!({ "name": "b", "is_default": true }), "is_default"),
        (
            "/api/auth/sign-in",
            json!({ "email": lab.email, "password": lab.password, "user_id": "x" }),
            "user_id",
        ),
    ] {
        let refused = faults(lab.post(path).session(&session).json(body).send());
        assert_eq!(refused.len(), 1, "{path}: {refused:?}");
        assert_eq!(refused[0].0, field);
    }
}

// 3.09
#[test]
fn a_name_that_stands_twice_is_no_json() {
    let lab = Lab::start(Engine::Sqlite);
    let path = post_path(&new_post(&lab, json!({ "content": "as it was" })));

    for body in [
        r#"{"content":"a","content":"b"}"#,
        r#"{"content":"a","content":"a"}"#,
        r#"{"content":"a","\u0063ontent":"b"}"#,
        r#"{"videohost":{"title":"a","title":"b"}}"#,
        r#"{"media":[{"storage_path":"a","storage_path":"b"}]}"#,
        r#"{"unknown":1,"unknown":2}"#,
    ] {
        for request in [lab.post("/posts"), lab.patch(&path)] {
            let request = request.key(&lab.key).header("content-type", "application/json");
            request.body(body).send().expect_problem(400, "malformed_json");
        }
    }
}

// 3.11
#[test]
fn a_name_with_a_meaning_elsewhere_has_none_here() {
    let lab = Lab::start(Engine::Sqlite);
    let path = post_path(&new_post(&lab, json!({ "content": "as it was" })));

    for name in
        ["__proto__", "constructor", "prototype", "$ref", "$where", "$set", "@type", "_id", ""]
    {
        let body = json!({ name: { "content": "x", "$ne": 1 } });
        expect_faults(
            lab.post("/posts").key(&lab.key).json(body.clone()).send(),
            &[(name, "unknown_field")],
        );
        expect_faults(lab.patch(&path).key(&lab.key).json(body).send(), &[(name, "unknown_field")]);
    }
    for value in [json!({ "$ne": null }), json!(["a"]), json!({ "content": "x" })] {
        let refused = lab.post("/posts").key(&lab.key).json(json!({ "content": value })).send();
        expect_faults(refused, &[("content", "wrong_type")]);
    }
}

/// Fails unless every field of the value is one that the schema knows.
fn check_fields(document: &Value, schema: &Value, value: &Value, at: &str) {
    let mut parts = vec![schema];
    let mut known = Vec::new();
    let mut items = Vec::new();
    let mut open = false;
    while let Some(part) = parts.pop() {
        if let Some(name) = part["$ref"].as_str() {
            parts.push(document.pointer(name.trim_start_matches('#')).expect("a schema"));
        }
        for several in ["anyOf", "oneOf", "allOf"] {
            parts.extend(part[several].as_array().into_iter().flatten());
        }
        known.extend(part["properties"].as_object().into_iter().flatten());
        items.extend(part.get("items"));
        let plain =
            ["$ref", "anyOf", "oneOf", "allOf", "properties", "items", "type", "enum", "const"];
        open |= *part == Value::Bool(true) || !plain.iter().any(|name| part.get(name).is_some());
    }
    match value {
        Value::Object(fields) if !open => {
            for (name, value) in fields {
                let field = known.iter().find(|(known, _)| *known == name);
                let (_, schema) = field.unwrap_or_else(|| panic!("{at}: {name} is not documented"));
                check_fields(document, schema, value, &format!("{at}.{name}"));
            }
        }
        Value::Array(values) if !open => {
            let schema = items.first().unwrap_or_else(|| panic!("{at}: no list is documented"));
            for value in values {
                check_fields(document, schema, value, &format!("{at}[]"));
            }
        }
        _ => {}
    }
}

/// The names of all fields, however deep.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push(name.clone());
                names(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

// 3.06
#[test]
fn an_answer_shows_what_is_documented_and_no_secret() {
    let lab = Lab::start(Engine::Sqlite);
    let document = lab.get("/openapi.json").send().expect(200).json;
    let session = lab.sign_in(&lab.email, &lab.password);
    let picture = new_picture(&lab);
    let key = |method: &str, path: &str, body: Value| {
        lab.request(method, path).key(&lab.key).json(body).send()
    };
    let in_session = |method: &str, path: &str, body: Value| {
        lab.request(method, path).session(&session).json(body).send()
    };
    let mut seen: Vec<(&str, &str, Reply)> = Vec::new();

    for path in ["/", "/health", "/whoami", "/brands", "/settings"] {
        seen.push(("get", path, key("GET", path, Value::Null)));
    }
    let full = json!({
        "content": "c", "tags": ["t"], "folder_path": "f", "media_url": picture,
        "videohost": { "title": "t", "tags": ["x"], "thumbnail": picture },
    });
    let created = key("POST", "/posts", full);
    let post = post_path(&created.json["post"]);
    seen.push(("post", "/posts", created));
    seen.push(("post", "/posts", key("POST", "/posts?validate_only=true", json!({}))));
    seen.push(("get", "/posts", key("GET", "/posts?limit=1", Value::Null)));
    seen.push(("get", "/posts/{id}", key("GET", &post, Value::Null)));
    seen.push(("patch", "/posts/{id}", key("PATCH", &post, json!({ "content": "d" }))));
    let item = key("POST", "/media-library", json!({ "storage_path": picture, "tags": ["t"] }));
    let media = item.json["item"]["id"].clone();
    seen.push(("post", "/media-library", item));
    seen.push(("get", "/media-library", key("GET", "/media-library", Value::Null)));
    seen.push((
        "patch",
        "/media-library",
        key("PATCH", "/media-library", json!({ "id": media, "tags": [] })),
    ));
    let folder = json!({ "scope": "posts", "folder_path": "g" });
    seen.push(("post", "/content-folders", key("POST", "/content-folders", folder.clone())));
    seen.push(("get", "/content-folders", key("GET", "/content-folders?scope=posts", Value::Null)));
    let moved = json!({ "scope": "posts", "folder_path": "g", "new_path": "h" });
    seen.push(("patch", "/content-folders", key("PATCH", "/content-folders", moved)));
    let gone = json!({ "scope": "posts", "folder_path": "h" });
    seen.push(("delete", "/content-folders", key("DELETE", "/content-folders", gone)));
    let upload = json!({ "content_type": "image/png", "size": 9 });
    seen.push(("post", "/uploads/posts/sign", key("POST", "/uploads/posts/sign", upload)));
    seen.push(("put", "/settings", key("PUT", "/settings", json!({ "profile": { "name": "N" } }))));
    let new = json!({ "name": "k", "scopes": ["*"], "expires_at": from_now(&lab, 86_400_000) });
    let made = in_session("POST", "/keys", new);
    let made_path = format!("/keys/{}", text(&made.json["key"]["id"]));
    seen.push(("post", "/keys", made));
    seen.push(("get", "/keys", key("GET", "/keys", Value::Null)));
    seen.push(("delete", "/keys/{id}", in_session("DELETE", &made_path, Value::Null)));
    let change = json!({ "current_password": lab.password, "new_password": "a better password" });
    seen.push(("put", "/settings/password", in_session("PUT", "/settings/password", change)));
    seen.push(("delete", "/posts/{id}", key("DELETE", &post, Value::Null)));
    seen.push((
        "delete",
        "/media-library",
        key("DELETE", "/media-library", json!({ "id": media })),
    ));
    seen.push(("get", "/audit-logs", key("GET", "/audit-logs?limit=200", Value::Null)));

    for (method, path, reply) in seen {
        let at = format!("{method} {path}");
        assert!((200..300).contains(&reply.status), "{at}: {}", reply.text());
        let answers = &document["paths"][path][method]["responses"];
        let schema = &answers[reply.status.to_string()]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{at}: {} is not documented", reply.status);
        check_fields(&document, schema, &reply.json, &at);
        let mut found = Vec::new();
        names(&reply.json, &mut found);
        for word in ["token", "secret", "hash", "password", "refresh"] {
            assert!(!found.iter().any(|name| name.contains(word)), "{at}: {found:?}");
        }
        for secret in ["$argon2", &lab.key, &lab.password, &session] {
            assert!(!reply.text().contains(secret), "{at}: {}", reply.text());
        }
        let shown = reply.text().matches("camp_live_").count();
        let hints = reply.text().matches('…').count();
        assert!(shown <= hints + usize::from(at == "post /keys"), "{at}: {}", reply.text());
    }
}
