//! `db reset`: replaces the project's database by a new copy of the template.

use std::time::Duration;

use plinth_db::DbError;
use plinth_project::{ProjectKind, ProjectName, ProjectServer, ProjectServers as _, logins};

use super::ProjectRow;
use crate::{Platform, PlatformError, databases};

/// How long to wait for requests in flight before the reset fails.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

impl Platform {
    /// Replaces the project's database by a copy of the template. Requests wait meanwhile.
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
        let server = self.server(&row.server).await?;
        let mut admin = server.administrator().connect().await?;
        let fresh = format!("{}_new", row.database);
        databases::drop_database(&admin, &fresh).await?;
        let replaced = async {
            databases::create_from_template(&admin, &fresh).await?;
            let sql = logins::open_database_sql(&server.cluster, &row.reference, &fresh);
            admin.batch_execute(&sql).await?;
            let _lock = match project.db.lock(LOCK_TIMEOUT).await {
                Err(DbError::PoolTimeout) => return Err(still_busy(&row)),
                lock => lock?,
            };
            Ok(databases::replace(&mut admin, &row.database, &fresh).await?)
        };
        let replaced = replaced.await;
        if replaced.is_err()
            && let Err(error) = drop_leftover(&server, &fresh).await
        {
            tracing::warn!("dropping {fresh} failed, retrying at the next start: {error}");
        }
        replaced
    }
}

async fn drop_leftover(server: &ProjectServer, database: &str) -> Result<(), DbError> {
    let admin = server.administrator().connect().await?;
    databases::drop_database(&admin, database).await
}

fn still_busy(row: &ProjectRow) -> PlatformError {
    PlatformError::Conflict(format!(
        "Requests to project {} did not end within {} seconds; nothing was reset, try again when \
         it is quieter",
        row.reference,
        LOCK_TIMEOUT.as_secs()
    ))
}
