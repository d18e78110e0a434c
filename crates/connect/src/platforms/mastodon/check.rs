//! What a server would refuse about a draft.

use campanile_model::post::{Poll, TargetOptions, Visibility};

use super::instance::{Bounds, Instance};
use super::text::length;
use crate::platforms::{About, Asset, Breach, Draft, check as shared};

/// Everything at once, by the limits of the account's own server.
pub(super) fn check(about: &About, instance: &Instance, draft: &Draft) -> Vec<Breach> {
    let mut breaches = shared::options(about, draft);
    texts(&instance.limits, draft, &mut breaches);
    media(instance, &draft.media, &mut breaches);
    for (index, asset) in draft.media.iter().enumerate() {
        file(&instance.limits, asset, &format!("media[{index}]"), &mut breaches);
    }
    if let Some(poll) = &draft.options.poll {
        poll_breaches(&instance.limits, poll, draft, &mut breaches);
    }
    options(instance, &draft.options, &mut breaches);
    breaches
}

fn texts(limits: &Bounds, draft: &Draft, breaches: &mut Vec<Breach>) {
    let warning = draft.options.content_warning.as_ref().map_or("", |text| text.0.as_str());
    for part in 0..draft.parts() {
        let field = shared::field_of(part);
        let text = draft.text_of(part);
        let has_media = part == 0 && !draft.media.is_empty();
        if text.trim().is_empty() && !has_media {
            let message = "a post needs a text or media";
            breaches.push(Breach::new(&field, "empty", message));
        }
        let (length, most) = (length(warning, text, limits.characters_per_url), limits.characters);
        if length > most {
            let message = format!("{length} characters are too many: the server takes {most}");
            breaches.push(Breach::new(&field, "too_long", message));
        }
    }
}

fn media(instance: &Instance, media: &[Asset], breaches: &mut Vec<Breach>) {
    let most = instance.limits.media;
    if media.len() as u64 > most {
        let message = format!("the server takes at most {most} files in a post");
        breaches.push(Breach::new("media", "too_many", message));
    }
    let mixes = ["gotosocial", "pleroma", "akkoma", "pixelfed"];
    let mixes = mixes.iter().any(|software| instance.is(software));
    if media.len() > 1 && !mixes && !media.iter().all(Asset::is_image) {
        let message = "a video or a sound has to be the only file of a post";
        breaches.push(Breach::new("media", "mixed_media", message));
    }
    if media.is_empty() && instance.is("pixelfed") {
        let message = "the server takes no posts without a picture or a video";
        breaches.push(Breach::new("media", "empty", message));
    }
}

fn file(limits: &Bounds, asset: &Asset, field: &str, breaches: &mut Vec<Breach>) {
    let is_listed = limits.media_types.contains(&asset.media_type);
    let kinds = ["image/", "video/", "audio/"];
    let is_media = kinds.iter().any(|kind| asset.media_type.starts_with(kind));
    if !is_media || !(is_listed || limits.media_types.is_empty()) {
        let message = format!("the server takes no files of the type {}", asset.media_type);
        breaches.push(Breach::new(field, "media_type_not_supported", message));
    }
    let (most_bytes, most_pixels) = if asset.is_image() {
        (limits.image_bytes, limits.image_pixels)
    } else {
        (limits.video_bytes, limits.video_pixels)
    };
    if asset.bytes > most_bytes {
        let message = format!("the file is larger than the {most_bytes} bytes the server takes");
        breaches.push(Breach::new(field, "too_large", message));
    }
    let pixels = u64::from(asset.width.unwrap_or(0)) * u64::from(asset.height.unwrap_or(0));
    if pixels > most_pixels {
        let message = format!("{pixels} pixels are too many: the server takes {most_pixels}");
        breaches.push(Breach::new(field, "too_many_pixels", message));
    }
    let most = limits.alt_text_characters;
    if asset.alt_text.chars().count() as u64 > most {
        let message = format!("the server takes at most {most} characters of alternative text");
        breaches.push(Breach::new(format!("{field}.alt_text"), "too_long", message));
    }
}

fn poll_breaches(limits: &Bounds, poll: &Poll, draft: &Draft, breaches: &mut Vec<Breach>) {
    let mut add = |field: String, code, message| breaches.push(Breach::new(field, code, message));
    if !draft.media.is_empty() {
        add("options.poll".into(), "poll_with_media", "a post has a poll or media".into());
    }
    let options: Vec<&str> = poll.options.0.iter().map(|option| option.0.trim()).collect();
    let most = limits.poll_options;
    if options.len() < 2 || options.len() as u64 > most {
        let message = format!("a poll has 2 to {most} options on this server");
        add("options.poll.options".into(), "invalid_count", message);
    }
    for (index, option) in options.iter().enumerate() {
        let field = format!("options.poll.options[{index}]");
        let most = limits.poll_option_characters;
        if option.is_empty() {
            add(field, "empty", "an option needs a text".into());
        } else if options[..index].contains(option) {
            add(field, "duplicate", "the options of a poll have to differ".into());
        } else if length("", option, limits.characters_per_url) > most {
            add(field, "too_long", format!("an option has at most {most} characters"));
        }
    }
    let (least, most) = (limits.poll_least_seconds, limits.poll_most_seconds);
    let seconds = u64::try_from(poll.expires_in_seconds.0).unwrap_or(0);
    if !(least..=most).contains(&seconds) {
        let message = format!("a poll lasts {least} to {most} seconds on this server");
        add("options.poll.expires_in_seconds".into(), "out_of_range", message);
    }
}

fn options(instance: &Instance, options: &TargetOptions, breaches: &mut Vec<Breach>) {
    if options.languages.as_ref().is_some_and(|languages| languages.0.len() > 1) {
        let message = "a post has one language on Mastodon";
        breaches.push(Breach::new("options.languages", "too_many", message));
    }
    if options.visibility == Some(Visibility::Direct) && instance.is("pixelfed") {
        let message = "the server has no posts that only those mentioned can see";
        breaches.push(Breach::new("options.visibility", "option_not_supported", message));
    }
}

#[cfg(test)]
mod tests;
