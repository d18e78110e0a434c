//! Who may touch which rows.
//!
//! Every function that reads or writes a brand's rows takes a [`Tenant`], and the only way to
//! get one is to ask an [`Identity`](crate::identity::Identity) for a brand it may use. A query
//! over all tenants has to say so in its text: `/* every tenant: why */`.

use campanile_model::ids::{BrandId, UserId, WorkspaceId};

/// One brand, seen by one of its users.
#[derive(Clone, Debug)]
pub struct Tenant {
    workspace: WorkspaceId,
    brand: BrandId,
    user: UserId,
}

impl Tenant {
    pub(crate) fn new(workspace: &WorkspaceId, brand: &BrandId, user: &UserId) -> Self {
        Self { workspace: workspace.clone(), brand: brand.clone(), user: user.clone() }
    }

    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    pub fn brand(&self) -> &BrandId {
        &self.brand
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }
}
