//! What `plinth start` does with the folder's SQL: pending migrations in order, then the seed once.

use plinth_platform::{Platform, SeedOutcome};
use plinth_project::ProjectName;
use plinth_settings::Settings;

use crate::{
    failure::{Failure, Kind, Outcome},
    files::{self, Pending},
    folder::Folder,
};

pub(super) async fn apply(platform: &Platform, folder: &Folder, settings: &Settings) -> Outcome {
    if settings.bool("db.migrations.enabled") {
        apply_migrations(platform, folder).await?;
    }
    for seed in files::seeds(folder, settings)? {
        match platform
            .run_seed(&ProjectName::Default, &seed)
            .await
            .map_err(told)?
        {
            SeedOutcome::Ran => tracing::info!("Seeded {}", seed.path),
            SeedOutcome::Known => {}
            SeedOutcome::Changed => {
                tracing::warn!(
                    "{} was changed since it ran; `plinth db reset` runs it",
                    seed.path
                );
            }
        }
    }
    Ok(())
}

async fn apply_migrations(platform: &Platform, folder: &Folder) -> Outcome {
    let local = files::migrations(folder)?;
    for skipped in &local.skipped {
        tracing::warn!("not a migration: {skipped}");
    }
    if local.files.is_empty() {
        return Ok(());
    }
    let applied = platform
        .applied_migrations(&ProjectName::Default)
        .await
        .map_err(told)?;
    let versions: Vec<String> = applied.into_iter().map(|row| row.version).collect();
    let Pending { next, out_of_order } = files::pending(&local.files, &versions);
    for file in out_of_order {
        tracing::warn!(
            "{file} is older than the newest applied migration and was left out; \
             `plinth migration up --include-all` applies it"
        );
    }
    for file in next {
        let notices = platform
            .apply_migration(&ProjectName::Default, file)
            .await
            .map_err(told)?;
        tracing::info!("Applied {file}");
        for notice in notices {
            tracing::info!("  {notice}");
        }
    }
    Ok(())
}

fn told(error: plinth_platform::PlatformError) -> Failure {
    use plinth_platform::PlatformError;
    match error {
        PlatformError::MigrationFailed(failure) => {
            Failure::new(Kind::Failure, format!("supabase/migrations: {failure}")).next_step(
                "Nothing of this file remains. Correct it and start again, or use --no-migrate.",
            )
        }
        other => other.into(),
    }
}
