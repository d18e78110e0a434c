//! Content folders: two trees that carry what lies in them along.

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both},
    steps::{all_pages, each, expect_faults, list, new_picture, new_post, post_path, text},
};

fn send(lab: &Lab, method: &str, body: Value) -> Reply {
    lab.request(method, "/content-folders").key(&lab.key).json(body).send()
}

#[track_caller]
fn make(lab: &Lab, path: &str) {
    send(lab, "POST", json!({ "scope": "posts", "folder_path": path })).expect(201);
}

#[expect(clippy::needless_pass_by_value, reason = "callers write json!({…}) in place")]
fn relocate(lab: &Lab, path: &str, change: Value) -> Reply {
    let mut body = json!({ "scope": "posts", "folder_path": path });
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    send(lab, "PATCH", body)
}

fn remove(lab: &Lab, tree: &str, path: &str) -> Reply {
    send(lab, "DELETE", json!({ "scope": tree, "folder_path": path }))
}

#[track_caller]
fn folders(lab: &Lab, tree: &str) -> Vec<String> {
    let path = format!("/content-folders?scope={tree}");
    let folders = lab.get(&path).key(&lab.key).send().expect(200).json;
    each(&folders["folders"], "folder_path").into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn post_in(lab: &Lab, folder: &str) -> String {
    post_path(&new_post(lab, json!({ "content": folder, "folder_path": folder })))
}

#[track_caller]
fn folder_of(lab: &Lab, post: &str) -> Value {
    lab.get(post).key(&lab.key).send().expect(200).json["post"]["folder_path"].take()
}

both! {
    fn a_folder_is_made_in_either_of_two_ways_with_those_above_it(lab: Lab) {
        let by_path = json!({ "scope": "posts", "folder_path": "a/b/c" });
        let by_path = send(&lab, "POST", by_path).expect(201).json["folder"].take();
        let by_name = json!({ "scope": "posts", "name": "d", "parent_path": "x/y" });
        let by_name = send(&lab, "POST", by_name).expect(201).json["folder"].take();
        send(&lab, "POST", json!({ "scope": "posts", "name": "top" })).expect(201);

        let expected = json!({
            "scope": "posts", "name": "c", "folder_path": "a/b/c", "parent_path": "a/b",
            "created_at": by_path["created_at"],
        });
        assert_eq!(by_path, expected);
        assert_eq!(by_name["folder_path"], "x/y/d");
        assert_eq!(folders(&lab, "posts"), ["a", "a/b", "a/b/c", "top", "x", "x/y", "x/y/d"]);
        assert!(folders(&lab, "media").is_empty());
        let top = lab.get("/content-folders?scope=posts").key(&lab.key).send().expect(200).json;
        assert_eq!(top["folders"][0]["parent_path"], Value::Null);
        assert_eq!(top["next_cursor"], Value::Null);
    }

    fn a_folder_has_one_spelling_and_is_made_once(lab: Lab) {
        make(&lab, "Zo\u{eb}");

        let again = send(&lab, "POST", json!({ "scope": "posts", "folder_path": "Zoe\u{308}" }));
        again.expect_problem(409, "already_exists");
        make(&lab, "zo\u{eb}");
        send(&lab, "POST", json!({ "scope": "media", "folder_path": "Zo\u{eb}" })).expect(201);

        for wrong in ["", "/a", "a/", "a//b", ".", "a/..", "a/../b", "%2e%2e", "a\\b", " a", "a\u{200b}b"] {
            let reply = send(&lab, "POST", json!({ "scope": "posts", "folder_path": wrong }));
            assert_eq!(reply.status, 422, "{wrong:?}");
            expect_faults(reply, &[("folder_path", "invalid_folder_path")]);
        }
        let deep = vec!["x"; 17].join("/");
        let deep = send(&lab, "POST", json!({ "scope": "posts", "folder_path": deep }));
        expect_faults(deep, &[("folder_path", "invalid_folder_path")]);
    }

    fn a_body_says_one_thing_about_one_tree(lab: Lab) {
        for (method, body, faults) in [
            ("POST", json!({}), vec![("scope", "required")]),
            ("POST", json!({ "scope": "post", "x": 1 }), vec![("scope", "invalid_choice"), ("x", "unknown_field")]),
            ("POST", json!({ "scope": "posts" }), vec![("folder_path", "required")]),
            ("POST", json!({ "scope": "posts", "parent_path": "a" }), vec![("folder_path", "required")]),
            ("POST", json!({ "scope": "posts", "folder_path": "a", "name": "b" }), vec![("folder_path", "conflict")]),
            ("POST", json!({ "scope": "posts", "name": "a/b" }), vec![("name", "invalid_folder_path")]),
            ("POST", json!({ "scope": "posts", "name": ".." }), vec![("name", "invalid_folder_path")]),
            ("PATCH", json!({ "scope": "posts" }), vec![("folder_path", "required")]),
            ("PATCH", json!({ "scope": "posts", "folder_path": "a" }), vec![("new_path", "required")]),
            ("PATCH", json!({ "scope": "posts", "folder_path": "a", "new_path": "b", "name": "c" }), vec![("new_path", "conflict")]),
            ("DELETE", json!({ "folder_path": "a" }), vec![("scope", "required")]),
        ] {
            let reply = send(&lab, method, body.clone());
            assert_eq!(reply.status, 422, "{method} {body}");
            expect_faults(reply, &faults);
        }
        let unnamed = lab.get("/content-folders").key(&lab.key).send();
        expect_faults(unnamed, &[("scope", "required")]);
        assert!(folders(&lab, "posts").is_empty());
    }

    fn a_new_name_carries_everything_beneath_along(lab: Lab) {
        for path in ["a/b/c", "a/b0", "a/b-", "a/b%", "ab/c"] {
            make(&lab, path);
        }
        let (inside, deeper) = (post_in(&lab, "a/b"), post_in(&lab, "a/b/c"));
        let beside = ["a", "a/b0", "a/b-", "a/b%", "ab/c"].map(|path| post_in(&lab, path));

        let renamed = relocate(&lab, "a/b", json!({ "name": "Übung" })).expect(200).json;

        assert_eq!(renamed["folder"]["folder_path"], "a/Übung");
        assert_eq!(folder_of(&lab, &inside), "a/Übung");
        assert_eq!(folder_of(&lab, &deeper), "a/Übung/c");
        let stayed = beside.map(|post| folder_of(&lab, &post));
        assert_eq!(stayed, ["a", "a/b0", "a/b-", "a/b%", "ab/c"]);
        let expected = ["a", "a/b%", "a/b-", "a/b0", "a/Übung", "a/Übung/c", "ab", "ab/c"];
        assert_eq!(folders(&lab, "posts"), expected);
        assert_eq!(all_pages(&lab, "/posts?folder=a/%C3%9Cbung/c", "posts", "content"), ["a/b/c"]);

        relocate(&lab, "a/Übung", json!({ "new_path": "50%_off" })).expect(200);
        assert_eq!(folder_of(&lab, &deeper), "50%_off/c");
        relocate(&lab, "50%_off", json!({ "name": "plain" })).expect(200);
        assert_eq!(folder_of(&lab, &deeper), "plain/c");
    }

    fn a_folder_moves_to_another_place_in_every_way(lab: Lab) {
        make(&lab, "a/b/c");
        let post = post_in(&lab, "a/b/c");

        relocate(&lab, "a/b", json!({ "parent_path": "new/place" })).expect(200);
        assert_eq!(folder_of(&lab, &post), "new/place/b/c");
        relocate(&lab, "new/place/b", json!({ "parent_path": null })).expect(200);
        assert_eq!(folder_of(&lab, &post), "b/c");
        relocate(&lab, "b", json!({ "parent_path": "a", "name": "z" })).expect(200);
        assert_eq!(folder_of(&lab, &post), "a/z/c");
        relocate(&lab, "a/z", json!({ "new_path": "q/r" })).expect(200);
        assert_eq!(folder_of(&lab, &post), "q/r/c");
        relocate(&lab, "q/r", json!({ "new_path": "q/r" })).expect(200);

        assert_eq!(folders(&lab, "posts"), ["a", "new", "new/place", "q", "q/r", "q/r/c"]);
    }

    fn a_folder_cannot_go_where_there_is_no_place_for_it(lab: Lab) {
        make(&lab, "a/b");
        make(&lab, "c");
        let deep = format!("deep/{}", vec!["x"; 14].join("/"));
        make(&lab, &deep);
        let before = folders(&lab, "posts");

        let invalid = [("new_path", "invalid_folder_path")];
        expect_faults(relocate(&lab, "a", json!({ "new_path": "a/b/a" })), &invalid);
        expect_faults(relocate(&lab, "a", json!({ "parent_path": "a/b" })), &invalid);
        expect_faults(relocate(&lab, "deep", json!({ "new_path": "a/b/deep" })), &invalid);
        relocate(&lab, "a/b", json!({ "new_path": "c" })).expect_problem(409, "already_exists");
        relocate(&lab, "a/b", json!({ "new_path": "a" })).expect_problem(409, "already_exists");
        relocate(&lab, "nowhere", json!({ "name": "x" })).expect_problem(404, "not_found");

        assert_eq!(folders(&lab, "posts"), before);
    }

    fn only_an_empty_folder_can_be_deleted(lab: Lab) {
        let post = post_in(&lab, "a/b");
        let picture = new_picture(&lab);
        let item = json!({ "storage_path": picture, "folder_path": "m" });
        let item = lab.post("/media-library").key(&lab.key).json(item).send().expect(201).json;

        remove(&lab, "posts", "a").expect_problem(409, "folder_not_empty");
        remove(&lab, "posts", "a/b").expect_problem(409, "folder_not_empty");
        remove(&lab, "media", "m").expect_problem(409, "folder_not_empty");
        remove(&lab, "media", "a").expect_problem(404, "not_found");

        lab.delete(&post).key(&lab.key).send().expect(200);
        let gone = json!({ "id": item["item"]["id"] });
        lab.delete("/media-library").key(&lab.key).json(gone).send().expect(200);
        assert_eq!(remove(&lab, "posts", "a/b").expect(200).json["deleted"], true);
        remove(&lab, "posts", "a").expect(200);
        remove(&lab, "media", "m").expect(200);
        remove(&lab, "posts", "a").expect_problem(404, "not_found");
        assert!(folders(&lab, "posts").is_empty() && folders(&lab, "media").is_empty());
    }

    fn the_two_trees_know_nothing_of_each_other(lab: Lab) {
        let post = post_in(&lab, "same/place");
        let item = json!({ "storage_path": new_picture(&lab), "folder_path": "same/place" });
        lab.post("/media-library").key(&lab.key).json(item).send().expect(201);

        relocate(&lab, "same", json!({ "name": "moved" })).expect(200);

        assert_eq!(folder_of(&lab, &post), "moved/place");
        assert_eq!(folders(&lab, "media"), ["same", "same/place"]);
        let items = lab.get("/media-library?folder=same%2Fplace").key(&lab.key).send().expect(200);
        assert_eq!(list(&items.json["items"]).len(), 1);
        let media = json!({ "scope": "media", "folder_path": "same", "name": "other" });
        send(&lab, "PATCH", media).expect(200);
        let items = lab.get("/media-library?folder=other%2Fplace").key(&lab.key).send().expect(200);
        assert_eq!(list(&items.json["items"]).len(), 1);
        assert_eq!(folder_of(&lab, &post), "moved/place");
    }

    fn the_tree_decides_which_scope_is_needed(lab: Lab) {
        let posts = lab.new_key(&lab.email, "posts:read,posts:write");
        let media = lab.new_key(&lab.email, "media-library:read,media-library:write");
        let body = |tree: &str| json!({ "scope": tree, "folder_path": "a" });

        for (key, own, other) in [(&posts, "posts", "media"), (&media, "media", "posts")] {
            let path = |tree: &str| format!("/content-folders?scope={tree}");
            lab.get(&path(own)).key(key).send().expect(200);
            lab.post("/content-folders").key(key).json(body(own)).send().expect(201);
            let refused = lab.get(&path(other)).key(key).send();
            refused.expect_problem(403, "insufficient_scope");
            for method in ["POST", "PATCH", "DELETE"] {
                let mut body = body(other);
                if method == "PATCH" {
                    body["name"] = json!("b");
                }
                let refused = lab.request(method, "/content-folders").key(key).json(body).send();
                let refused = refused.expect_problem(403, "insufficient_scope");
                let needed = if other == "posts" { "posts:write" } else { "media-library:write" };
                assert_eq!(refused.json["required_scopes"], json!([needed]));
            }
        }
    }

    fn one_of_many_who_make_the_same_folder_makes_it(lab: Lab) {
        let body = json!({ "scope": "posts", "folder_path": "a/b" });

        let mut statuses: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| send(&lab, "POST", body.clone()).status))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    }

    fn no_post_is_left_in_a_folder_that_is_gone(lab: Lab) {
        for round in 0..100 {
            let (moving, going) = (format!("moving {round}"), format!("going {round}"));
            make(&lab, &format!("{moving}/place"));
            make(&lab, &going);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| post_in(&lab, &format!("{moving}/place")));
                    scope.spawn(|| post_in(&lab, &going));
                }
                let name = json!({ "name": format!("moved {round}") });
                scope.spawn(|| relocate(&lab, &moving, name).expect(200));
                scope.spawn(|| assert!([200, 409].contains(&remove(&lab, "posts", &going).status)));
            });
        }

        let known = folders(&lab, "posts");
        let posts = all_pages(&lab, "/posts?limit=200", "posts", "folder_path");
        assert_eq!(posts.len(), 600);
        let lost: Vec<_> = posts.iter().filter(|path| !known.contains(path)).collect();
        assert!(lost.is_empty(), "{} posts lie in no folder: {lost:?}", lost.len());
        let above = |path: &&String| path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
        let orphans: Vec<_> = known
            .iter()
            .filter(|path| above(path).is_some_and(|parent| !known.contains(&parent)))
            .collect();
        assert!(orphans.is_empty(), "folders without one above them: {orphans:?}");
    }

    fn an_answer_names_the_folder_as_a_list_does(lab: Lab) {
        let made = send(&lab, "POST", json!({ "scope": "media", "folder_path": "a/b" }));
        let made = made.expect(201).json["folder"].take();

        let all = lab.get("/content-folders?scope=media").key(&lab.key).send().expect(200).json;

        assert_eq!(list(&all["folders"])[1], made);
        assert!(text(&made["created_at"]).ends_with('Z'));
    }
}
