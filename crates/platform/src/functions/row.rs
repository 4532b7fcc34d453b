//! Rows of `platform.functions` and its versions, as read.

use plinth_project::{DeployedFunction, FunctionSource, ProjectName, ProjectRef};
use time::OffsetDateTime;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::{SourceFile, no_function};
use crate::{Platform, PlatformError};

/// One version of a function, without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFunction {
    /// The function, whatever its version.
    pub id: Uuid,
    /// Its name in URLs.
    pub slug: String,
    /// Display name.
    pub name: String,
    /// Counts from 1.
    pub version: i32,
    /// Whether callers need a credential of the project.
    pub verify_jwt: bool,
    /// How its sources are run.
    pub source: FunctionSource,
    /// SHA-256 over its sources.
    pub digest: String,
    /// When it was first deployed.
    pub created_at: OffsetDateTime,
    /// When the active version or its settings last changed.
    pub updated_at: OffsetDateTime,
}

/// A stored version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVersion {
    /// Counts from 1.
    pub version: i32,
    /// Whether it is the active one.
    pub is_active: bool,
    /// SHA-256 over its sources.
    pub digest: String,
    /// When it was deployed.
    pub created_at: OffsetDateTime,
    /// When it was last activated.
    pub activated_at: Option<OffsetDateTime>,
}

const COLUMNS: &str = "f.id, f.slug, f.created_at, f.updated_at, v.version, v.name, v.verify_jwt,
    v.entrypoint, v.import_map, v.static_patterns, v.digest
    from platform.functions f join platform.function_versions v on v.function = f.id";

impl StoredFunction {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            slug: row.get("slug"),
            name: row.get("name"),
            version: row.get("version"),
            verify_jwt: row.get("verify_jwt"),
            source: FunctionSource {
                entrypoint: row.get("entrypoint"),
                import_map: row.get("import_map"),
                static_patterns: row.get("static_patterns"),
            },
            digest: row.get("digest"),
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
        }
    }

    /// The form that the functions service uses.
    pub(super) fn into_deployed(self) -> DeployedFunction {
        DeployedFunction {
            id: self.id,
            slug: self.slug,
            version: self.version,
            verify_jwt: self.verify_jwt,
            source: self.source,
        }
    }
}

impl Platform {
    /// The active version of each function of a project, by name.
    pub async fn list_functions(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<StoredFunction>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        Ok(list_active(&*tables, &reference).await?)
    }

    /// The active version of a function.
    pub async fn load_function(
        &self,
        project: &ProjectName,
        slug: &str,
    ) -> Result<StoredFunction, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        let found = find_active(&*tables, &reference, slug).await?;
        found.ok_or_else(|| no_function(slug))
    }

    /// The active version of a function with its files.
    pub async fn load_function_files(
        &self,
        project: &ProjectName,
        slug: &str,
    ) -> Result<(StoredFunction, Vec<SourceFile>), PlatformError> {
        let function = self.load_function(project, slug).await?;
        let tables = self.tables().await?;
        let files = files(&*tables, function.id, function.version).await?;
        Ok((function, files))
    }

    /// The stored versions of a function, newest first.
    pub async fn list_function_versions(
        &self,
        project: &ProjectName,
        slug: &str,
    ) -> Result<Vec<StoredVersion>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = "select v.version, v.digest, v.created_at, v.activated_at,
                          f.active_version is not distinct from v.version as is_active
                   from platform.functions f
                   join platform.function_versions v on v.function = f.id
                   where f.project = $1 and f.slug = $2
                   order by v.version desc";
        let tables = self.tables().await?;
        let rows = tables.query(sql, &[&reference.as_str(), &slug]).await?;
        if rows.is_empty() {
            return Err(no_function(slug));
        }
        let versions = rows.iter().map(|row| StoredVersion {
            version: row.get("version"),
            is_active: row.get("is_active"),
            digest: row.get("digest"),
            created_at: row.get("created_at"),
            activated_at: row.get("activated_at"),
        });
        Ok(versions.collect())
    }
}

pub(super) async fn list_active(
    client: &impl GenericClient,
    project: &ProjectRef,
) -> Result<Vec<StoredFunction>, tokio_postgres::Error> {
    let sql = format!(
        "select {COLUMNS} and v.version = f.active_version where f.project = $1 order by f.slug"
    );
    let rows = client.query(&sql, &[&project.as_str()]).await?;
    Ok(rows.iter().map(StoredFunction::from_row).collect())
}

pub(super) async fn find_active(
    client: &impl GenericClient,
    project: &ProjectRef,
    slug: &str,
) -> Result<Option<StoredFunction>, tokio_postgres::Error> {
    let sql = format!(
        "select {COLUMNS} and v.version = f.active_version where f.project = $1 and f.slug = $2"
    );
    let row = client.query_opt(&sql, &[&project.as_str(), &slug]).await?;
    Ok(row.as_ref().map(StoredFunction::from_row))
}

pub(super) async fn load_version(
    client: &impl GenericClient,
    function: Uuid,
    version: i32,
) -> Result<StoredFunction, tokio_postgres::Error> {
    let sql = format!("select {COLUMNS} and v.version = $2 where f.id = $1");
    let row = client.query_one(&sql, &[&function, &version]).await?;
    Ok(StoredFunction::from_row(&row))
}

/// The files of a version, sorted by path; empty if it was deleted.
pub(super) async fn files(
    client: &impl GenericClient,
    function: Uuid,
    version: i32,
) -> Result<Vec<SourceFile>, tokio_postgres::Error> {
    let sql = "select path, content from platform.function_files
               where function = $1 and version = $2
               order by path collate \"C\"";
    let rows = client.query(sql, &[&function, &version]).await?;
    let files = rows.iter().map(|row| SourceFile {
        path: row.get("path"),
        content: row.get::<_, Vec<u8>>("content").into(),
    });
    Ok(files.collect())
}
