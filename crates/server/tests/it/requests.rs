//! What holds for every request, whatever it is about.

use serde_json::{Value, json};

use crate::{
    lab::{BASE_PATH, Engine, Lab, Reply, both, wait_until},
    steps::{expect_faults, list, new_post, post_path, text},
};

#[track_caller]
fn tag(reply: &Reply) -> String {
    reply.header("etag").expect("a tag").to_owned()
}

both! {
    fn a_request_keeps_the_id_it_came_with_where_that_is_harmless(lab: Lab) {
        let ask = |id: &str| lab.get("/whoami").header("x-request-id", id).send();

        for harmless in ["a", "my-request_1.2", &"x".repeat(64)] {
            let reply = ask(harmless).expect_problem(401, "unauthenticated");
            assert_eq!(reply.header("x-request-id"), Some(harmless));
            assert_eq!(reply.json["request_id"], harmless);
        }
        for harmful in ["", "a b", "a\"b", "<script>", "a/b", "é", &"x".repeat(65)] {
            let reply = ask(harmful);
            let given = reply.header("x-request-id").unwrap();
            assert!(given.starts_with("req_"), "{harmful}: {given}");
            assert_eq!(reply.json["request_id"], given);
        }
        let (one, other) = (lab.get("/health").send(), lab.get("/health").send());
        assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
        wait_until("the log knows the id too", || lab.log().contains("my-request_1.2"));
    }

    fn a_change_based_on_an_old_post_is_refused(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({ "content": "first" })));
        let first = tag(&lab.get(&path).key(&lab.key).send());
        let change = |tag: &str, content: &str| {
            let request = lab.patch(&path).key(&lab.key).header("if-match", tag);
            request.json(json!({ "content": content })).send()
        };

        let second = tag(&change(&first, "second").expect(200));
        change(&first, "late").expect_problem(412, "precondition_failed");
        change("\"nonsense\"", "late").expect_problem(412, "precondition_failed");
        change(&format!("W/{second}"), "late").expect_problem(412, "precondition_failed");
        change("", "late").expect_problem(412, "precondition_failed");
        let delete = |tag: &str| lab.delete(&path).key(&lab.key).header("if-match", tag).send();
        delete(&first).expect_problem(412, "precondition_failed");

        assert_ne!(first, second);
        let read = lab.get(&path).key(&lab.key).send().expect(200);
        assert_eq!((&read.json["post"]["content"], tag(&read)), (&json!("second"), second.clone()));
        let third = tag(&change(&format!("\"other\", {second}"), "third").expect(200));
        change("*", "fourth").expect(200);
        delete(&third).expect_problem(412, "precondition_failed");
        delete("*").expect(200);
        change("*", "fifth").expect_problem(404, "not_found");
    }

    fn of_two_changes_based_on_the_same_post_one_is_taken(lab: Lab) {
        let post = new_post(&lab, json!({}));
        let path = post_path(&post);
        let tag = tag(&lab.get(&path).key(&lab.key).send());

        let mut statuses: Vec<_> = std::thread::scope(|scope| {
            let change = || {
                let request = lab.patch(&path).key(&lab.key).header("if-match", &tag);
                request.json(json!({ "content": "mine" })).send().status
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(change)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    }

    fn what_has_no_tag_matches_none(lab: Lab) {
        let body = json!({ "scope": "posts", "folder_path": "a" });
        lab.post("/content-folders").key(&lab.key).json(body.clone()).send().expect(201);

        let guarded = lab.delete("/content-folders").key(&lab.key).header("if-match", "\"x\"");
        guarded.json(body.clone()).send().expect_problem(412, "precondition_failed");
        let any = lab.delete("/content-folders").key(&lab.key).header("if-match", "*");

        any.json(body).send().expect(200);
    }

    fn who_has_the_post_already_is_told_so(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({ "content": "old" })));
        let old = tag(&lab.get(&path).key(&lab.key).send());
        let ask = |tag: &str| lab.get(&path).key(&lab.key).header("if-none-match", tag).send();

        let kept = ask(&old).expect(304);
        assert!(kept.body.is_empty());
        assert_eq!(tag(&kept), old);
        ask(&format!("\"x\", W/{old}")).expect(304);
        ask("*").expect(304);
        lab.patch(&path).key(&lab.key).json(json!({ "content": "new" })).send().expect(200);
        assert_eq!(ask(&old).expect(200).json["post"]["content"], "new");
        lab.get(&path).header("if-none-match", &old).send().expect_problem(401, "unauthenticated");
    }

    fn a_head_asks_as_carefully_as_a_get(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({})));
        let tag = tag(&lab.get(&path).key(&lab.key).send());

        let head = lab.request("HEAD", &path).key(&lab.key).header("if-none-match", &tag).send();

        head.expect(304);
    }

    fn a_head_is_a_get_without_its_body(lab: Lab) {
        let path = post_path(&new_post(&lab, json!({})));
        for path in ["/health", "/reference", "/posts", &path] {
            let whole = lab.get(path).key(&lab.key).send().expect(200);
            let head = lab.request("HEAD", path).key(&lab.key).send().expect(200);

            assert!(head.body.is_empty());
            for name in ["content-type", "etag", "content-length"] {
                assert_eq!(head.header(name), whole.header(name), "{path} {name}");
            }
        }
        lab.request("HEAD", "/posts").send().expect(401);
        lab.request("HEAD", "/nowhere").send().expect(404);
    }

    fn a_path_says_which_methods_it_takes(lab: Lab) {
        let methods = |reply: &Reply| {
            let allow = reply.header("allow").expect("the methods").to_owned();
            let mut methods: Vec<_> = allow.split(',').map(|one| one.trim().to_owned()).collect();
            methods.retain(|method| method != "HEAD" && method != "OPTIONS");
            methods.sort();
            methods
        };
        for (path, expected) in [
            ("/posts", vec!["GET", "POST"]),
            ("/posts/post_01hf7yat00000000000000000a", vec!["DELETE", "GET", "PATCH"]),
            ("/content-folders", vec!["DELETE", "GET", "PATCH", "POST"]),
            ("/settings", vec!["GET", "PUT"]),
            ("/settings/password", vec!["PUT"]),
            ("/whoami", vec!["GET"]),
            ("/api/auth/sign-in", vec!["POST"]),
            ("/openapi.json", vec!["GET"]),
        ] {
            let options = lab.request("OPTIONS", path).send().expect(204);
            assert_eq!(methods(&options), expected, "{path}");
            let wrong = lab.request("TRACE", path).key(&lab.key).send();
            let wrong = wrong.expect_problem(405, "method_not_allowed");
            assert_eq!(methods(&wrong), expected, "{path}");
        }
        lab.put("/posts").key(&lab.key).json(json!({})).send().expect_problem(405, "method_not_allowed");
        lab.request("BREW", "/posts").send().expect_problem(405, "method_not_allowed");
    }

    fn what_is_not_there_is_not_found_in_the_usual_form(lab: Lab) {
        for path in [
            "/nowhere",
            "/posts/",
            "/posts/a/b",
            "//posts",
            "/api/external/v2/posts",
            "/api/internal/nowhere",
            "/api/internal/health",
            "/api",
        ] {
            let reply = lab.get(path).key(&lab.key).send();
            assert_eq!((reply.status, reply.code()), (404, "not_found"), "{path}");
            assert_eq!(reply.header("content-type"), Some("application/problem+json"));
            assert_eq!(reply.json["request_id"].as_str(), reply.header("x-request-id"));
        }
        let raw = b"GET /favicon.ico HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        lab.raw(raw).unwrap().expect_problem(404, "not_found");
    }

    fn answers_are_json_and_nothing_else(lab: Lab) {
        let ask = |accept: &str| lab.get("/posts").key(&lab.key).header("accept", accept).send();

        for good in ["application/json", "*/*", "application/*", "text/html, */*;q=0.1", "APPLICATION/JSON", ""] {
            ask(good).expect(200);
        }
        for wrong in ["text/html", "application/xml, text/*", "image/png"] {
            ask(wrong).expect_problem(406, "not_acceptable");
        }
        let reply = ask("*/*");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }

    fn bodies_are_json_in_utf_8_and_not_too_large(lab: Lab) {
        let send = |kind: Option<&str>, body: Vec<u8>| {
            let request = lab.post("/posts").key(&lab.key).body(body);
            match kind {
                Some(kind) => request.header("content-type", kind).send(),
                None => request.send(),
            }
        };
        let json = Some("application/json");
        let good = || b"{}".to_vec();

        for kind in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            send(Some(kind), good()).expect(201);
        }
        for kind in [None, Some("text/plain"), Some("application/json; charset=latin1"), Some("application/x-www-form-urlencoded"), Some("application/jsonx")] {
            send(kind, good()).expect_problem(415, "unsupported_media_type");
        }
        for encoding in ["gzip", "identity, br"] {
            let packed = lab.post("/posts").key(&lab.key).header("content-encoding", encoding);
            packed.json(json!({})).send().expect_problem(415, "unsupported_media_type");
        }
        for wrong in ["", "{", "nonsense", "{\"content\":\"a\",\"content\":\"b\"}", "{} {}", "\u{feff}{}", "{\"content\":\"\\ud800\"}"] {
            send(json, wrong.into()).expect_problem(400, "malformed_json");
        }
        send(json, b"{\"content\":\"\xff\"}".to_vec()).expect_problem(400, "malformed_json");
        send(json, b"[".repeat(200_000)).expect_problem(400, "malformed_json");
        let limit = 1 << 20;
        let mut padded = b"{}".to_vec();
        padded.resize(limit, b' ');
        send(json, padded.clone()).expect(201);
        padded.push(b' ');
        send(json, padded).expect_problem(413, "payload_too_large");
        lab.get("/health").send().expect(200);
    }

    fn a_body_in_pieces_is_measured_too(lab: Lab) {
        let head = format!(
            "POST {BASE_PATH}/posts HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {}\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            lab.key
        );
        let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();

        let small = [head.as_bytes(), &chunk(b"{\"content\":"), &chunk(b"\"ok\"}"), b"0\r\n\r\n"].concat();
        let large = [head.as_bytes(), &chunk(&[b' '; 70_000]).repeat(16), b"0\r\n\r\n"].concat();

        lab.raw(&small).unwrap().expect(201);
        lab.raw(&large).unwrap().expect_problem(413, "payload_too_large");
    }

    fn a_refusal_is_complete_and_says_what_to_do(lab: Lab) {
        let refused = lab.post("/posts").key(&lab.key).json(json!({ "content": 1, "x": 2 })).send();

        let problem = refused.json.as_object().unwrap();
        for name in ["type", "title", "detail", "code", "request_id"] {
            assert!(problem[name].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        }
        assert_eq!((&problem["status"], &problem["code"]), (&json!(422), &json!("validation_failed")));
        for error in list(&problem["errors"]) {
            assert!(!text(&error["message"]).is_empty() && !text(&error["code"]).is_empty());
        }
        expect_faults(refused, &[("content", "wrong_type"), ("x", "unknown_field")]);
        let document = lab.get("/openapi.json").send().expect(200).json;
        let known: Vec<_> = list(&document["x-error-codes"]).iter().map(|code| &code["code"]).collect();
        assert!(known.contains(&&json!("validation_failed")));
    }

    fn a_limit_counts_each_key_for_itself_and_is_told_in_headers(engine: Engine) {
        let lab = Lab::start_with(engine, &[("CAMPANILE_RATE_LIMIT", "5")]);
        let other = lab.new_key(&lab.email, "*");
        let number = |reply: &Reply, name: &str| -> u64 {
            reply.header(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
        };

        for left in (0..5).rev() {
            let reply = lab.get("/whoami").key(&lab.key).send().expect(200);
            assert_eq!(number(&reply, "x-ratelimit-limit"), 5);
            assert_eq!(number(&reply, "x-ratelimit-remaining"), left);
            assert!((1..=60).contains(&number(&reply, "x-ratelimit-reset")));
            assert_eq!(reply.header("ratelimit-policy"), Some("\"default\";q=5;w=60"));
            assert!(reply.header("ratelimit").unwrap().starts_with(&format!("\"default\";r={left};t=")));
        }

        let refused = lab.post("/posts").key(&lab.key).json(json!({})).send();
        let refused = refused.expect_problem(429, "rate_limited");
        assert!((1..=60).contains(&number(&refused, "retry-after")));
        assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
        let posts = lab.get("/posts").key(&other).send().expect(200);
        assert!(list(&posts.json["posts"]).is_empty(), "a refused request does nothing");
        assert_eq!(number(&posts, "x-ratelimit-remaining"), 4);
        for _ in 0..10 {
            lab.get("/health").send().expect(200);
        }
    }

    fn without_a_limit_nothing_is_said_about_one(lab: Lab) {
        let reply = lab.get("/whoami").key(&lab.key).send().expect(200);

        let said = reply.headers.iter().find(|(name, _)| name.contains("ratelimit"));
        assert_eq!(said, None);
        assert_eq!(lab.get("/").send().expect(200).json["links"]["docs"], Value::from(format!("{}/docs", lab.origin())));
    }
}
