//! Indexes that are built, dropped and rebuilt while others write: jobs, since they may take hours, and
//! outside of a transaction, so that a failure may leave an index that is not valid.

use std::time::Duration;

use plinth_catalog::statements::Statements;
use plinth_project::{DatabaseAccess, Project};
use tokio::sync::watch;
use uuid::Uuid;

use super::{CatalogError, SchemaChange, change::Outcome};
use crate::{PlatformError, jobs::JobProgress};

const KIND: &str = "index";
/// How often the server is asked how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

const PROGRESS: &str = "select phase, coalesce(nullif(tuples_total, 0), blocks_total) as total,
        case when tuples_total > 0 then tuples_done else blocks_done end as done,
        case when tuples_total > 0 then 'tuples' else 'blocks' end as unit
    from pg_stat_progress_create_index where pid = $1";

/// Indexes of a table that no query may use.
const INVALID: &str = "select c.oid, format('%I.%I', n.nspname, c.relname)
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace
    where i.indrelid = $1 and not i.indisvalid";

impl SchemaChange {
    /// Starts the statements as a job. `table` is the one that the index is on.
    pub(crate) async fn finish_as_job(
        self,
        what: &'static str,
        statements: Statements,
        table: u32,
    ) -> Result<Outcome<Uuid>, CatalogError> {
        if self.options.dry_run {
            return Ok(Outcome::Shown(statements));
        }
        // The transaction has done its work: the objects are known.
        self.session.batch_execute("rollback").await?;
        let reference = self.project.reference().as_str();
        let by = self.operator.name();
        let id = self.platform.begin_job(KIND, reference, Some(by)).await?;
        let platform = self.platform.clone();
        platform.0.tasks.spawn(async move {
            let platform = self.platform.clone();
            let ended = self.run_job(id, what, &statements, table).await;
            let reason = ended.err().map(|error| error.to_string());
            if let Err(error) = platform.end_job(id, reason.as_deref()).await {
                tracing::error!(job = %id, "writing the end of a job failed: {error}");
            }
        });
        Ok(Outcome::Done(id))
    }

    async fn run_job(
        self,
        id: Uuid,
        what: &str,
        statements: &[String],
        table: u32,
    ) -> Result<(), CatalogError> {
        let (sender, receiver) = watch::channel(JobProgress::default());
        let before = invalid_indexes(&self, table).await?;
        let pid = self.client().query_one("select pg_backend_pid()", &[]);
        let pid: i32 = pid.await?.get(0);
        let shutdown = self.platform.0.shutdown.clone();
        let work = async {
            for statement in statements {
                self.run(statement).await?;
            }
            Ok::<_, CatalogError>(())
        };
        let mut work = std::pin::pin!(work);
        let result = tokio::select! {
            result = &mut work => result,
            () = self.platform.report_job(id, receiver) => Ok(()),
            () = watch_progress(&self.project, pid, sender) => Ok(()),
            () = shutdown.cancelled() => {
                cancel(&self.project, pid).await;
                _ = work.await;
                Err(PlatformError::Conflict(
                    "Plinth was stopped before the work was done".to_owned(),
                ).into())
            }
        };
        if result.is_err() {
            self.drop_invalid(table, &before).await;
        } else {
            // Recorded afterwards: it was not in a transaction.
            self.begin_transaction().await?;
            self.record(&as_file(statements)).await?;
            self.session.batch_execute("commit").await?;
            self.audit(what, statements).await;
        }
        result
    }

    /// Removes what a failed build left behind.
    async fn drop_invalid(&self, table: u32, before: &[(u32, String)]) {
        let after = invalid_indexes(self, table).await.unwrap_or_default();
        for (oid, name) in after {
            if before.iter().all(|(known, _)| *known != oid) {
                let sql = format!("drop index concurrently if exists {name}");
                if let Err(error) = self.run(&sql).await {
                    tracing::warn!("an invalid index remains: {error}");
                }
            }
        }
    }
}

async fn invalid_indexes(
    change: &SchemaChange,
    table: u32,
) -> Result<Vec<(u32, String)>, CatalogError> {
    let rows = change.client().query(INVALID, &[&table]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// The statements as a migration that does not run in a transaction when it is applied elsewhere.
fn as_file(statements: &[String]) -> Statements {
    let mut file = statements.to_vec();
    if let Some(first) = file.first_mut() {
        first.insert_str(0, "-- plinth: no-transaction\n");
    }
    file
}

async fn cancel(project: &Project, pid: i32) {
    if let Ok(other) = project.db.session_as_operator(DatabaseAccess::Owner).await {
        _ = other.execute("select pg_cancel_backend($1)", &[&pid]).await;
    }
}

/// Never returns: it is to be dropped at the end of the work.
async fn watch_progress(project: &Project, pid: i32, progress: watch::Sender<JobProgress>) {
    let observer = project.db.session_as_operator(DatabaseAccess::Owner).await;
    let Ok(observer) = observer else {
        // Without a second connection there is no progress to see.
        return std::future::pending().await;
    };
    loop {
        if let Ok(Some(row)) = observer.query_opt(PROGRESS, &[&pid]).await {
            progress.send_replace(JobProgress {
                done: row.get("done"),
                total: row.get("total"),
                unit: row.get("unit"),
                message: row.get("phase"),
            });
        }
        tokio::time::sleep(PROGRESS_INTERVAL).await;
    }
}
