//! API5: every route asks for its own permission, whatever way leads to it.

use serde_json::{Value, json};

use crate::{
    lab::{BASE_PATH, Engine, Lab, both},
    steps::{expect_faults, list, new_post, post_path, text},
};

both! {
    // 5.02, 5.03
    fn publishing_through_a_change_needs_both_scopes_and_changes_nothing_without(lab: Lab) {
        let post = new_post(&lab, json!({ "content": "as it was" }));
        let path = post_path(&post);
        let change = |key: &str| {
            let body = json!({ "content": "changed", "action": "publish_now" });
            lab.patch(&path).key(key).json(body).send()
        };

        for (granted, missing) in [
            ("posts:write", "posts:publish"),
            ("posts:publish", "posts:write"),
            ("posts:read,schedule:write", "posts:write"),
        ] {
            let refused = change(&lab.new_key(&lab.email, granted));
            let refused = refused.expect_problem(403, "insufficient_scope");
            assert_eq!(refused.json["required_scopes"], json!([missing]), "{granted}");
            let granted: Vec<_> = granted.split(',').collect();
            assert_eq!(refused.json["granted_scopes"], json!(granted));
            assert!(refused.header("www-authenticate").unwrap().contains("insufficient_scope"));
        }

        let now = lab.get(&path).key(&lab.key).send().expect(200).json;
        assert_eq!(now["post"], post);
    }

    // 5.04
    fn each_tree_of_folders_has_its_own_scopes(lab: Lab) {
        let writes_posts = lab.new_key(&lab.email, "posts:read,posts:write");
        let folder = json!({ "scope": "media", "folder_path": "a" });
        lab.post("/content-folders").key(&lab.key).json(folder.clone()).send().expect(201);
        let moved = json!({ "scope": "media", "folder_path": "a", "new_path": "b" });

        for request in [
            lab.get("/content-folders?scope=media"),
            lab.post("/content-folders").json(json!({ "scope": "media", "folder_path": "c" })),
            lab.patch("/content-folders").json(moved),
            lab.delete("/content-folders").json(folder),
        ] {
            let refused =
                request.key(&writes_posts).send().expect_problem(403, "insufficient_scope");
            assert!(text(&refused.json["required_scopes"][0]).starts_with("media-library:"));
        }

        // What the query says does not open what the body asks for.
        let opened = lab.post("/content-folders?scope=posts").key(&writes_posts);
        opened.json(json!({ "scope": "media", "folder_path": "c" })).send().expect(422);
        let media = lab.get("/content-folders?scope=media").key(&lab.key).send().expect(200).json;
        assert_eq!(list(&media["folders"]).len(), 1);
        lab.get("/content-folders?scope=posts").key(&writes_posts).send().expect(200);
    }
}

// 5.04
#[test]
fn a_query_and_a_body_that_name_different_trees_are_a_conflict() {
    let lab = Lab::start(Engine::Sqlite);
    let body = json!({ "scope": "posts", "folder_path": "a" });

    let refused = lab.post("/content-folders?scope=media").key(&lab.key).json(body).send();

    assert!([400, 422].contains(&refused.status), "{}: {}", refused.status, refused.text());
}

// 5.05
#[test]
fn a_tree_is_named_by_one_of_two_words() {
    let lab = Lab::start(Engine::Sqlite);
    let ask = |query: &str| lab.get(&format!("/content-folders{query}")).key(&lab.key).send();

    expect_faults(ask(""), &[("scope", "required")]);
    for wrong in ["MEDIA", "Posts", "posts,media", "posts%20", "all", "*", "", "posts%00"] {
        let refused = ask(&format!("?scope={wrong}")).expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["field"], "scope", "{wrong}");
    }
    expect_faults(ask("?scope=posts&scope=media"), &[("scope", "duplicate_parameter")]);
    expect_faults(ask("?scope[]=posts"), &[("scope", "required"), ("scope[]", "unknown_field")]);
    for wrong in [json!("MEDIA"), json!(["posts"]), json!(null), json!(1), json!("posts,media")] {
        let body = json!({ "scope": wrong, "folder_path": "a" });
        let refused = lab.post("/content-folders").key(&lab.key).json(body).send();
        let refused = refused.expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["field"], "scope", "{wrong}");
    }
}

// 5.06
#[test]
fn no_key_opens_what_is_excluded() {
    let lab = Lab::start(Engine::Sqlite);
    let reference = lab.get("/reference").send().expect(200).json;
    let exclusions = list(&reference["internal_exclusions"]);
    assert!(exclusions.len() >= 5, "{exclusions:?}");
    let brand = lab.owner().brand_id;

    for exclusion in exclusions {
        let (method, path) = (text(&exclusion["method"]), text(&exclusion["path"]));
        let path = path.replace("/internal/brands/:id", &format!("/internal/brands/{brand}"));
        let path = path.replace(":id", "upload_01hf7yat00000000000000000a").replace('*', "posts");
        let path = path.replace(
            ":workspace/:blob",
            "ws_01hf7yat00000000000000000a/blob_01hf7yat00000000000000000a",
        );
        let request = lab.request(method, &format!("{}{path}", lab.origin())).key(&lab.key);
        let refused = request.json(json!({ "name": "mine" })).send();
        match path.as_str() {
            "/metrics" => refused.expect_problem(404, "not_found"),
            "/api/auth/sign-in" => refused.expect_problem(422, "validation_failed"),
            path if path.starts_with("/api/") => refused.expect_problem(403, "session_required"),
            _ => refused.expect_problem(403, "invalid_signature"),
        };
    }
    let brands = lab.get("/brands").key(&lab.key).send().expect(200).json;
    assert_eq!(list(&brands["brands"]).len(), 1);
    assert_ne!(brands["brands"][0]["name"], "mine");
}

// 5.07
#[test]
fn a_method_is_what_the_request_line_says() {
    let lab = Lab::start(Engine::Sqlite);
    let path = post_path(&new_post(&lab, json!({ "content": "as it was" })));

    for name in ["x-http-method-override", "x-http-method", "x-method-override", "_method"] {
        lab.get(&path).key(&lab.key).header(name, "DELETE").send().expect(200);
        lab.get(&format!("{path}?{name}=DELETE")).key(&lab.key).send();
        let posted = lab.post(&path).key(&lab.key).header(name, "DELETE").json(json!({})).send();
        posted.expect_problem(405, "method_not_allowed");
    }
    lab.get(&path).key(&lab.key).send().expect(200);
    for method in ["get", "Get", "DELETE ", "BREW", "CONNECT", "PROPFIND"] {
        if let Ok(reply) = lab.request(method, &path).key(&lab.key).try_send() {
            assert!([400, 404, 405].contains(&reply.status), "{method}: {}", reply.text());
        }
    }
    lab.get(&path).key(&lab.key).send().expect(200);
}

// 5.08, 9.03
#[test]
fn a_path_has_one_spelling() {
    let lab = Lab::start(Engine::Sqlite);
    let path = post_path(&new_post(&lab, json!({})));

    for trick in [
        format!("{BASE_PATH}//posts"),
        format!("/{BASE_PATH}/posts"),
        format!("{BASE_PATH}/posts/"),
        format!("{BASE_PATH}{path}/"),
        format!("{BASE_PATH}/%70osts"),
        format!("{BASE_PATH}/posts/..;/keys"),
        format!("{BASE_PATH}/posts/%2e%2e/keys"),
        format!("{BASE_PATH}/posts/../keys"),
        format!("{BASE_PATH}/./posts"),
        format!("{BASE_PATH}/posts;x=1"),
        format!("{BASE_PATH}/posts%2f"),
        format!("{BASE_PATH}/posts%3flimit=1"),
        format!("{BASE_PATH}/posts%00"),
        format!("{BASE_PATH}/posts%20"),
        format!("{BASE_PATH}/POSTS"),
        format!("{BASE_PATH}/Posts"),
        format!("{BASE_PATH}\\posts"),
        BASE_PATH.to_uppercase() + "/posts",
        "/api/external/v1.0/posts".to_owned(),
        "/api/external/v2/posts".to_owned(),
        "/api/external/posts".to_owned(),
        "/api/v1/posts".to_owned(),
        "/external/v1/posts".to_owned(),
        "/v1/posts".to_owned(),
        "/posts".to_owned(),
        "/".to_owned(),
        "*".to_owned(),
    ] {
        let request = format!(
            "GET {trick} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             authorization: Bearer {}\r\n\r\n",
            lab.key
        );
        // A line that HTTP itself forbids may end the connection instead.
        if let Ok(reply) = lab.raw(request.as_bytes()) {
            assert!(
                [400, 404].contains(&reply.status),
                "{trick}: {} {}",
                reply.status,
                reply.text()
            );
        }
    }
}

// 5.09
#[test]
fn the_other_methods_tell_no_more_than_the_usual_ones() {
    let lab = Lab::start(Engine::Sqlite);
    let reference = lab.get("/reference").send().expect(200).json;
    let routes = list(&reference["routes"]);
    assert_eq!(routes.len(), 72);

    for route in routes {
        let (method, path) = (text(&route["method"]), text(&route["path"]));
        let path = path.strip_prefix(BASE_PATH).unwrap_or(path);
        let path = path.replace(":id", "post_01hf7yat00000000000000000a").replace(":platform", "x");
        let allowed = |reply: &crate::lab::Reply| -> Vec<String> {
            let allow = reply.header("allow").unwrap_or_else(|| panic!("{path}: {reply:?}"));
            allow.split(',').map(|method| method.trim().to_owned()).collect()
        };

        let options = lab.request("OPTIONS", &path).send().expect(204);
        assert!(allowed(&options).contains(&method.to_owned()), "{path}: {options:?}");
        for unusual in ["TRACE", "PROPFIND"] {
            let refused = lab.request(unusual, &path).key(&lab.key).send();
            let refused = refused.expect_problem(405, "method_not_allowed");
            assert!(allowed(&refused).contains(&method.to_owned()), "{path}");
            assert!(!refused.text().contains(&lab.key), "{path} mirrors the request");
        }
        if method == "GET" {
            for key in [&lab.key, "nonsense"] {
                let get = lab.get(&path).key(key).send();
                let head = lab.request("HEAD", &path).key(key).send();
                assert_eq!(head.status, get.status, "{path}");
                assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
                assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
            }
        }
    }
}

// 5.09
#[test]
fn a_head_brings_no_body() {
    let lab = Lab::start(Engine::Sqlite);
    let mut socket = lab.socket();
    let request = format!(
        "HEAD {BASE_PATH}/whoami HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         authorization: Bearer {}\r\n\r\n",
        lab.key
    );
    socket.say(request).unwrap();

    let heard = socket.hear_out().unwrap();

    assert!(heard.starts_with(b"HTTP/1.1 200 "), "{}", heard.escape_ascii());
    assert!(heard.ends_with(b"\r\n\r\n"), "{}", heard.escape_ascii());
    assert_eq!(lab.get("/whoami").send().expect(401).json["errors"], Value::Array(Vec::new()));
}
