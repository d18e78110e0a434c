//! Texts as Mastodon counts them, and as they can be compared with what a server shows.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::entities::{Piece, split};

/// How long a server finds a post: every address counts the same, and of a mention the name.
pub(super) fn length(spoiler: &str, text: &str, per_url: u64) -> u64 {
    let placeholder = "x".repeat(usize::try_from(per_url).unwrap_or(0).min(1000));
    let mut counted = spoiler.to_owned();
    for piece in split(text) {
        match piece {
            Piece::Text(text) => counted.push_str(text),
            Piece::Url(_) => counted.push_str(&placeholder),
            Piece::Mention { name } => counted.extend(["@", name]),
        }
    }
    counted.graphemes(true).count() as u64
}

/// A text in the form in which two of them are compared: servers set spaces of their own, and
/// show a mention without its domain.
pub(super) fn comparable(text: &str) -> String {
    let mut shortened = String::with_capacity(text.len());
    for piece in split(text) {
        match piece {
            Piece::Text(text) | Piece::Url(text) => shortened.push_str(text),
            Piece::Mention { name } => shortened.extend(["@", name]),
        }
    }
    let words: Vec<&str> = shortened.split_whitespace().collect();
    words.join(" ").nfc().collect()
}

/// The text that a piece of HTML shows, with the parts of it that a browser would hide.
pub(super) fn from_html(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (shown, length) = if rest.starts_with('<') { tag(rest) } else { entity(rest) };
        text.extend(shown);
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// What a tag puts between the words around it, and how long it is.
fn tag(rest: &str) -> (Option<char>, usize) {
    let name = rest[1..].trim_start_matches('/');
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!');
    let Some(end) = rest.find('>').filter(|_| is_tag) else { return (Some('<'), 1) };
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let inline = ["a", "span", "b", "i", "em", "strong", "u", "s", "del", "code", "small", "sup"];
    let is_inline = inline.iter().any(|inline| name.eq_ignore_ascii_case(inline));
    ((!is_inline).then_some('\n'), end + 1)
}

fn entity(rest: &str) -> (Option<char>, usize) {
    let end = rest.bytes().take(12).position(|byte| byte == b';');
    let Some(end) = end else { return (Some('&'), 1) };
    let name = &rest[1..end];
    let number = || {
        let digits = name.strip_prefix('#')?;
        let number = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        char::from_u32(number.ok()?)
    };
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => number(),
    };
    if character.is_some() { (character, end + 1) } else { (Some('&'), 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_people_see_them() {
        for (text, count) in
            [("", 0), ("abc", 3), ("e\u{301}", 1), ("👨‍👩‍👧‍👦🇩🇪👍🏽", 3), ("한국어", 3), ("a\r\nb", 3)]
        {
            assert_eq!(length("", text, 23), count, "{text}");
        }
    }

    #[test]
    fn an_address_counts_the_same_whatever_its_length() {
        let long = format!("https://example.com/{}", "a".repeat(300));

        assert_eq!(length("", &long, 23), 23);
        assert_eq!(length("", "https://a.bc", 23), 23);
        assert_eq!(length("", "see https://a.bc.", 23), 28);
        assert_eq!(length("", "https://a.bc https://a.bc", 25), 51);
        assert_eq!(length("", "example.com", 23), 11, "without a protocol it is text");
    }

    #[test]
    fn of_a_mention_the_name_counts_and_a_warning_counts_in_full() {
        assert_eq!(length("", "@someone@a.very.long.domain.example hi", 23), 11);
        assert_eq!(length("", "@someone", 23), 8);
        assert_eq!(length("spoiler", "text", 23), 11);
        assert_eq!(length("https://example.com/abc", "", 23), 23);
        assert_eq!(length("https://example.com/abcd", "", 23), 24, "a warning has no links");
    }

    #[test]
    fn html_becomes_the_text_that_was_sent() {
        let sent = "Hello <b> & \"q\"\n\nnew  para\nline https://example.com/a?b=c&d=e #tag \
                    @someone@other.example cafe\u{301} 1 < 2";
        let shown = "<p>Hello &lt;b&gt; &amp; &quot;q&#39;</p>".replace("&#39;", "&#34;")
            + "<p>new para<br />line <a href=\"https://example.com/a?b=c&amp;d=e\"><span \
               class=\"invisible\">https://</span><span class=\"ellipsis\">example.com/a?b</span>\
               <span class=\"invisible\">=c&amp;d=e</span></a> <a class=\"mention\">#<span>tag\
               </span></a> <span class=\"h-card\"><a class=\"u-url\">@<span>someone</span></a>\
               </span> café 1 &lt; 2</p>";

        assert_eq!(comparable(&from_html(&shown)), comparable(sent));
    }

    #[test]
    fn broken_html_is_text() {
        for (html, text) in [
            ("a < b", "a < b"),
            ("a <", "a <"),
            ("<p", "<p"),
            ("&", "&"),
            ("&copy; &#xZZ; &#1114112;", "&copy; &#xZZ; &#1114112;"),
            ("&#x1F600;&#128512;", "😀😀"),
            ("&ääääääää;", "&ääääääää;"),
            ("<!-- x -->a", "\na"),
        ] {
            assert_eq!(from_html(html), text, "{html}");
        }
    }

    #[test]
    fn spaces_and_composition_make_no_difference_but_words_do() {
        assert_eq!(comparable(" a\n\n b\u{a0}c "), comparable("a b c"));
        assert_eq!(comparable("caf\u{e9}"), comparable("cafe\u{301}"));
        assert_ne!(comparable("a b"), comparable("ab"));
        assert_ne!(comparable("Doors open"), comparable("Doors open!"));
    }
}
