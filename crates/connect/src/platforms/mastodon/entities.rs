//! Web addresses and mentions in a text, found the way Mastodon finds them.

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// With `http://` or `https://`; other addresses are ordinary text.
    Url(&'a str),
    /// `@user@domain`, or `@user` on the same server; `name` is the part before the domain.
    Mention {
        name: &'a str,
    },
}

/// Cuts a text into stretches; their order is that of the text.
pub(super) fn split(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut plain_from, mut at) = (0, 0);
    let mut previous = None;
    while let Some(character) = text[at..].chars().next() {
        let found = url_at(&text[at..], previous).or_else(|| mention_at(&text[at..], previous));
        let Some((piece, length)) = found else {
            at += character.len_utf8();
            previous = Some(character);
            continue;
        };
        if plain_from < at {
            pieces.push(Piece::Text(&text[plain_from..at]));
        }
        pieces.push(piece);
        at += length;
        plain_from = at;
        previous = text[..at].chars().next_back();
    }
    if plain_from < text.len() {
        pieces.push(Piece::Text(&text[plain_from..]));
    }
    pieces
}

fn url_at(rest: &str, previous: Option<char>) -> Option<(Piece<'_>, usize)> {
    let glued = |c: char| c.is_ascii_alphanumeric() || "@＠$#＃".contains(c);
    if previous.is_some_and(glued) {
        return None;
    }
    let protocol = ["https://", "http://"].into_iter().find(|protocol| {
        rest.get(..protocol.len()).is_some_and(|start| start.eq_ignore_ascii_case(protocol))
    })?;
    let mut length = protocol.len();
    length += domain_length(&rest[length..])?;
    length += port_length(&rest[length..]);
    length += path_length(&rest[length..]);
    length += query_length(&rest[length..]);
    Some((Piece::Url(&rest[..length]), length))
}

/// Mastodon knows the list of top level domains; here whatever looks like one counts as one.
fn domain_length(rest: &str) -> Option<usize> {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    let domain = &rest[..end.unwrap_or(rest.len())];
    let domain = domain.split("..").next()?.trim_end_matches(['.', '-', '_']);
    let (name, top) = domain.rsplit_once('.')?;
    let is_top = top.chars().count() >= 2
        && (top.starts_with("xn--") || top.chars().all(char::is_alphabetic));
    (!name.is_empty() && !name.starts_with('.') && is_top).then_some(domain.len())
}

fn port_length(rest: &str) -> usize {
    let digits = rest
        .strip_prefix(':')
        .map_or("", |rest| &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]);
    if digits.is_empty() { 0 } else { 1 + digits.len() }
}

fn is_path(c: char) -> bool {
    !c.is_whitespace() && !"<>()?".contains(c)
}

/// Punctuation at the end belongs to the sentence; brackets belong to the path in pairs.
fn path_length(rest: &str) -> usize {
    if !rest.starts_with('/') {
        return 0;
    }
    let (mut at, mut end) = (1, 1);
    while let Some(character) = rest[at..].chars().next() {
        if character == '(' {
            let Some(length) = bracket_length(&rest[at..]) else { break };
            at += length;
            end = at;
        } else if is_path(character) {
            at += character.len_utf8();
            if !"!*\"'「」;:=,.$%[]~&|@".contains(character) {
                end = at;
            }
        } else {
            break;
        }
    }
    end
}

fn bracket_length(rest: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in rest.char_indices() {
        match character {
            '(' if depth == 2 => return None,
            '(' => depth += 1,
            ')' if depth == 1 => return (at > 1).then_some(at + 1),
            ')' => depth -= 1,
            other if is_path(other) => {}
            _ => return None,
        }
    }
    None
}

fn query_length(rest: &str) -> usize {
    if !rest.starts_with('?') {
        return 0;
    }
    let mut end = 0;
    for (at, character) in rest.char_indices().skip(1) {
        let wide = character >= '\u{a0}' && !character.is_whitespace();
        if character.is_ascii_alphanumeric() || wide || "_&=#/-".contains(character) {
            end = at + character.len_utf8();
        } else if !"!?*'();:+$%[].,~|@^".contains(character) {
            break;
        }
    }
    end
}

fn mention_at(rest: &str, previous: Option<char>) -> Option<(Piece<'_>, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if previous.is_some_and(|c| is_word(c) || "=/".contains(c)) {
        return None;
    }
    let after = rest.strip_prefix('@')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = joined(after, is_name)?;
    let domain = after[name.len()..].strip_prefix('@').and_then(|rest| joined(rest, is_word));
    let length = 1 + name.len() + domain.map_or(0, |domain| 1 + domain.len());
    Some((Piece::Mention { name }, length))
}

/// The longest start made of such characters, with dots and hyphens between them.
fn joined(text: &str, is_part: impl Fn(char) -> bool) -> Option<&str> {
    let end = text.find(|c: char| !(is_part(c) || ".-".contains(c))).unwrap_or(text.len());
    let found = text[..end].trim_end_matches(['.', '-']);
    (!found.is_empty() && !found.starts_with(['.', '-'])).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<&str> {
        let url = |piece| match piece {
            Piece::Url(url) => Some(url),
            Piece::Text(_) | Piece::Mention { .. } => None,
        };
        split(text).into_iter().filter_map(url).collect()
    }

    #[test]
    fn an_address_ends_where_the_sentence_goes_on() {
        for (text, found) in [
            ("see https://example.com.", "https://example.com"),
            ("(https://example.com/a)", "https://example.com/a"),
            ("https://en.example.org/wiki/A_(b) and", "https://en.example.org/wiki/A_(b)"),
            ("https://example.com/a, then", "https://example.com/a"),
            ("HTTPS://EXAMPLE.COM/?q=a&b=1!", "HTTPS://EXAMPLE.COM/?q=a&b=1"),
            ("https://example.com:8080/x/?", "https://example.com:8080/x/"),
            ("https://bücher.example/straße?ä=ö", "https://bücher.example/straße?ä=ö"),
            ("日本https://example.jp/あ 語", "https://example.jp/あ"),
            ("https://example.com/@user@other.example", "https://example.com/@user@other.example"),
        ] {
            assert_eq!(urls(text), [found], "{text}");
        }
    }

    #[test]
    fn what_is_no_address_stays_text() {
        for text in [
            "example.com",
            "https://",
            "https://localhost/a",
            "http://127.0.0.1/",
            "xhttps://example.com",
            "@https://example.com",
            "ftp://example.com",
            "https://.example",
            "https://example..com",
        ] {
            assert!(urls(text).is_empty(), "{text}: {:?}", urls(text));
        }
    }

    #[test]
    fn mentions_are_found_with_and_without_a_domain() {
        let text = "@a hi @b.c@example.social. mail me@example.com =@x /@y @d@ @-";

        let names: Vec<_> = split(text)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Mention { name } => Some(name),
                Piece::Text(_) | Piece::Url(_) => None,
            })
            .collect();

        assert_eq!(names, ["a", "b.c", "d"]);
    }

    #[test]
    fn no_text_makes_it_stumble() {
        for text in
            ["", "@", "@@", "https://a.bc/(", "https://a.bc?", "é@é@é", "https://ä.ö(", "\u{0}"]
        {
            let _ = split(text);
        }
    }
}
