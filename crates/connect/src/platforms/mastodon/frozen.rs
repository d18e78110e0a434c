//! What one publish will say, fixed before the first call.

use campanile_model::post::{Poll, Visibility};
use campanile_model::publish::{Class, Failure};
use campanile_model::time::{MINUTE, Millis};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::wire::{NewPoll, NewStatus};
use crate::platforms::{Draft, Operation};

/// The clocks of two servers may differ by so much.
const CLOCKS: Millis = 2 * MINUTE;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Frozen {
    /// What the keys of the calls are made of.
    key: String,
    pub due: Millis,
    /// The statuses that were there before the first call, so far as they could be mistaken for
    /// this one. Somebody may say the same twice on purpose: the older of two equal statuses
    /// must not be taken for the newer one, and once a call was made they look alike. `None`
    /// when nobody looked.
    pub seen: Option<Vec<String>>,
    /// The body of the call.
    pub status: NewStatus,
}

impl Frozen {
    /// Everything but what only a server can tell: the ids of media, and what is there already.
    pub(super) fn new(draft: &Draft, operation: &Operation<'_>) -> Result<Self, Failure> {
        let status = status(draft, operation)?;
        Ok(Self { key: operation.key.to_owned(), due: operation.due, seen: None, status })
    }

    pub(super) fn read(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|_| {
            let message = "what was prepared for this post cannot be read any more";
            Failure::new(Class::Rejected, "unreadable_preparation", message)
        })
    }

    pub(super) fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| {
            Failure::new(Class::Rejected, "unwritable_preparation", error.to_string())
        })
    }

    /// The key of the call, the same at every try. A further round has a key of its own, for
    /// servers on which a failed call uses its key up.
    pub(super) fn call_key(&self, round: u32) -> String {
        let digest = Sha256::digest(format!("campanile status {round} {}", self.key));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        // Some servers want what looks like a UUID; this is the kind that is made from a name.
        bytes[6] = bytes[6] & 0x0f | 0x50;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let number = u128::from_be_bytes(bytes);
        let text = format!("{number:032x}");
        [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
    }

    /// Nothing that was created before can be this post.
    pub(super) fn since(&self) -> Millis {
        self.due - CLOCKS
    }
}

fn status(draft: &Draft, operation: &Operation<'_>) -> Result<NewStatus, Failure> {
    let options = &draft.options;
    let is_first = operation.part == 0;
    let spoiler_text = options.content_warning.as_ref().map(|text| text.0.clone());
    let language = options.languages.as_ref().and_then(|list| list.0.first());
    Ok(NewStatus {
        status: draft.text_of(operation.part).to_owned(),
        media_ids: Vec::new(),
        in_reply_to_id: parent(operation)?,
        sensitive: options.sensitive.unwrap_or(false) || spoiler_text.is_some(),
        spoiler_text,
        visibility: visibility(options.visibility, is_first).to_owned(),
        language: language.map(|text| text.0.clone()),
        poll: options.poll.as_ref().filter(|_| is_first).map(poll),
    })
}

/// Every part of a thread answers the one before it.
fn parent(operation: &Operation<'_>) -> Result<Option<String>, Failure> {
    if operation.part == 0 {
        return Ok(None);
    }
    let Some(receipt) = operation.previous.last() else {
        let message = "the part before this one is not known";
        return Err(Failure::new(Class::MissingContent, "thread_broken", message));
    };
    Ok(Some(receipt.reference.as_ref().unwrap_or(&receipt.remote_id).clone()))
}

/// The parts after the first would crowd the public timelines; so it is the custom to keep them
/// out of there.
fn visibility(chosen: Option<Visibility>, is_first: bool) -> &'static str {
    match chosen {
        Some(visibility) => visibility.as_str(),
        None if is_first => Visibility::Public.as_str(),
        None => Visibility::Unlisted.as_str(),
    }
}

fn poll(poll: &Poll) -> NewPoll {
    NewPoll {
        options: poll.options.0.iter().map(|option| option.0.clone()).collect(),
        expires_in: poll.expires_in_seconds.0,
        multiple: poll.multiple.unwrap_or(false),
        hide_totals: poll.hide_totals.unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use campanile_model::decode::{List, Text};
    use campanile_model::post::TargetOptions;
    use campanile_model::publish::Receipt;

    use super::*;

    fn operation<'a>(key: &'a str, part: u32, previous: &'a [Receipt]) -> Operation<'a> {
        Operation { key, due: 1_794_735_000_000, part, previous, earlier: None }
    }

    fn thread(visibility: Option<Visibility>) -> Draft {
        let thread = Some(List(vec![Text("two".to_owned()), Text("three".to_owned())]));
        let options = TargetOptions { thread, visibility, ..TargetOptions::default() };
        Draft { text: "one".to_owned(), options, ..Draft::default() }
    }

    #[test]
    fn keys_look_like_uuids_and_differ_by_operation_and_round() {
        let frozen = |key| Frozen::new(&Draft::default(), &operation(key, 0, &[])).unwrap();

        let key = frozen("op1").call_key(0);

        assert_eq!(key, frozen("op1").call_key(0));
        assert_ne!(key, frozen("op1").call_key(1));
        assert_ne!(key, frozen("op2").call_key(0));
        let lengths: Vec<usize> = key.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&key[14..15], "5");
        assert!("89ab".contains(&key[19..20]), "{key}");
    }

    #[test]
    fn parts_answer_each_other_and_stay_out_of_the_public_timeline() {
        let receipt =
            |id: &str| Receipt { remote_id: id.into(), url: None, reference: Some(id.into()) };
        let previous = [receipt("1"), receipt("2")];

        let first = Frozen::new(&thread(None), &operation("a", 0, &[])).unwrap().status;
        let third = Frozen::new(&thread(None), &operation("a", 2, &previous)).unwrap().status;
        let private = thread(Some(Visibility::Private));
        let private = Frozen::new(&private, &operation("a", 2, &previous)).unwrap().status;

        assert_eq!((first.status.as_str(), first.visibility.as_str()), ("one", "public"));
        assert_eq!(first.in_reply_to_id, None);
        assert_eq!((third.status.as_str(), third.visibility.as_str()), ("three", "unlisted"));
        assert_eq!(third.in_reply_to_id.as_deref(), Some("2"));
        assert_eq!(private.visibility, "private");
    }

    #[test]
    fn a_part_without_a_part_before_it_is_not_published() {
        let failure = Frozen::new(&thread(None), &operation("a", 1, &[])).unwrap_err();
        assert_eq!(failure.code, "thread_broken");
    }

    #[test]
    fn what_is_frozen_thaws_as_it_was() {
        let mut frozen = Frozen::new(&thread(None), &operation("a", 0, &[])).unwrap();
        frozen.seen = Some(vec!["7".to_owned()]);

        let json = frozen.to_json().unwrap();

        assert_eq!(Frozen::read(&json).unwrap(), frozen);
        assert!(!json.contains("scheduled_at"));
        assert_eq!(Frozen::read("{}").unwrap_err().class, Class::Rejected);
    }
}
