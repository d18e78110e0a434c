//! Drafts at their limits and beyond.

use campanile_model::decode::{List, Text};
use campanile_model::ids::UserId;
use campanile_model::label::StoragePath;
use campanile_model::post::{LinkCard, SandboxOutcome};

use super::*;
use crate::platforms::Asset;

fn draft(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

fn path(file: &str) -> StoragePath {
    StoragePath::new(&UserId::stored("user_01hf7yat00000000000000000a"), file)
}

fn asset(file: &str, media_type: &str) -> Asset {
    Asset {
        storage_path: path(file).as_str().to_owned(),
        blob: file.to_owned(),
        media_type: media_type.to_owned(),
        bytes: 1000,
        width: Some(4),
        height: Some(3),
        duration_ms: None,
        alt_text: String::new(),
    }
}

fn with_media(types: &[&str]) -> Draft {
    let media = types.iter().enumerate();
    let media = media.map(|(index, kind)| asset(&format!("m{index}.bin"), kind)).collect();
    Draft { media, ..draft("x") }
}

fn link(url: &str, thumbnail: Option<StoragePath>) -> Option<LinkCard> {
    let title = Text("title".to_owned());
    Some(LinkCard { url: Text(url.to_owned()), title, description: None, thumbnail })
}

/// Fields and codes of all breaches.
fn codes(draft: &Draft) -> Vec<String> {
    check(draft).into_iter().map(|breach| format!("{} {}", breach.field, breach.code)).collect()
}

fn texts<const MOST: usize, const LENGTH: usize>(
    all: &[&str],
) -> Option<List<Text<1, LENGTH>, MOST>> {
    Some(List(all.iter().map(|text| Text((*text).to_owned())).collect()))
}

#[test]
fn a_character_is_what_people_see_as_one() {
    let family = "👨‍👩‍👧";
    assert!(codes(&draft(&"e\u{301}".repeat(300))).is_empty());
    assert_eq!(codes(&draft(&"e\u{301}".repeat(301))), ["content too_long"]);
    assert!(codes(&draft(&"\r\n".repeat(200).replace('\r', "a\r"))).len() == 1);
    assert_eq!(family.len(), 18);
    assert!(codes(&draft(&family.repeat(166))).is_empty());
    assert_eq!(codes(&draft(&family.repeat(167))), ["content too_long"]);
}

#[test]
fn every_part_of_a_thread_is_checked() {
    let mut draft = draft("one");
    let parts = [" ".to_owned(), "x".repeat(300), "x".repeat(301)];
    draft.options.thread = Some(List(parts.into_iter().map(Text).collect()));

    assert_eq!(codes(&draft), ["options.thread[0] empty", "options.thread[2] too_long"]);
}

#[test]
fn a_post_needs_something() {
    assert_eq!(codes(&draft(" \n")), ["content empty"]);
    let mut only_link = draft("");
    only_link.options.link = link("https://example.com", None);
    assert!(codes(&only_link).is_empty());
    assert!(codes(&Draft { text: String::new(), ..with_media(&["image/png"]) }).is_empty());
}

#[test]
fn four_pictures_or_one_video() {
    assert!(codes(&with_media(&["image/jpeg"; 4])).is_empty());
    assert_eq!(codes(&with_media(&["image/jpeg"; 5])), ["media too_many"]);
    assert!(codes(&with_media(&["video/mp4"])).is_empty());
    assert_eq!(codes(&with_media(&["video/mp4"; 2])), ["media too_many"]);
    assert_eq!(codes(&with_media(&["image/png", "video/mp4"])), ["media mixed_media"]);
    assert_eq!(
        codes(&with_media(&["image/tiff", "video/quicktime"])),
        [
            "media[0] media_type_not_supported",
            "media[1] media_type_not_supported",
            "media mixed_media",
        ]
    );
}

#[test]
fn files_have_limits() {
    let mut draft = with_media(&["video/mp4"]);
    draft.media[0].bytes = VIDEO_BYTES + 1;
    draft.media[0].duration_ms = Some(VIDEO_MILLIS + 1);
    draft.media[0].alt_text = "ä".repeat(2001);

    assert_eq!(
        codes(&draft),
        ["media[0] too_large", "media[0].alt_text too_long", "media[0] video_too_long"]
    );
}

#[test]
fn a_link_takes_the_place_of_media() {
    let mut draft = with_media(&["image/png"]);
    draft.options.link = link("ftp://example.com", None);
    assert_eq!(codes(&draft), ["options.link link_with_media", "options.link.url invalid_url"]);

    draft.options.link = link("https://example.com", Some(path("m0.bin")));
    assert!(codes(&draft).is_empty());
    assert_eq!(draft.thumbnail(), Some(&draft.media[0]));
    assert!(draft.files().is_empty());

    draft.media[0].media_type = "video/mp4".to_owned();
    assert_eq!(codes(&draft), ["options.link.thumbnail media_type_not_supported"]);
}

#[test]
fn options_of_other_platforms_are_refused() {
    let mut draft = draft("x");
    draft.options = TargetOptions {
        visibility: Some(Visibility::Unlisted),
        content_warning: Some(Text("w".to_owned())),
        sensitive: Some(false),
        outcome: Some(SandboxOutcome::Slow),
        ..TargetOptions::default()
    };
    let unsupported = ["content_warning", "sensitive", "outcome", "visibility"];
    let expected: Vec<_> =
        unsupported.iter().map(|name| format!("options.{name} option_not_supported")).collect();
    assert_eq!(codes(&draft), expected);

    draft.options =
        TargetOptions { visibility: Some(Visibility::Public), ..TargetOptions::default() };
    assert!(codes(&draft).is_empty());
}

#[test]
fn languages_have_a_form_and_labels_are_free() {
    let mut draft = draft("x");
    draft.options.labels = texts(&["nudity", "something new", &"ä".repeat(65)]);
    draft.options.languages =
        Some(List(["pt-BR", "x", "de_DE"].map(|tag| Text(tag.to_owned())).into()));

    assert_eq!(
        codes(&draft),
        [
            "options.languages[1] invalid_language",
            "options.languages[2] invalid_language",
            "options.labels[2] too_long",
        ]
    );
}
