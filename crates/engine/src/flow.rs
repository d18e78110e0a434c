//! One publish, step by step: the machine says what, this does it.

mod patience;

use std::sync::Arc;

use campanile_connect::platforms::{Access, Draft};
use campanile_machine::{Answer, Effect, Ended, Event, Moment, Rules, Sight, Step, next};
use campanile_model::{
    post,
    publish::{Class, Failure, Safety, Stage},
    time::{HOUR, Millis, SECOND},
};
use campanile_store::{
    StoreError,
    publish::{Entry, queue, receipts},
};
use tokio::sync::OwnedSemaphorePermit;

#[cfg(feature = "flaws")]
use crate::flaw;
use crate::{
    Engine, LEASE,
    accounts::{self, Opened, Renewal},
    chance, crash, draft, operation, refresh,
    scribe::{Note, Refused, Scribe},
};

/// A publish call takes no longer, with some room.
const LONGEST_CALL: Millis = 40 * SECOND;

/// An entry in a runner's hands.
pub(crate) struct Work {
    pub(crate) entry: Entry,
    pub(crate) document: Option<String>,
    pub(crate) late_window: Millis,
    /// What the last stored step wants done; `None` when the flow has yet to be told that it
    /// was taken up.
    pub(crate) effect: Option<Effect>,
    /// Its place among those who use the account.
    pub(crate) place: Option<OwnedSemaphorePermit>,
    /// The account, once it was looked at.
    pub(crate) opened: Option<Opened>,
    /// Until when the last stored step gave us the entry.
    pub(crate) held_until: Millis,
}

pub(crate) struct Flowing {
    engine: Arc<Engine>,
    scribe: Scribe,
    work: Work,
}

/// Goes on with an entry until it ends, waits, or is taken away.
pub(crate) async fn drive(engine: Arc<Engine>, scribe: Scribe, work: Work) {
    let name = work.entry.name.clone();
    let flowing = Flowing { engine, scribe, work };
    if let Err(error) = flowing.run().await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, job = %name.job, "publishing paused; it goes on when its lease ends");
    }
}

impl Flowing {
    async fn run(mut self) -> Result<(), StoreError> {
        self.wait_for_place().await?;
        let mut effect = match self.work.effect {
            Some(effect) => Some(effect),
            None => {
                // How the flow goes on after a crash depends on the account.
                let _ = self.open().await?;
                self.advance(Event::Claimed, None).await
            }
        };
        while let Some(wanted) = effect {
            effect = match wanted {
                Effect::Prepare => self.prepare().await?,
                Effect::Call => self.call().await?,
                Effect::Read => self.read().await?,
                Effect::Renew => self.renew().await?,
                Effect::Wait | Effect::Finish | Effect::Nothing => None,
            };
        }
        Ok(())
    }

    /// Stores the step that follows from an event, and says what is to be done then. `None` when
    /// the entry is in other hands by now.
    async fn advance(&mut self, event: Event, frozen: Option<String>) -> Option<Effect> {
        loop {
            let now = self.engine.now();
            let rules = self.rules();
            let moment = Moment { now, chance: chance() };
            let step = next(&self.work.entry.flow, event.clone(), &rules, moment);
            let effect = step.effect;
            let note = self.note(step, frozen.clone(), now);
            let wake_at = note.wake_at;
            #[cfg(feature = "flaws")]
            if note.entry.flow.stage == Stage::Calling && flaw::is_planted("intent-after-call") {
                self.work.entry = note.entry;
                self.work.held_until = wake_at;
                return Some(effect);
            }
            match self.scribe.write(note).await {
                Ok(entry) => {
                    self.work.entry = entry;
                    self.work.held_until = wake_at;
                    return Some(effect);
                }
                Err(Refused::CancelAsked) => self.work.entry.flow.cancel = true,
                #[cfg(feature = "flaws")]
                Err(Refused::Lost) if chance() < 800 && flaw::is_planted("no-fencing") => {
                    self.work.entry.token += 1;
                }
                Err(Refused::Lost) => return None,
            }
        }
    }

    fn note(&self, step: Step, frozen: Option<String>, now: Millis) -> Note {
        let mut entry = self.work.entry.clone();
        apply(&mut entry, &step);
        if frozen.is_some() {
            entry.frozen = frozen;
        }
        let wake_at = step.wake_at(now + LEASE);
        let held = entry.token;
        Note { entry, held, ended: step.ended, effect: step.effect, wake_at, now }
    }

    fn rules(&self) -> Rules {
        // An account that is gone cannot be read.
        let safety = self.work.opened.as_ref().map_or(Safety::Nothing, Opened::safety);
        Rules { safety, late_window: self.work.late_window }
    }

    /// Loads the account, or says why it cannot be used.
    async fn open(&mut self) -> Result<Result<(), Failure>, StoreError> {
        if self.work.opened.is_some() {
            return Ok(Ok(()));
        }
        let gone = |code, message| Ok(Err(Failure::new(Class::MissingContent, code, message)));
        if self.work.entry.connection.is_none() {
            return gone("no_targets", "the post names no account to publish to");
        }
        let mut conn = self.engine.db.read().await?;
        let connection = queue::connection(&mut conn, &self.work.entry).await?;
        drop(conn);
        let Some(connection) = connection else {
            return Ok(Err(connection_gone()));
        };
        match Opened::new(&self.engine, connection.clone()) {
            Ok(opened) => {
                self.work.entry.platform.clone_from(&opened.connection.platform);
                self.work.opened = Some(opened);
                Ok(Ok(()))
            }
            Err(failure) => {
                if failure.class == Class::Auth {
                    // Only connecting it again helps, so it is shown as what it is.
                    accounts::expire(&self.engine, &connection).await?;
                }
                Ok(Err(failure))
            }
        }
    }

    async fn prepare(&mut self) -> Result<Option<Effect>, StoreError> {
        let outcome = match self.holding_prepare().await? {
            None => return Ok(None),
            Some(outcome) => outcome,
        };
        crash::point("prepared");
        Ok(match outcome {
            Ok(frozen) => self.advance(Event::Prepared, Some(frozen)).await,
            Err(failure) => self.failed(failure, Event::PrepareFailed).await?,
        })
    }

    async fn holding_prepare(&mut self) -> Result<Option<Result<String, Failure>>, StoreError> {
        if self.work.entry.flow.attempt > 0 {
            // The last call took its time, in which the account may have been removed.
            self.work.opened = None;
        }
        if let Err(failure) = self.open().await? {
            return Ok(Some(Err(failure)));
        }
        if let Err(failure) = self.renew_in_time().await? {
            return Ok(Some(Err(failure)));
        }
        let draft = match self.draft().await? {
            Ok(draft) => draft,
            Err(failure) => return Ok(Some(Err(failure))),
        };
        let Some(opened) = &self.work.opened else { return Ok(None) };
        refresh::when_stale(&self.engine, opened);
        if let Some(failure) = opened.refusal(&draft) {
            return Ok(Some(Err(failure)));
        }
        let key = operation::key(&self.work.entry);
        let operation = operation::of(&self.work.entry, &key);
        if let Some(frozen) = opened.platform.freeze(&opened.account, &draft, &operation) {
            return Ok(Some(Ok(frozen)));
        }
        let access = self.access(opened);
        let preparing = self.shown(opened.platform.prepare(&access, &draft, &operation));
        let preparing = self.engine.accounts.unless_gone(&opened.connection.id, preparing);
        match self.holding(preparing).await? {
            Some(Some(prepared)) => prepared.map(Some),
            Some(None) => Ok(Some(Err(connection_gone()))),
            None => Ok(None),
        }
    }

    fn access<'a>(&'a self, opened: &'a Opened) -> Access<'a> {
        Access {
            http: &self.engine.http,
            blobs: &self.engine.blobs,
            account: &opened.account,
            secret: &opened.secret,
            now: self.engine.now(),
        }
    }

    /// What the account gets: frozen the first time, and the same ever after.
    async fn draft(&mut self) -> Result<Result<Draft, Failure>, StoreError> {
        let damaged = |error: serde_json::Error| StoreError::Refused(error.to_string());
        let missing = |code: &str, message: String| {
            Ok(Err(Failure::new(Class::MissingContent, code, message)))
        };
        if let Some(draft) = &self.work.entry.draft {
            return Ok(Ok(serde_json::from_str(draft).map_err(damaged)?));
        }
        let Some(document) = &self.work.document else {
            return missing("post_gone", "the post was deleted".to_owned());
        };
        let post: post::Draft = serde_json::from_str(document).map_err(damaged)?;
        let connection = self.work.entry.connection.as_ref();
        let Some(target) = connection.and_then(|id| draft::target(&post, id)) else {
            let message = "the post does not name the account any more";
            return missing("target_gone", message.to_owned());
        };
        let mut conn = self.engine.db.read().await?;
        let brand = &self.work.entry.name.brand;
        let (draft, lost) = draft::compose(&mut conn, brand, &post, target).await?;
        drop(conn);
        if let Some(path) = lost.first() {
            return missing("media_gone", format!("{} is gone", path.as_str()));
        }
        let out = self.work.entry.flow.part;
        if out >= draft.parts() {
            let message = format!("{out} parts are out already, and the post has no more of them");
            return missing("nothing_left", message);
        }
        draft::freeze(&mut self.work.entry, &draft).map_err(damaged)?;
        Ok(Ok(draft))
    }

    async fn call(&mut self) -> Result<Option<Effect>, StoreError> {
        let answer = {
            let (Some(opened), Some(frozen)) = (&self.work.opened, &self.work.entry.frozen) else {
                return Ok(None);
            };
            // Preparing took its time, in which the account may have been removed.
            let is_connected = accounts::is_connected(&self.engine, opened).await?;
            // The store may have been away while the intent waited for it. A call that outlasts
            // its lease could meet another runner's; that one will read instead.
            if self.engine.now() + LONGEST_CALL > self.work.held_until {
                return Ok(None);
            }
            let access = self.access(opened);
            crash::point("before-call");
            let answer = match is_connected {
                true => self.shown(opened.platform.publish(&access, frozen)).await?,
                false => Answer::Refused(connection_gone()),
            };
            #[cfg(feature = "flaws")]
            let answer = flaw::misread(answer);
            crash::point("after-call");
            if matches!(&answer, Answer::Refused(failure) if failure.class == Class::Rejected) {
                // It passed our own check, so the limits we know may not be the server's.
                refresh::begin(&self.engine, opened);
            }
            answer
        };
        crash::point("before-outcome");
        let effect = match answer {
            Answer::Refused(failure) => {
                let event = |failure| Event::Answered(Answer::Refused(failure));
                self.failed(failure, event).await?
            }
            answer => self.advance(Event::Answered(answer), None).await,
        };
        crash::point("after-outcome");
        Ok(effect)
    }

    async fn read(&mut self) -> Result<Option<Effect>, StoreError> {
        // The call took its time as well.
        self.work.opened = None;
        let sight = match self.open().await? {
            Err(failure) => Some(Sight::Unknowable(failure)),
            Ok(()) => self.look().await?,
        };
        match sight {
            Some(sight) => Ok(self.advance(Event::Saw(sight), None).await),
            None => Ok(None),
        }
    }

    async fn look(&mut self) -> Result<Option<Sight>, StoreError> {
        if let Err(failure) = self.renew_in_time().await? {
            return Ok(Some(Sight::Unreadable(failure)));
        }
        let (Some(opened), Some(frozen)) = (&self.work.opened, &self.work.entry.frozen) else {
            let message = "what the call said is not known any more";
            let failure = Failure::new(Class::Ambiguous, "not_frozen", message);
            return Ok(Some(Sight::Unknowable(failure)));
        };
        let taken = self.taken(opened).await?;
        let access = self.access(opened);
        let looking = opened.platform.find(&access, frozen, &taken);
        let looking = self.engine.accounts.unless_gone(&opened.connection.id, looking);
        let sight = self.holding(looking).await?;
        Ok(sight.map(|sight| sight.unwrap_or_else(|| Sight::Unknowable(connection_gone()))))
    }

    /// What other publishes are known to have put on the account, where words alone tell posts
    /// apart.
    async fn taken(&self, opened: &Opened) -> Result<Vec<String>, StoreError> {
        if matches!(opened.safety(), Safety::ChosenId | Safety::Container) {
            return Ok(Vec::new());
        }
        let (entry, id) = (&self.work.entry, &opened.connection.id);
        // The platform is not searched further back either, whatever its clock says.
        let since = entry.flow.due - HOUR;
        let mut conn = self.engine.db.read().await?;
        receipts::published_since(&mut conn, &entry.name.brand, id, since).await
    }

    /// Renews a secret that is about to expire.
    async fn renew_in_time(&mut self) -> Result<Result<(), Failure>, StoreError> {
        let now = self.engine.now();
        match self.work.opened.as_ref().is_some_and(|opened| opened.is_stale(now)) {
            true => self.renew_secret().await,
            false => Ok(Ok(())),
        }
    }

    async fn renew_secret(&mut self) -> Result<Result<(), Failure>, StoreError> {
        let Some(opened) = self.work.opened.take() else { return Ok(Ok(())) };
        let renewing = accounts::renew(&self.engine, &*opened.platform, &opened.connection);
        match self.holding(renewing).await?.transpose()? {
            Some(Renewal::Renewed) | None => self.open().await,
            Some(Renewal::Failed(failure)) => Ok(Err(failure)),
        }
    }

    async fn renew(&mut self) -> Result<Option<Effect>, StoreError> {
        Ok(match self.renew_secret().await? {
            Ok(()) => self.advance(Event::Renewed, None).await,
            Err(failure) => self.failed(failure, Event::RenewFailed).await?,
        })
    }

    /// A failure may concern the account as well as the post.
    async fn failed(
        &mut self,
        failure: Failure,
        event: impl FnOnce(Failure) -> Event,
    ) -> Result<Option<Effect>, StoreError> {
        let rests_until = failure.retry_at.filter(|_| failure.class == Class::RateLimited);
        if let (Some(until), Some(id)) = (rests_until, &self.work.entry.connection) {
            self.engine.accounts.rest(id, until);
        }
        let auth = failure.class == Class::Auth;
        let effect = self.advance(event(failure), None).await;
        if auth
            && effect == Some(Effect::Finish)
            && let Some(opened) = &self.work.opened
        {
            accounts::expire(&self.engine, &opened.connection).await?;
        }
        Ok(effect)
    }
}

/// Puts what a step says into the entry.
pub(crate) fn apply(entry: &mut Entry, step: &Step) {
    match &step.ended {
        Some(Ended::Published(receipt)) => {
            entry.receipts.push(receipt.clone());
            entry.failure = None;
            // The next part says something else; after the last one nothing is left to say.
            entry.frozen = None;
            if step.flow.stage == Stage::Published {
                entry.draft = None;
            }
        }
        Some(Ended::Failed { failure, .. }) => entry.failure = Some(failure.clone()),
        None => {}
    }
    entry.flow = step.flow.clone();
}

fn connection_gone() -> Failure {
    let message = "the account is not connected any more";
    Failure::new(Class::MissingContent, "connection_gone", message)
}
