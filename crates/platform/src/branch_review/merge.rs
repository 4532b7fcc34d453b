//! Merging a branch into its parent.
//!
//! The branch's migrations run on the parent in order, then one that is generated for what no
//! migration of the branch records, all in one transaction: a failure, a shutdown or a kill leaves
//! the parent as it was. A migration that must run outside of a transaction ends the one before it;
//! what was done until then stays, is in the history, and is told. Functions follow, each by
//! itself; a merge that is repeated goes on with those that are left.

use plinth_diff::{Schema, Scope, compare};
use time::{OffsetDateTime, macros::format_description};
use tokio_postgres::Client;
use uuid::Uuid;

use super::{Sides, base::Base, job::Steps, read_schema, rebase::record_only, review::Review};
use crate::{
    Branch, MigrationFile, Platform, PlatformError,
    user_migrations::{StoredMigration, run_file, stored_migrations},
};

/// The lock of a project's merges and rebases, and the one that migrations wait for.
const TRY_LOCK: &str = "select pg_try_advisory_lock(hashtext('plinth_branch'))";
const MIGRATIONS_LOCK: &str = "select pg_advisory_lock(hashtext('supabase_migrations'))";

/// A statement that waits for a lock blocks those after it.
const SESSION: &str = "set lock_timeout = '10s'; set statement_timeout = '10min';
    set idle_in_transaction_session_timeout = '10min'";

/// What is merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct MergeRequest {
    /// Of the review; without it only what migrations record is merged.
    pub(crate) review_token: Option<String>,
    /// Whether functions are deployed.
    pub(crate) with_functions: bool,
    /// The last migration that is merged.
    pub(crate) until_version: Option<String>,
}

impl Platform {
    /// Begins to merge a branch. Returns the job.
    pub(crate) async fn merge_branch(
        &self,
        branch: &Branch,
        request: MergeRequest,
        by: &str,
    ) -> Result<Uuid, PlatformError> {
        let sides = self.open_sides(branch).await?;
        let review = self.review(branch, &sides).await?;
        check(&review, &request)?;
        let lock = try_lock(&sides).await?;
        let of = branch.clone();
        self.run_branch_job(
            "branch_merge",
            branch,
            by,
            move |platform, steps| async move {
                platform.merge(&of, &sides, lock, request, &steps).await
            },
        )
        .await
    }

    async fn merge(
        &self,
        branch: &Branch,
        sides: &Sides,
        mut lock: Client,
        request: MergeRequest,
        steps: &Steps,
    ) -> Result<String, PlatformError> {
        lock.batch_execute(MIGRATIONS_LOCK).await?;
        // Between request and lock somebody else may have changed something.
        let review = self.review(branch, sides).await?;
        check(&review, &request)?;
        let applied = self
            .merge_schema(&mut lock, sides, &review, &request, steps)
            .await?;
        sides.parent.db.discard_statements();
        let functions = match request.with_functions {
            true => {
                steps.report(applied, applied + 1, "Deploying functions");
                self.merge_functions(sides).await?
            }
            false => Vec::new(),
        };
        drop(lock);
        let sql = "update platform.branches set merged_at = now() where ref = $1";
        let reference = sides.branch.reference().as_str();
        self.tables().await?.execute(sql, &[&reference]).await?;
        Ok(format!(
            "Merged {applied} migrations and {} functions",
            functions.len()
        ))
    }

    /// Runs migrations on the parent. Returns how many.
    async fn merge_schema(
        &self,
        owner: &mut Client,
        sides: &Sides,
        review: &Review,
        request: &MergeRequest,
        steps: &Steps,
    ) -> Result<usize, PlatformError> {
        let until = request.until_version.as_ref();
        let pending: Vec<&StoredMigration> = review
            .pending
            .iter()
            .filter(|of| until.is_none_or(|until| of.version <= *until))
            .collect();
        let goal = match until {
            // Then what comes after it is not wanted, recorded or not.
            Some(_) => None,
            None => Some(read_schema(&sides.branch).await?),
        };
        self.run_in_parts(owner, &pending, (sides, goal.as_ref()), request, steps)
            .await
    }

    /// Migrations in one transaction, or in several if one of them cannot be in any.
    async fn run_in_parts(
        &self,
        owner: &mut Client,
        pending: &[&StoredMigration],
        (sides, goal): (&Sides, Option<&Schema>),
        request: &MergeRequest,
        steps: &Steps,
    ) -> Result<usize, PlatformError> {
        let total = pending.len() + 1;
        let mut done = 0;
        let mut kept = 0;
        let mut rest = pending;
        loop {
            let files: Vec<MigrationFile> = rest.iter().map(|of| of.to_file()).collect();
            let alone = files
                .iter()
                .position(MigrationFile::runs_without_transaction);
            let together = alone.unwrap_or(files.len());
            let is_last = alone.is_none();
            let transaction = owner.transaction().await?;
            for file in &files[..together] {
                steps.report(done, total, format!("Running {file}"));
                run_file(transaction.client(), file, true)
                    .await
                    .map_err(|error| stopped(error, kept, pending.len()))?;
                done += 1;
            }
            if is_last && let Some(goal) = goal {
                steps.report(done, total, "Comparing the schemas");
                let goal = Goal {
                    sides,
                    schema: goal,
                };
                done += run_generated(transaction.client(), goal, request)
                    .await
                    .map_err(|error| stopped(error, kept, pending.len()))?;
            }
            let after = Schema::read_within(transaction.client()).await?;
            transaction.client().batch_execute("reset all").await?;
            transaction.client().batch_execute(SESSION).await?;
            transaction.commit().await?;
            kept += together;
            self.record_merged(sides, &after, goal.filter(|_| is_last))
                .await?;
            let Some(alone) = alone else {
                return Ok(done);
            };
            let file = &files[alone];
            steps.report(done, total, format!("Running {file}"));
            run_file(owner, file, false)
                .await
                .map_err(|error| stopped(error, kept, pending.len()))?;
            done += 1;
            kept += 1;
            let after = read_schema(&sides.parent).await?;
            self.record_merged(sides, &after, None).await?;
            rest = &rest[alone + 1..];
        }
    }

    /// Writes down what the parent is like after a part of a merge, and that the branch is like it
    /// after the last.
    async fn record_merged(
        &self,
        sides: &Sides,
        parent: &Schema,
        branch: Option<&Schema>,
    ) -> Result<(), PlatformError> {
        let scope = Scope::all();
        let parent = parent.fingerprint(&scope);
        let reference = sides.branch.reference();
        match branch {
            None => self.store_parent_base(reference, &parent).await,
            Some(branch) => {
                let branch = branch.fingerprint(&scope);
                self.store_base(reference, &Base { parent, branch }).await
            }
        }
    }
}

/// Whether what is asked for is what was reviewed, and can be merged.
fn check(review: &Review, request: &MergeRequest) -> Result<(), PlatformError> {
    if review.has_moved_on() {
        return Err(PlatformError::Conflict(
            "The parent has changed since the branch was made or rebased; rebase the branch first"
                .to_owned(),
        ));
    }
    let is_old = |token: &String| *token != review.token;
    if request.review_token.as_ref().is_some_and(is_old) {
        return Err(PlatformError::Conflict(
            "Branch or parent have changed since this review; review the branch again".to_owned(),
        ));
    }
    let is_known = |version: &String| review.pending.iter().any(|of| of.version == *version);
    match &request.until_version {
        Some(version) if !is_known(version) => Err(PlatformError::Invalid(format!(
            "The branch has no migration {version} that its parent lacks"
        ))),
        _ if request.review_token.is_none()
            && review.pending.is_empty()
            && !review.changes.is_empty() =>
        {
            Err(unreviewed())
        }
        _ => Ok(()),
    }
}

fn unreviewed() -> PlatformError {
    PlatformError::Conflict(
        "The branch has changes that none of its migrations records; review it, and merge with the \
         review's token"
            .to_owned(),
    )
}

/// A session on the parent that nobody else merges or rebases beside.
pub(super) async fn try_lock(sides: &Sides) -> Result<Client, PlatformError> {
    let client = sides.parent.db.as_owner().await?;
    client.batch_execute(SESSION).await?;
    if client.query_one(TRY_LOCK, &[]).await?.get(0) {
        Ok(client)
    } else {
        Err(PlatformError::Conflict(
            "Another branch of this project is being merged or rebased; try again when it is done"
                .to_owned(),
        ))
    }
}

/// What the parent's schema is to be like.
#[derive(Clone, Copy)]
struct Goal<'a> {
    sides: &'a Sides,
    schema: &'a Schema,
}

/// Runs what no migration of the branch records, as a migration of its own. Returns how many.
async fn run_generated(
    client: &Client,
    goal: Goal<'_>,
    request: &MergeRequest,
) -> Result<usize, PlatformError> {
    let now = Schema::read_within(client).await?;
    let left = compare(&now, goal.schema, &Scope::all());
    if left.is_empty() {
        return Ok(0);
    }
    if request.review_token.is_none() {
        return Err(unreviewed());
    }
    client.batch_execute("reset all").await?;
    client.batch_execute(SESSION).await?;
    let file = MigrationFile {
        version: free_version(client).await?,
        name: "branch_changes".to_owned(),
        sql: left.to_sql(),
    };
    run_file(client, &file, true).await?;
    // From now on it is a migration of the branch: if the parent's transaction does not end well, the
    // next merge runs it.
    let branch = goal.sides.branch.db.as_owner().await?;
    record_only(&branch, &file).await?;
    Ok(1)
}

/// The present time as a version, or the first one after it that is free.
async fn free_version(client: &Client) -> Result<String, PlatformError> {
    let taken = stored_migrations(client).await?;
    let mut at = OffsetDateTime::now_utc();
    loop {
        let version = at
            .format(format_description!(
                "[year][month][day][hour][minute][second]"
            ))
            .map_err(PlatformError::caused_by)?;
        if !taken.iter().any(|of| of.version == version) {
            return Ok(version);
        }
        at += time::Duration::SECOND;
    }
}

/// Says what stays when a part of a merge fails.
fn stopped(error: PlatformError, kept: usize, total: usize) -> PlatformError {
    if kept == 0 {
        return error;
    }
    let text = match &error {
        PlatformError::Internal(cause) => cause.to_string(),
        error => error.to_string(),
    };
    PlatformError::Conflict(format!(
        "{text}\nThe first {kept} of {total} migrations stay, because one of them runs outside of a \
         transaction; merge again when the cause is removed"
    ))
}
