//! Who calls, and what a handler may do in their name.

use std::{
    net::IpAddr,
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{extract::FromRequestParts, http::request::Parts};
use campanile_model::{scope::Scope, time::Millis};
use campanile_store::{
    Tx,
    audit::{self, Actor, Change},
    idempotency::{self, Kept},
    identity::{Credential, Identity},
    tenant::Tenant,
};

use crate::{
    answer::Answer,
    app::{App, Shared},
    limiter::Allowance,
    problem::{Code, Problem},
};

/// Anybody: what is known of a request before a credential is looked at.
#[derive(Clone)]
pub(crate) struct Visitor(Arc<Visit>);

pub(crate) struct Visit {
    pub(crate) request_id: String,
    /// The moment of the request: everything it does happens then.
    pub(crate) now: Millis,
    pub(crate) ip: IpAddr,
    /// Left behind by the guard, for whoever writes the answer down.
    served: OnceLock<Served>,
}

/// What the log and the metrics want to know of a served request.
pub(crate) struct Served {
    pub(crate) template: &'static str,
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) tenant: Option<Arc<Tenant>>,
    pub(crate) allowance: Option<Allowance>,
}

impl Served {
    pub(crate) const fn at(template: &'static str) -> Self {
        Self { template, identity: None, tenant: None, allowance: None }
    }
}

impl Visitor {
    pub(crate) fn new(request_id: String, now: Millis, ip: IpAddr) -> Self {
        Self(Arc::new(Visit { request_id, now, ip, served: OnceLock::new() }))
    }

    pub(crate) fn leave(&self, served: Served) {
        // A request passes one guard.
        let _ = self.0.served.set(served);
    }

    /// Documentation, files and paths that do not exist have no guard.
    pub(crate) fn served(&self) -> &Served {
        const UNGUARDED: &Served = &Served::at("other");
        self.0.served.get().unwrap_or(UNGUARDED)
    }
}

impl Deref for Visitor {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(unguarded)
    }
}

fn unguarded() -> Problem {
    Problem::new(Code::Internal, "The route is mounted without its guard.")
}

/// An admitted caller. Only the guard around a row can make one.
#[derive(Clone)]
pub(crate) struct Caller(Arc<Admitted>);

pub(crate) struct Admitted {
    pub(crate) app: Shared,
    pub(crate) identity: Arc<Identity>,
    pub(crate) tenant: Option<Arc<Tenant>>,
    pub(crate) visitor: Visitor,
    pub(crate) if_match: Option<String>,
    /// Set once a handler has compared `if_match` with something.
    pub(crate) compared: AtomicBool,
    pub(crate) repeat: Option<Repeat>,
}

/// A request that its sender may repeat.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) fingerprint: [u8; 32],
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(unguarded)
    }
}

impl Caller {
    pub(crate) fn admit(admitted: Admitted) -> Self {
        Self(Arc::new(admitted))
    }

    pub(crate) fn app(&self) -> &App {
        &self.0.app
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    pub(crate) fn now(&self) -> Millis {
        self.0.visitor.now
    }

    /// The brand that the request is about.
    pub(crate) fn tenant(&self) -> Result<&Tenant, Problem> {
        self.0.tenant.as_deref().ok_or_else(|| {
            Problem::new(Code::BrandNotFound, "This user is not a member of any brand yet.")
        })
    }

    /// For what the table cannot know: the scope that depends on the body.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Problem> {
        match &self.identity().credential {
            Credential::Session { .. } => Ok(()),
            Credential::Key { scopes, .. } if scopes.allow(scope) => Ok(()),
            Credential::Key { scopes, .. } => Err(Problem::missing_scope(&[scope], &scopes.list())),
        }
    }

    /// Honours `If-Match`: `etag` is that of the resource as it is now.
    pub(crate) fn expect_tag(&self, etag: &str) -> Result<(), Problem> {
        let Some(wanted) = &self.0.if_match else { return Ok(()) };
        self.0.compared.store(true, Ordering::Relaxed);
        let matches = wanted.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag);
        if matches { Ok(()) } else { Err(stale()) }
    }

    /// Runs `work` in a transaction, keeps its answer for repetitions, and makes sure that what
    /// it changed is in the audit log. The answer is durable before it leaves.
    pub(crate) async fn write<T, F, const S: u16>(&self, work: F) -> Result<Answer<T, S>, Problem>
    where
        F: AsyncFnOnce(Tx) -> Result<Answer<T, S>, Problem>,
    {
        let (tx, end) = self.app().db.begin().await?;
        let outcome = match work(tx).await {
            Ok(answer) => match end.reopen() {
                Ok(mut tx) => self.conclude(&mut tx, answer).await,
                Err(error) => Err(error.into()),
            },
            Err(problem) => Err(problem),
        };
        match outcome {
            Ok(answer) => end.commit().await.map(|()| answer).map_err(Problem::from),
            Err(problem) => {
                end.rollback().await?;
                Err(problem)
            }
        }
    }

    async fn conclude<T, const S: u16>(
        &self,
        tx: &mut Tx,
        answer: Answer<T, S>,
    ) -> Result<Answer<T, S>, Problem> {
        if self.0.if_match.as_deref().is_some_and(|tag| tag != "*")
            && !self.0.compared.load(Ordering::Relaxed)
        {
            return Err(stale());
        }
        if tx.is_unaudited() {
            return Err(Problem::internal(Unaudited));
        }
        if let Some(repeat) = &self.0.repeat {
            self.keep(tx, repeat, S, &answer.to_kept()).await?;
        }
        Ok(answer)
    }

    async fn keep(
        &self,
        tx: &mut Tx,
        repeat: &Repeat,
        status: u16,
        body: &[u8],
    ) -> Result<(), Problem> {
        let sealed = self.app().vault.seal(&repeat.context(), body).map_err(Problem::internal)?;
        let kept = Kept {
            fingerprint: repeat.fingerprint.to_vec(),
            status: status.into(),
            answer: sealed,
            created_at: self.now(),
        };
        if idempotency::insert(tx, &repeat.owner, &repeat.name, &kept).await? {
            return Ok(());
        }
        // Another process was quicker with the same request; its answer is the one to give.
        Err(Problem::new(Code::IdempotencyInProgress, "Repeat the request to get its answer.")
            .retry_after(1))
    }

    /// Who acts, for the audit log.
    pub(crate) fn actor(&self) -> Actor {
        let identity = self.identity();
        Actor {
            workspace: identity.workspace.clone(),
            brand: self.0.tenant.as_ref().map(|tenant| tenant.brand().clone()),
            user: Some(identity.user.clone()),
            door: match identity.credential {
                Credential::Key { .. } => "key",
                Credential::Session { .. } => "session",
            },
            credential: Some(identity.credential_id().to_owned()),
            request_id: self.0.visitor.request_id.clone(),
            ip: Some(self.0.visitor.ip.to_string()),
        }
    }

    pub(crate) async fn record(&self, tx: &mut Tx, change: Change<'_>) -> Result<(), Problem> {
        Ok(audit::record(tx, &self.actor(), change, self.now()).await?)
    }
}

impl Repeat {
    /// Where the kept answer belongs: it opens nowhere else.
    pub(crate) fn context(&self) -> String {
        format!("idempotency_keys|{}|{}", self.owner, self.name)
    }
}

fn stale() -> Problem {
    Problem::new(Code::PreconditionFailed, "Read it again and repeat the change with its new ETag.")
}

#[derive(Debug, thiserror::Error)]
#[error("a handler changed rows without a word in the audit log")]
struct Unaudited;
