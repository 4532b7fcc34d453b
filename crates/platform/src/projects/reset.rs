//! `db reset`: the project's database made anew from the template, in well under a second.

use std::time::Duration;

use plinth_db::DbError;
use plinth_project::{ProjectKind, ProjectName, logins};

use super::ProjectRow;
use crate::{Platform, PlatformError, databases};

/// How long running requests may take to end before the reset gives up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Platform {
    /// Replaces the project's database by a pristine one. Requests wait meanwhile.
    pub async fn reset_database(&self, name: &ProjectName) -> Result<(), PlatformError> {
        let row = self.load_project(name).await?;
        if row.kind == ProjectKind::Platform {
            return Err(PlatformError::Conflict(
                "Project zero cannot be reset".to_owned(),
            ));
        }
        if row.kind == ProjectKind::Default && !self.0.owns_default_database {
            return Err(PlatformError::Conflict(
                "The default project lives in the database given with --database-url, which is \
                 not plinth's to drop; reset it by hand, or use `plinth projects create`"
                    .to_owned(),
            ));
        }
        let project = self.open(name).await?;
        let mut admin = self.admin().await?;
        let fresh = format!("{}_new", row.database);
        databases::drop_database(&admin, &fresh).await?;
        let replaced = async {
            databases::create_pristine(&admin, &fresh).await?;
            let sql = logins::open_database_sql(&self.0.cluster, &row.reference, &fresh);
            admin.batch_execute(&sql).await?;
            let _held = match project.db.hold(PATIENCE).await {
                Err(DbError::PoolTimeout) => return Err(still_busy(&row)),
                held => held?,
            };
            Ok(databases::replace(&mut admin, &row.database, &fresh).await?)
        };
        let replaced = replaced.await;
        if replaced.is_err()
            && let Err(error) = self.drop_leftover(&fresh).await
        {
            tracing::warn!("{fresh} is left for the next start to drop: {error}");
        }
        replaced
    }

    async fn drop_leftover(&self, database: &str) -> Result<(), DbError> {
        let admin = self.admin().await?;
        databases::drop_database(&admin, database).await
    }
}

fn still_busy(row: &ProjectRow) -> PlatformError {
    PlatformError::Conflict(format!(
        "Requests to project {} did not end within {} seconds; nothing was reset, try again when \
         it is quieter",
        row.reference,
        PATIENCE.as_secs()
    ))
}
