//! The JSON of posts, field by field.

use campanile_model::decode::List;
use campanile_model::decode::Text;

use super::*;

const DUE: i64 = 1_793_491_200_000;

fn account() -> Account {
    Account {
        remote_id: "did:plc:abc".to_owned(),
        handle: "ada.example.com".to_owned(),
        server: "https://pds.example.com".to_owned(),
        details: json!({}),
    }
}

fn operation(part: u32, previous: &[Receipt]) -> Operation<'_> {
    Operation { key: "k1", due: DUE, part, previous, earlier: None }
}

fn draft(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

fn compose(draft: &Draft, operation: &Operation<'_>) -> Frozen {
    Frozen::compose(&account(), draft, operation, &Identities::new()).unwrap()
}

#[test]
fn a_plain_post_says_only_what_it_must() {
    let frozen = compose(&draft("hello"), &operation(0, &[]));

    assert_eq!(
        frozen.record,
        json!({
            "$type": "app.bsky.feed.post", "text": "hello", "createdAt": "2026-11-01T00:00:00.000Z",
        })
    );
    assert_eq!(frozen.repo, "did:plc:abc");
    assert!(frozen.rkey.starts_with("3mz7iuy6"), "{}", frozen.rkey);
    assert_eq!(Frozen::read(&frozen.write()).unwrap(), frozen);
}

#[test]
fn options_become_fields() {
    let mut draft = draft("x");
    let texts = |all: &[&str]| all.iter().map(|text| Text((*text).to_owned())).collect();
    draft.options.languages = Some(List(texts(&["de", "pt-BR"])));
    draft.options.labels = Some(List(vec![Text("nudity".to_owned())]));

    let record = compose(&draft, &operation(0, &[])).record;

    assert_eq!(record["langs"], json!(["de", "pt-BR"]));
    assert_eq!(
        record["labels"],
        json!({ "$type": "com.atproto.label.defs#selfLabels", "values": [{ "val": "nudity" }] })
    );
}

#[test]
fn only_handles_of_somebody_become_mentions() {
    let draft = draft("@a.com @b.com #x https://c.com");
    let identities = Identities::from([("b.com".to_owned(), "did:plc:b".to_owned())]);

    let frozen = Frozen::compose(&account(), &draft, &operation(0, &[]), &identities).unwrap();

    let feature = |kind: &str, name: &str, value: &str| json!([{ "$type": format!("app.bsky.richtext.facet#{kind}"), name: value }]);
    assert_eq!(
        frozen.record["facets"],
        json!([
            { "index": { "byteStart": 7, "byteEnd": 13 }, "features": feature("mention", "did", "did:plc:b") },
            { "index": { "byteStart": 14, "byteEnd": 16 }, "features": feature("tag", "tag", "x") },
            { "index": { "byteStart": 17, "byteEnd": 30 }, "features": feature("link", "uri", "https://c.com") },
        ])
    );
}

#[test]
fn a_part_answers_the_one_before_it() {
    let mut draft = draft("one");
    draft.options.thread = Some(List(vec![Text("two".to_owned()), Text("three".to_owned())]));
    let first = compose(&draft, &operation(0, &[])).receipt("c1");
    let second = compose(&draft, &operation(1, std::slice::from_ref(&first))).receipt("c2");
    let previous = [first.clone(), second.clone()];

    let third = compose(&draft, &operation(2, &previous)).record;

    assert_eq!(third["text"], "three");
    assert_eq!(third["createdAt"], "2026-11-01T00:00:00.002Z");
    assert_eq!(third["reply"]["root"], json!({ "uri": first.remote_id, "cid": "c1" }));
    assert_eq!(third["reply"]["parent"], json!({ "uri": second.remote_id, "cid": "c2" }));
}

#[test]
fn a_part_without_the_one_before_it_is_not_published() {
    let lost = Receipt { remote_id: "at://x".to_owned(), url: None, reference: None };
    for previous in [&[][..], &[lost][..]] {
        let operation = operation(1, previous);
        let outcome = Frozen::compose(&account(), &draft("x"), &operation, &Identities::new());

        assert_eq!(outcome.unwrap_err().class, Class::MissingContent);
    }
}

#[test]
fn the_same_post_has_the_same_words_and_moment() {
    let frozen = compose(&draft("x"), &operation(0, &[]));
    let mut found = frozen.record.clone();
    found["embed"] = json!({ "another": "upload" });

    assert!(frozen.is_same(&found));
    found["text"] = json!("y");
    assert!(!frozen.is_same(&found));
    assert!(!frozen.is_same(&json!({})));
    let empty = Frozen { repo: String::new(), rkey: String::new(), record: json!({}) };
    assert!(!empty.is_same(&json!({})));
}

#[test]
fn a_receipt_names_the_post_in_every_form() {
    let frozen =
        Frozen { repo: "did:plc:abc".to_owned(), rkey: "3k".to_owned(), record: json!({}) };

    let receipt = frozen.receipt("bafy");

    assert_eq!(receipt.remote_id, "at://did:plc:abc/app.bsky.feed.post/3k");
    assert_eq!(receipt.url.as_deref(), Some("https://bsky.app/profile/did:plc:abc/post/3k"));
    let reference: StrongReference = serde_json::from_str(&receipt.reference.unwrap()).unwrap();
    assert_eq!((reference.uri, reference.cid), (receipt.remote_id, "bafy".to_owned()));
}
