//! Background jobs (console contract F90).
//!
//! The state of a job is its row in `platform.jobs`. The node that does the work updates the row
//! at least every ten seconds (a heartbeat), so that other nodes recognise abandoned jobs. `run.rs`
//! queues and runs the work, `resume.rs` takes over what a node left behind.

mod manual;
mod resume;
mod run;

use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError, keyset::Keyset};

pub use resume::JobHandler;
pub use run::{JobContext, JobKind, JobRequest, JobResult};

pub(crate) use run::{Runner, reason};

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Waits until its kind has room, or until a node resumes it.
    Queued,
    /// In progress.
    Running,
    /// Finished.
    Succeeded,
    /// Failed; `error` says why.
    Failed,
    /// An operator ended it.
    Cancelled,
}

impl JobState {
    const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The value in the API and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this name.
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    fn parse(text: &str) -> Result<Self, PlatformError> {
        Self::find(text)
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
    /// What it achieved.
    pub result: Option<serde_json::Value>,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether an operator asked it to end.
    pub cancel_requested: bool,
    /// The operator who started it.
    pub created_by: Option<String>,
    /// When it was asked for.
    pub created_at: OffsetDateTime,
    /// When its work began.
    pub started_at: Option<OffsetDateTime>,
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

/// Which jobs to list; what is absent does not filter.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// The projects whose jobs may be seen; absent for all jobs.
    pub visible: Option<Vec<String>>,
    /// Of this project only.
    pub project: Option<String>,
    /// Of this kind only.
    pub kind: Option<String>,
    /// In one of these states.
    pub states: Option<Vec<JobState>>,
    /// Older than this position.
    pub after: Option<Keyset>,
    /// At most so many.
    pub limit: i64,
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
            result: row.get("result"),
            error: row.get("error"),
            cancel_requested: row.get("cancel_requested"),
            created_by: row.get("created_by"),
            created_at: row.get("created_at"),
            started_at: row.get("started_at"),
            finished_at: row.get("finished_at"),
        })
    }

    /// Its position in the list.
    pub fn position(&self) -> Keyset {
        Keyset {
            at: self.created_at,
            id: self.id,
        }
    }
}

const COLUMNS: &str = "id, kind, project, state, done, total, unit, message, result, error,
    cancel_requested, created_by, created_at, started_at, finished_at from platform.jobs";

impl Platform {
    /// Jobs, newest first. Jobs of no project are visible to whoever sees all projects.
    pub async fn list_jobs(&self, filter: &JobFilter) -> Result<Vec<Job>, PlatformError> {
        let sql = format!(
            "select {COLUMNS}
             where ($1::text[] is null or project = any ($1))
               and ($2::text is null or project = $2)
               and ($3::text is null or kind = $3)
               and ($4::text[] is null or state = any ($4))
               and ($5::timestamptz is null or (created_at, id) < ($5, $6))
             order by created_at desc, id desc
             limit $7"
        );
        let states: Option<Vec<&str>> = filter
            .states
            .as_ref()
            .map(|states| states.iter().map(|state| state.as_str()).collect());
        let after = filter.after.as_ref();
        let params: plinth_db::Params<'_> = &[
            &filter.visible,
            &filter.project,
            &filter.kind,
            &states,
            &after.map(|position| position.at),
            &after.map(|position| position.id),
            &filter.limit,
        ];
        let rows = self.tables().await?.query(&sql, params).await?;
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

    /// Asks a job to end. One that no node works on ends here and now; otherwise the node that does
    /// the work is notified.
    pub async fn cancel_job(&self, id: Uuid) -> Result<Job, PlatformError> {
        // One that waits, or whose node is gone, has nobody to end it.
        let sql = "with job as (
                       update platform.jobs j
                       set cancel_requested = true,
                           state = case when ends then 'cancelled' else j.state end,
                           finished_at = case when ends then now() end
                       from (select id, state = 'queued' or updated_at < now() - interval '1 minute' as ends
                             from platform.jobs
                             where id = $1 and state in ('queued', 'running')
                             for update) as found
                       where j.id = found.id
                       returning j.id, j.kind, j.project, j.state)
                   select pg_notify('plinth_platform', 'job ' || id),
                          case when state = 'cancelled' then platform.publish_event(
                              'job.cancelled', project,
                              jsonb_build_object('id', id, 'kind', kind, 'state', state))
                          end
                   from job";
        let rows = self.tables().await?.query(sql, &[&id]).await?;
        let job = self.load_job(id).await?;
        if rows.is_empty() {
            return Err(PlatformError::Conflict(format!(
                "Job {id} has ended already: it is {}",
                job.state.as_str()
            )));
        }
        self.interrupt_job(id);
        self.deliver_events().await;
        Ok(job)
    }
}
