//! Jobs whose caller runs the work itself, without a queue and without cancellation.

use serde_json::json;
use uuid::Uuid;

use crate::{Platform, PlatformError};

#[allow(dead_code, reason = "for work that cannot move into a task")]
impl Platform {
    /// Inserts a running job. Its caller reports to it with [`Platform::report_job`].
    pub(crate) async fn begin_job(
        &self,
        kind: &str,
        project: &str,
        created_by: Option<&str>,
    ) -> Result<Uuid, PlatformError> {
        let sql = "insert into platform.jobs (kind, project, created_by, node, started_at)
                   values ($1, $2, $3, $4, now())
                   returning id";
        let tables = self.tables().await?;
        let params: plinth_db::Params<'_> = &[&kind, &project, &created_by, &self.0.node];
        let row = tables.query_one(sql, params).await?;
        drop(tables);
        let id: Uuid = row.get(0);
        let details = json!({ "id": id, "kind": kind, "state": "running" });
        self.publish("job.created", Some(project), details).await;
        Ok(id)
    }

    /// Writes the end of a job.
    pub(crate) async fn end_job(&self, id: Uuid, error: Option<&str>) -> Result<(), PlatformError> {
        self.write_end(id, error, None).await?;
        self.deliver_events().await;
        Ok(())
    }
}
