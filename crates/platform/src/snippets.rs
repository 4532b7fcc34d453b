//! SQL that operators keep (console contract N75).

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Longest text.
const MAX_SQL_BYTES: usize = 1024 * 1024;

/// Who sees a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Visibility {
    /// Its owner.
    #[default]
    Private,
    /// Everybody who may see the project.
    Project,
}

impl Visibility {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Project => "project",
        }
    }
}

/// A snippet as one operator sees it.
#[derive(Debug, Clone)]
pub(crate) struct Snippet {
    pub(crate) id: Uuid,
    pub(crate) project: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) folder: String,
    pub(crate) visibility: Visibility,
    pub(crate) sql: String,
    pub(crate) is_favorite: bool,
    pub(crate) version: i64,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
    pub(crate) updated_by: String,
}

/// What a snippet is made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct SnippetContent {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) folder: String,
    pub(crate) visibility: Visibility,
    pub(crate) sql: String,
}

/// Which snippets.
#[derive(Debug, Clone, Default)]
pub(crate) struct SnippetFilter {
    /// Of these projects.
    pub(crate) projects: Vec<String>,
    /// With these words.
    pub(crate) words: Option<String>,
    /// In this folder.
    pub(crate) folder: Option<String>,
    /// Only favourites, or only others.
    pub(crate) is_favorite: Option<bool>,
    /// Only those.
    pub(crate) visibility: Option<Visibility>,
    /// By name, else by when they were made.
    pub(crate) by_name: bool,
    pub(crate) descending: bool,
    pub(crate) limit: i64,
    pub(crate) offset: i64,
}

/// `$1` is the operator.
const COLUMNS: &str = "s.id, s.project, s.owner, s.name, s.description, s.folder, s.visibility,
    s.sql, s.version, s.created_at, s.updated_at, s.updated_by,
    exists (select from platform.snippet_favorites f
            where f.snippet = s.id and f.operator = $1) as is_favorite
    from platform.snippets s
    where (s.visibility = 'project' or s.owner = $1)";

impl Snippet {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            project: row.get("project"),
            owner: row.get("owner"),
            name: row.get("name"),
            description: row.get("description"),
            folder: row.get("folder"),
            visibility: match row.get("visibility") {
                "project" => Visibility::Project,
                _ => Visibility::Private,
            },
            sql: row.get("sql"),
            is_favorite: row.get("is_favorite"),
            version: row.get("version"),
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
            updated_by: row.get("updated_by"),
        }
    }

    /// What it is made of.
    pub(crate) fn content(&self) -> SnippetContent {
        SnippetContent {
            name: self.name.clone(),
            description: self.description.clone(),
            folder: self.folder.clone(),
            visibility: self.visibility,
            sql: self.sql.clone(),
        }
    }
}

impl SnippetContent {
    fn check(&self) -> Result<(), PlatformError> {
        let invalid = |text: &str| Err(PlatformError::Invalid(text.to_owned()));
        if !(1..=256).contains(&self.name.chars().count()) {
            return invalid("The name of a snippet has between 1 and 256 characters");
        }
        if self.description.chars().count() > 4096 {
            return invalid("The description of a snippet has at most 4096 characters");
        }
        if self.folder.chars().count() > 1024 {
            return invalid("The folder of a snippet has at most 1024 characters");
        }
        if self.sql.len() > MAX_SQL_BYTES {
            return Err(PlatformError::TooLarge(
                "A snippet has at most 1 MiB of SQL".to_owned(),
            ));
        }
        let texts = [&self.name, &self.description, &self.folder, &self.sql];
        if texts.iter().any(|text| text.contains('\0')) {
            return invalid("A snippet cannot contain NUL characters");
        }
        Ok(())
    }
}

impl Platform {
    /// The snippets that an operator sees.
    pub(crate) async fn list_snippets(
        &self,
        operator: &str,
        filter: &SnippetFilter,
    ) -> Result<Vec<Snippet>, PlatformError> {
        let key = if filter.by_name {
            "s.name"
        } else {
            "s.created_at"
        };
        let direction = if filter.descending { "desc" } else { "asc" };
        let sql = format!(
            "select {COLUMNS}
               and s.project = any ($2)
               and ($3::text is null or s.words @@ websearch_to_tsquery('simple', $3)
                    or position(lower($3) in lower(s.name)) > 0)
               and ($4::text is null or s.folder = $4)
               and ($5::text is null or s.visibility = $5)
               and ($6::boolean is null or $6 = exists (
                    select from platform.snippet_favorites f
                    where f.snippet = s.id and f.operator = $1))
             order by {key} {direction}, s.id
             limit $7 offset $8"
        );
        let visibility = filter.visibility.map(Visibility::as_str);
        let params: plinth_db::Params<'_> = &[
            &operator,
            &filter.projects,
            &filter.words,
            &filter.folder,
            &visibility,
            &filter.is_favorite,
            &filter.limit,
            &filter.offset,
        ];
        let rows = self.tables().await?.query(&sql, params).await?;
        Ok(rows.iter().map(Snippet::from_row).collect())
    }

    /// A snippet that an operator sees.
    pub(crate) async fn find_snippet(
        &self,
        operator: &str,
        id: Uuid,
    ) -> Result<Option<Snippet>, PlatformError> {
        let sql = format!("select {COLUMNS} and s.id = $2");
        let row = self
            .tables()
            .await?
            .query_opt(&sql, &[&operator, &id])
            .await?;
        Ok(row.as_ref().map(Snippet::from_row))
    }

    /// Saves a new snippet; returns its id.
    pub(crate) async fn insert_snippet(
        &self,
        operator: &str,
        project: &str,
        content: &SnippetContent,
    ) -> Result<Uuid, PlatformError> {
        content.check()?;
        let sql = "insert into platform.snippets
                     (project, owner, name, description, folder, visibility, sql, updated_by)
                   values ($1, $2, $3, $4, $5, $6, $7, $2) returning id";
        let params: plinth_db::Params<'_> = &[
            &project,
            &operator,
            &content.name,
            &content.description,
            &content.folder,
            &content.visibility.as_str(),
            &content.sql,
        ];
        Ok(self.tables().await?.query_one(sql, params).await?.get(0))
    }

    /// Saves a change, unless somebody else has saved one since `version`.
    pub(crate) async fn update_snippet(
        &self,
        operator: &str,
        id: Uuid,
        version: i64,
        content: &SnippetContent,
    ) -> Result<(), PlatformError> {
        content.check()?;
        let sql = "update platform.snippets
                   set name = $3, description = $4, folder = $5, visibility = $6, sql = $7,
                       updated_by = $8, updated_at = now(), version = version + 1
                   where id = $1 and version = $2";
        let params: plinth_db::Params<'_> = &[
            &id,
            &version,
            &content.name,
            &content.description,
            &content.folder,
            &content.visibility.as_str(),
            &content.sql,
            &operator,
        ];
        let tables = self.tables().await?;
        if tables.execute(sql, params).await? == 1 {
            return Ok(());
        }
        let sql = "select version from platform.snippets where id = $1";
        match tables.query_opt(sql, &[&id]).await? {
            Some(row) => Err(PlatformError::Stale(row.get(0))),
            None => Err(no_snippet(id)),
        }
    }

    /// Marks a snippet as a favourite of an operator, or not.
    pub(crate) async fn mark_snippet(
        &self,
        operator: &str,
        id: Uuid,
        is_favorite: bool,
    ) -> Result<(), PlatformError> {
        let sql = if is_favorite {
            "insert into platform.snippet_favorites (snippet, operator) values ($1, $2)
             on conflict do nothing"
        } else {
            "delete from platform.snippet_favorites where snippet = $1 and operator = $2"
        };
        self.tables().await?.execute(sql, &[&id, &operator]).await?;
        Ok(())
    }

    /// Deletes a snippet.
    pub(crate) async fn delete_snippet(&self, id: Uuid) -> Result<(), PlatformError> {
        let sql = "delete from platform.snippets where id = $1";
        match self.tables().await?.execute(sql, &[&id]).await? {
            0 => Err(no_snippet(id)),
            _ => Ok(()),
        }
    }
}

/// No snippet of that id, or none that the operator sees.
pub(crate) fn no_snippet(id: impl std::fmt::Display) -> PlatformError {
    PlatformError::NotFound(format!("There is no snippet {id}"))
}
