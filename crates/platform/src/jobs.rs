//! Background jobs (console contract F90).
//!
//! The state of a job is its row in `platform.jobs`. The node that does the work updates the row
//! at least every ten seconds (a heartbeat), so that other nodes recognise abandoned jobs.

use std::time::Duration;

use time::OffsetDateTime;
use tokio::sync::watch;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Shortest time between two writes of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// Longest time between two updates of the row.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// In progress.
    Running,
    /// Finished.
    Succeeded,
    /// Failed; `error` says why.
    Failed,
}

impl JobState {
    /// The value in the API and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    fn parse(text: &str) -> Result<Self, PlatformError> {
        [Self::Running, Self::Succeeded, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| PlatformError::internal(format!("unknown job state {text:?}")))
    }
}

/// A row of `platform.jobs`.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its id.
    pub id: Uuid,
    /// What it does, such as `branch`.
    pub kind: String,
    /// For which project.
    pub project: Option<String>,
    /// Its state.
    pub state: JobState,
    /// Its progress.
    pub progress: JobProgress,
    /// Why it failed.
    pub error: Option<String>,
    /// The operator who started it.
    pub created_by: Option<String>,
    /// When it began.
    pub created_at: OffsetDateTime,
    /// When it ended.
    pub finished_at: Option<OffsetDateTime>,
}

/// Progress of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Finished units.
    pub done: i64,
    /// Units in all.
    pub total: i64,
    /// Name of the unit.
    pub unit: String,
    /// The current step.
    pub message: String,
}

impl Job {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        Ok(Self {
            id: row.get("id"),
            kind: row.get("kind"),
            project: row.get("project"),
            state: JobState::parse(row.get("state"))?,
            progress: JobProgress {
                done: row.get("done"),
                total: row.get("total"),
                unit: row.get("unit"),
                message: row.get("message"),
            },
            error: row.get("error"),
            created_by: row.get("created_by"),
            created_at: row.get("created_at"),
            finished_at: row.get("finished_at"),
        })
    }
}

const COLUMNS: &str = "id, kind, project, state, done, total, unit, message, error, created_by,
    created_at, finished_at from platform.jobs";

impl Platform {
    /// The latest jobs, newest first.
    pub async fn list_jobs(&self) -> Result<Vec<Job>, PlatformError> {
        let sql = format!("select {COLUMNS} order by created_at desc limit 100");
        let rows = self.tables().await?.query(&sql, &[]).await?;
        rows.iter().map(Job::from_row).collect()
    }

    /// One job.
    pub async fn load_job(&self, id: Uuid) -> Result<Job, PlatformError> {
        let sql = format!("select {COLUMNS} where id = $1");
        match self.tables().await?.query_opt(&sql, &[&id]).await? {
            Some(row) => Job::from_row(&row),
            None => Err(PlatformError::NotFound(format!("There is no job {id}"))),
        }
    }

    pub(crate) async fn begin_job(
        &self,
        kind: &str,
        project: &str,
        created_by: Option<&str>,
    ) -> Result<Uuid, PlatformError> {
        let sql = "insert into platform.jobs (kind, project, created_by) values ($1, $2, $3)
                   returning id";
        let tables = self.tables().await?;
        let row = tables
            .query_one(sql, &[&kind, &project, &created_by])
            .await?;
        Ok(row.get(0))
    }

    /// Writes progress and heartbeats; never returns, so it is to be dropped at the job's end.
    pub(crate) async fn report_job(&self, id: Uuid, mut progress: watch::Receiver<JobProgress>) {
        let sql = "update platform.jobs
                   set done = $2, total = $3, unit = $4, message = $5, updated_at = now()
                   where id = $1";
        loop {
            let now = progress.borrow_and_update().clone();
            let written = async {
                let tables = self.tables().await?;
                let JobProgress {
                    done,
                    total,
                    unit,
                    message,
                } = &now;
                tables
                    .execute(sql, &[&id, done, total, unit, message])
                    .await?;
                Ok::<_, PlatformError>(())
            };
            if let Err(error) = written.await {
                tracing::warn!(job = %id, "writing job progress failed: {error}");
            }
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            let change = tokio::time::timeout(HEARTBEAT_INTERVAL, progress.changed());
            if let Ok(Err(_)) = change.await {
                // The sender is gone: there is nothing more to report.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) async fn end_job(&self, id: Uuid, error: Option<&str>) -> Result<(), PlatformError> {
        let sql = "update platform.jobs
                   set state = case when $2::text is null then 'succeeded' else 'failed' end,
                       error = $2, done = case when $2 is null then total else done end,
                       updated_at = now(), finished_at = now()
                   where id = $1";
        self.tables().await?.execute(sql, &[&id, &error]).await?;
        Ok(())
    }

    /// Fails jobs without a heartbeat for ten minutes, or all running ones if this is the only node.
    pub(crate) async fn fail_abandoned_jobs(
        &self,
        is_only_node: bool,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.jobs
                   set state = 'failed', error = 'Plinth ended before the work was done',
                       finished_at = now()
                   where state = 'running' and ($1 or updated_at < now() - interval '10 minutes')";
        self.tables().await?.execute(sql, &[&is_only_node]).await?;
        Ok(())
    }
}
