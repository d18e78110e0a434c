//! Identifiers: opaque, prefixed, ordered by the time they were made.

use std::{
    borrow::Cow,
    cell::RefCell,
    fmt,
    marker::PhantomData,
    sync::atomic::{AtomicU64, Ordering},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Millis;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 48 bits of time, 16 of sequence and 64 of chance, five bits a character.
const LENGTH: usize = 26;

/// What an identifier names; the prefix makes a mix-up visible to people as well.
pub trait Kind {
    const PREFIX: &'static str;
}

/// An identifier of one kind of thing.
pub struct Id<K> {
    text: String,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Id<K> {
    /// A new identifier, greater than all that this process made before.
    pub fn new(now: Millis) -> Self {
        Self::of_bits(u128::from(next_stamp(now)) << 64 | u128::from(chance()))
    }

    /// The least identifier that could have been made at `at`: splits a list by time.
    pub fn floor(at: Millis) -> Self {
        Self::of_bits(u128::from(at.clamp(0, (1 << 48) - 1).unsigned_abs()) << 80)
    }

    fn of_bits(bits: u128) -> Self {
        let mut text = String::with_capacity(K::PREFIX.len() + 1 + LENGTH);
        text.push_str(K::PREFIX);
        text.push('_');
        for position in (0..LENGTH).rev() {
            text.push(char::from(ALPHABET[(bits >> (position * 5) & 31) as usize]));
        }
        Self { text, kind: PhantomData }
    }

    /// An identifier from outside, if it has the right form.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(K::PREFIX)?.strip_prefix('_')?;
        let valid = body.len() == LENGTH
            && body.as_bytes()[0] <= b'7'
            && body.bytes().all(|byte| ALPHABET.contains(&byte));
        valid.then(|| Self { text: text.to_owned(), kind: PhantomData })
    }

    /// An identifier that the store gave back.
    pub fn stored(text: &str) -> Self {
        Self { text: text.to_owned(), kind: PhantomData }
    }
}

impl<K> Id<K> {
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<K: Kind> Id<K> {
    /// Makes all identifiers that come after greater than this one.
    pub fn stay_above(&self) {
        let digits = self.text.bytes().skip(K::PREFIX.len() + 1);
        let bits = digits.fold(0_u128, |bits, byte| {
            let digit = ALPHABET.iter().position(|digit| *digit == byte).unwrap_or(0);
            bits << 5 | digit as u128
        });
        LAST.fetch_max((bits >> 64) as u64, Ordering::Relaxed);
    }
}

/// Random bits, fetched from the system by the kilobyte: every request takes some for its id.
fn chance() -> u64 {
    thread_local! {
        static STOCK: RefCell<Vec<[u8; 8]>> = const { RefCell::new(Vec::new()) };
    }
    STOCK.with_borrow_mut(|stock| {
        let next = stock.pop().unwrap_or_else(|| {
            let mut fresh = [[0; 8]; 128];
            // Without randomness from the system no key or session could be safe either.
            getrandom::fill(fresh.as_flattened_mut()).expect("the system gives random bytes");
            stock.extend_from_slice(&fresh[1..]);
            fresh[0]
        });
        u64::from_be_bytes(next)
    })
}

static LAST: AtomicU64 = AtomicU64::new(0);

/// Milliseconds in the upper 48 bits, a counter in the lower 16: never the same, never less.
fn next_stamp(now: Millis) -> u64 {
    let wanted = now.clamp(0, (1 << 48) - 1).unsigned_abs() << 16;
    let last = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(wanted.max(last + 1)))
        .unwrap_or(0);
    wanted.max(last + 1)
}

impl<K> From<Id<K>> for String {
    fn from(id: Id<K>) -> Self {
        id.text
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        Self { text: self.text.clone(), kind: PhantomData }
    }
}

impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl<K> std::hash::Hash for Id<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::stored(&text))
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_id", K::PREFIX).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX),
            "examples": [format!("{}_01hf7yat00000000000000000a", K::PREFIX)],
        })
    }
}

macro_rules! kinds {
    ($($name:ident $kind:ident $prefix:literal),* $(,)?) => { $(
        #[derive(Debug)]
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        pub type $name = Id<$kind>;
    )* };
}

kinds! {
    WorkspaceId Workspace "ws",
    UserId User "user",
    BrandId Brand "brand",
    KeyId Key "key",
    SessionId Session "sess",
    PostId Post "post",
    ConnectionId Connection "conn",
    JobId Job "job",
    AttemptId Attempt "attempt",
    EventId Event "event",
    SandboxPostId SandboxPost "sandbox",
    MediaId Media "media",
    BlobId Blob "blob",
    UploadId Upload "upload",
    AuditId Audit "audit",
    RequestId Request "req",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_are_greater_even_within_a_millisecond() {
        let ids: Vec<_> = (0..1000).map(|_| PostId::new(1_700_000_000_000).text).collect();

        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_floor_of_a_moment_lies_below_every_id_made_then() {
        let at = 1_900_000_000_000;

        assert!(PostId::floor(at).text < PostId::new(at).text);
        assert!(PostId::new(at).text < PostId::floor(at + 1000).text);
    }

    #[test]
    fn only_the_exact_form_is_an_id() {
        let id = PostId::new(1).text;

        assert!(PostId::parse(&id).is_some());
        assert!(BrandId::parse(&id).is_none());
        for wrong in [id.to_uppercase(), format!("{id} "), id.replace('_', "-"), id[..10].into()] {
            assert!(PostId::parse(&wrong).is_none(), "{wrong}");
        }
    }
}
