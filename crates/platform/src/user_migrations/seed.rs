//! Seed files: each runs once; the history stores its hash, as the official tool does.

use plinth_project::ProjectName;

use super::{MigrationFailure, shared_role::run_statement, split};
use crate::{Platform, PlatformError};

/// One file of `db.seed.sql_paths`.
#[derive(Debug, Clone)]
pub struct SeedFile {
    /// Relative to the project's folder, as in `supabase/seed.sql`.
    pub path: String,
    /// Its content.
    pub sql: String,
}

/// Result for a seed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedOutcome {
    /// It ran.
    Ran,
    /// It had run before.
    Known,
    /// It had run before and has changed since; `db reset` runs it again.
    Changed,
}

impl Platform {
    /// Runs a seed file in one transaction, unless it has run before.
    pub async fn run_seed(
        &self,
        name: &ProjectName,
        seed: &SeedFile,
    ) -> Result<SeedOutcome, PlatformError> {
        let mut owner = self.open(name).await?.db.as_owner().await?;
        let hash = plinth_token::credential_hash(&seed.sql);
        let transaction = owner.transaction().await?;
        let sql = "select hash from supabase_migrations.seed_files where path = $1";
        if let Some(row) = transaction.query_opt(sql, &[&seed.path]).await? {
            let known = row.get::<_, &str>(0) == hash;
            return Ok(if known {
                SeedOutcome::Known
            } else {
                SeedOutcome::Changed
            });
        }
        for (index, statement) in split(&seed.sql).iter().enumerate() {
            let ran = run_statement(transaction.client(), statement, true).await;
            if let Err(error) = ran {
                let failure = MigrationFailure::new(&seed.path, index + 1, statement, &error);
                return Err(match failure {
                    Some(failure) => PlatformError::MigrationFailed(Box::new(failure)),
                    None => error.into(),
                });
            }
        }
        transaction
            .batch_execute("reset role; reset search_path")
            .await?;
        let sql = "insert into supabase_migrations.seed_files (path, hash) values ($1, $2)";
        transaction.execute(sql, &[&seed.path, &hash]).await?;
        transaction.commit().await?;
        Ok(SeedOutcome::Ran)
    }
}
