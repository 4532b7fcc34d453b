//! Branches: a project copied from another one, with its schema and data (console contract F71,
//! F72). The copy needs the source to itself for a moment: requests wait, pooled connections are
//! closed, and somebody else's session is a conflict that names it.

use std::time::Duration;

use plinth_db::DbError;
use plinth_project::{ProjectKind, ProjectName, ProjectRef, ProjectStatus, Service};
use time::OffsetDateTime;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::{
    NewProject, ProjectRow, create::checked_name, insert_project, new_project_secrets, row,
};
use crate::{
    Platform, PlatformError,
    databases::{self, SessionKind},
};

/// How long running requests on the source may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it was last changed.
    pub updated_at: OffsetDateTime,
}

const COLUMNS: &str = "b.id, b.name, b.ref, b.parent_ref, b.git_branch, b.persistent, b.with_data,
    b.created_at, b.updated_at, p.status
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
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
        })
    }
}

impl Platform {
    /// The branches of a project, oldest first.
    pub async fn list_branches(&self, parent: &ProjectName) -> Result<Vec<Branch>, PlatformError> {
        let parent = self.load_project(parent).await?.reference;
        let sql = format!(
            "select {COLUMNS} where b.parent_ref = $1 and p.status <> 'REMOVED'
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

    /// Copies a project. A failure leaves nothing behind.
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
        let mut tables = self.admin().await?;
        let transaction = tables.transaction().await?;
        let project_name = format!("{} ({name})", source.name);
        let project = NewProject {
            reference: &reference,
            name: checked_name(&project_name)?,
            kind: ProjectKind::Ordinary,
            database: reference.as_str(),
            region: &source.region_label,
            secrets: &secrets,
        };
        insert_project(&self.0.instance_key, &transaction, &project).await?;
        insert_branch(&transaction, &reference, &source.reference, name, request).await?;
        transaction.commit().await?;

        let copied = self
            .copy_source(&source, &reference, request, &secrets.logins)
            .await;
        if let Err(error) = copied {
            self.clear_away(&reference).await?;
            return Err(error);
        }
        self.forget_sign_ins(&reference).await?;
        self.load_branch(reference.as_str()).await
    }

    async fn copy_source(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        request: &BranchRequest,
        logins: &plinth_project::Logins,
    ) -> Result<(), PlatformError> {
        let project = self
            .open(&ProjectName::Ref(source.reference.clone()))
            .await?;
        let _held = match project.db.hold(PATIENCE).await {
            Ok(held) => held,
            Err(DbError::PoolTimeout) => {
                return Err(PlatformError::Conflict(format!(
                    "Requests to project {} did not end within {} seconds; try again when it is \
                     quieter",
                    source.reference,
                    PATIENCE.as_secs()
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let admin = self.admin().await?;
        vacate(&admin, source, request.end_sessions).await?;
        self.finish_creation(reference, &source.database, logins)
            .await
    }

    /// A branch has keys of its own, so the parent's sessions mean nothing there. The work runs
    /// as the auth service, because triggers of the user may hang on these tables.
    async fn forget_sign_ins(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        let project = self.open(&ProjectName::Ref(reference.clone())).await?;
        let auth = project.db.as_service(Service::Auth).await?;
        auth.batch_execute("delete from auth.sessions; delete from auth.refresh_tokens")
            .await?;
        Ok(())
    }
}

async fn vacate(admin: &Client, source: &ProjectRow, force: bool) -> Result<(), PlatformError> {
    let kind = if force {
        SessionKind::Any
    } else {
        SessionKind::IdlePooled
    };
    databases::end_sessions(admin, &source.database, kind).await?;
    let others = databases::foreign_sessions(admin, &source.database).await?;
    if others.is_empty() {
        return Ok(());
    }
    Err(PlatformError::Conflict(format!(
        "The database of project {} is in use by {} other session(s) ({}) and cannot be copied \
         meanwhile; close them, or end them with --end-sessions",
        source.reference,
        others.len(),
        others.join(", ")
    )))
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
               on conflict (parent_ref, name) do nothing";
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
