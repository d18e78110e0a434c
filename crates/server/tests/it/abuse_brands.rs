//! API1: a request acts on the brand it names, and on none that is not its caller's.

use serde_json::{Value, json};

use crate::{
    abuse::{CANARY, estate},
    lab::{Lab, both},
    steps::list,
};

both! {
    // 1.12
    fn a_foreign_brand_is_never_acted_on_and_never_replaced(lab: Lab) {
        let theirs = estate(&lab, "b", CANARY);
        let brand = &theirs.tenant.brand_id;
        let unknown = "brand_01hf7yat00000000000000000a";
        let routes = [
            ("GET", "/posts"),
            ("POST", "/posts"),
            ("GET", "/content-folders"),
            ("POST", "/content-folders"),
            ("PATCH", "/content-folders"),
            ("GET", "/media-library"),
            ("DELETE", "/content-folders"),
            ("POST", "/media-library"),
            ("PATCH", "/media-library"),
            ("DELETE", "/media-library"),
            ("POST", "/uploads/posts/sign"),
            ("GET", "/settings"),
            ("PUT", "/settings"),
            ("GET", "/schedule"),
            ("GET", "/analytics"),
            ("GET", "/whoami"),
        ];

        for (method, path) in routes {
            let send = |brand: &str| {
                let body = json!({ "content": "mine now", "scope": "posts", "folder_path": "x" });
                let header =
                    lab.request(method, path).key(&lab.key).brand(brand).json(body.clone()).send();
                let query = format!("{path}?brand_id={brand}");
                let query = lab.request(method, &query).key(&lab.key).json(body).send();
                [header, query].map(|reply| {
                    let mut reply = reply.expect_problem(404, "brand_not_found");
                    reply.json["request_id"] = Value::Null;
                    reply.json
                })
            };
            assert_eq!(send(brand), send(unknown), "{method} {path}");
            assert_eq!(send(brand), send("nonsense"), "{method} {path}");
        }
        let posts = lab.get("/posts").key(&theirs.tenant.key).send().expect(200).json;
        assert_eq!(list(&posts["posts"]).len(), 1);
        assert_eq!(lab.get("/posts").key(&lab.key).send().json["posts"], json!([]));
        let mine = lab.sign_in(&lab.email, &lab.password);
        for request in [
            lab.delete(&format!("/api/internal/brands/{brand}")),
            lab.patch(&format!("/api/internal/brands/{brand}")).json(json!({ "name": "mine" })),
        ] {
            request.session(&mine).send().expect_problem(404, "not_found");
        }
    }

    // 1.13
    fn a_request_names_one_brand_in_one_place(lab: Lab) {
        let theirs = estate(&lab, "b", CANARY).tenant.brand_id;
        let mine = lab.owner().brand_id;
        let ask = |header: &str, query: &str| {
            lab.get(&format!("/posts?brand_id={query}")).key(&lab.key).brand(header).send()
        };

        ask(&mine, &theirs).expect_problem(400, "brand_conflict");
        ask(&theirs, &mine).expect_problem(400, "brand_conflict");
        ask(&mine, "").expect_problem(400, "brand_conflict");
        ask(&theirs, &theirs).expect_problem(404, "brand_not_found");
        ask(&mine, &mine).expect(200);
        for second in [&mine, &theirs] {
            let twice = lab.get("/posts").key(&lab.key).brand(&mine).brand(second).send();
            twice.expect_problem(400, "duplicate_header");
        }
        let twice =
            lab.get(&format!("/posts?brand_id={mine}&brand_id={theirs}")).key(&lab.key).send();
        twice.expect_problem(400, "brand_conflict");
    }

    // 1.14: members cannot be removed yet, but a brand can.
    fn a_deleted_brand_is_out_of_reach_at_once(lab: Lab) {
        let second = lab.cli(&["brand", "create", "--user", &lab.email, "--name", "Second"]);
        let session = lab.sign_in(&lab.email, &lab.password);
        lab.get("/posts").key(&lab.key).brand(&second).send().expect(200);

        let gone = lab.delete(&format!("/api/internal/brands/{second}")).session(&session).send();

        gone.expect(200);
        let refused = lab.get("/posts").key(&lab.key).brand(&second).send();
        refused.expect_problem(404, "brand_not_found");
    }
}
