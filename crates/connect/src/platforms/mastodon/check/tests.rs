//! Every rule once, and several at a time.

use campanile_model::decode::{List, Text, Whole};
use campanile_model::post::SandboxOutcome;

use super::*;

fn asset(media_type: &str) -> Asset {
    Asset {
        storage_path: "a".into(),
        blob: "a".into(),
        media_type: media_type.into(),
        bytes: 1000,
        width: Some(10),
        height: Some(10),
        duration_ms: None,
        alt_text: String::new(),
    }
}

fn draft(text: &str) -> Draft {
    Draft { text: text.into(), ..Draft::default() }
}

fn with_media(media: Vec<Asset>) -> Draft {
    Draft { media, ..draft("a") }
}

fn with_poll(options: &[&str], seconds: i64) -> Draft {
    let poll = Poll {
        options: List(options.iter().map(|text| Text((*text).to_owned())).collect()),
        expires_in_seconds: Whole(seconds),
        multiple: None,
        hide_totals: None,
    };
    Draft { options: TargetOptions { poll: Some(poll), ..Default::default() }, ..draft("a") }
}

fn on(software: &str) -> Instance {
    Instance { software: software.into(), ..Instance::default() }
}

fn found(instance: &Instance, draft: &Draft) -> Vec<(String, &'static str)> {
    check(&super::super::about(), instance, draft)
        .into_iter()
        .map(|breach| (breach.field, breach.code))
        .collect()
}

fn found_codes(draft: &Draft) -> Vec<(String, &'static str)> {
    found(&on("mastodon"), draft)
}

fn one(field: &str, code: &'static str) -> Vec<(String, &'static str)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn ordinary_posts_pass() {
    for draft in [
        draft(&"x".repeat(500)),
        draft(&format!("{}{}", "x".repeat(476), " https://example.com/with/a/long/path")),
        with_media(vec![asset("image/png"); 4]),
        Draft { media: vec![asset("video/mp4")], ..Draft::default() },
        with_poll(&["Yes", "No"], 3600),
    ] {
        assert_eq!(found_codes(&draft), [], "{draft:?}");
    }
}

#[test]
fn texts_have_a_length() {
    assert_eq!(found_codes(&draft(&"x".repeat(501))), one("content", "too_long"));
    assert_eq!(found_codes(&draft(" \n")), one("content", "empty"));
    let mut warned = draft(&"x".repeat(495));
    warned.options.content_warning = Some(Text("warned".into()));
    assert_eq!(found_codes(&warned), one("content", "too_long"));
    let mut wide = on("mastodon");
    wide.limits.characters = 5000;
    assert_eq!(found(&wide, &draft(&"x".repeat(5000))), []);
}

#[test]
fn every_part_of_a_thread_is_checked() {
    let mut thread = draft("one");
    let parts = ["two".to_owned(), String::new(), "x".repeat(501)];
    thread.options.thread = Some(List(parts.into_iter().map(Text).collect()));

    let expected = [("options.thread[1]", "empty"), ("options.thread[2]", "too_long")];
    assert_eq!(found_codes(&thread), expected.map(|(field, code)| (field.to_owned(), code)));
}

#[test]
fn media_are_counted_and_do_not_mix() {
    assert_eq!(found_codes(&with_media(vec![asset("image/png"); 5])), one("media", "too_many"));
    let mixed = with_media(vec![asset("image/png"), asset("video/mp4")]);
    assert_eq!(found_codes(&mixed), one("media", "mixed_media"));
    assert_eq!(found(&on("gotosocial"), &mixed), []);
    let two = with_media(vec![asset("video/mp4"); 2]);
    assert_eq!(found_codes(&two), one("media", "mixed_media"));
    assert_eq!(found(&on("pixelfed"), &draft("a")), one("media", "empty"));
}

#[test]
fn files_have_a_type_and_a_size() {
    let mut instance = on("mastodon");
    instance.limits.media_types = vec!["image/png".into()];
    let large = Asset { bytes: 16_777_217, ..asset("image/png") };
    let wide = Asset { width: Some(100_000), height: Some(1000), ..asset("image/png") };
    let told = Asset { alt_text: "é".repeat(1501), ..asset("image/png") };

    for (asset, field, code) in [
        (asset("image/webp"), "media[0]", "media_type_not_supported"),
        (large, "media[0]", "too_large"),
        (wide, "media[0]", "too_many_pixels"),
        (told, "media[0].alt_text", "too_long"),
    ] {
        assert_eq!(found(&instance, &with_media(vec![asset])), one(field, code));
    }
    let film = Asset { bytes: 103_809_025, ..asset("video/mp4") };
    assert_eq!(found_codes(&with_media(vec![film])), one("media[0]", "too_large"));
    let letter = with_media(vec![asset("application/pdf")]);
    assert_eq!(found_codes(&letter), one("media[0]", "media_type_not_supported"));
}

#[test]
fn polls_have_rules_of_their_own() {
    let options = "options.poll.options";
    assert_eq!(found_codes(&with_poll(&["Yes"], 3600)), one(options, "invalid_count"));
    let five = with_poll(&["1", "2", "3", "4", "5"], 3600);
    assert_eq!(found_codes(&five), one(options, "invalid_count"));
    let same = with_poll(&["Yes", "Yes "], 3600);
    assert_eq!(found_codes(&same), one("options.poll.options[1]", "duplicate"));
    let blank = with_poll(&["Yes", " "], 3600);
    assert_eq!(found_codes(&blank), one("options.poll.options[1]", "empty"));
    let long = "x".repeat(51);
    let long = with_poll(&["Yes", &long], 3600);
    assert_eq!(found_codes(&long), one("options.poll.options[1]", "too_long"));
    for seconds in [299, 2_629_747] {
        let poll = with_poll(&["Yes", "No"], seconds);
        assert_eq!(found_codes(&poll), one("options.poll.expires_in_seconds", "out_of_range"));
    }
    let mut both = with_poll(&["Yes", "No"], 3600);
    both.media.push(asset("image/png"));
    assert_eq!(found_codes(&both), one("options.poll", "poll_with_media"));
}

#[test]
fn options_of_other_platforms_are_named_all_at_once() {
    let mut foreign = draft("");
    foreign.options.labels = Some(List::default());
    foreign.options.outcome = Some(SandboxOutcome::Success);
    let languages = ["en", "de"].map(|language| Text(language.to_owned()));
    foreign.options.languages = Some(List(languages.into()));

    let fields: Vec<String> = found_codes(&foreign).into_iter().map(|(field, _)| field).collect();

    assert_eq!(fields, ["options.labels", "options.outcome", "content", "options.languages"]);
}
