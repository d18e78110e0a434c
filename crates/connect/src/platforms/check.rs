//! Checks that most platforms share.

use super::{About, Breach, Draft};

/// Options that the platform does not have.
pub fn options(about: &About, draft: &Draft) -> Vec<Breach> {
    let options = &draft.options;
    let given = [
        ("visibility", options.visibility.is_some()),
        ("content_warning", options.content_warning.is_some()),
        ("sensitive", options.sensitive.is_some()),
        ("languages", options.languages.is_some()),
        ("labels", options.labels.is_some()),
        ("thread", options.thread.is_some()),
        ("poll", options.poll.is_some()),
        ("link", options.link.is_some()),
        ("outcome", options.outcome.is_some()),
    ];
    given
        .into_iter()
        .filter(|(name, given)| *given && !about.options.contains(name))
        .map(|(name, _)| {
            let message = format!("{} has no such option", about.name);
            Breach::new(format!("options.{name}"), "option_not_supported", message)
        })
        .collect()
}

/// Texts that are too long, parts that are too many, and a post without anything in it.
pub fn texts(about: &About, draft: &Draft, length: impl Fn(&str) -> usize) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let most = about.limits.characters as usize;
    for part in 0..draft.parts() {
        let found = length(draft.text_of(part));
        if found > most {
            let counted = about.limits.counted_in;
            let message =
                format!("{} takes at most {most} {counted}; this has {found}", about.name);
            breaches.push(Breach::new(field_of(part), "too_long", message));
        }
        let empty = draft.text_of(part).trim().is_empty();
        let bare = draft.media.is_empty() && draft.options.link.is_none();
        if empty && (part > 0 || bare) {
            let message = "there is nothing to publish: no text, no media, no link";
            breaches.push(Breach::new(field_of(part), "empty", message));
        }
    }
    if draft.parts() > about.limits.thread_parts {
        let message = format!("a thread has at most {} parts", about.limits.thread_parts);
        breaches.push(Breach::new("options.thread", "too_many", message));
    }
    breaches
}

/// The field that holds the text of a part.
pub fn field_of(part: u32) -> String {
    match part.checked_sub(1) {
        None => "content".to_owned(),
        Some(number) => format!("options.thread[{number}]"),
    }
}

/// Too many files, files of the wrong kind, files and alt texts that are too large.
pub fn media(about: &About, draft: &Draft) -> Vec<Breach> {
    let limits = &about.limits;
    let mut breaches = Vec::new();
    if draft.files().len() > limits.media as usize {
        let message = format!("{} takes at most {} files", about.name, limits.media);
        breaches.push(Breach::new("media", "too_many", message));
    }
    for (index, asset) in draft.media.iter().enumerate() {
        let field = format!("media[{index}]");
        if !limits.media_types.contains(&asset.media_type.as_str()) {
            let message = format!("{} does not take {}", about.name, asset.media_type);
            breaches.push(Breach::new(&*field, "media_type_not_supported", message));
        }
        let most = if asset.is_video() { limits.video_bytes } else { limits.image_bytes };
        if asset.bytes > most {
            let message = format!("{} takes at most {most} bytes", about.name);
            breaches.push(Breach::new(&*field, "too_large", message));
        }
        if asset.alt_text.chars().count() > limits.alt_text_characters as usize {
            let message = format!("at most {} characters", limits.alt_text_characters);
            breaches.push(Breach::new(format!("{field}.alt_text"), "too_long", message));
        }
    }
    breaches
}
