//! The sandbox's network: a timeline in our own store.

use std::sync::Arc;

use campanile_connect::platforms::{Account, Doing, sandbox::Timeline};
use campanile_model::{
    ids::BrandId,
    publish::{Class, Failure, Receipt},
    time::Clock,
};
use campanile_store::{
    Db, StoreError,
    sandbox::{self, SandboxPost},
};

pub(crate) struct StoredTimeline {
    pub(crate) db: Db,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) public_url: String,
}

impl StoredTimeline {
    fn receipt(&self, account: &Account, post: &SandboxPost) -> Receipt {
        let (url, handle) = (&self.public_url, &account.remote_id);
        Receipt {
            remote_id: post.id.as_str().to_owned(),
            url: Some(format!("{url}/api/sandbox/{handle}#{}", post.id)),
            reference: Some(post.id.as_str().to_owned()),
        }
    }

    async fn accept_post(
        &self,
        account: &Account,
        operation: &str,
        content: &str,
    ) -> Result<Receipt, StoreError> {
        let (brand, now) = (brand(account), self.clock.now());
        let accept = async |mut tx: campanile_store::Tx| {
            let handle = &account.remote_id;
            sandbox::accept(&mut tx, &brand, handle, operation, content, now).await?;
            sandbox::find(&mut tx, &brand, handle, operation).await
        };
        let post = self.db.write(accept).await?;
        let post = post.ok_or_else(|| StoreError::Refused("the post vanished".to_owned()))?;
        Ok(self.receipt(account, &post))
    }

    async fn find_post(
        &self,
        account: &Account,
        operation: &str,
    ) -> Result<Option<Receipt>, StoreError> {
        let (mut conn, brand) = (self.db.read().await?, brand(account));
        let found = sandbox::find(&mut conn, &brand, &account.remote_id, operation);
        Ok(found.await?.map(|post| self.receipt(account, &post)))
    }

    async fn delete_post(&self, account: &Account, id: &str) -> Result<(), StoreError> {
        let brand = brand(account);
        let delete = async |mut tx: campanile_store::Tx| {
            sandbox::delete(&mut tx, &brand, &account.remote_id, id).await
        };
        self.db.write(delete).await
    }
}

/// Every brand has a sandbox of its own.
fn brand(account: &Account) -> BrandId {
    BrandId::stored(account.details["brand_id"].as_str().unwrap_or_default())
}

fn away(error: &StoreError) -> Failure {
    Failure::new(Class::Transient, "sandbox_away", error.to_string())
}

impl Timeline for StoredTimeline {
    fn accept<'a>(
        &'a self,
        account: &'a Account,
        operation: &'a str,
        content: &'a str,
    ) -> Doing<'a, Result<Receipt, Failure>> {
        Box::pin(async move {
            self.accept_post(account, operation, content).await.map_err(|error| away(&error))
        })
    }

    fn find<'a>(
        &'a self,
        account: &'a Account,
        operation: &'a str,
    ) -> Doing<'a, Result<Option<Receipt>, Failure>> {
        Box::pin(
            async move { self.find_post(account, operation).await.map_err(|error| away(&error)) },
        )
    }

    fn delete<'a>(&'a self, account: &'a Account, id: &'a str) -> Doing<'a, Result<(), Failure>> {
        Box::pin(async move { self.delete_post(account, id).await.map_err(|error| away(&error)) })
    }
}
