//! Two platforms that take everything: one inside this process, one behind a connection.

use std::net::SocketAddr;

use axum::http::Request;
use bytes::Bytes;
use campanile_connect::{
    AnswerLimits,
    platforms::{
        About, Access, Account, Answer, Breach, Connect, Doing, Draft, Limits, Operation, Platform,
        Sight, from_fetch,
    },
};
use campanile_model::publish::{Class, Failure, Receipt, Safety};

use super::arrivals::{Arrivals, micros};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Does nothing but note that it was called.
    Noop,
    /// One POST to the [`Peer`](super::peer::Peer), which notes its first byte.
    Wired,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Noop, Self::Wired];

    pub(super) fn id(self) -> &'static str {
        self.about().id
    }

    fn about(self) -> &'static About {
        static NOOP: About = about("noop");
        static WIRED: About = about("wired");
        match self {
            Self::Noop => &NOOP,
            Self::Wired => &WIRED,
        }
    }
}

const fn about(id: &'static str) -> About {
    let limits = Limits {
        characters: 10_000,
        counted_in: "characters",
        media: 0,
        image_bytes: 0,
        video_bytes: 0,
        alt_text_characters: 0,
        media_types: &[],
        thread_parts: 1,
    };
    let (connect, post_types) = (Connect::OAuth, &["text"]);
    About { id, name: id, connect, post_types, options: &[], limits, at_once: 1024 }
}

/// A platform of some [`Kind`], with what it needs.
pub(super) enum Double {
    Noop(Arrivals),
    Wired(SocketAddr),
}

impl Double {
    fn kind(&self) -> Kind {
        match self {
            Self::Noop(_) => Kind::Noop,
            Self::Wired(_) => Kind::Wired,
        }
    }
}

impl Platform for Double {
    fn about(&self) -> &About {
        self.kind().about()
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

    fn publish<'a>(&'a self, access: &'a Access<'a>, due: &'a str) -> Doing<'a, Answer> {
        match self {
            Self::Noop(arrivals) => {
                arrivals.note(due.parse().unwrap_or(0), micros());
                Box::pin(async { published() })
            }
            Self::Wired(peer) => Box::pin(post(*peer, access, due)),
        }
    }

    fn find<'a>(&'a self, _: &'a Access<'a>, _: &'a str, _: &'a [String]) -> Doing<'a, Sight> {
        Box::pin(async { Sight::Absent })
    }
}

async fn post(peer: SocketAddr, access: &Access<'_>, due: &str) -> Answer {
    let body = Bytes::from(format!("{due}\n"));
    let request = match Request::post(format!("http://{peer}/")).body(body) {
        Ok(request) => request,
        Err(error) => {
            return Answer::Refused(Failure::new(Class::Rejected, "request", error.to_string()));
        }
    };
    match access.http.request(request, &AnswerLimits::default()).await {
        Ok(_) => published(),
        Err(error) => Answer::Unclear(from_fetch(&error)),
    }
}

fn published() -> Answer {
    Answer::Published(Receipt { remote_id: "1".to_owned(), url: None, reference: None })
}
