//! The audit log: what operators changed. A failed write does not fail the action.

use plinth_project::ProjectRef;
use serde_json::Value;

use crate::{Platform, api::Operator};

impl Platform {
    /// Writes a completed action to the audit log.
    pub(crate) async fn audit(
        &self,
        operator: &Operator,
        project: Option<&ProjectRef>,
        action: &str,
        details: Value,
    ) {
        let sql = "insert into platform.audit (actor, project, action, details, request_id)
                   values ($1, $2, $3, $4, $5)";
        let project_ref = project;
        let project = project.map(ProjectRef::as_str);
        let written = async {
            let tables = self.tables().await?;
            let params: plinth_db::Params<'_> = &[
                &operator.name(),
                &project,
                &action,
                &details,
                &operator.request_id(),
            ];
            Ok::<_, plinth_db::DbError>(tables.execute(sql, params).await?)
        };
        if let Err(error) = written.await {
            tracing::error!(action, "writing the audit log failed: {error}");
        }
        self.publish_action(operator.name(), project_ref, action, &details)
            .await;
    }
}
