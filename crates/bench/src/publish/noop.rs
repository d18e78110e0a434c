//! A platform that takes everything at once, and notes when it was called.

use std::sync::{Arc, Mutex, PoisonError};

use campanile_connect::platforms::{
    About, Access, Account, Answer, Breach, Connect, Doing, Draft, Limits, Operation, Platform,
    Sight,
};
use campanile_model::publish::{Class, Failure, Receipt, Safety};

static ABOUT: About = About {
    id: "noop",
    name: "Nobody",
    connect: Connect::OAuth,
    post_types: &["text"],
    options: &[],
    limits: Limits {
        characters: 10_000,
        counted_in: "characters",
        media: 0,
        image_bytes: 0,
        video_bytes: 0,
        alt_text_characters: 0,
        media_types: &[],
        thread_parts: 1,
    },
    at_once: 1024,
};

/// Microseconds since 1970, of a due time and of the call.
type Call = (i64, i64);

#[derive(Clone, Default)]
pub(super) struct Noop {
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Noop {
    /// How long after its time each call came, in milliseconds, since the last question.
    pub(super) fn lateness(&self) -> Vec<f64> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = std::mem::take(&mut *calls);
        calls.iter().map(|(due, called)| (called - due) as f64 / 1000.0).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured happens in real time")]
pub(super) fn micros() -> i64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
}

impl Platform for Noop {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn safety(&self, _: &Account) -> Safety {
        Safety::ChosenId
    }

    fn check(&self, _: &Account, _: &Draft) -> Vec<Breach> {
        Vec::new()
    }

    fn freeze(&self, _: &Account, _: &Draft, operation: &Operation<'_>) -> Option<String> {
        Some(operation.due.to_string())
    }

    fn prepare<'a>(
        &'a self,
        _: &'a Access<'a>,
        _: &'a Draft,
        _: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>> {
        Box::pin(async { Err(Failure::new(Class::Rejected, "unused", "everything is frozen")) })
    }

    fn publish<'a>(&'a self, _: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer> {
        let called = micros();
        let due = frozen.parse::<i64>().unwrap_or(0) * 1000;
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push((due, called));
        let receipt = Receipt { remote_id: "1".to_owned(), url: None, reference: None };
        Box::pin(async move { Answer::Published(receipt) })
    }

    fn find<'a>(&'a self, _: &'a Access<'a>, _: &'a str, _: &'a [String]) -> Doing<'a, Sight> {
        Box::pin(async { Sight::Absent })
    }
}
