//! Social networks that fail in every way there is, and remember what they accepted.

mod bluesky;
mod container;
mod fate;
mod mastodon;
mod room;
mod wire;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;

pub(crate) use self::mastodon::TOKEN_PREFIX;
use self::{
    room::Room,
    wire::{Answer, Asked, Port},
};
use crate::{
    Outcome,
    chance::Chance,
    ledger::{Line, Writer},
    options::Doubles as Options,
};

/// The kinds of platforms, by what makes a repeated call safe on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Mastodon: a key makes a repeated call the same post.
    Honoured,
    /// Mastodon with a cache that forgets keys long before it promised to.
    Forgetful,
    /// GoToSocial: keys mean nothing, and only reading shows what a call did.
    Ignoring,
    /// Mastodon whose lists never show the post: the first account's cannot be read at all, the
    /// others' never come to an end.
    Unreadable,
    /// The AT Protocol: the caller chooses the place of the post.
    Bluesky,
    /// Threads: the post is in a container before the call, which can be asked afterwards.
    Container,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Honoured,
        Self::Forgetful,
        Self::Ignoring,
        Self::Unreadable,
        Self::Bluesky,
        Self::Container,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Forgetful => "forgetful",
            Self::Ignoring => "ignoring",
            Self::Unreadable => "unreadable",
            Self::Bluesky => "bluesky",
            Self::Container => "container",
        }
    }

    pub(crate) fn account(self, number: usize) -> String {
        format!("{}{number}", self.name())
    }

    /// The kind of an account, by its name.
    pub(crate) fn of(account: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| account.starts_with(kind.name()))
    }
}

/// Where the doubles answer, as they print it when they are ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Addresses {
    pub(crate) origins: BTreeMap<Kind, String>,
}

/// The path that ends all faults, on every double.
pub(crate) const CALM_DOWN: &str = "/calm-down";

/// What all doubles share.
struct Shared {
    seed: u64,
    calm: AtomicBool,
    requests: AtomicU64,
    ledger: Mutex<Writer>,
}

impl Shared {
    /// Writes a line and waits for the disk.
    fn write(&self, line: &Line) -> std::io::Result<()> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).write(line)
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Chance that differs from request to request.
    fn chance(&self, name: &str) -> Chance {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        Chance::new(self.seed, &format!("{name} {request}"))
    }
}

/// One platform.
struct Double {
    kind: Kind,
    origin: String,
    shared: Arc<Shared>,
    rooms: Mutex<BTreeMap<String, Room>>,
}

impl Double {
    /// Does something with what an account has.
    fn with<T>(&self, account: &str, act: impl FnOnce(&mut Room) -> T) -> T {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        act(rooms.entry(account.to_owned()).or_default())
    }

    async fn answer(self: Arc<Self>, asked: Asked) -> Option<Answer> {
        if asked.path == CALM_DOWN {
            self.shared.calm.store(true, Ordering::Relaxed);
            return Some(Answer::json(200, &serde_json::json!({})));
        }
        match self.kind {
            Kind::Bluesky => bluesky::answer(self, asked).await,
            Kind::Container => container::answer(self, asked).await,
            _ => mastodon::answer(self, asked).await,
        }
    }
}

/// Serves until whoever started it is gone.
pub(crate) fn serve(options: &Options) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shared = Arc::new(Shared {
        seed: options.seed,
        calm: AtomicBool::new(false),
        requests: AtomicU64::new(0),
        ledger: Mutex::new(Writer::open(&options.ledger)?),
    });
    runtime.block_on(async {
        let mut origins = BTreeMap::new();
        for kind in Kind::ALL {
            let port = Port::open().await?;
            let origin = port.origin.clone();
            origins.insert(kind, origin.clone());
            let (shared, rooms) = (shared.clone(), Mutex::default());
            let double = Arc::new(Double { kind, origin, shared, rooms });
            port.serve(move |asked| double.clone().answer(asked));
        }
        println!("{}", serde_json::to_string(&Addresses { origins })?);
        // The other end of this pipe closes when its process ends, however that happens.
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        Ok(())
    })
}
