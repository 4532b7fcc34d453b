//! Jobs that a node left behind: killed, crashed or stopped. Those of a kind with a handler are run
//! again from their parameters; the others fail with the reason.

use std::{future::Future, sync::Arc};

use plinth_project::BoxFuture;
use uuid::Uuid;

use super::{
    JobContext, JobKind,
    run::{HeldJob, JobResult},
};
use crate::{Platform, PlatformError};

/// A job that interrupts the server each time is given up.
const MAX_ATTEMPTS: i32 = 5;

/// Runs jobs of a kind from their stored parameters.
#[derive(Clone)]
pub struct JobHandler {
    pub(super) kind: JobKind,
    work: Arc<dyn Fn(JobContext) -> BoxFuture<'static, JobResult> + Send + Sync>,
}

impl JobHandler {
    /// The work must cope with a part of it being done already.
    pub fn new<W, F>(kind: JobKind, work: W) -> Self
    where
        W: Fn(JobContext) -> F + Send + Sync + 'static,
        F: Future<Output = JobResult> + Send + 'static,
    {
        Self {
            kind,
            work: Arc::new(move |context| Box::pin(work(context))),
        }
    }
}

impl Platform {
    /// Makes a kind of job resumable. Before [`Platform::recover`].
    pub fn set_job_handler(&self, handler: JobHandler) {
        self.0.jobs.set_handler(handler);
    }

    /// Takes over jobs whose node is gone: all of other processes if this is the only node,
    /// otherwise those without a heartbeat for a minute.
    pub async fn adopt_jobs(&self, is_only_node: bool) -> Result<(), PlatformError> {
        let sql = "select id, kind, project, input, attempts
                   from platform.jobs
                   where state in ('queued', 'running')
                     and ($1 or node is null or updated_at < now() - interval '1 minute')
                   order by created_at";
        let tables = self.tables().await?;
        let rows = tables.query(sql, &[&is_only_node]).await?;
        drop(tables);
        for row in rows {
            let (id, attempts): (Uuid, i32) = (row.get("id"), row.get("attempts"));
            if self.0.jobs.is_running(id) {
                continue;
            }
            let handler = self.0.jobs.handler(row.get("kind"));
            let input: Option<serde_json::Value> = row.get("input");
            match (handler, input) {
                (Some(handler), Some(input)) if attempts < MAX_ATTEMPTS => {
                    if self.claim_job(id, is_only_node).await? {
                        let job = HeldJob {
                            id,
                            kind: handler.kind,
                            project: row.get("project"),
                            input,
                        };
                        self.spawn_job(job, move |context| (handler.work)(context));
                    }
                }
                (Some(_), Some(_)) => {
                    let reason = format!("Plinth ended {attempts} times before the work was done");
                    self.fail_abandoned_job(id, is_only_node, &reason).await?;
                }
                _ => {
                    let reason = "Plinth ended before the work was done";
                    self.fail_abandoned_job(id, is_only_node, reason).await?;
                }
            }
        }
        self.deliver_events().await;
        Ok(())
    }

    /// Of several nodes that try, one succeeds.
    async fn claim_job(&self, id: Uuid, is_only_node: bool) -> Result<bool, PlatformError> {
        let sql = "update platform.jobs
                   set state = 'queued', node = $3, updated_at = now(), done = 0, total = 0
                   where id = $1 and state in ('queued', 'running')
                     and ($2 or node is null or updated_at < now() - interval '1 minute')";
        let params: plinth_db::Params<'_> = &[&id, &is_only_node, &self.0.node];
        Ok(self.tables().await?.execute(sql, params).await? == 1)
    }

    async fn fail_abandoned_job(
        &self,
        id: Uuid,
        is_only_node: bool,
        reason: &str,
    ) -> Result<(), PlatformError> {
        let sql = "with job as (
                       update platform.jobs
                       set state = case when cancel_requested then 'cancelled' else 'failed' end,
                           error = $3, finished_at = now()
                       where id = $1 and state in ('queued', 'running')
                         and ($2 or node is null or updated_at < now() - interval '1 minute')
                       returning id, kind, project, state, error)
                   select platform.publish_event('job.' || state, project, jsonb_build_object(
                       'id', id, 'kind', kind, 'state', state, 'error', error))
                   from job";
        let tables = self.tables().await?;
        tables.query(sql, &[&id, &is_only_node, &reason]).await?;
        Ok(())
    }
}
