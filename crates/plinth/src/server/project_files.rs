//! Applies a folder at the start: pending migrations in order, then the seed once, then buckets and
//! their files.

use plinth_platform::{Platform, SeedOutcome};
use plinth_project::{Project, ProjectName};
use plinth_settings::{
    Settings, Source,
    keys::{db, storage as keys},
};
use plinth_storage::{SeedBucket, StorageService};

use crate::{
    failure::{Failure, Kind, Outcome},
    files::{self, Pending},
    folder::Folder,
};

/// The buckets of `[storage.buckets]`, and the files that the folder puts into them.
pub(super) async fn seed_buckets(
    storage: &StorageService,
    project: &Project,
    folder: &Folder,
    settings: &Settings,
) -> Outcome {
    for name in settings.members(keys::BUCKETS) {
        let file_size_limit = keys::BUCKETS_FILE_SIZE_LIMIT.of(name);
        let is_limited = settings.source_of(file_size_limit) != Source::Default;
        let bucket = SeedBucket {
            id: name.to_owned(),
            is_public: settings.get(keys::BUCKETS_PUBLIC.of(name)),
            file_size_limit: is_limited.then(|| settings.get(file_size_limit)),
            allowed_mime_types: settings
                .get(keys::BUCKETS_ALLOWED_MIME_TYPES.of(name))
                .to_vec(),
            files: settings
                .get(keys::BUCKETS_OBJECTS_PATH.of(name))
                .map(|path| folder.root.join("supabase").join(path)),
        };
        let count = storage.seed(project, &bucket).await?;
        if count > 0 {
            tracing::info!("uploaded {count} file(s) to the bucket {name}");
        }
    }
    Ok(())
}

pub(super) async fn apply_sql(
    platform: &Platform,
    folder: &Folder,
    settings: &Settings,
) -> Outcome {
    if settings.get(db::MIGRATIONS_ENABLED) {
        apply_migrations(platform, folder).await?;
    }
    for seed in files::seeds(folder, settings)? {
        match platform
            .run_seed(&ProjectName::Default, &seed)
            .await
            .map_err(migration_failure)?
        {
            SeedOutcome::Ran => tracing::info!("Seeded {}", seed.path),
            SeedOutcome::Known => {}
            SeedOutcome::Changed => {
                tracing::warn!(
                    "{} has changed since it ran; `plinth db reset` runs it again",
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
        .map_err(migration_failure)?;
    let versions: Vec<String> = applied.into_iter().map(|row| row.version).collect();
    let Pending { next, out_of_order } = files::pending(&local.files, &versions);
    for file in out_of_order {
        tracing::warn!(
            "{file} is older than the newest applied migration and was skipped; \
             `plinth migration up --include-all` applies it"
        );
    }
    for file in next {
        let notices = platform
            .apply_migration(&ProjectName::Default, file)
            .await
            .map_err(migration_failure)?;
        tracing::info!("Applied {file}");
        for notice in notices {
            tracing::info!("  {notice}");
        }
    }
    Ok(())
}

fn migration_failure(error: plinth_platform::PlatformError) -> Failure {
    use plinth_platform::PlatformError;
    match error {
        PlatformError::MigrationFailed(failure) => {
            Failure::new(Kind::Failure, format!("supabase/migrations: {failure}")).next_step(
                "This file was rolled back. Correct it and start again, or use --no-migrate.",
            )
        }
        other => other.into(),
    }
}
