//! What the network takes, and everything about a draft that it would not.

use campanile_model::post::{TargetOptions, Visibility};
use unicode_segmentation::UnicodeSegmentation;
use url::Url;

use crate::platforms::{About, Asset, Breach, Connect, Draft, Limits};

const GRAPHEMES: usize = 300;
const TEXT_BYTES: usize = 3000;
const IMAGES: usize = 4;
const ALT_TEXT_CHARACTERS: usize = 2000;
const LABEL_BYTES: usize = 128;
/// What the media library keeps of a picture; a large one is made smaller before it is sent.
pub(super) const IMAGE_BYTES: u64 = 32 << 20;
const VIDEO_BYTES: u64 = 300_000_000;
const VIDEO_MILLIS: u64 = 3 * 60 * 1000;
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/webp", "image/gif"];
const VIDEO_TYPE: &str = "video/mp4";

pub(super) const ABOUT: About = About {
    id: "bluesky",
    name: "Bluesky",
    connect: Connect::Manual { required: &["handle", "app_password"], optional: &["server"] },
    post_types: &["text", "image", "video", "thread", "link"],
    options: &["languages", "labels", "thread", "link"],
    limits: Limits {
        characters: 300,
        counted_in: "graphemes",
        media: 4,
        image_bytes: IMAGE_BYTES,
        video_bytes: VIDEO_BYTES,
        alt_text_characters: 2000,
        media_types: &["image/jpeg", "image/png", "image/webp", "image/gif", VIDEO_TYPE],
        thread_parts: 26,
    },
    at_once: 1,
};

/// The files that the post shows: all but the picture of its link.
pub(super) fn files(draft: &Draft) -> Vec<(usize, &Asset)> {
    let thumbnail = thumbnail(draft);
    let shown = |(_, asset): &(usize, &Asset)| Some(*asset) != thumbnail;
    draft.media.iter().enumerate().filter(shown).collect()
}

/// The picture of the link, which comes along with the other files.
pub(super) fn thumbnail(draft: &Draft) -> Option<&Asset> {
    let path = draft.options.link.as_ref()?.thumbnail.as_ref()?;
    draft.media.iter().find(|asset| asset.storage_path == path.as_str())
}

pub(super) fn check(draft: &Draft) -> Vec<Breach> {
    let mut breaches = Vec::new();
    check_texts(draft, &mut breaches);
    check_files(draft, &mut breaches);
    check_link(draft, &mut breaches);
    check_options(&draft.options, &mut breaches);
    breaches
}

fn check_texts(draft: &Draft, breaches: &mut Vec<Breach>) {
    for part in 0..draft.parts() {
        let text = draft.text_of(part);
        let field = match part {
            0 => "content".to_owned(),
            _ => format!("options.thread[{}]", part - 1),
        };
        let graphemes = text.graphemes(true).count();
        let bare = part > 0 || (draft.media.is_empty() && draft.options.link.is_none());
        if bare && text.trim().is_empty() {
            breaches.push(Breach::new(&field, "required", "a post needs a text, media or a link"));
        }
        if graphemes > GRAPHEMES {
            let message = format!("at most {GRAPHEMES} characters, got {graphemes}");
            breaches.push(Breach::new(&field, "too_long", message));
        } else if text.len() > TEXT_BYTES {
            let message = format!("at most {TEXT_BYTES} bytes, got {}", text.len());
            breaches.push(Breach::new(&field, "too_long", message));
        }
    }
}

fn check_files(draft: &Draft, breaches: &mut Vec<Breach>) {
    let files = files(draft);
    let images = files.iter().filter(|(_, asset)| asset.is_image()).count();
    let videos = files.iter().filter(|(_, asset)| asset.is_video()).count();
    if images > IMAGES {
        let message = format!("at most {IMAGES} pictures, got {images}");
        breaches.push(Breach::new("media", "too_many", message));
    }
    if videos > 1 {
        breaches.push(Breach::new("media", "too_many", "at most one video"));
    }
    if images > 0 && videos > 0 {
        breaches.push(Breach::new("media", "mixed_media", "pictures or a video, not both"));
    }
    for (index, asset) in draft.media.iter().enumerate() {
        check_file(index, asset, breaches);
    }
}

fn check_file(index: usize, asset: &Asset, breaches: &mut Vec<Breach>) {
    let field = format!("media[{index}]");
    let is_image = IMAGE_TYPES.contains(&asset.media_type.as_str());
    if !is_image && asset.media_type != VIDEO_TYPE {
        let message = format!("JPEG, PNG, WebP, GIF or MP4, got {}", asset.media_type);
        breaches.push(Breach::new(&field, "unsupported_media_type", message));
    }
    let most = if asset.is_video() { VIDEO_BYTES } else { IMAGE_BYTES };
    if asset.bytes > most {
        let message = format!("at most {most} bytes, got {}", asset.bytes);
        breaches.push(Breach::new(&field, "too_large", message));
    }
    if asset.is_video() && asset.duration_ms.is_some_and(|length| length > VIDEO_MILLIS) {
        breaches.push(Breach::new(&field, "video_too_long", "at most three minutes"));
    }
    let characters = asset.alt_text.chars().count();
    if characters > ALT_TEXT_CHARACTERS {
        let message = format!("at most {ALT_TEXT_CHARACTERS} characters, got {characters}");
        breaches.push(Breach::new(format!("{field}.alt_text"), "too_long", message));
    }
}

fn check_link(draft: &Draft, breaches: &mut Vec<Breach>) {
    let Some(link) = &draft.options.link else { return };
    if !files(draft).is_empty() {
        let message = "a link or media, not both; an address in the text is a link too";
        breaches.push(Breach::new("options.link", "link_with_media", message));
    }
    let url = Url::parse(&link.url.0).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_none() || link.url.0.contains(char::is_whitespace) {
        let message = "a web address such as https://example.com";
        breaches.push(Breach::new("options.link.url", "invalid_url", message));
    }
    if thumbnail(draft).is_some_and(|asset| !asset.is_image()) {
        let message = "the picture of a link must be a picture";
        breaches.push(Breach::new("options.link.thumbnail", "unsupported_media_type", message));
    }
}

fn check_options(options: &TargetOptions, breaches: &mut Vec<Breach>) {
    let unsupported = [
        ("visibility", options.visibility.is_some_and(|who| who != Visibility::Public)),
        ("content_warning", options.content_warning.is_some()),
        ("sensitive", options.sensitive.is_some()),
        ("poll", options.poll.is_some()),
        ("outcome", options.outcome.is_some()),
    ];
    for (name, _) in unsupported.into_iter().filter(|(_, is_set)| *is_set) {
        let message = match name {
            "visibility" => "posts are public here",
            "content_warning" | "sensitive" => "use labels instead, such as graphic-media",
            _ => "the platform does not have this",
        };
        breaches.push(Breach::new(format!("options.{name}"), "unsupported_option", message));
    }
    let languages = options.languages.iter().flat_map(|list| &list.0).enumerate();
    for (index, _) in languages.filter(|(_, language)| !is_language(&language.0)) {
        let field = format!("options.languages[{index}]");
        breaches.push(Breach::new(field, "invalid_language", "a tag such as en or pt-BR"));
    }
    let labels = options.labels.iter().flat_map(|list| &list.0).enumerate();
    for (index, _) in labels.filter(|(_, label)| label.0.len() > LABEL_BYTES) {
        let message = format!("at most {LABEL_BYTES} bytes");
        breaches.push(Breach::new(format!("options.labels[{index}]"), "too_long", message));
    }
}

fn is_language(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let is_first =
        |part: &str| (2..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_further = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    parts.next().is_some_and(is_first) && parts.all(is_further)
}

#[cfg(test)]
mod tests;
