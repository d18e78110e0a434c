//! What happens to a call that publishes.

use std::{future::Future, time::Duration};

use campanile_model::time::SECOND;

use super::{Shared, wire::Answer};
use crate::{chance::Chance, ledger::Trouble, now};

/// A platform may take so long to accept a call whose caller has gone away. The service waits
/// ten seconds before it believes that nothing happened.
const LATEST: u64 = 6_000;
/// Longer than any caller waits for an answer.
const TOO_LONG: Duration = Duration::from_secs(40);

/// Nobody calls an answer late that comes sooner.
const NOTICEABLE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Prompt,
    /// Accepts after a while, and answers then.
    Slow(Duration),
    /// Accepts, and answers when nobody waits any more.
    Silent,
    /// Accepts, and fails with this status.
    AcceptAndFail(u16),
    AcceptAndCut,
    /// Cuts the connection, and accepts after a while.
    CutAndAccept(Duration),
    /// Accepts nothing.
    Fail(u16),
    Cut,
    /// Accepts nothing for so many seconds.
    Limit(u64),
    /// Never accepts this text.
    Refuse,
}

impl Fate {
    /// The fate of one try. The third one is always good, as pauses between tries grow long.
    pub(super) fn roll(shared: &Shared, account: &str, text: &str, tries: u32) -> Self {
        let mut chance = Chance::new(shared.seed, &format!("refusal {account} {text}"));
        if chance.percent(2) {
            return Self::Refuse;
        }
        if shared.is_calm() || tries > 1 {
            return Self::Prompt;
        }
        let mut chance = Chance::new(shared.seed, &format!("fate {account} {text} {tries}"));
        let delay = Duration::from_millis(chance.below(LATEST));
        let failure = [500, 502, 503, 504][chance.index(4)];
        match chance.below(100) {
            0..7 => Self::Slow(delay),
            7..9 => Self::Silent,
            9..17 => Self::AcceptAndFail(failure),
            17..22 => Self::AcceptAndCut,
            22..27 => Self::CutAndAccept(delay),
            27..30 => Self::Fail(failure),
            30..33 => Self::Cut,
            33..36 => Self::Limit(1 + chance.below(3)),
            36..48 => Self::Slow(delay / 20),
            _ => Self::Prompt,
        }
    }

    /// What the caller of a call that was accepted has to cope with.
    pub(super) fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Slow(delay) if delay < NOTICEABLE => None,
            Self::Slow(_) | Self::Silent => Some(Trouble::Late),
            Self::AcceptAndFail(_) => Some(Trouble::Failure),
            Self::AcceptAndCut | Self::CutAndAccept(_) => Some(Trouble::Reset),
            Self::Prompt | Self::Fail(_) | Self::Cut | Self::Limit(_) | Self::Refuse => None,
        }
    }

    /// Lets it happen. `accept` is told to at most once.
    pub(super) async fn happen(
        self,
        accept: impl FnOnce() -> Answer + Send + 'static,
        fail: impl Fn(u16) -> Answer,
    ) -> Option<Answer> {
        match self {
            Self::Prompt => Some(accept()),
            Self::Slow(delay) => {
                tokio::time::sleep(delay).await;
                Some(accept())
            }
            Self::Silent => {
                let answer = accept();
                tokio::time::sleep(TOO_LONG).await;
                Some(answer)
            }
            Self::AcceptAndFail(status) => {
                accept();
                Some(fail(status))
            }
            Self::AcceptAndCut => {
                accept();
                None
            }
            Self::CutAndAccept(delay) => {
                later(delay, async { drop(accept()) });
                None
            }
            Self::Fail(status) => Some(fail(status)),
            Self::Cut => None,
            Self::Limit(seconds) => Some(fail(429).retry_after(seconds)),
            Self::Refuse => Some(fail(422)),
        }
    }
}

fn later(delay: Duration, act: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        act.await;
    });
}

/// Reading fails now and then for some seconds, and sometimes takes a while.
pub(super) async fn read_fails(shared: &Shared, account: &str) -> bool {
    if shared.is_calm() {
        return false;
    }
    let mut chance = shared.chance("read");
    if chance.percent(25) {
        tokio::time::sleep(Duration::from_millis(chance.below(400))).await;
    }
    // A list of many pages has to be read as a whole, so all of them fail together.
    let moment = now() / (3 * SECOND);
    Chance::new(shared.seed, &format!("reading {account} {moment}")).percent(4)
}
