//! The name of one publish, the same however often it is tried.

use campanile_connect::platforms::Operation;
use campanile_store::publish::Entry;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// What the platform gets to know of the publish that an entry is about to do.
pub(crate) fn of<'e>(entry: &'e Entry, key: &'e str) -> Operation<'e> {
    Operation {
        key,
        due: entry.flow.due,
        part: entry.flow.part,
        previous: &entry.receipts,
        earlier: entry.frozen.as_deref(),
    }
}

/// Made of the job, the entry and the part: a new job is a new publish, a new try is not.
pub(crate) fn key(entry: &Entry) -> String {
    let name = &entry.name;
    let text = format!("publish|{}|{}|{}|{}", name.brand, name.job, name.number, entry.flow.part);
    let hash = Sha256::digest(text.as_bytes());
    let mut key = String::with_capacity(52);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in hash {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            key.push(char::from(ALPHABET[(bits >> held & 31) as usize]));
        }
        bits &= (1 << held) - 1;
    }
    key
}
