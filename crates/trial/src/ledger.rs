//! What the platforms wrote down: one line for every post they took or turned down.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use campanile_model::time::Millis;
use serde::{Deserialize, Serialize};

use crate::{Outcome, diary::Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event {
    Accepted,
    /// For good: the caller was told that this post is not wanted.
    Refused,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) event: Event,
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

/// The side that reads: the records of each post on each account.
#[derive(Default)]
pub(crate) struct Ledger {
    records: HashMap<(u64, String), Vec<Record>>,
    pub(crate) accepted: HashMap<String, usize>,
}

impl Ledger {
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let mut ledger = Self::default();
        for line in std::fs::read_to_string(path)?.lines() {
            ledger.add(serde_json::from_str(line)?)?;
        }
        Ok(ledger)
    }

    pub(crate) fn add(&mut self, line: Line) -> Outcome {
        let words = Words::parse(&line.text).ok_or("a platform took a post of somebody else")?;
        if line.event == Event::Accepted {
            *self.accepted.entry(line.account.clone()).or_default() += 1;
        }
        let record = Record { event: line.event, id: line.id, at: line.at, words };
        self.records.entry((record.words.post, line.account)).or_default().push(record);
        Ok(())
    }

    pub(crate) fn of(&self, post: u64, account: &str) -> &[Record] {
        self.records.get(&(post, account.to_owned())).map_or(&[], Vec::as_slice)
    }
}
