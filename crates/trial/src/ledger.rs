//! What the platforms wrote down: one line for every post they took or turned down.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use campanile_model::time::Millis;
use serde::{Deserialize, Serialize};

use crate::{Outcome, diary::Words, doubles::Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event {
    Accepted,
    /// For good: the caller was told that this post is not wanted.
    Refused,
}

/// How a platform makes it hard to know that it accepted a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Trouble {
    /// It answers late, or when nobody waits any more.
    Late,
    /// It answers with a status of 500 and more.
    Failure,
    /// It cuts the connection.
    Reset,
}

impl Trouble {
    pub(crate) const ALL: [(Self, &'static str); 3] =
        [(Self::Late, "late"), (Self::Failure, "5xx"), (Self::Reset, "reset")];
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) event: Event,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) account: String,
    pub(crate) text: String,
    /// What the platform calls the post.
    pub(crate) id: String,
    pub(crate) at: Millis,
}

/// The side that writes.
pub(crate) struct Writer(File);

impl Writer {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Returns once the line is on the disk.
    pub(crate) fn write(&mut self, line: &Line) -> std::io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.0.write_all(text.as_bytes())?;
        self.0.sync_data()
    }
}

/// One line, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) event: Event,
    pub(crate) words: Words,
    pub(crate) id: String,
    pub(crate) at: Millis,
}

/// A post that an account got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) post: u64,
    pub(crate) at: Millis,
    trouble: Option<Trouble>,
}

/// The side that reads: the records of each post on each account.
#[derive(Default)]
pub(crate) struct Ledger {
    records: HashMap<(u64, String), Vec<Record>>,
    /// By account, in the order in which they came.
    accepted: HashMap<String, Vec<Accepted>>,
}

impl Ledger {
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let mut ledger = Self::default();
        // The platforms may be in the middle of a line.
        let whole = |line: &&str| line.ends_with('\n');
        for line in std::fs::read_to_string(path)?.split_inclusive('\n').filter(whole) {
            ledger.add(serde_json::from_str(line)?)?;
        }
        Ok(ledger)
    }

    pub(crate) fn add(&mut self, line: Line) -> Outcome {
        let words = Words::parse(&line.text).ok_or("a platform took a post of somebody else")?;
        if line.event == Event::Accepted {
            let accepted = Accepted { post: words.post, at: line.at, trouble: line.trouble };
            self.accepted.entry(line.account.clone()).or_default().push(accepted);
        }
        let record = Record { event: line.event, id: line.id, at: line.at, words };
        self.records.entry((record.words.post, line.account)).or_default().push(record);
        Ok(())
    }

    /// Everything that an account got.
    pub(crate) fn accepted_by(&self, account: &str) -> &[Accepted] {
        self.accepted.get(account).map_or(&[], Vec::as_slice)
    }

    /// When posts were accepted, by whichever account, in order.
    pub(crate) fn moments(&self) -> Vec<Millis> {
        let mut moments: Vec<Millis> =
            self.accepted.values().flatten().map(|accepted| accepted.at).collect();
        moments.sort_unstable();
        moments
    }

    /// How many posts a kind of platform accepted, and with this trouble if one is named.
    pub(crate) fn count(&self, kind: Kind, trouble: Option<Trouble>) -> usize {
        let own = self.accepted.iter().filter(|(account, _)| Kind::of(account) == Some(kind));
        let all = own.flat_map(|(_, accepted)| accepted);
        all.filter(|accepted| trouble.is_none() || accepted.trouble == trouble).count()
    }

    pub(crate) fn of(&self, post: u64, account: &str) -> &[Record] {
        self.records.get(&(post, account.to_owned())).map_or(&[], Vec::as_slice)
    }
}
