//! Small steps that many stories take.

use campanile_model::time::{self, Millis};
use serde_json::{Value, json};

use crate::lab::{Lab, Reply};

/// The smallest image there is: one grey dot.
pub(crate) const PICTURE: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\
    \x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\xdach\x00\x00\x00\x82\x00\
    \x81\xdaE\x08;\x00\x00\x00\x00IEND\xaeB`\x82";

#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}"))
}

#[track_caller]
pub(crate) fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("a list, not {value}"))
}

/// One field of everything in a list.
#[track_caller]
pub(crate) fn each<'a>(items: &'a Value, field: &str) -> Vec<&'a str> {
    list(items).iter().map(|item| text(&item[field])).collect()
}

/// Field and code of every fault that a problem names, sorted.
#[track_caller]
pub(crate) fn faults(reply: Reply) -> Vec<(String, String)> {
    let reply = reply.expect_problem(422, "validation_failed");
    let pair = |fault: &Value| (text(&fault["field"]).to_owned(), text(&fault["code"]).to_owned());
    let mut found: Vec<_> = list(&reply.json["errors"]).iter().map(pair).collect();
    found.sort();
    found
}

/// Fails the test unless the problem names exactly these faults.
#[track_caller]
pub(crate) fn expect_faults(reply: Reply, expected: &[(&str, &str)]) {
    let mut expected: Vec<_> =
        expected.iter().map(|(field, code)| ((*field).to_owned(), (*code).to_owned())).collect();
    expected.sort();
    assert_eq!(faults(reply), expected);
}

/// Creates a post with the owner's key and returns it.
#[track_caller]
pub(crate) fn new_post(lab: &Lab, draft: Value) -> Value {
    lab.post("/posts").key(&lab.key).json(draft).send().expect(201).json["post"].take()
}

#[track_caller]
pub(crate) fn post_path(post: &Value) -> String {
    format!("/posts/{}", text(&post["id"]))
}

/// A session of the owner.
#[track_caller]
pub(crate) fn session(lab: &Lab) -> String {
    lab.sign_in(&lab.email, &lab.password)
}

/// Makes another brand of the owner's and returns its id.
#[track_caller]
pub(crate) fn new_brand(lab: &Lab, name: &str) -> String {
    let request = lab.post("/api/internal/brands").session(&session(lab));
    let made = request.json(json!({ "name": name })).send().expect(201).json;
    text(&made["brand"]["id"]).to_owned()
}

/// Uploads a picture with the owner's key and returns its storage path.
#[track_caller]
pub(crate) fn new_picture(lab: &Lab) -> String {
    new_picture_of(lab, &lab.key)
}

#[track_caller]
pub(crate) fn new_picture_of(lab: &Lab, key: &str) -> String {
    let wanted = json!({ "content_type": "image/png", "size": PICTURE.len() });
    let signed = lab.post("/uploads/posts/sign").key(key).json(wanted).send().expect(201).json;
    let upload = &signed["upload"];
    let sent = lab.put(text(&upload["url"])).header("content-type", "image/png").body(PICTURE);
    sent.send().expect(201);
    text(&upload["storage_path"]).to_owned()
}

/// The time on the service's clock.
pub(crate) fn now(lab: &Lab) -> Millis {
    let reference = lab.get("/reference").send().expect(200).json;
    time::parse(text(&reference["generated_at"])).expect("a time")
}

/// A time so far from now, as requests carry it.
pub(crate) fn from_now(lab: &Lab, distance: Millis) -> String {
    time::format(now(lab) + distance)
}

/// A text as part of a query.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// One field of everything on every page of a list, in order.
#[track_caller]
pub(crate) fn all_pages(lab: &Lab, path: &str, name: &str, field: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let page = match &cursor {
            Some(cursor) => format!("{path}{sign}cursor={cursor}"),
            None => path.to_owned(),
        };
        let page = lab.get(&page).key(&lab.key).send().expect(200).json;
        found.extend(each(&page[name], field).into_iter().map(str::to_owned));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return found,
        }
    }
}
