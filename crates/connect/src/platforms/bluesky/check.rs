//! What the network takes, and everything about a draft that it would not.

use campanile_model::post::{TargetOptions, Visibility};
use unicode_segmentation::UnicodeSegmentation;
use url::Url;

use crate::platforms::{About, Breach, Connect, Draft, Limits, check};

const TEXT_BYTES: usize = 3000;
const LABEL_BYTES: usize = 128;
/// What the media library keeps of a picture; a large one is made smaller before it is sent.
pub(super) const IMAGE_BYTES: u64 = 32 << 20;
const VIDEO_BYTES: u64 = 300_000_000;
const VIDEO_MILLIS: u64 = 3 * 60 * 1000;

pub(super) const ABOUT: About = About {
    id: "bluesky",
    name: "Bluesky",
    connect: Connect::Manual { required: &["handle", "app_password"], optional: &["server"] },
    post_types: &["text", "image", "video", "thread", "link"],
    options: &["visibility", "languages", "labels", "thread", "link"],
    limits: Limits {
        characters: 300,
        counted_in: "graphemes",
        media: 4,
        image_bytes: IMAGE_BYTES,
        video_bytes: VIDEO_BYTES,
        alt_text_characters: 2000,
        media_types: &["image/jpeg", "image/png", "image/webp", "image/gif", "video/mp4"],
        thread_parts: 26,
    },
    at_once: 1,
};

pub(super) fn check(draft: &Draft) -> Vec<Breach> {
    let mut breaches = check::texts(&ABOUT, draft, |text| text.graphemes(true).count());
    check_bytes(draft, &mut breaches);
    breaches.extend(check::media(&ABOUT, draft));
    check_videos(draft, &mut breaches);
    check_link(draft, &mut breaches);
    breaches.extend(check::options(&ABOUT, draft).into_iter().map(with_advice));
    check_options(&draft.options, &mut breaches);
    breaches
}

/// Few characters can be many bytes, which have a limit of their own.
fn check_bytes(draft: &Draft, breaches: &mut Vec<Breach>) {
    for part in 0..draft.parts() {
        let (field, text) = (check::field_of(part), draft.text_of(part));
        let told = breaches.iter().any(|breach| breach.field == field);
        if text.len() > TEXT_BYTES && !told {
            let message = format!("at most {TEXT_BYTES} bytes, got {}", text.len());
            breaches.push(Breach::new(field, "too_long", message));
        }
    }
}

fn check_videos(draft: &Draft, breaches: &mut Vec<Breach>) {
    let files = draft.files();
    let videos = files.iter().filter(|(_, asset)| asset.is_video()).count();
    if videos > 1 {
        breaches.push(Breach::new("media", "too_many", "at most one video"));
    }
    if videos > 0 && files.iter().any(|(_, asset)| asset.is_image()) {
        breaches.push(Breach::new("media", "mixed_media", "pictures or a video, not both"));
    }
    for (index, asset) in &files {
        if asset.is_video() && asset.duration_ms.is_some_and(|length| length > VIDEO_MILLIS) {
            let message = "at most three minutes";
            breaches.push(Breach::new(format!("media[{index}]"), "video_too_long", message));
        }
    }
}

fn check_link(draft: &Draft, breaches: &mut Vec<Breach>) {
    let Some(link) = &draft.options.link else { return };
    if !draft.files().is_empty() {
        let message = "a link or media, not both; an address in the text is a link too";
        breaches.push(Breach::new("options.link", "link_with_media", message));
    }
    let url = Url::parse(&link.url.0).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_none() || link.url.0.contains(char::is_whitespace) {
        let message = "a web address such as https://example.com";
        breaches.push(Breach::new("options.link.url", "invalid_url", message));
    }
    if draft.thumbnail().is_some_and(|asset| !asset.is_image()) {
        let message = "the picture of a link must be a picture";
        breaches.push(Breach::new("options.link.thumbnail", "media_type_not_supported", message));
    }
}

/// Says what to do instead, where there is something.
fn with_advice(breach: Breach) -> Breach {
    let labels = ["options.content_warning", "options.sensitive"];
    if !labels.contains(&breach.field.as_str()) {
        return breach;
    }
    let message = "use labels instead, such as graphic-media".to_owned();
    Breach { message, ..breach }
}

fn check_options(options: &TargetOptions, breaches: &mut Vec<Breach>) {
    if options.visibility.is_some_and(|who| who != Visibility::Public) {
        let message = "posts are public here";
        breaches.push(Breach::new("options.visibility", "option_not_supported", message));
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
