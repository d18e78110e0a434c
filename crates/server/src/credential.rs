//! The text of API keys and session tokens.
//!
//! `camp_live_` + 32 random characters + 6 of checksum: a mistyped or cut key is recognised
//! without a look into the store, and a leaked one by anybody who scans for it.

use zeroize::Zeroizing;

use crate::vault;

const KEY_PREFIX: &str = "camp_live_";
const SESSION_PREFIX: &str = "camp_session_";
const RANDOM: usize = 32;
const CHECKSUM: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What kind of credential a text has the form of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Key,
    Session,
}

/// A new credential, to be shown once.
pub(crate) struct Fresh {
    pub(crate) text: Zeroizing<String>,
    pub(crate) hash: [u8; 32],
    /// Enough of it to be recognised by its owner, not enough to be guessed.
    pub(crate) hint: String,
}

pub(crate) fn new_key() -> Fresh {
    fresh(KEY_PREFIX)
}

pub(crate) fn new_session() -> Fresh {
    fresh(SESSION_PREFIX)
}

fn fresh(prefix: &str) -> Fresh {
    let mut text = Zeroizing::new(format!("{prefix}{}", random_text(RANDOM).as_str()));
    let sum = checksum(&text);
    text.push_str(&sum);
    let hint = format!("{}…{}", &text[..prefix.len() + 4], &text[text.len() - 4..]);
    Fresh { hash: vault::sha256(text.as_bytes()), hint, text }
}

/// Characters of base 62, each as likely as the others.
pub(crate) fn random_text(length: usize) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(length));
    while text.len() < length {
        // 248 is the largest multiple of 62 in a byte; above it some would be likelier.
        let bytes = vault::random::<32>();
        let fair = bytes.iter().filter(|byte| **byte < 248);
        let wanted = length - text.len();
        text.extend(fair.take(wanted).map(|byte| char::from(BASE62[usize::from(byte % 62)])));
    }
    text
}

fn checksum(text: &str) -> String {
    let mut sum = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(sum % 62) as usize];
        sum /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

/// The form and hash of a credential whose checksum is right; `None` for everything else.
pub(crate) fn recognise(text: &str) -> Option<(Form, [u8; 32])> {
    let (form, body) = if let Some(body) = text.strip_prefix(KEY_PREFIX) {
        (Form::Key, body)
    } else {
        (Form::Session, text.strip_prefix(SESSION_PREFIX)?)
    };
    let plain = body.len() == RANDOM + CHECKSUM && body.bytes().all(|b| b.is_ascii_alphanumeric());
    if !plain {
        return None;
    }
    let (rest, sum) = text.split_at(text.len() - CHECKSUM);
    (checksum(rest) == sum).then(|| (form, vault::sha256(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_credential_is_recognised_and_a_changed_one_is_not() {
        let key = new_key();
        assert_eq!(recognise(&key.text), Some((Form::Key, key.hash)));
        let session = new_session();
        assert_eq!(recognise(&session.text), Some((Form::Session, session.hash)));

        for at in 0..key.text.len() {
            let mut bytes = key.text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(recognise(std::str::from_utf8(&bytes).unwrap()), None, "at {at}");
        }
        for wrong in ["", "camp_live_", &key.text[1..], &format!("{} ", &*key.text)] {
            assert_eq!(recognise(wrong), None);
        }
    }
}
