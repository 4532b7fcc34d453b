//! What `plinth start` does with the folder: pending migrations in order, then the seed once, then the
//! buckets and their files.

use plinth_platform::{Platform, SeedOutcome};
use plinth_project::{Project, ProjectName};
use plinth_settings::{Settings, Source, join_path};
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
    for name in settings.entries("storage.buckets") {
        let path = |key| join_path(["storage", "buckets", name, key]);
        let is_set = |key| settings.source(&path(key)) != Source::Default;
        let bucket = SeedBucket {
            id: name.to_owned(),
            is_public: settings.bool(&path("public")),
            file_size_limit: is_set("file_size_limit")
                .then(|| settings.bytes(&path("file_size_limit"))),
            allowed_mime_types: settings.list(&path("allowed_mime_types")).to_vec(),
            files: settings
                .opt_path(&path("objects_path"))
                .map(|path| folder.root.join("supabase").join(path)),
        };
        let count = storage.seed(project, &bucket).await?;
        if count > 0 {
            tracing::info!("Put {count} file(s) into the bucket {name}");
        }
    }
    Ok(())
}

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
