//! A platform of containers, as Threads and Instagram have them: what is to be published exists
//! before the call, and says afterwards whether the call published it.
//!
//! Only in builds with the feature `trial`: no such network exists. The kill loop shows with it
//! that [`Safety::Container`] keeps its promise, whichever platform declares it.

mod api;
mod frozen;

use std::time::Duration;

use campanile_model::{
    publish::{Class, Failure, Safety},
    time::Millis,
};
use zeroize::Zeroizing;

use self::{
    api::{Api, State},
    frozen::Frozen,
};
use super::{
    About, Access, Account, Answer, Breach, Connect, Connected, Doing, Draft, Form, Limits, Manual,
    Operation, Platform, Refusal, Secret, Sight,
};
use crate::Http;

static ABOUT: About = About {
    id: "container",
    name: "Containers on trial",
    connect: Connect::Manual { required: &["server", "access_token"], optional: &[] },
    post_types: &["text", "thread"],
    options: &["thread"],
    limits: Limits {
        characters: 500,
        counted_in: "characters",
        media: 0,
        image_bytes: 0,
        video_bytes: 0,
        alt_text_characters: 0,
        media_types: &[],
        thread_parts: 25,
    },
    // Containers tell posts apart, so several may be on their way: the one class in which the
    // kill loop meets that.
    at_once: 4,
};

/// How long a platform may work on a container, and the pause between two looks at it.
const WORKING: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Containers;

impl Containers {
    /// Makes a container and waits until it can be published. One that was made earlier is used
    /// as long as anything can come of it: then there is never a second one to publish.
    async fn prepared(
        access: &Access<'_>,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Result<String, Failure> {
        let api = Api::of(access)?;
        if let Some(earlier) = operation.earlier {
            let frozen = Frozen::read(earlier)?;
            match api.state(&frozen.container).await.map_err(|fault| fault.failure(access.now))? {
                // A published one is refused by the call, and then found by reading.
                State::InProgress | State::Finished | State::Published => {
                    return Ok(earlier.to_owned());
                }
                // Nothing of it can go out any more.
                State::Error | State::Expired => {}
            }
        }
        let (text, parent) = (draft.text_of(operation.part), frozen::parent(operation)?);
        let container =
            api.create(text, parent).await.map_err(|fault| fault.failure(access.now))?;
        wait_for(&api, &container, access.now).await?;
        Frozen { container, text: text.to_owned(), due: operation.due }.write()
    }

    async fn look(access: &Access<'_>, frozen: &str) -> Sight {
        let (api, frozen) = match (Api::of(access), Frozen::read(frozen)) {
            (Ok(api), Ok(frozen)) => (api, frozen),
            (Err(failure), _) => return Sight::Unreadable(failure),
            (_, Err(failure)) => return Sight::Unknowable(failure),
        };
        match api.state(&frozen.container).await {
            Ok(State::Finished | State::Error | State::Expired) => Sight::Absent,
            Ok(State::InProgress) => Sight::Unreadable(in_progress()),
            Ok(State::Published) => match api.find(&frozen).await {
                Ok(Some(receipt)) => Sight::Found(receipt),
                Ok(None) => Sight::Unreadable(not_listed()),
                Err(fault) => Sight::Unreadable(fault.failure(access.now)),
            },
            Err(fault) if fault.speaks_of_container() => {
                Sight::Unknowable(fault.unclear(access.now))
            }
            Err(fault) => Sight::Unreadable(fault.failure(access.now)),
        }
    }

    async fn call(access: &Access<'_>, frozen: &str) -> Answer {
        let ready = Api::of(access).and_then(|api| Ok((api, Frozen::read(frozen)?)));
        let (api, frozen) = match ready {
            Ok(ready) => ready,
            Err(failure) => return Answer::Refused(failure),
        };
        match api.publish(&frozen.container).await {
            Ok(receipt) => Answer::Published(receipt),
            Err(fault) if fault.is_certain() => Answer::Refused(fault.failure(access.now)),
            Err(fault) => Answer::Unclear(fault.unclear(access.now)),
        }
    }

    async fn connected(http: &Http, form: &Form) -> Result<Connected, Refusal> {
        let field = |name: &str| form.get(name).map_or("", |text| text.trim());
        let server = field("server").trim_end_matches('/');
        let Some(api) = Api::new(http, server, field("access_token")) else {
            let message = "no header can carry such a token".to_owned();
            return Err(Refusal::Field("access_token", "invalid_format", message));
        };
        let profile = api.profile().await.map_err(|fault| Refusal::Platform(fault.failure(0)))?;
        let account = Account {
            remote_id: profile.id,
            handle: profile.username,
            server: server.to_owned(),
            details: serde_json::json!({}),
        };
        let secret = Secret(Zeroizing::new(field("access_token").to_owned()));
        Ok(Connected { account, secret, scopes: vec!["publish".to_owned()] })
    }
}

async fn wait_for(api: &Api<'_>, container: &str, now: Millis) -> Result<(), Failure> {
    let finished = async {
        loop {
            match api.state(container).await {
                Ok(State::InProgress) => tokio::time::sleep(PAUSE).await,
                Ok(State::Error | State::Expired) => return Err(container_failed()),
                Ok(State::Finished | State::Published) => return Ok(()),
                Err(fault) => return Err(fault.failure(now)),
            }
        }
    };
    let patience = tokio::time::timeout(WORKING, finished).await;
    patience.unwrap_or_else(|_| Err(in_progress()))
}

fn in_progress() -> Failure {
    let message = "the platform still works on the container";
    Failure::new(Class::Transient, "container_in_progress", message)
}

fn container_failed() -> Failure {
    Failure::new(Class::Transient, "container_failed", "the platform gave the container up")
}

/// It is out for certain, but where is not known yet.
fn not_listed() -> Failure {
    let message = "the container is published, and the list of posts does not show it yet";
    Failure::new(Class::Transient, "not_listed_yet", message)
}

impl Platform for Containers {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn safety(&self, _: &Account) -> Safety {
        Safety::Container
    }

    fn check(&self, _: &Account, draft: &Draft) -> Vec<Breach> {
        let mut breaches = super::check::options(&ABOUT, draft);
        breaches.extend(super::check::texts(&ABOUT, draft, |text| text.chars().count()));
        breaches.extend(super::check::media(&ABOUT, draft));
        breaches
    }

    /// There is always a container to make or to look at first.
    fn freeze(&self, _: &Account, _: &Draft, _: &Operation<'_>) -> Option<String> {
        None
    }

    fn prepare<'a>(
        &'a self,
        access: &'a Access<'a>,
        draft: &'a Draft,
        operation: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>> {
        Box::pin(Self::prepared(access, draft, operation))
    }

    fn publish<'a>(&'a self, access: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer> {
        Box::pin(Self::call(access, frozen))
    }

    fn find<'a>(
        &'a self,
        access: &'a Access<'a>,
        frozen: &'a str,
        _taken: &'a [String],
    ) -> Doing<'a, Sight> {
        Box::pin(Self::look(access, frozen))
    }

    fn manual(&self) -> Option<&dyn Manual> {
        Some(self)
    }
}

impl Manual for Containers {
    fn connect<'a>(
        &'a self,
        http: &'a Http,
        form: &'a Form,
        _: Millis,
    ) -> Doing<'a, Result<Connected, Refusal>> {
        Box::pin(Self::connected(http, form))
    }
}
