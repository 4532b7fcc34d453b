//! What a merge would do, before it is done.

use std::collections::{BTreeMap, BTreeSet};

use plinth_diff::{Action, Changes, Schema, Scope, compare};
use plinth_project::Project;

use super::{
    BucketDifference, FunctionDifference, SettingDifference, Sides, base::Base, read_schema,
    settings,
};
use crate::{
    Branch, Platform, PlatformError,
    user_migrations::{StoredMigration, stored_migrations},
};

/// A branch compared with its parent.
pub(crate) struct Review {
    /// What makes the parent's schema like the branch's, by the branch's doing.
    pub(crate) changes: Changes,
    /// Migrations that the parent does not have.
    pub(crate) pending: Vec<StoredMigration>,
    /// Migrations that the branch does not have.
    pub(crate) missing: Vec<StoredMigration>,
    /// What changed on both sides, or on the parent's alone.
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) functions: Vec<FunctionDifference>,
    pub(crate) settings: Vec<SettingDifference>,
    pub(crate) buckets: Vec<BucketDifference>,
    /// Names this state of both sides: another one needs another review.
    pub(crate) token: String,
}

/// An object that changed in the parent since the branch was made, merged or rebased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// As it is shown.
    pub(crate) object: String,
    pub(crate) in_parent: Action,
    /// What happened to it in the branch, if anything did.
    pub(crate) in_branch: Option<Action>,
}

impl Review {
    /// Whether the parent changed: the branch has to be rebased first.
    pub(crate) fn has_moved_on(&self) -> bool {
        !self.missing.is_empty() || !self.conflicts.is_empty()
    }

    /// Whether there is something to merge.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.pending.is_empty() && self.functions.is_empty()
    }
}

impl Platform {
    /// Compares a branch with its parent. Changes nothing.
    pub(crate) async fn review_branch(&self, branch: &Branch) -> Result<Review, PlatformError> {
        let sides = self.open_sides(branch).await?;
        self.review(branch, &sides).await
    }

    pub(super) async fn review(
        &self,
        branch: &Branch,
        sides: &Sides,
    ) -> Result<Review, PlatformError> {
        let scope = Scope::all();
        let (parent, own) =
            tokio::try_join!(read_schema(&sides.parent), read_schema(&sides.branch))?;
        let (theirs, mine) = tokio::try_join!(history(&sides.parent), history(&sides.branch))?;
        let base = self.find_base(branch).await?;
        let changes = compare(&parent, &own, &scope);
        let moves = Moves::since(base.as_ref(), &parent, &own, &changes);
        let functions = self.function_differences(sides).await?;
        // What only the parent changed is not the branch's to undo.
        let changes = changes.only(|object| !moves.is_only_in_parent(&object.to_string()));
        let digests = functions.iter().map(|of| (&of.slug, &of.branch_digest));
        let token = plinth_token::credential_hash(&format!(
            "{}\0{}\0{}\0{:?}",
            parent.fingerprint(&scope).digest(),
            own.fingerprint(&scope).digest(),
            changes.to_sql(),
            digests.collect::<Vec<_>>(),
        ));
        Ok(Review {
            changes,
            pending: without(&mine, &theirs),
            missing: without(&theirs, &mine),
            conflicts: moves.conflicts(),
            functions,
            settings: settings::setting_differences(sides),
            buckets: settings::bucket_differences(sides).await?,
            token,
        })
    }

    /// What makes the parent like the branch, as SQL.
    pub(crate) async fn branch_diff(
        &self,
        branch: &Branch,
        scope: &Scope,
    ) -> Result<Changes, PlatformError> {
        let sides = self.open_sides(branch).await?;
        let (parent, own) =
            tokio::try_join!(read_schema(&sides.parent), read_schema(&sides.branch))?;
        Ok(compare(&parent, &own, scope))
    }
}

/// What changed on each side since both were the same.
pub(super) struct Moves {
    pub(super) parent: BTreeMap<String, Action>,
    pub(super) branch: BTreeMap<String, Action>,
}

impl Moves {
    /// `difference` is what makes the parent like the branch: what both changed in the same way is no
    /// move any more.
    pub(super) fn since(
        base: Option<&Base>,
        parent: &Schema,
        branch: &Schema,
        difference: &Changes,
    ) -> Self {
        let Some(base) = base else {
            // Then nobody knows: all differences are the branch's.
            return Self {
                parent: BTreeMap::new(),
                branch: BTreeMap::new(),
            };
        };
        let scope = Scope::all();
        let differing: BTreeSet<String> = difference
            .changes
            .iter()
            .map(|change| change.object.to_string())
            .collect();
        let mut moves = Self {
            parent: base.parent.changes_until(&parent.fingerprint(&scope)),
            branch: base.branch.changes_until(&branch.fingerprint(&scope)),
        };
        moves.parent.retain(|object, _| differing.contains(object));
        moves
    }

    pub(super) fn is_only_in_parent(&self, object: &str) -> bool {
        self.parent.contains_key(object) && !self.branch.contains_key(object)
    }

    /// Objects that both changed.
    pub(super) fn on_both_sides(&self) -> Vec<&String> {
        let names = self.parent.keys();
        names
            .filter(|name| self.branch.contains_key(*name))
            .collect()
    }

    fn conflicts(&self) -> Vec<Conflict> {
        let conflict = |(object, in_parent): (&String, &Action)| Conflict {
            object: object.clone(),
            in_parent: *in_parent,
            in_branch: self.branch.get(object).copied(),
        };
        self.parent.iter().map(conflict).collect()
    }
}

pub(super) async fn history(project: &Project) -> Result<Vec<StoredMigration>, PlatformError> {
    stored_migrations(&project.db.as_owner().await?).await
}

/// Those of the first list whose versions are not in the second.
pub(super) fn without(
    these: &[StoredMigration],
    those: &[StoredMigration],
) -> Vec<StoredMigration> {
    let is_new = |of: &&StoredMigration| !those.iter().any(|other| other.version == of.version);
    these.iter().filter(is_new).cloned().collect()
}
