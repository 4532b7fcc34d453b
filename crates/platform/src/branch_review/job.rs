//! The jobs of this module: one place that begins and ends them.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use uuid::Uuid;

use crate::{Branch, Platform, PlatformError, jobs::JobProgress};

/// Says how far a job is.
pub(super) struct Steps(watch::Sender<JobProgress>);

impl Steps {
    pub(super) fn report(&self, done: usize, total: usize, message: impl Into<String>) {
        self.0.send_replace(JobProgress {
            done: i64::try_from(done).unwrap_or(i64::MAX),
            total: i64::try_from(total).unwrap_or(i64::MAX),
            unit: "steps".to_owned(),
            message: message.into(),
        });
    }
}

impl Platform {
    /// Runs `work` in the background. It is the parent's job; the returned id is the job's. What the
    /// work returns is its last message.
    pub(super) async fn run_branch_job<F>(
        &self,
        kind: &'static str,
        branch: &Branch,
        created_by: &str,
        work: impl FnOnce(Platform, Steps) -> F,
    ) -> Result<Uuid, PlatformError>
    where
        F: Future<Output = Result<String, PlatformError>> + Send + 'static,
    {
        let project = branch.parent.as_str();
        let job = self.begin_job(kind, project, Some(created_by)).await?;
        let (sender, receiver) = watch::channel(JobProgress::default());
        let last = sender.clone();
        let work = work(self.clone(), Steps(sender));
        let platform = self.clone();
        self.0.tasks.spawn(async move {
            // A panic must not leave the job running for ever.
            let work = AssertUnwindSafe(work).catch_unwind();
            let result = tokio::select! {
                result = work => result.unwrap_or_else(|_| {
                    Err(PlatformError::internal("the job stopped unexpectedly"))
                }),
                () = platform.report_job(job, receiver) => Ok(String::new()),
                () = platform.0.shutdown.cancelled() => Err(PlatformError::Conflict(
                    "Plinth was stopped before the work was done; nothing of the step in progress \
                     was kept".to_owned(),
                )),
            };
            let error = match result {
                Ok(message) => {
                    let progress = last.borrow().clone();
                    if let Err(error) = platform.say_last(job, &progress, &message).await {
                        tracing::warn!(%job, "writing job progress failed: {error}");
                    }
                    None
                }
                Err(PlatformError::Internal(cause)) => Some(cause.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(error) = &error {
                tracing::info!(%job, kind, "a branch job failed: {error}");
            }
            if let Err(error) = platform.end_job(job, error.as_deref()).await {
                tracing::warn!(%job, "ending a job failed: {error}");
            }
        });
        Ok(job)
    }

    async fn say_last(
        &self,
        job: Uuid,
        progress: &JobProgress,
        message: &str,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.jobs set done = $2, total = $2, unit = $3, message = $4,
                   updated_at = now() where id = $1";
        let tables = self.tables().await?;
        let params: plinth_db::Params<'_> = &[&job, &progress.total, &progress.unit, &message];
        tables.execute(sql, params).await?;
        Ok(())
    }
}
