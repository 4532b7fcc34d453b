//! Rows of `platform.projects` and `platform.branches`, as read.

use plinth_db::DbError;
use plinth_project::{ProjectKind, ProjectName, ProjectRef, ProjectStatus, ServerName};
use time::OffsetDateTime;
use tokio_postgres::{GenericClient, Row};

use crate::{Platform, PlatformError};

/// A project without its secrets.
#[derive(Debug, Clone)]
pub struct ProjectRow {
    /// Its ref.
    pub reference: ProjectRef,
    /// What people call it.
    pub name: String,
    /// The organisation's slug.
    pub organization: String,
    /// Which server holds its database.
    pub server: ServerName,
    /// Its database.
    pub database: String,
    /// Its place among the projects.
    pub kind: ProjectKind,
    /// Whether it is served.
    pub status: ProjectStatus,
    /// A label, any text.
    pub region_label: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// The project it is a branch of.
    pub parent: Option<ProjectRef>,
}

const COLUMNS: &str = "p.ref, p.name, p.organization, p.server, p.database, p.kind, p.status,
    p.region_label, p.created_at, b.parent_ref
    from platform.projects p left join platform.branches b on b.ref = p.ref";

impl ProjectRow {
    pub(crate) fn from_row(row: &Row) -> Result<Self, PlatformError> {
        Ok(Self {
            reference: parse_ref(row.get("ref"))?,
            name: row.get("name"),
            organization: row.get("organization"),
            server: parse_server(row.get("server"))?,
            database: row.get("database"),
            kind: parse_kind(row.get("kind"))?,
            status: row
                .get::<_, &str>("status")
                .parse()
                .map_err(PlatformError::internal)?,
            region_label: row.get("region_label"),
            created_at: row.get("created_at"),
            parent: row
                .get::<_, Option<&str>>("parent_ref")
                .map(parse_ref)
                .transpose()?,
        })
    }
}

pub(crate) fn parse_ref(text: &str) -> Result<ProjectRef, PlatformError> {
    text.parse().map_err(PlatformError::caused_by)
}

/// The column is null for projects on the shared server.
pub(crate) fn parse_server(column: Option<&str>) -> Result<ServerName, PlatformError> {
    match column {
        None => Ok(ServerName::Shared),
        Some(text) => Ok(ServerName::Isolated(parse_ref(text)?)),
    }
}

pub(crate) fn parse_kind(text: &str) -> Result<ProjectKind, PlatformError> {
    match text {
        "platform" => Ok(ProjectKind::Platform),
        "default" => Ok(ProjectKind::Default),
        "ordinary" => Ok(ProjectKind::Ordinary),
        other => Err(PlatformError::internal(format!(
            "unknown project kind {other:?}"
        ))),
    }
}

impl Platform {
    /// All projects that are not in the trash, oldest first; project zero only when asked for.
    pub async fn list_projects(
        &self,
        with_platform: bool,
    ) -> Result<Vec<ProjectRow>, PlatformError> {
        let sql = format!(
            "select {COLUMNS} where p.status <> 'REMOVED' and (p.kind <> 'platform' or $1)
             order by p.created_at, p.ref"
        );
        let rows = self.tables().await?.query(&sql, &[&with_platform]).await?;
        rows.iter().map(ProjectRow::from_row).collect()
    }

    /// The refs of all projects, those in the trash included.
    pub(crate) async fn list_references(&self) -> Result<Vec<String>, PlatformError> {
        let sql = "select ref from platform.projects order by ref";
        let rows = self.tables().await?.query(sql, &[]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// One project, also if it is in the trash.
    pub async fn load_project(&self, name: &ProjectName) -> Result<ProjectRow, PlatformError> {
        let tables = self.tables().await?;
        load(&*tables, &self.reference_of(name)).await
    }

    pub(crate) async fn set_status(
        &self,
        reference: &ProjectRef,
        status: ProjectStatus,
    ) -> Result<(), DbError> {
        let sql = "update platform.projects
                   set status = $2,
                       paused_at = case when $2 = 'INACTIVE' then now() end,
                       deleted_at = case when $2 = 'REMOVED' then now() end,
                       version = version + 1
                   where ref = $1";
        self.tables()
            .await?
            .execute(sql, &[&reference.as_str(), &status.as_str()])
            .await?;
        let details = serde_json::json!({ "status": status.as_str() });
        self.publish("project.status", Some(reference.as_str()), details)
            .await;
        Ok(())
    }
}

pub(crate) async fn load(
    client: &impl GenericClient,
    reference: &ProjectRef,
) -> Result<ProjectRow, PlatformError> {
    let sql = format!("select {COLUMNS} where p.ref = $1");
    match client.query_opt(&sql, &[&reference.as_str()]).await? {
        Some(row) => ProjectRow::from_row(&row),
        None => Err(PlatformError::no_project(reference)),
    }
}

impl Platform {
    /// Gives the project another name.
    pub async fn rename_project(
        &self,
        project: &ProjectName,
        name: &str,
    ) -> Result<ProjectRow, PlatformError> {
        let name = super::create::checked_name(name)?;
        let reference = self.load_project(project).await?.reference;
        let sql = "update platform.projects set name = $2, version = version + 1 where ref = $1";
        self.tables()
            .await?
            .execute(sql, &[&reference.as_str(), &name])
            .await?;
        self.load_project(project).await
    }
}
