//! Long work that goes on in the background (console contract F90).
//!
//! A job's row is its state for everybody who asks. Whoever does the work reports at least every
//! few seconds, so that other nodes can tell work from the remains of a killed process.

use std::time::Duration;

use time::OffsetDateTime;
use tokio::sync::watch;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// How often progress is written down when there is some.
const PACE: Duration = Duration::from_millis(300);
/// How often a job shows that somebody is at work.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Somebody is at work.
    Running,
    /// It is done.
    Succeeded,
    /// It could not be done; the error says why.
    Failed,
}

impl JobState {
    /// The word on the wire and in the table.
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
            .ok_or_else(|| PlatformError::internal(format!("unknown state of a job {text:?}")))
    }
}

/// Work in the background, as of now.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its id.
    pub id: Uuid,
    /// What is being done, as in `branch`.
    pub kind: String,
    /// For which project.
    pub project: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// How far it got.
    pub progress: JobProgress,
    /// Why it failed.
    pub error: Option<String>,
    /// Who asked for it.
    pub created_by: Option<String>,
    /// When it began.
    pub created_at: OffsetDateTime,
    /// When it ended.
    pub finished_at: Option<OffsetDateTime>,
}

/// How far a job got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Units that are done.
    pub done: i64,
    /// Units in all.
    pub total: i64,
    /// What is counted.
    pub unit: String,
    /// What is under way.
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

    /// Writes progress down as it comes, until it is dropped.
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
                tracing::warn!(job = %id, "progress could not be written down: {error}");
            }
            tokio::time::sleep(PACE).await;
            let change = tokio::time::timeout(SIGN_OF_LIFE, progress.changed());
            if let Ok(Err(_)) = change.await {
                // The work is over, and with it everything that could be reported.
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

    /// Jobs whose process was killed. Others may be at work unless this one is `alone`.
    pub(crate) async fn end_abandoned_jobs(&self, alone: bool) -> Result<(), PlatformError> {
        let sql = "update platform.jobs
                   set state = 'failed', error = 'Plinth ended before the work was done',
                       finished_at = now()
                   where state = 'running' and ($1 or updated_at < now() - interval '10 minutes')";
        self.tables().await?.execute(sql, &[&alone]).await?;
        Ok(())
    }
}
