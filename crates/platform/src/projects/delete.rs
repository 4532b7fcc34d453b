//! Deleting: seven days in the trash, then gone; or gone at once when asked to purge.

use plinth_db::QuotedIdent;
use plinth_project::{LoginKind, ProjectKind, ProjectName, ProjectRef, ProjectStatus};
use tokio_postgres::Client;

use super::{ProjectRow, dump_branch::loader_name, row};
use crate::{Platform, PlatformError, databases};

impl Platform {
    /// Moves the project to the trash, or removes it for good when `purge` is set.
    pub async fn delete_project(
        &self,
        name: &ProjectName,
        purge: bool,
    ) -> Result<ProjectRow, PlatformError> {
        let project = self.load_project(name).await?;
        match project.kind {
            ProjectKind::Ordinary => {}
            ProjectKind::Platform => {
                return Err(PlatformError::Conflict(
                    "Project zero cannot be deleted".to_owned(),
                ));
            }
            ProjectKind::Default => {
                return Err(PlatformError::Conflict(
                    "The default project cannot be deleted; `plinth db reset` empties it"
                        .to_owned(),
                ));
            }
        }
        let branches = self.live_branch_names(&project.reference).await?;
        if !branches.is_empty() {
            return Err(PlatformError::Conflict(format!(
                "Project {} has branches ({}); delete them first",
                project.reference,
                branches.join(", ")
            )));
        }
        if purge {
            self.purge(&project.reference).await?;
        } else if project.status != ProjectStatus::Removed {
            self.set_status(&project.reference, ProjectStatus::Removed)
                .await?;
            self.shut(&project.reference, &project.database).await?;
        }
        Ok(project)
    }

    /// Purges what has lain in the trash for long enough.
    pub async fn empty_trash(&self) -> Result<usize, PlatformError> {
        let seconds = self.0.trash.as_secs_f64();
        let sql = "select ref from platform.projects
                   where status = 'REMOVED' and deleted_at < now() - make_interval(secs => $1)";
        let rows = self.tables().await?.query(sql, &[&seconds]).await?;
        let mut purged = 0;
        for row in &rows {
            let reference = row::parse_ref(row.get(0))?;
            match self.purge(&reference).await {
                Ok(()) => purged += 1,
                Err(error) => tracing::warn!(project = %reference, "not purged: {error}"),
            }
        }
        Ok(purged)
    }

    pub(super) async fn purge(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        // Whatever happens next, it is no longer served.
        self.set_status(reference, ProjectStatus::Removed).await?;
        self.registry().close(reference);
        self.clear_away(reference).await
    }

    /// Removes database, logins, files, functions and rows of a project. Each step may have been done before;
    /// the row goes last, so that what was interrupted is found again.
    pub(crate) async fn clear_away(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        self.remove_database(reference).await?;
        if let Some(files) = self.file_keeper() {
            let removed = files.forget(reference).await;
            removed.map_err(PlatformError::caused_by)?;
        }
        if let Some(runner) = self.function_runner() {
            let removed = runner.forget(reference).await;
            removed.map_err(PlatformError::caused_by)?;
        }
        let admin = self.admin().await?;
        let orphans = "delete from platform.branches where parent_ref = $1
                       and ref in (select ref from platform.projects where status = 'REMOVED')";
        admin.execute(orphans, &[&reference.as_str()]).await?;
        let sql = "delete from platform.projects where ref = $1 and kind = 'ordinary'";
        admin.execute(sql, &[&reference.as_str()]).await?;
        Ok(())
    }

    /// Removes what stands outside of the platform's tables: the database, its logins.
    pub(super) async fn remove_database(
        &self,
        reference: &ProjectRef,
    ) -> Result<(), PlatformError> {
        let admin = self.admin().await?;
        databases::drop_database(&admin, reference.as_str()).await?;
        let logins = LoginKind::ALL.map(|kind| kind.role_name(reference));
        for login in logins.iter().chain([&loader_name(reference)]) {
            self.drop_login(&admin, login).await?;
        }
        Ok(())
    }

    /// Another project may have granted something to the role, which then cannot be dropped; it
    /// can at least never be used again.
    async fn drop_login(&self, admin: &Client, role: &str) -> Result<(), PlatformError> {
        let name = QuotedIdent::new(role);
        let Err(error) = admin
            .batch_execute(&format!("drop role if exists {name}"))
            .await
        else {
            return Ok(());
        };
        tracing::warn!("role {role} stays, locked: {}", plinth_db::describe(&error));
        Ok(admin
            .batch_execute(&format!("alter role {name} nologin password null"))
            .await?)
    }

    async fn live_branch_names(
        &self,
        reference: &ProjectRef,
    ) -> Result<Vec<String>, PlatformError> {
        let sql = "select b.name
                   from platform.branches b
                   join platform.projects p on p.ref = b.ref
                   where b.parent_ref = $1 and p.status <> 'REMOVED'
                   order by b.name";
        let rows = self
            .tables()
            .await?
            .query(sql, &[&reference.as_str()])
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
