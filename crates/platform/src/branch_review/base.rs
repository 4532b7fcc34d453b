//! What parent and branch looked like when they were last the same.

use plinth_diff::{Fingerprint, Scope};
use plinth_project::{Project, ProjectRef};
use serde_json::Value;

use super::read_schema;
use crate::{Branch, Platform, PlatformError};

/// The two schemas when the branch was made, merged or rebased.
pub(super) struct Base {
    pub(super) parent: Fingerprint,
    pub(super) branch: Fingerprint,
}

impl Platform {
    /// Nothing for branches that an older Plinth made.
    pub(super) async fn find_base(&self, branch: &Branch) -> Result<Option<Base>, PlatformError> {
        let sql = "select parent_base, branch_base from platform.branches where ref = $1";
        let tables = self.tables().await?;
        let row = tables.query_one(sql, &[&branch.reference.as_str()]).await?;
        let fingerprint = |value: Option<Value>| value.as_ref().map(from_json);
        Ok(fingerprint(row.get(0))
            .zip(fingerprint(row.get(1)))
            .map(|(parent, branch)| Base { parent, branch }))
    }

    /// Writes down what a branch starts with. It is a copy, so this is its parent's schema too.
    pub(crate) async fn record_first_base(&self, branch: &Project) -> Result<(), PlatformError> {
        let fingerprint = read_schema(branch).await?.fingerprint(&Scope::all());
        let base = Base {
            parent: fingerprint.clone(),
            branch: fingerprint,
        };
        self.store_base(branch.reference(), &base).await
    }

    /// Writes down what both sides look like after a merge or a rebase: as they were read then, since
    /// what somebody changes afterwards is not part of it.
    pub(super) async fn store_base(
        &self,
        branch: &ProjectRef,
        base: &Base,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.branches
                   set parent_base = $2, branch_base = $3, updated_at = now()
                   where ref = $1";
        let (parent, own) = (to_json(&base.parent), to_json(&base.branch));
        let tables = self.tables().await?;
        tables
            .execute(sql, &[&branch.as_str(), &parent, &own])
            .await?;
        Ok(())
    }

    /// The same for the parent alone, of which a part of a merge has changed.
    pub(super) async fn store_parent_base(
        &self,
        branch: &ProjectRef,
        parent: &Fingerprint,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.branches set parent_base = $2, updated_at = now()
                   where ref = $1 and parent_base is not null";
        let tables = self.tables().await?;
        tables
            .execute(sql, &[&branch.as_str(), &to_json(parent)])
            .await?;
        Ok(())
    }
}

fn to_json(fingerprint: &Fingerprint) -> Value {
    let pairs = fingerprint.0.iter();
    Value::Object(
        pairs
            .map(|(name, hash)| (name.replace('\0', " "), Value::String(hash.clone())))
            .collect(),
    )
}

fn from_json(value: &Value) -> Fingerprint {
    let members = value.as_object().into_iter().flatten();
    Fingerprint(
        members
            .filter_map(|(name, hash)| Some((name.clone(), hash.as_str()?.to_owned())))
            .collect(),
    )
}
