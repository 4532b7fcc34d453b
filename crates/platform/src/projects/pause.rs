//! Pausing and resuming: a paused project keeps its data; requests to it get 503.

use plinth_project::{ProjectKind, ProjectName, ProjectRef, ProjectServers as _, ProjectStatus};

use super::ProjectRow;
use crate::{Platform, PlatformError, databases};

impl Platform {
    /// Stops serving the project and terminates every session on its database.
    pub async fn pause_project(&self, name: &ProjectName) -> Result<ProjectRow, PlatformError> {
        let project = self.load_project(name).await?;
        if project.kind == ProjectKind::Platform {
            return Err(PlatformError::Conflict(
                "Project zero cannot be paused".to_owned(),
            ));
        }
        match project.status {
            ProjectStatus::Inactive => return Ok(project),
            ProjectStatus::ActiveHealthy => {}
            other => {
                return Err(PlatformError::Conflict(format!(
                    "Project {} cannot be paused: it is {other}",
                    project.reference
                )));
            }
        }
        self.set_status(&project.reference, ProjectStatus::Inactive)
            .await?;
        self.close_database(&project).await?;
        self.load_project(name).await
    }

    /// Serves the project again, also out of the trash.
    pub async fn resume_project(&self, name: &ProjectName) -> Result<ProjectRow, PlatformError> {
        let project = self.load_project(name).await?;
        match project.status {
            ProjectStatus::ActiveHealthy => return Ok(project),
            ProjectStatus::Inactive | ProjectStatus::Removed => {}
            ProjectStatus::ComingUp => {
                return Err(PlatformError::Conflict(format!(
                    "Project {} is still being created",
                    project.reference
                )));
            }
        }
        self.check_restorable(&project).await?;
        if !self.is_external_database(&project.reference) {
            let admin = self
                .server(&project.server)
                .await?
                .administrator()
                .connect()
                .await?;
            databases::allow_connections(&admin, &project.database, true).await?;
        }
        self.set_status(&project.reference, ProjectStatus::ActiveHealthy)
            .await?;
        self.load_project(name).await
    }

    /// A branch whose creation failed cannot be restored, nor one whose name is in use again.
    async fn check_restorable(&self, project: &ProjectRow) -> Result<(), PlatformError> {
        let sql = "select b.name, b.failure,
                          exists (select from platform.branches o
                                  where o.parent_ref = b.parent_ref and o.name = b.name
                                    and o.is_live and o.ref <> b.ref) as is_taken
                   from platform.branches b where b.ref = $1";
        let tables = self.tables().await?;
        let row = tables
            .query_opt(sql, &[&project.reference.as_str()])
            .await?;
        let Some(row) = row else { return Ok(()) };
        let name: String = row.get("name");
        if let Some(failure) = row.get::<_, Option<String>>("failure") {
            return Err(PlatformError::Conflict(format!(
                "Branch {name} was never made ({failure}); delete it and create it again"
            )));
        }
        if row.get("is_taken") {
            Err(PlatformError::Conflict(format!(
                "There is another branch named {name:?} by now; delete that one first"
            )))
        } else {
            Ok(())
        }
    }

    /// Whether it is the database of `--database-url`, which has other users and which a start
    /// connects to.
    fn is_external_database(&self, reference: &ProjectRef) -> bool {
        *reference == self.0.references.default && !self.0.owns_default_database
    }

    /// Closes our connections, terminates all other sessions, and allows no new ones.
    pub(super) async fn close_database(&self, project: &ProjectRow) -> Result<(), PlatformError> {
        self.registry().close(&project.reference);
        // A stopped server has no sessions, and is not started for a project that is not active.
        if self.is_external_database(&project.reference) || !self.is_running(&project.server) {
            return Ok(());
        }
        let admin = self
            .server(&project.server)
            .await?
            .administrator()
            .connect()
            .await?;
        Ok(databases::allow_connections(&admin, &project.database, false).await?)
    }
}
