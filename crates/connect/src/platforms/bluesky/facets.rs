//! Mentions, links and hashtags in a text, found where the network's own app finds them.

use unicode_segmentation::UnicodeSegmentation;
use url::Url;

use super::domains::{is_known, is_punctuation};
use super::identity::normal_handle;

const TAG_GRAPHEMES: usize = 64;
const TAG_BYTES: usize = 640;
const CASHTAG_CHARACTERS: usize = 5;

/// A stretch of the text that is more than text, in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) feature: Feature,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// A handle, of which it is not known yet whether it exists.
    Mention(String),
    Link(String),
    Tag(String),
}

/// Everything found in the text, in order and without overlaps.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut before = None;
    for (start, character) in text.char_indices() {
        let is_inside = spans.last().is_some_and(|span| start < span.end);
        if !is_inside && let Some((length, feature)) = at(&text[start..], before) {
            spans.push(Span { start, end: start + length, feature });
        }
        before = Some(character);
    }
    spans
}

/// The handles that the text mentions, each once.
pub(super) fn mentions(text: &str) -> Vec<String> {
    let mut handles: Vec<String> = Vec::new();
    for span in find(text) {
        if let Feature::Mention(handle) = span.feature
            && !handles.contains(&handle)
        {
            handles.push(handle);
        }
    }
    handles
}

/// What begins here, and how many bytes of the text it takes.
fn at(text: &str, before: Option<char>) -> Option<(usize, Feature)> {
    let starts_word = before.is_none_or(char::is_whitespace);
    if !starts_word && before != Some('(') {
        return None;
    }
    match text.chars().next()? {
        '@' => mention(text),
        '#' | '＃' if starts_word => tag(text),
        '$' => cashtag(text),
        _ => link(text),
    }
}

fn mention(text: &str) -> Option<(usize, Feature)> {
    let rest = &text[1..];
    let run = leading(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    if rest[run.len()..].starts_with('_') {
        return None;
    }
    let handle = run.trim_end_matches(['.', '-']);
    Some((1 + handle.len(), Feature::Mention(normal_handle(handle)?)))
}

fn tag(text: &str) -> Option<(usize, Feature)> {
    let sign = text.chars().next()?.len_utf8();
    let is_invisible =
        |c| matches!(c, '\u{ad}' | '\u{2060}' | '\u{200a}'..='\u{200d}' | '\u{20e2}');
    let run = leading(&text[sign..], |c| !c.is_whitespace() && !is_invisible(c));
    let tag = run.trim_end_matches(is_punctuation);
    // A variation selector makes the sign part of an emoji.
    let is_tag = !tag.starts_with('\u{fe0f}')
        && tag.contains(|c: char| !c.is_numeric() && !is_punctuation(c))
        && tag.len() <= TAG_BYTES
        && tag.graphemes(true).count() <= TAG_GRAPHEMES;
    is_tag.then(|| (sign + tag.len(), Feature::Tag(tag.to_owned())))
}

/// The sign of a share, such as `$ABC`.
fn cashtag(text: &str) -> Option<(usize, Feature)> {
    let symbol = leading(&text[1..], |c| c.is_ascii_alphanumeric());
    let next = text[1 + symbol.len()..].chars().next();
    let ends = next.is_none_or(|c| c.is_whitespace() || ".,;:!?)\"'\u{2019}".contains(c));
    let is_symbol = symbol.starts_with(|c: char| c.is_ascii_alphabetic())
        && symbol.len() <= CASHTAG_CHARACTERS
        && ends;
    is_symbol.then(|| (1 + symbol.len(), Feature::Tag(format!("${}", symbol.to_uppercase()))))
}

fn link(text: &str) -> Option<(usize, Feature)> {
    let word = leading(text, |c| !c.is_whitespace());
    let address = without_sentence(word);
    let rest = strip_scheme(address);
    let uri = match rest {
        Some(rest) if rest.starts_with('/') => return None,
        Some(_) => address.to_owned(),
        None if is_bare_domain(address) => format!("https://{address}"),
        None => return None,
    };
    Url::parse(&uri).ok()?.host_str()?;
    Some((address.len(), Feature::Link(uri)))
}

/// A sign that closes the sentence or the bracket around an address is not part of it.
fn without_sentence(word: &str) -> &str {
    let word = word.strip_suffix(['.', ',', ';', ':', '!', '?']).unwrap_or(word);
    match word.strip_suffix(')') {
        Some(inner) if !word.contains('(') => inner,
        _ => word,
    }
}

fn strip_scheme(address: &str) -> Option<&str> {
    ["https://", "http://"].iter().find_map(|scheme| {
        let head = address.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| &address[scheme.len()..])
    })
}

/// An address without a scheme: a domain that can exist, and perhaps a path.
fn is_bare_domain(address: &str) -> bool {
    let domain = leading(address, |c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    let rest = &address[domain.len()..];
    let begins = domain.starts_with(|c: char| c.is_ascii_alphabetic());
    // An ending in capitals is rather a sentence that begins without a space before it.
    let ends = domain.rsplit_once('.').is_some_and(|(_, last)| is_known(last));
    // What goes on with an at sign is an e-mail address.
    let goes_on = rest.is_empty() || rest.starts_with(['/', ':', '?', '#']);
    begins && ends && goes_on && normal_handle(domain).is_some()
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c: char| !belongs(c)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests;
