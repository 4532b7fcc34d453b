//! Branches: a project copied from another one, with its schema and data (console contract F71,
//! F72). The quick copy (`create database … template`) locks the source for a moment: requests
//! wait, and pooled connections are closed. If other sessions are connected, or requests do not end
//! in time, the branch is made by dump and restore while the source stays in use. `copy_branch.rs`
//! decides which way is taken.

use plinth_project::{Project, ProjectKind, ProjectName, ProjectRef, ProjectStatus, Service};
use time::OffsetDateTime;
use tokio_postgres::{Row, error::SqlState};
use uuid::Uuid;

use super::{
    NewProject, ProjectRow,
    create::{ProjectSecrets, checked_name},
    insert_project, new_project_secrets, row,
};
use crate::{Platform, PlatformError};

/// What the parent itself is called among its branches.
pub(crate) const MAIN_BRANCH: &str = "main";

/// Parameters of a new branch.
#[derive(Debug, Clone, Default)]
pub struct BranchRequest {
    /// Unique among the parent's branches.
    pub name: String,
    /// The Git branch it belongs to.
    pub git_branch: Option<String>,
    /// Whether it is kept when its Git branch is merged.
    pub persistent: bool,
    /// Whether other sessions on the source may be terminated.
    pub end_sessions: bool,
    /// The operator, for the list of jobs.
    pub requested_by: Option<String>,
}

/// Changes of a branch; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct BranchChanges {
    /// Another name, unique among the parent's branches.
    pub name: Option<String>,
    /// The Git branch it belongs to.
    pub git_branch: Option<String>,
    /// Whether it is kept when its Git branch is merged.
    pub persistent: Option<bool>,
}

/// How a branch got its schema and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    /// `create database … template`, with the source locked.
    Copied,
    /// Dump and restore, with the source in use.
    Dumped,
}

impl CopyMethod {
    /// The value in the API and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Dumped => "dumped",
        }
    }
}

/// A branch and its project.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its project.
    pub reference: ProjectRef,
    /// The project that it was copied from.
    pub parent: ProjectRef,
    /// The Git branch it belongs to.
    pub git_branch: Option<String>,
    /// Whether it is kept when its Git branch is merged.
    pub persistent: bool,
    /// Whether it has the parent's rows.
    pub with_data: bool,
    /// State of its project.
    pub status: ProjectStatus,
    /// How it was copied; unknown for branches of older versions.
    pub copy_method: Option<CopyMethod>,
    /// Why it was dumped and not copied.
    pub copy_reason: Option<String>,
    /// Why its creation failed.
    pub failure: Option<String>,
    /// The job that creates or created it.
    pub job: Option<Uuid>,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it was last changed.
    pub updated_at: OffsetDateTime,
}

const COLUMNS: &str = "b.id, b.name, b.ref, b.parent_ref, b.git_branch, b.persistent, b.with_data,
    b.created_at, b.updated_at, b.copy_method, b.copy_reason, b.failure, b.job, p.status
    from platform.branches b join platform.projects p on p.ref = b.ref";

impl Branch {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        Ok(Self {
            id: row.get("id"),
            name: row.get("name"),
            reference: row::parse_ref(row.get("ref"))?,
            parent: row::parse_ref(row.get("parent_ref"))?,
            git_branch: row.get("git_branch"),
            persistent: row.get("persistent"),
            with_data: row.get("with_data"),
            status: row
                .get::<_, &str>("status")
                .parse()
                .map_err(PlatformError::internal)?,
            copy_method: match row.get("copy_method") {
                Some("copied") => Some(CopyMethod::Copied),
                Some("dumped") => Some(CopyMethod::Dumped),
                _ => None,
            },
            copy_reason: row.get("copy_reason"),
            failure: row.get("failure"),
            job: row.get("job"),
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
        })
    }
}

impl Platform {
    /// The branches of a project, oldest first, failed ones included.
    pub async fn list_branches(&self, parent: &ProjectName) -> Result<Vec<Branch>, PlatformError> {
        let parent = self.load_project(parent).await?.reference;
        let sql = format!(
            "select {COLUMNS} where b.parent_ref = $1
               and (p.status <> 'REMOVED' or b.failure is not null)
             order by b.created_at, b.name"
        );
        let rows = self
            .tables()
            .await?
            .query(&sql, &[&parent.as_str()])
            .await?;
        rows.iter().map(Branch::from_row).collect()
    }

    /// A branch by its id, or by the ref of its project.
    pub async fn load_branch(&self, id_or_ref: &str) -> Result<Branch, PlatformError> {
        let sql = format!("select {COLUMNS} where b.id::text = $1 or b.ref = $1");
        match self.tables().await?.query_opt(&sql, &[&id_or_ref]).await? {
            Some(row) => Branch::from_row(&row),
            None => Err(PlatformError::NotFound(format!(
                "There is no branch {id_or_ref}"
            ))),
        }
    }

    /// Changes what a branch is called and belongs to; the project in it stays as it is.
    pub async fn update_branch(
        &self,
        id_or_ref: &str,
        changes: &BranchChanges,
    ) -> Result<Branch, PlatformError> {
        let name = changes.name.as_deref().map(branch_name).transpose()?;
        let branch = self.load_branch(id_or_ref).await?;
        let sql = "update platform.branches
                   set name = coalesce($2, name), git_branch = coalesce($3, git_branch),
                     persistent = coalesce($4, persistent), updated_at = now()
                   where ref = $1";
        let (git_branch, persistent) = (&changes.git_branch, &changes.persistent);
        let updated = self
            .tables()
            .await?
            .execute(
                sql,
                &[&branch.reference.as_str(), &name, git_branch, persistent],
            )
            .await;
        match updated {
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                Err(name_taken(name.unwrap_or(&branch.name)))
            }
            updated => {
                updated?;
                self.load_branch(branch.reference.as_str()).await
            }
        }
    }

    /// Copies a project. The returned branch is ready, or its `job` is still creating it; a failed
    /// quick copy leaves nothing behind.
    pub async fn create_branch(
        &self,
        parent: &ProjectName,
        request: &BranchRequest,
    ) -> Result<Branch, PlatformError> {
        let name = branch_name(&request.name)?;
        let source = self.load_project(parent).await?;
        if source.kind == ProjectKind::Platform {
            return Err(PlatformError::Conflict(
                "Project zero cannot be branched".to_owned(),
            ));
        }
        let reference = ProjectRef::generate();
        let secrets = new_project_secrets(&self.0.instance_key, &reference, None);
        self.insert_branch_project(&source, &reference, name, request, &secrets)
            .await?;
        self.purge_failed_branches(&source.reference, name).await?;

        let copied = self
            .copy_or_dump(source, &reference, request, secrets.logins)
            .await;
        if let Err(error) = copied {
            if let Err(cleanup) = self.remove_project(&reference).await {
                tracing::warn!(
                    project = %reference,
                    "cleanup of a failed branch failed, retrying at the next start: {cleanup}"
                );
            }
            return Err(error);
        }
        self.load_branch(reference.as_str()).await
    }

    async fn insert_branch_project(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        name: &str,
        request: &BranchRequest,
        secrets: &ProjectSecrets,
    ) -> Result<(), PlatformError> {
        let project_name = format!("{} ({name})", source.name);
        let project = NewProject {
            reference,
            name: checked_name(&project_name)?,
            kind: ProjectKind::Ordinary,
            database: reference.as_str(),
            organization: &source.organization,
            region: &source.region_label,
            server: &source.server,
            secrets,
        };
        let mut tables = self.admin().await?;
        let transaction = tables.transaction().await?;
        insert_project(&self.0.instance_key, &transaction, &project).await?;
        insert_branch(&transaction, reference, &source.reference, name, request).await?;
        Ok(transaction.commit().await?)
    }

    /// Removes failed attempts under the same name.
    async fn purge_failed_branches(
        &self,
        parent: &ProjectRef,
        name: &str,
    ) -> Result<(), PlatformError> {
        let sql = "select ref from platform.branches
                   where parent_ref = $1 and name = $2 and failure is not null";
        let rows = self
            .tables()
            .await?
            .query(sql, &[&parent.as_str(), &name])
            .await?;
        for row in &rows {
            self.purge(&row::parse_ref(row.get(0))?).await?;
        }
        Ok(())
    }

    /// The last step of both ways (F72): gives the branch copies of files and functions, removes the
    /// parent's sessions, and starts serving it.
    pub(super) async fn activate_branch(
        &self,
        source: &ProjectRef,
        reference: &ProjectRef,
    ) -> Result<(), PlatformError> {
        // Fails if it was deleted meanwhile.
        self.load_project(&ProjectName::Ref(reference.clone()))
            .await?;
        let branch = self.registry().open_incomplete(reference).await?;
        let prepared = self.prepare_branch(source, &branch).await;
        branch.db.close();
        prepared?;
        self.set_status(reference, ProjectStatus::ActiveHealthy)
            .await
            .map_err(Into::into)
    }

    async fn prepare_branch(
        &self,
        source: &ProjectRef,
        branch: &Project,
    ) -> Result<(), PlatformError> {
        delete_sessions(branch).await?;
        self.copy_functions(source, branch.reference()).await?;
        if let Err(error) = self.record_first_base(branch).await {
            // Its reviews then cannot tell what changed on which side.
            tracing::warn!(
                project = %branch.reference(),
                "the schema of a new branch could not be recorded: {error}"
            );
        }
        match self.file_store() {
            Some(files) => {
                let copied = files.copy(source, branch).await;
                copied.map_err(PlatformError::caused_by)
            }
            None => Ok(()),
        }
    }
}

/// The name of a branch. The parent is called `main` among its branches.
fn branch_name(name: &str) -> Result<&str, PlatformError> {
    let name = checked_name(name)?;
    if name == MAIN_BRANCH {
        return Err(PlatformError::Invalid(format!(
            "{MAIN_BRANCH:?} is the project itself; choose another name for its branch"
        )));
    }
    Ok(name)
}

fn name_taken(name: &str) -> PlatformError {
    PlatformError::Conflict(format!("There is already a branch named {name:?}"))
}

/// A branch has its own keys, so the parent's sessions are useless there. Runs with the login of the
/// auth service, because users may have put triggers on these tables.
async fn delete_sessions(branch: &Project) -> Result<(), PlatformError> {
    let mut auth = branch.db.as_service(Service::Auth).await?;
    auth.batch_execute("delete from auth.sessions; delete from auth.refresh_tokens")
        .await?;
    // Mails contain sign-in links of the parent's users.
    crate::mailbox::clear(branch).await
}

async fn insert_branch(
    transaction: &tokio_postgres::Transaction<'_>,
    reference: &ProjectRef,
    parent: &ProjectRef,
    name: &str,
    request: &BranchRequest,
) -> Result<(), PlatformError> {
    let sql = "insert into platform.branches (ref, parent_ref, name, git_branch, persistent)
               values ($1, $2, $3, $4, $5)
               on conflict (parent_ref, name) where is_live do nothing";
    let inserted = transaction
        .execute(
            sql,
            &[
                &reference.as_str(),
                &parent.as_str(),
                &name,
                &request.git_branch,
                &request.persistent,
            ],
        )
        .await?;
    match inserted {
        0 => Err(name_taken(name)),
        _ => Ok(()),
    }
}
