//! Rebasing a branch: it gets what changed in its parent meanwhile.

use std::collections::BTreeSet;

use plinth_diff::{Schema, Scope, compare};
use tokio_postgres::Client;
use uuid::Uuid;

use super::{
    Sides,
    base::Base,
    job::Steps,
    merge::try_lock,
    read_schema,
    review::{Moves, history, without},
};
use crate::{Branch, MigrationFile, Platform, PlatformError, user_migrations::run_file};

/// Which side an object is taken from that both changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    Parent,
    Branch,
}

impl Platform {
    /// Begins to rebase a branch. Returns the job.
    pub(crate) async fn rebase_branch(
        &self,
        branch: &Branch,
        resolution: Option<Resolution>,
        by: &str,
    ) -> Result<Uuid, PlatformError> {
        let sides = self.open_sides(branch).await?;
        let lock = try_lock(&sides).await?;
        let plan = self.plan(branch, &sides, resolution).await?;
        self.run_branch_job(
            "branch_rebase",
            branch,
            by,
            move |platform, steps| async move {
                let rebased = platform.rebase(&sides, &plan, &steps).await;
                drop(lock);
                rebased
            },
        )
        .await
    }

    async fn plan(
        &self,
        branch: &Branch,
        sides: &Sides,
        resolution: Option<Resolution>,
    ) -> Result<Plan, PlatformError> {
        let scope = Scope::all();
        let (parent, own) =
            tokio::try_join!(read_schema(&sides.parent), read_schema(&sides.branch))?;
        let base = self.find_base(branch).await?;
        let difference = compare(&parent, &own, &scope);
        let moves = Moves::since(base.as_ref(), &parent, &own, &difference);
        let on_both = moves.on_both_sides();
        if !on_both.is_empty() && resolution.is_none() {
            let names: Vec<&str> = on_both.iter().map(|name| name.as_str()).collect();
            return Err(PlatformError::Conflict(format!(
                "Branch and parent both changed {}; say which side to take: \
                 {{\"resolve\": \"branch\"}} or {{\"resolve\": \"parent\"}}",
                names.join(", ")
            )));
        }
        let takes_parent = resolution == Some(Resolution::Parent);
        let wanted = moves
            .parent
            .keys()
            .filter(|name| takes_parent || moves.is_only_in_parent(name));
        Ok(Plan {
            objects: wanted.cloned().collect(),
            parent,
            base,
        })
    }

    async fn rebase(
        &self,
        sides: &Sides,
        plan: &Plan,
        steps: &Steps,
    ) -> Result<String, PlatformError> {
        let (theirs, own) = tokio::try_join!(history(&sides.parent), history(&sides.branch))?;
        let missing = without(&theirs, &own);
        let total = missing.len() + 1;
        let mut owner = sides.branch.db.as_owner().await?;
        let lock = "select pg_advisory_lock(hashtext('supabase_migrations'))";
        owner.batch_execute(lock).await?;
        let mut done = 0;
        let mut transaction = owner.transaction().await?;
        for migration in &missing {
            let file = migration.to_file();
            steps.report(done, total, format!("Running {file}"));
            // A branch has no traffic to spare from locks: what runs outside of transactions in the
            // parent becomes plain.
            self.run_or_skip(&mut transaction, &file, plan).await?;
            done += 1;
        }
        steps.report(done, total, "Comparing the schemas");
        let taken = plan.take_over(transaction.client()).await?;
        let after = Schema::read_within(transaction.client()).await?;
        transaction.commit().await?;
        sides.branch.db.discard_statements();
        if let Some(base) = plan.base_after(&after) {
            self.store_base(sides.branch.reference(), &base).await?;
        }
        Ok(format!(
            "Brought {done} migrations and {taken} other changes to the branch"
        ))
    }

    /// Runs a migration of the parent on the branch. If the branch took another way to the same
    /// objects it is recorded without being run: what is missing is taken over afterwards.
    async fn run_or_skip(
        &self,
        transaction: &mut tokio_postgres::Transaction<'_>,
        file: &MigrationFile,
        plan: &Plan,
    ) -> Result<(), PlatformError> {
        let savepoint = transaction.savepoint("plinth_rebase").await?;
        match run_file(savepoint.client(), file, true).await {
            Ok(_) => Ok(savepoint.commit().await?),
            Err(PlatformError::MigrationFailed(_)) if !plan.objects.is_empty() => {
                savepoint.rollback().await?;
                record_only(transaction.client(), file).await
            }
            Err(error) => Err(error),
        }
    }
}

struct Plan {
    /// What is taken from the parent.
    objects: BTreeSet<String>,
    parent: Schema,
    base: Option<Base>,
}

impl Plan {
    /// What both look like now. What the branch changed itself stays changed: its next conflict must
    /// not be taken for the parent's change alone.
    fn base_after(&self, branch: &Schema) -> Option<Base> {
        let scope = Scope::all();
        let mut base = Base {
            parent: self.parent.fingerprint(&scope),
            branch: self.base.as_ref()?.branch.clone(),
        };
        let now = branch.fingerprint(&scope);
        for object in &self.objects {
            match now.0.get(object) {
                Some(hash) => base.branch.0.insert(object.clone(), hash.clone()),
                None => base.branch.0.remove(object),
            };
        }
        Some(base)
    }

    /// Makes the wanted objects like the parent's. Returns how many.
    async fn take_over(&self, client: &Client) -> Result<usize, PlatformError> {
        let now = Schema::read_within(client).await?;
        let changes = compare(&now, &self.parent, &Scope::all());
        let changes = changes.only(|object| self.objects.contains(&object.to_string()));
        client.batch_execute("reset all").await?;
        if changes.is_empty() {
            return Ok(0);
        }
        client
            .batch_execute(&changes.to_sql())
            .await
            .map_err(|error| {
                PlatformError::Conflict(format!(
                    "The parent's changes cannot be made in the branch: {}",
                    plinth_db::describe(&error)
                ))
            })?;
        Ok(changes.by_object().len())
    }
}

/// Writes a migration into the history without running it.
pub(super) async fn record_only(
    client: &Client,
    file: &MigrationFile,
) -> Result<(), PlatformError> {
    let statements: Vec<&str> = crate::user_migrations::split(&file.sql)
        .iter()
        .map(|statement| statement.text)
        .collect();
    let sql = "insert into supabase_migrations.schema_migrations (version, name, statements)
               values ($1, $2, $3)";
    client
        .execute(sql, &[&file.version, &file.name, &statements])
        .await?;
    Ok(())
}
