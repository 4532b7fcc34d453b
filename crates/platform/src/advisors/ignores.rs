//! Findings that operators know about.

use plinth_advisor::Lint;
use plinth_project::ProjectName;
use time::OffsetDateTime;
use tokio_postgres::{Row, error::SqlState};
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Why a finding, or all of a check, is ignored, and how long.
#[derive(Debug, Clone)]
pub(crate) struct Ignore {
    pub(crate) id: Uuid,
    /// The check.
    pub(crate) name: String,
    /// One finding of it; all of them when absent.
    pub(crate) cache_key: Option<String>,
    pub(crate) reason: String,
    pub(crate) expires_at: Option<OffsetDateTime>,
    pub(crate) created_by: String,
    pub(crate) created_at: OffsetDateTime,
}

/// What is to be ignored.
#[derive(Debug, Clone)]
pub(crate) struct NewIgnore {
    pub(crate) name: String,
    pub(crate) cache_key: Option<String>,
    pub(crate) reason: String,
    pub(crate) expires_at: Option<OffsetDateTime>,
}

/// What changes of it; what is absent stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreChanges {
    pub(crate) reason: Option<String>,
    /// Another end, or none.
    pub(crate) expires_at: Option<Option<OffsetDateTime>>,
}

const MAX_REASON_CHARS: usize = 1000;
const MAX_IGNORES: i64 = 1000;

const COLUMNS: &str = "id, name, cache_key, reason, expires_at, created_by, created_at";

impl Ignore {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            name: row.get("name"),
            cache_key: row.get("cache_key"),
            reason: row.get("reason"),
            expires_at: row.get("expires_at"),
            created_by: row.get("created_by"),
            created_at: row.get("created_at"),
        }
    }

    /// Whether it holds for a finding at a time.
    pub(crate) fn covers(&self, lint: &Lint, now: OffsetDateTime) -> bool {
        self.name == lint.name
            && self
                .cache_key
                .as_ref()
                .is_none_or(|key| *key == lint.cache_key)
            && self.expires_at.is_none_or(|end| end > now)
    }
}

impl Platform {
    /// What is ignored in a project, also what has expired; the latest first.
    pub(crate) async fn list_ignores(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<Ignore>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = format!(
            "select {COLUMNS} from platform.advisor_ignores where project = $1
             order by created_at desc, id"
        );
        let tables = self.tables().await?;
        let rows = tables.query(&sql, &[&reference.as_str()]).await?;
        Ok(rows.iter().map(Ignore::from_row).collect())
    }

    /// Ignores a finding. One that is ignored already gets the new reason and end.
    pub(crate) async fn create_ignore(
        &self,
        project: &ProjectName,
        new: &NewIgnore,
        by: &str,
    ) -> Result<Ignore, PlatformError> {
        checked_reason(&new.reason)?;
        if !plinth_advisor::checks(None).contains(&new.name.as_str()) {
            return Err(PlatformError::Invalid(format!(
                "There is no check {}",
                new.name
            )));
        }
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        let sql = "select count(*) from platform.advisor_ignores where project = $1";
        let count: i64 = tables.query_one(sql, &[&reference.as_str()]).await?.get(0);
        if count >= MAX_IGNORES {
            return Err(PlatformError::Conflict(format!(
                "A project ignores at most {MAX_IGNORES} findings"
            )));
        }
        let sql = format!(
            "insert into platform.advisor_ignores (project, name, cache_key, reason, expires_at, created_by)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (project, name, coalesce(cache_key, '')) do update
             set reason = excluded.reason, expires_at = excluded.expires_at,
                 created_by = excluded.created_by, created_at = now()
             returning {COLUMNS}"
        );
        let params: plinth_db::Params<'_> = &[
            &reference.as_str(),
            &new.name,
            &new.cache_key,
            &new.reason,
            &new.expires_at,
            &by,
        ];
        match tables.query_one(&sql, params).await {
            Ok(row) => Ok(Ignore::from_row(&row)),
            Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {
                Err(PlatformError::Invalid("The reason is too long".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn update_ignore(
        &self,
        project: &ProjectName,
        id: Uuid,
        changes: &IgnoreChanges,
    ) -> Result<Ignore, PlatformError> {
        if let Some(reason) = &changes.reason {
            checked_reason(reason)?;
        }
        let reference = self.load_project(project).await?.reference;
        let sql = format!(
            "update platform.advisor_ignores
             set reason = coalesce($3, reason), expires_at = case when $4 then $5 else expires_at end
             where project = $1 and id = $2
             returning {COLUMNS}"
        );
        let (changes_end, end) = (changes.expires_at.is_some(), changes.expires_at.flatten());
        let params: plinth_db::Params<'_> = &[
            &reference.as_str(),
            &id,
            &changes.reason,
            &changes_end,
            &end,
        ];
        let row = self.tables().await?.query_opt(&sql, params).await?;
        row.as_ref()
            .map(Ignore::from_row)
            .ok_or_else(|| no_ignore(id))
    }

    /// Returns what was ignored.
    pub(crate) async fn delete_ignore(
        &self,
        project: &ProjectName,
        id: Uuid,
    ) -> Result<Ignore, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = format!(
            "delete from platform.advisor_ignores where project = $1 and id = $2 returning {COLUMNS}"
        );
        let tables = self.tables().await?;
        let row = tables.query_opt(&sql, &[&reference.as_str(), &id]).await?;
        row.as_ref()
            .map(Ignore::from_row)
            .ok_or_else(|| no_ignore(id))
    }
}

fn checked_reason(reason: &str) -> Result<(), PlatformError> {
    let length = reason.chars().count();
    if (1..=MAX_REASON_CHARS).contains(&length) && !reason.trim().is_empty() {
        Ok(())
    } else {
        Err(PlatformError::Invalid(format!(
            "The reason has 1 to {MAX_REASON_CHARS} characters"
        )))
    }
}

fn no_ignore(id: Uuid) -> PlatformError {
    PlatformError::NotFound(format!("Nothing is ignored under {id}"))
}
