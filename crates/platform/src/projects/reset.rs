//! `db reset`: the project's database made anew from the template, in well under a second.

use std::time::Duration;

use plinth_project::{ProjectKind, ProjectName, logins};

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
        databases::create_from(&admin, &fresh, databases::TEMPLATE).await?;
        let cluster = &self.0.cluster;
        admin
            .batch_execute(&logins::open_database_sql(cluster, &row.reference, &fresh))
            .await?;
        let _held = project.db.hold(PATIENCE).await?;
        Ok(databases::replace(&mut admin, &row.database, &fresh).await?)
    }
}
