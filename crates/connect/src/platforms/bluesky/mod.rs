//! Bluesky, and every other server of the AT Protocol.
//!
//! A post is a record in the account's repository, under a key that follows from the operation:
//! the same operation always writes to the same place, and what is there can be read back.

mod check;
mod connect;
mod domains;
mod facets;
mod fault;
mod figures;
mod files;
mod identity;
mod picture;
mod publish;
mod record;
mod session;
mod tid;
mod video;
mod xrpc;

use campanile_model::{
    publish::{Failure, Receipt, Safety},
    time::Millis,
};
use futures_util::stream::{StreamExt, TryStreamExt, iter};

use self::fault::Fault;
use self::files::{Files, has_embed};
use self::record::{Frozen, Identities};
use self::session::Credential;
use self::xrpc::Server;
use super::{
    About, Access, Account, Answer, Breach, Deleting, Doing, Draft, Endpoints, Figures, Manual,
    Operation, Platform, Secret, Sight,
};
use crate::Http;

/// How many handles are looked up at the same time.
const LOOKUPS: usize = 4;

pub struct Bluesky {
    endpoints: Endpoints,
}

impl Bluesky {
    pub fn new(endpoints: &Endpoints) -> Self {
        Self { endpoints: endpoints.clone() }
    }

    /// Uploads, looks up mentions, and writes the post down. Of an earlier try everything is
    /// kept but the files, which the server may have thrown away since.
    async fn compose(
        &self,
        access: &Access<'_>,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Result<String, Failure> {
        let credential = Credential::read(access.secret)?;
        let server = server(access).with_token(&credential.access);
        let mut frozen = match operation.earlier {
            Some(earlier) => Frozen::read(earlier)?,
            None => {
                let identities = identities(&server, draft.text_of(operation.part)).await?;
                Frozen::compose(access.account, draft, operation, &identities)?
            }
        };
        if operation.part == 0 && has_embed(draft) {
            let video_service = &self.endpoints.bluesky_video;
            let files = Files { access, server, video_service };
            frozen.set_embed(files.embed(draft).await?);
        }
        Ok(frozen.write())
    }
}

fn server<'a>(access: &'a Access<'a>) -> Server<'a> {
    Server::new(access.http, &access.account.server, access.now)
}

/// Who is mentioned; handles of nobody are left out.
async fn identities(server: &Server<'_>, text: &str) -> Result<Identities, Fault> {
    let lookups = facets::mentions(text).into_iter().map(async |handle| {
        let did = identity::ask_server(server, &handle).await?;
        Ok(did.map(|did| (handle, did)))
    });
    let found: Vec<Option<(String, String)>> =
        iter(lookups).buffered(LOOKUPS).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

impl Platform for Bluesky {
    fn about(&self) -> &About {
        &check::ABOUT
    }

    fn safety(&self, _account: &Account) -> Safety {
        Safety::ChosenId
    }

    fn check(&self, _account: &Account, draft: &Draft) -> Vec<Breach> {
        check::check(draft)
    }

    fn freeze(
        &self,
        account: &Account,
        draft: &Draft,
        operation: &Operation<'_>,
    ) -> Option<String> {
        if operation.part == 0 && has_embed(draft) {
            return None;
        }
        if let Some(earlier) = operation.earlier {
            return Some(earlier.to_owned());
        }
        if !facets::mentions(draft.text_of(operation.part)).is_empty() {
            return None;
        }
        let frozen = Frozen::compose(account, draft, operation, &Identities::new());
        frozen.ok().map(|frozen| frozen.write())
    }

    fn prepare<'a>(
        &'a self,
        access: &'a Access<'a>,
        draft: &'a Draft,
        operation: &'a Operation<'a>,
    ) -> Doing<'a, Result<String, Failure>> {
        Box::pin(self.compose(access, draft, operation))
    }

    fn publish<'a>(&'a self, access: &'a Access<'a>, frozen: &'a str) -> Doing<'a, Answer> {
        Box::pin(async move {
            let ready = Frozen::read(frozen).and_then(|frozen| {
                Credential::read(access.secret).map(|credential| (frozen, credential))
            });
            match ready {
                Ok((frozen, credential)) => {
                    publish::publish(&server(access).with_token(&credential.access), &frozen).await
                }
                Err(failure) => Answer::Refused(failure),
            }
        })
    }

    fn find<'a>(
        &'a self,
        access: &'a Access<'a>,
        frozen: &'a str,
        _: &'a [String],
    ) -> Doing<'a, Sight> {
        Box::pin(async move {
            match Frozen::read(frozen) {
                // Everybody may read, so a token that has ended in the meantime does not matter.
                Ok(frozen) => publish::find(&server(access), &frozen).await,
                Err(failure) => Sight::Unknowable(failure),
            }
        })
    }

    fn renew_before(&self, secret: &Secret) -> Option<Millis> {
        Credential::read(secret).ok()?.renew_before()
    }

    fn renew<'a>(
        &'a self,
        http: &'a Http,
        account: &'a Account,
        secret: &'a Secret,
        now: Millis,
    ) -> Doing<'a, Result<Secret, Failure>> {
        Box::pin(async move {
            let credential = Credential::read(secret)?;
            let server = Server::new(http, &account.server, now);
            let renewed = session::renew(&server, &account.remote_id, &credential).await?;
            Ok(renewed.seal())
        })
    }

    fn manual(&self) -> Option<&dyn Manual> {
        Some(self)
    }

    fn deleting(&self) -> Option<&dyn Deleting> {
        Some(self)
    }

    fn figures(&self) -> Option<&dyn Figures> {
        Some(self)
    }
}

impl Deleting for Bluesky {
    fn delete<'a>(
        &'a self,
        access: &'a Access<'a>,
        receipt: &'a Receipt,
    ) -> Doing<'a, Result<(), Failure>> {
        Box::pin(async move {
            let credential = Credential::read(access.secret)?;
            let server = server(access).with_token(&credential.access);
            publish::delete(&server, access.account, receipt).await
        })
    }
}
