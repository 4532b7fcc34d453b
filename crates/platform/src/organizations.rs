//! Organizations: groups of projects. They have no rights of their own.

use plinth_project::ProjectRef;
use tokio_postgres::Row;

use crate::{Platform, PlatformError, projects::checked_name};

/// The one that always exists.
pub(crate) const FIRST_ORGANIZATION: &str = "default";

/// A group of projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    /// Its name in URLs, also its id.
    pub slug: String,
    /// Display name.
    pub name: String,
}

impl Organization {
    fn from_row(row: &Row) -> Self {
        Self {
            slug: row.get("slug"),
            name: row.get("name"),
        }
    }
}

impl Platform {
    /// All organizations, oldest first.
    pub async fn list_organizations(&self) -> Result<Vec<Organization>, PlatformError> {
        let sql = "select slug, name from platform.organizations order by created_at, slug";
        let rows = self.tables().await?.query(sql, &[]).await?;
        Ok(rows.iter().map(Organization::from_row).collect())
    }

    /// The organization with this slug.
    pub async fn load_organization(&self, slug: &str) -> Result<Organization, PlatformError> {
        let sql = "select slug, name from platform.organizations where slug = $1";
        match self.tables().await?.query_opt(sql, &[&slug]).await? {
            Some(row) => Ok(Organization::from_row(&row)),
            None => Err(PlatformError::NotFound(format!(
                "There is no organization {slug}"
            ))),
        }
    }

    /// Creates an organization; names need not be unique.
    pub async fn create_organization(&self, name: &str) -> Result<Organization, PlatformError> {
        let name = checked_name(name)?;
        // Twenty random letters, as refs are.
        let slug = ProjectRef::generate();
        let sql = "insert into platform.organizations (slug, name) values ($1, $2)
                   returning slug, name";
        let tables = self.tables().await?;
        let row = tables.query_one(sql, &[&slug.as_str(), &name]).await?;
        Ok(Organization::from_row(&row))
    }
}
