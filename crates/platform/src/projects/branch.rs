//! Branches: a project copied from another one, with its schema and data (console contract F71,
//! F72). The quick copy needs the source to itself for a moment: requests wait, and pooled
//! connections are closed. Where somebody else is connected, or requests do not end, the branch is
//! made by dump and restore while the source goes on. `copy_branch.rs` decides which way is taken.

use plinth_project::{Project, ProjectKind, ProjectName, ProjectRef, ProjectStatus, Service};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    NewProject, ProjectRow,
    create::{ProjectSecrets, checked_name},
    insert_project, new_project_secrets, row,
};
use crate::{Platform, PlatformError};

/// What somebody asks for.
#[derive(Debug, Clone, Default)]
pub struct BranchRequest {
    /// Unique among the parent's branches.
    pub name: String,
    /// The Git branch it belongs to.
    pub git_branch: Option<String>,
    /// Whether it outlives its purpose.
    pub persistent: bool,
    /// Whether sessions of others on the source may be ended.
    pub end_sessions: bool,
    /// Who asks, for the list of jobs.
    pub asked_by: Option<String>,
}

/// How a branch came to its schema and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    /// The files of the source's database were copied while nobody was connected.
    Copied,
    /// The source was dumped and restored while others went on using it.
    Dumped,
}

impl CopyMethod {
    /// The word on the wire and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Dumped => "dumped",
        }
    }
}

/// A branch with the project that it is.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The project that it is.
    pub reference: ProjectRef,
    /// The project that it came from.
    pub parent: ProjectRef,
    /// The Git branch it belongs to.
    pub git_branch: Option<String>,
    /// Whether it outlives its purpose.
    pub persistent: bool,
    /// Whether it carries the parent's rows.
    pub with_data: bool,
    /// State of its project.
    pub status: ProjectStatus,
    /// How it was copied; branches of older versions do not say.
    pub copy_method: Option<CopyMethod>,
    /// Why not the quick way.
    pub copy_reason: Option<String>,
    /// Why it never came to be.
    pub failure: Option<String>,
    /// The job that makes it, or made it.
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
    /// The branches of a project, oldest first, with those that failed.
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

    /// A branch by its id, or by the ref of the project that it is.
    pub async fn load_branch(&self, id_or_ref: &str) -> Result<Branch, PlatformError> {
        let sql = format!("select {COLUMNS} where b.id::text = $1 or b.ref = $1");
        match self.tables().await?.query_opt(&sql, &[&id_or_ref]).await? {
            Some(row) => Branch::from_row(&row),
            None => Err(PlatformError::NotFound(format!(
                "There is no branch {id_or_ref}"
            ))),
        }
    }

    /// Copies a project. The branch is ready, or being made by the job that it names; a failure of
    /// the quick copy leaves nothing behind.
    pub async fn create_branch(
        &self,
        parent: &ProjectName,
        request: &BranchRequest,
    ) -> Result<Branch, PlatformError> {
        let name = checked_name(&request.name)?;
        let source = self.load_project(parent).await?;
        if source.kind == ProjectKind::Platform {
            return Err(PlatformError::Conflict(
                "Project zero cannot be branched".to_owned(),
            ));
        }
        let reference = ProjectRef::generate();
        let secrets = new_project_secrets(None);
        self.insert_branch_project(&source, &reference, name, request, &secrets)
            .await?;
        self.forget_failed_branches(&source.reference, name).await?;

        let made = self
            .copy_or_dump(source, &reference, request, secrets.logins)
            .await;
        if let Err(error) = made {
            if let Err(cleaning) = self.clear_away(&reference).await {
                tracing::warn!(project = %reference, "left for the next start to clear: {cleaning}");
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
            secrets,
        };
        let mut tables = self.admin().await?;
        let transaction = tables.transaction().await?;
        insert_project(&self.0.instance_key, &transaction, &project).await?;
        insert_branch(&transaction, reference, &source.reference, name, request).await?;
        Ok(transaction.commit().await?)
    }

    /// Earlier attempts under the same name have nothing more to say.
    async fn forget_failed_branches(
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

    /// The same for both ways (F72): serves the branch, with files and functions of its own and
    /// without the parent's sessions.
    pub(super) async fn finish_branch(
        &self,
        source: &ProjectRef,
        reference: &ProjectRef,
    ) -> Result<(), PlatformError> {
        // It may have been deleted while it was being made.
        self.load_project(&ProjectName::Ref(reference.clone()))
            .await?;
        let branch = self.registry().open_unready(reference).await?;
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
        forget_sign_ins(branch).await?;
        self.copy_functions(source, branch.reference()).await?;
        match self.file_keeper() {
            Some(files) => {
                let copied = files.copy(source, branch).await;
                copied.map_err(PlatformError::caused_by)
            }
            None => Ok(()),
        }
    }
}

/// A branch has keys of its own, so the parent's sessions mean nothing there. The work runs as the
/// auth service, because triggers of the user may hang on these tables.
async fn forget_sign_ins(branch: &Project) -> Result<(), PlatformError> {
    let mut auth = branch.db.as_service(Service::Auth).await?;
    auth.batch_execute("delete from auth.sessions; delete from auth.refresh_tokens")
        .await?;
    // Mails hold sign-in links of the parent's users.
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
        0 => Err(PlatformError::Conflict(format!(
            "There is already a branch named {name:?}"
        ))),
        _ => Ok(()),
    }
}
