//! Queues the work of jobs and runs it: a task per job, bounded by kind on each node.
//!
//! A job that is cancelled, or interrupted by a shutdown, sees it in its [`JobContext`] and ends by
//! itself; one that does not is dropped after a grace time. The row is written before the work begins
//! and after it ended, so that a killed process leaves a row that `resume.rs` finds.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use plinth_log::{Level, Record, Source};
use plinth_project::ProjectRef;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{JobHandler, JobProgress};
use crate::{Platform, PlatformError};

/// Shortest time between two writes of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// Longest time between two updates of the row.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);
/// How long cancelled work may take to end by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(10);
/// Pauses between attempts to write the end of a job.
const END_RETRIES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(9),
];

/// What a job achieves; null if there is nothing to say.
pub type JobResult = Result<Value, PlatformError>;

/// A kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobKind {
    /// The name in the API and in the table.
    pub name: &'static str,
    /// How many run at a time on one node; the others wait.
    pub max_running: usize,
}

/// A job to be queued.
#[derive(Debug, Clone, Default)]
pub struct JobRequest<'a> {
    /// For which project.
    pub project: Option<&'a ProjectRef>,
    /// The operator, for the list of jobs.
    pub created_by: Option<&'a str>,
    /// Parameters of a kind that is resumed after a restart.
    pub input: Option<Value>,
}

/// What the work of a job gets.
#[derive(Clone)]
pub struct JobContext {
    /// The job's id.
    pub id: Uuid,
    /// Parameters of a resumable kind, otherwise null.
    pub input: Value,
    progress: Arc<watch::Sender<JobProgress>>,
    cancelled: CancellationToken,
    /// The server stops.
    shutdown: CancellationToken,
}

impl JobContext {
    /// Reports progress; written at most every 300 ms.
    pub fn report(&self, progress: JobProgress) {
        self.progress.send_replace(progress);
    }

    /// Cancelled when the job is to end: by an operator, or because the server stops.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Runs a part of the work that may be dropped at any point.
    pub async fn until_cancelled<T>(
        &self,
        part: impl Future<Output = Result<T, PlatformError>>,
    ) -> Result<T, PlatformError> {
        let done = self.cancelled.run_until_cancelled(part).await;
        done.unwrap_or_else(|| Err(self.interruption()))
    }

    /// Why the job is to end.
    fn interruption(&self) -> PlatformError {
        let reason = if self.shutdown.is_cancelled() {
            "Plinth was stopped before the work was done"
        } else {
            "The job was cancelled"
        };
        PlatformError::Conflict(reason.to_owned())
    }
}

/// The jobs of this node.
#[derive(Default)]
pub(crate) struct Runner {
    running: Mutex<HashMap<Uuid, CancellationToken>>,
    room: Mutex<HashMap<&'static str, Arc<Semaphore>>>,
    handlers: Mutex<HashMap<&'static str, JobHandler>>,
}

impl Runner {
    fn room(&self, kind: JobKind) -> Arc<Semaphore> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let semaphore = room.entry(kind.name);
        let semaphore = semaphore.or_insert_with(|| Arc::new(Semaphore::new(kind.max_running)));
        semaphore.clone()
    }

    pub(super) fn set_handler(&self, handler: JobHandler) {
        let mut handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.insert(handler.kind.name, handler);
    }

    pub(super) fn handler(&self, kind: &str) -> Option<JobHandler> {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.get(kind).cloned()
    }

    /// Whether a task of this node has the job.
    pub(super) fn is_running(&self, id: Uuid) -> bool {
        self.running().contains_key(&id)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job whose row this node holds.
pub(super) struct HeldJob {
    pub(super) id: Uuid,
    pub(super) kind: JobKind,
    pub(super) project: Option<String>,
    pub(super) input: Value,
}

impl Platform {
    /// Queues a job and returns its id at once. The work gets a [`JobContext`]; its error becomes
    /// the job's.
    pub async fn run_job<W, F>(
        &self,
        kind: JobKind,
        request: JobRequest<'_>,
        work: W,
    ) -> Result<Uuid, PlatformError>
    where
        W: FnOnce(JobContext) -> F + Send + 'static,
        F: Future<Output = JobResult> + Send,
    {
        let project = request.project.map(|project| project.to_string());
        let id = self.insert_job(kind, &project, &request).await?;
        let job = HeldJob {
            id,
            kind,
            project,
            input: request.input.unwrap_or_default(),
        };
        self.spawn_job(job, work);
        Ok(id)
    }

    async fn insert_job(
        &self,
        kind: JobKind,
        project: &Option<String>,
        request: &JobRequest<'_>,
    ) -> Result<Uuid, PlatformError> {
        let sql = "with job as (
                       insert into platform.jobs (kind, project, created_by, input, node, state)
                       values ($1, $2, $3, $4, $5, 'queued')
                       returning id)
                   select id, platform.publish_event('job.created', $2,
                       jsonb_build_object('id', id, 'kind', $1::text, 'state', 'queued'))
                   from job";
        let params: plinth_db::Params<'_> = &[
            &kind.name,
            project,
            &request.created_by,
            &request.input,
            &self.0.node,
        ];
        let row = self.tables().await?.query_one(sql, params).await?;
        self.deliver_events().await;
        Ok(row.get("id"))
    }

    /// Starts the task of a job; a shutdown awaits it.
    pub(super) fn spawn_job<W, F>(&self, job: HeldJob, work: W)
    where
        W: FnOnce(JobContext) -> F + Send + 'static,
        F: Future<Output = JobResult> + Send,
    {
        let cancelled = self.0.shutdown.child_token();
        self.0.jobs.running().insert(job.id, cancelled.clone());
        let platform = self.clone();
        self.0.tasks.spawn(async move {
            let (sender, receiver) = watch::channel(JobProgress::default());
            let context = JobContext {
                id: job.id,
                input: job.input.clone(),
                progress: Arc::new(sender),
                cancelled: cancelled.clone(),
                shutdown: platform.0.shutdown.clone(),
            };
            let outcome = tokio::select! {
                outcome = platform.work_in_turn(&job, context, work) => outcome,
                () = platform.report_job(job.id, receiver) => Err(cancelled_by_loss()),
            };
            platform.0.jobs.running().remove(&job.id);
            platform.finish_job(&job, outcome).await;
        });
    }

    /// Waits until its kind has room, then does the work.
    async fn work_in_turn<W, F>(&self, job: &HeldJob, context: JobContext, work: W) -> JobResult
    where
        W: FnOnce(JobContext) -> F + Send,
        F: Future<Output = JobResult> + Send,
    {
        let (cancellation, job_context) = (context.cancelled.clone(), context.clone());
        let room = self.0.jobs.room(job.kind);
        let permit = cancellation.run_until_cancelled(room.acquire_owned()).await;
        let Some(_permit) = permit else {
            return Err(job_context.interruption());
        };
        if !self.start_job(job).await? {
            return Err(job_context.interruption());
        }
        let out_of_time = async {
            cancellation.cancelled().await;
            tokio::time::sleep(CANCEL_GRACE).await;
        };
        tokio::select! {
            result = work(context) => result,
            () = out_of_time => Err(job_context.interruption()),
        }
    }

    /// Marks the job as running; false if it was cancelled while it waited.
    async fn start_job(&self, job: &HeldJob) -> Result<bool, PlatformError> {
        let sql = "with job as (
                       update platform.jobs
                       set state = 'running', updated_at = now(),
                           started_at = coalesce(started_at, now()), attempts = attempts + 1
                       where id = $1 and state = 'queued'
                       returning id, kind, project)
                   select platform.publish_event('job.started', project,
                       jsonb_build_object('id', id, 'kind', kind, 'state', 'running'))
                   from job";
        let rows = self.tables().await?.query(sql, &[&job.id]).await?;
        self.deliver_events().await;
        Ok(!rows.is_empty())
    }

    /// Ends the wait or the work of a job of this node.
    pub(crate) fn interrupt_job(&self, id: Uuid) {
        if let Some(cancelled) = self.0.jobs.running().get(&id) {
            cancelled.cancel();
        }
    }

    async fn finish_job(&self, job: &HeldJob, outcome: JobResult) {
        let error = outcome.as_ref().err().map(reason);
        self.log_job(job, error.as_deref());
        let result = match outcome {
            Ok(Value::Null) | Err(_) => None,
            Ok(result) => Some(result),
        };
        let is_released = error.is_some()
            && self.0.shutdown.is_cancelled()
            && self.0.jobs.handler(job.kind.name).is_some();
        for pause in END_RETRIES.iter().map(Some).chain([None]) {
            let ended = match &error {
                Some(_) if is_released => self.release_job(job.id).await,
                error => {
                    self.write_end(job.id, error.as_deref(), result.as_ref())
                        .await
                }
            };
            match (ended, pause) {
                (Ok(()), _) => break,
                (Err(error), Some(pause)) if !self.0.shutdown.is_cancelled() => {
                    tracing::debug!(job = %job.id, "writing the end of a job failed: {error}");
                    tokio::time::sleep(*pause).await;
                }
                (Err(error), _) => {
                    // The missing heartbeat shows that it ended.
                    tracing::warn!(job = %job.id, "writing the end of a job failed: {error}");
                    break;
                }
            }
        }
        self.deliver_events().await;
    }

    /// Leaves an interrupted job to the next start.
    async fn release_job(&self, id: Uuid) -> Result<(), PlatformError> {
        let sql = "update platform.jobs
                   set node = null,
                       state = case when cancel_requested then 'cancelled' else 'queued' end,
                       finished_at = case when cancel_requested then now() end
                   where id = $1 and state in ('queued', 'running')";
        self.tables().await?.execute(sql, &[&id]).await?;
        Ok(())
    }

    pub(super) async fn write_end(
        &self,
        id: Uuid,
        error: Option<&str>,
        result: Option<&Value>,
    ) -> Result<(), PlatformError> {
        let sql = "with job as (
                       update platform.jobs
                       set state = case when $2::text is null then 'succeeded'
                                        when cancel_requested then 'cancelled'
                                        else 'failed' end,
                           error = $2, result = $3,
                           done = case when $2 is null then total else done end,
                           updated_at = now(), finished_at = now()
                       where id = $1 and state in ('queued', 'running')
                       returning id, kind, project, state, error)
                   select platform.publish_event('job.' || state, project, jsonb_strip_nulls(
                       jsonb_build_object('id', id, 'kind', kind, 'state', state, 'error', error)))
                   from job";
        let tables = self.tables().await?;
        tables.query(sql, &[&id, &error, &result]).await?;
        Ok(())
    }

    fn log_job(&self, job: &HeldJob, error: Option<&str>) {
        let kind = job.kind.name;
        let (level, message) = match error {
            None => (Level::Info, format!("job {kind} succeeded")),
            Some(error) => (Level::Error, format!("job {kind} failed: {error}")),
        };
        let project = job.project.as_deref();
        let project = project.unwrap_or(self.references().platform.as_str());
        let record = Record::new(Source::Jobs, level, message).project(project);
        let record = record
            .field("job.id", job.id.to_string())
            .field("kind", kind);
        self.0.logs.write(record);
    }

    /// Writes progress and heartbeats, and notices cancellations whose notification was lost. Never
    /// returns, so it is to be dropped at the job's end.
    pub(crate) async fn report_job(&self, id: Uuid, mut progress: watch::Receiver<JobProgress>) {
        let mut last = None;
        loop {
            let now = progress.borrow_and_update().clone();
            let is_news = last.as_ref().is_some_and(|last| *last != now);
            match self.write_progress(id, &now, is_news).await {
                Ok(true) => self.interrupt_job(id),
                Ok(false) => {}
                Err(error) => tracing::warn!(job = %id, "writing job progress failed: {error}"),
            }
            last = Some(now);
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            let change = tokio::time::timeout(HEARTBEAT_INTERVAL, progress.changed());
            if let Ok(Err(_)) = change.await {
                // The sender is gone: there is nothing more to report.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns whether the job is to be cancelled. Progress is sent to open streams, but not kept
    /// among the events.
    async fn write_progress(
        &self,
        id: Uuid,
        progress: &JobProgress,
        is_news: bool,
    ) -> Result<bool, PlatformError> {
        let sql = "update platform.jobs
                   set done = $2, total = $3, unit = $4, message = $5, updated_at = now()
                   where id = $1
                   returning cancel_requested, kind, project";
        let JobProgress {
            done,
            total,
            unit,
            message,
        } = progress;
        let tables = self.tables().await?;
        let params: plinth_db::Params<'_> = &[&id, done, total, unit, message];
        let Some(row) = tables.query_opt(sql, params).await? else {
            return Ok(false);
        };
        if is_news {
            let project: Option<String> = row.get("project");
            let details = json!({
                "id": id,
                "kind": row.get::<_, String>("kind"),
                "progress": { "done": done, "total": total, "unit": unit },
                "message": message.chars().take(200).collect::<String>(),
            });
            drop(tables);
            self.notify_progress(project, details).await;
        }
        Ok(row.get("cancel_requested"))
    }
}

fn cancelled_by_loss() -> PlatformError {
    PlatformError::internal("the report of a job ended before the job")
}

/// The message for the operator, who may see PostgreSQL's errors about their own database.
pub(crate) fn reason(error: &PlatformError) -> String {
    match error {
        PlatformError::Internal(cause) => cause.to_string(),
        error => error.to_string(),
    }
}
