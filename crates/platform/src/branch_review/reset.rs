//! Resetting a branch: an empty database, with its migrations run again.

use plinth_project::ProjectName;
use uuid::Uuid;

use super::{job::Steps, review::history};
use crate::{Branch, Platform, PlatformError, user_migrations::StoredMigration};

impl Platform {
    /// Begins to reset a branch to one of its migrations, or to the last one. Returns the job.
    pub(crate) async fn reset_branch(
        &self,
        branch: &Branch,
        version: Option<&str>,
        by: &str,
    ) -> Result<Uuid, PlatformError> {
        let name = ProjectName::Ref(branch.reference.clone());
        let mut migrations = history(&self.open(&name).await?).await?;
        if let Some(version) = version {
            let Some(at) = migrations.iter().position(|of| of.version == version) else {
                return Err(PlatformError::Invalid(format!(
                    "The branch has no migration {version}"
                )));
            };
            migrations.truncate(at + 1);
        }
        self.run_branch_job(
            "branch_reset",
            branch,
            by,
            move |platform, steps| async move { platform.rerun(&name, &migrations, &steps).await },
        )
        .await
    }

    async fn rerun(
        &self,
        name: &ProjectName,
        migrations: &[StoredMigration],
        steps: &Steps,
    ) -> Result<String, PlatformError> {
        let total = migrations.len() + 1;
        steps.report(0, total, "Replacing the database");
        self.reset_database(name).await?;
        for (at, migration) in migrations.iter().enumerate() {
            let file = migration.to_file();
            steps.report(at + 1, total, format!("Running {file}"));
            self.apply_migration(name, &file).await?;
        }
        Ok(format!("Ran {} migrations", migrations.len()))
    }
}
