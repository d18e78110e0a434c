//! How a case becomes a request.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{
    cases::{Brand, Case, Credential, Door, Subject},
    client::{Client, Request},
    credentials::{malformed_key, unknown_key},
    expected::Expected,
    world::World,
};
use crate::{
    lab::BASE_PATH,
    steps::{PICTURE, new_picture_of, text},
};

impl World<'_> {
    /// What the case sends. Where it is to succeed, it gets things of its own to use up.
    pub(super) fn request(
        &self,
        number: usize,
        case: &Case,
        expected: &Expected,
        client: &mut Client<'_>,
    ) -> Request {
        let (path, body) = self.path_and_body(case, expected, client);
        let base = match case.door {
            Door::External => BASE_PATH,
            Door::Internal => "/api/internal",
        };
        let mut request = Request::new(case.variant.row.method, &format!("{base}{path}"));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let credential = match case.credential {
            Credential::Nothing => None,
            Credential::Malformed => Some(malformed_key(number)),
            Credential::Unknown => Some(unknown_key(number)),
            Credential::Revoked => Some(self.revoked.clone()),
            Credential::Expired => Some(self.expired.clone()),
            Credential::Scope(scope) => Some(self.keys[scope].clone()),
            Credential::Session => Some(self.session.clone()),
        };
        if let Some(credential) = credential {
            request = if number.is_multiple_of(2) {
                request.key(&credential)
            } else {
                request.header("x-api-key", credential)
            };
        }
        let brand = match case.brand {
            Brand::Unnamed => return request,
            Brand::Own => &self.brands["own"],
            Brand::Second => &self.brands["second"],
            Brand::Foreign => &self.brands["foreign"],
        };
        if !number.is_multiple_of(3) {
            return request.header("x-app-brand-id", brand.clone());
        }
        let sign = if request.target.contains('?') { '&' } else { '?' };
        request.target = format!("{}{sign}brand_id={brand}", request.target);
        request
    }

    fn path_and_body(
        &self,
        case: &Case,
        expected: &Expected,
        client: &mut Client<'_>,
    ) -> (String, Option<Value>) {
        let row = &case.variant.row;
        let tree = case.variant.tree;
        let subject = case.variant.subject;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let fresh = subject == Subject::Own && expected.status < 300;
        let mut path = row.path.to_owned();
        let thing = |client: &mut Client<'_>| self.thing(case, fresh, client);
        let body = match (row.method, row.path) {
            ("POST", "/posts") if subject == Subject::Nothing => json!({ "content": "A draft" }),
            ("POST", "/posts") => json!({ "content": "A picture", "media_url": thing(client) }),
            ("POST", "/media-library") => json!({ "storage_path": thing(client) }),
            ("PATCH", "/media-library") => json!({ "id": thing(client), "tags": ["seen"] }),
            ("DELETE", "/media-library") => json!({ "id": thing(client) }),
            ("GET", "/content-folders") => {
                path = format!("{path}?scope={tree}");
                Value::Null
            }
            ("POST", "/content-folders") => {
                json!({ "scope": tree, "folder_path": format!("made/{number}") })
            }
            ("PATCH", "/content-folders") => {
                let name = format!("renamed {number}");
                json!({ "scope": tree, "folder_path": thing(client), "name": name })
            }
            ("DELETE", "/content-folders") => {
                json!({ "scope": tree, "folder_path": thing(client) })
            }
            ("POST", "/uploads/posts/sign") => {
                json!({ "content_type": "image/png", "size": PICTURE.len() })
            }
            ("PUT", "/settings") => json!({ "profile": { "name": "Owner" } }),
            ("PUT", "/settings/password") => json!({}),
            ("POST", "/keys") => json!({ "name": "made", "scopes": ["posts:read"] }),
            ("PATCH", "/schedule/:id") => {
                path = path.replace(":id", &thing(client));
                json!({ "scheduled_at": "2030-06-01T09:00:00Z" })
            }
            ("DELETE", "/schedule/attempts") => {
                path = format!("{path}?scope=failed");
                Value::Null
            }
            ("POST", "/connections/:platform") => {
                path = path.replace(":platform", &thing(client));
                match subject {
                    Subject::Own => json!({ "handle": format!("made{number}") }),
                    _ => json!({}),
                }
            }
            ("DELETE", "/connections/:platform") => {
                let (platform, connection) = match subject {
                    Subject::Own | Subject::Foreign => ("sandbox".to_owned(), thing(client)),
                    _ => (thing(client), self.own.connection.clone()),
                };
                path = format!("/connections/{platform}?connection_id={connection}");
                Value::Null
            }
            (method, named) if named.contains(':') => {
                let thing = thing(client);
                path = path.replace(":id", &thing).replace(":platform", &thing);
                match method {
                    "PATCH" if named == "/posts/:id" => json!({ "content": "Changed" }),
                    _ => Value::Null,
                }
            }
            _ => Value::Null,
        };
        (path, Some(body).filter(|body| !body.is_null()))
    }

    /// What the request names; `fresh` makes a new one of the caller's own.
    fn thing(&self, case: &Case, fresh: bool, client: &mut Client<'_>) -> String {
        let row = &case.variant.row;
        let kind = match (row.method, row.path) {
            ("POST", "/posts" | "/media-library") => "picture",
            (_, "/media-library") => "media",
            (_, "/content-folders") => "folder",
            (_, "/posts/:id/publish-now") => "publishable",
            (_, "/posts/:id") => "post",
            (_, "/keys/:id") => "key",
            (_, "/schedule/:id") => "job",
            ("DELETE", "/connections/:platform")
                if matches!(case.variant.subject, Subject::Own | Subject::Foreign) =>
            {
                "connection"
            }
            (_, path) if path.contains(":platform") => "platform",
            _ => "other",
        };
        let uses_up = !matches!(row.method, "GET") && kind != "platform";
        let things = match case.variant.subject {
            Subject::Own if fresh && uses_up => return self.make_one(kind, case, client),
            Subject::Own => &self.own,
            Subject::Foreign => &self.foreign,
            Subject::Unknown | Subject::Nothing => return self.unknown(kind),
            Subject::Malformed => return malformed(kind),
        };
        match kind {
            "picture" => things.picture.clone(),
            "media" => things.media.clone(),
            "folder" => things.folder.clone(),
            "post" | "publishable" => things.post.clone(),
            "key" => things.key.clone(),
            "job" => things.job.clone(),
            "connection" => things.connection.clone(),
            "platform" if case.variant.subject == Subject::Own => "sandbox".to_owned(),
            "platform" => "mastodon".to_owned(),
            _ => "job_01hf7yat00000000000000000a".to_owned(),
        }
    }

    fn make_one(&self, kind: &str, case: &Case, client: &mut Client<'_>) -> String {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let all = &self.keys["*"];
        let mut send = |path: &str, credential: &str, body: Value| {
            let request = Request::new("POST", &format!("{BASE_PATH}{path}"));
            let reply = client.call(&request.key(credential).json(&body));
            reply.expect(201).json
        };
        match kind {
            "post" => text(&send("/posts", all, json!({}))["post"]["id"]).to_owned(),
            "publishable" => {
                let targets = json!([{ "connection_id": self.own.connection }]);
                let post = json!({ "content": "ready", "targets": targets });
                text(&send("/posts", all, post)["post"]["id"]).to_owned()
            }
            "job" => {
                let post = json!({ "scheduled_at": "2030-01-01T09:00:00Z" });
                let post = text(&send("/posts", all, post)["post"]["id"]).to_owned();
                let path = format!("{BASE_PATH}/schedule?post_id={post}");
                let jobs = client.call(&Request::new("GET", &path).key(all)).expect(200).json;
                text(&jobs["publish_jobs"][0]["id"]).to_owned()
            }
            "connection" => {
                let body = json!({ "handle": format!("fresh{number}") });
                let made = send("/connections/sandbox", all, body);
                text(&made["connection"]["id"]).to_owned()
            }
            "folder" => {
                let path = format!("fresh/{number}");
                send(
                    "/content-folders",
                    all,
                    json!({ "scope": case.variant.tree, "folder_path": path }),
                );
                path
            }
            "key" => {
                let body = json!({ "name": "fresh", "scopes": ["posts:read"] });
                text(&send("/keys", &self.session, body)["key"]["id"]).to_owned()
            }
            "picture" => new_picture_of(self.lab, all),
            "media" => {
                let path = new_picture_of(self.lab, all);
                let item = send("/media-library", all, json!({ "storage_path": path }));
                text(&item["item"]["id"]).to_owned()
            }
            _ => "job_01hf7yat00000000000000000a".to_owned(),
        }
    }

    /// Of the right form, but never made.
    fn unknown(&self, kind: &str) -> String {
        let body = "01hf7yat00000000000000000a";
        match kind {
            "picture" => {
                let (_, file) = self.own.picture.rsplit_once('/').expect("a path");
                format!("library/user_{body}/{file}")
            }
            "folder" => "never/made".to_owned(),
            "platform" => "nowhere".to_owned(),
            "other" => format!("job_{body}"),
            "publishable" => format!("post_{body}"),
            kind => format!("{kind}_{body}"),
        }
    }
}

fn malformed(kind: &str) -> String {
    match kind {
        "picture" => "https://example.org/picture.png".to_owned(),
        "folder" => "a//b".to_owned(),
        _ => "no-such.id%27--".to_owned(),
    }
}
