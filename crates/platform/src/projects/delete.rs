//! Deleting: into the trash for `plinth.trash`, then removed; or removed at once with `purge`.

use plinth_db::QuotedIdent;
use plinth_project::{
    LoginKind, ProjectKind, ProjectName, ProjectRef, ProjectServers as _, ProjectStatus, ServerName,
};
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
            self.close_database(&project).await?;
        }
        Ok(project)
    }

    /// Removes projects that have been in the trash for `plinth.trash`.
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
                Err(error) => {
                    tracing::warn!(project = %reference, "purging a deleted project failed: {error}");
                }
            }
        }
        Ok(purged)
    }

    pub(super) async fn purge(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        // Not served any more, even if a later step fails.
        self.set_status(reference, ProjectStatus::Removed).await?;
        self.registry().close(reference);
        self.remove_project(reference).await
    }

    /// Removes database, logins, files, functions and rows of a project. Idempotent; the row is
    /// deleted last, so that an interrupted removal is found again.
    pub(crate) async fn remove_project(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        match self
            .load_project(&ProjectName::Ref(reference.clone()))
            .await
        {
            Ok(project) => self.remove_database(&project).await?,
            Err(PlatformError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        if let Some(files) = self.file_store() {
            let removed = files.remove_project(reference).await;
            removed.map_err(PlatformError::caused_by)?;
        }
        if let Some(runner) = self.function_runner() {
            let removed = runner.remove_project(reference).await;
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

    /// Removes the database and its logins; with the last project of an isolated server, the server.
    pub(super) async fn remove_database(&self, project: &ProjectRow) -> Result<(), PlatformError> {
        let reference = &project.reference;
        if let ServerName::Isolated(server) = &project.server {
            if !self.has_other_projects(server, reference).await? {
                return self.remove_server(server).await;
            }
            if !self.isolated_servers().existing.contains(server) {
                // Lost, and with it this database.
                return Ok(());
            }
        }
        let admin = self
            .server(&project.server)
            .await?
            .administrator()
            .connect()
            .await?;
        databases::drop_database(&admin, reference.as_str()).await?;
        let logins = LoginKind::ALL.map(|kind| kind.role_name(reference));
        for login in logins.iter().chain([&loader_name(reference)]) {
            self.drop_login(&admin, login).await?;
        }
        Ok(())
    }

    /// Whether an isolated server has other projects: branches, perhaps in the trash.
    async fn has_other_projects(
        &self,
        server: &ProjectRef,
        reference: &ProjectRef,
    ) -> Result<bool, PlatformError> {
        let sql = "select exists (select from platform.projects where server = $1 and ref <> $2)";
        let tables = self.tables().await?;
        let row = tables
            .query_one(sql, &[&server.as_str(), &reference.as_str()])
            .await?;
        Ok(row.get(0))
    }

    /// A role that another project has granted something to cannot be dropped; it is locked instead.
    async fn drop_login(&self, admin: &Client, role: &str) -> Result<(), PlatformError> {
        let name = QuotedIdent::new(role);
        let Err(error) = admin
            .batch_execute(&format!("drop role if exists {name}"))
            .await
        else {
            return Ok(());
        };
        let error = plinth_db::describe(&error);
        tracing::warn!("role {role} cannot be dropped and is locked instead: {error}");
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
