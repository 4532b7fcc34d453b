//! Deploying: sources are prepared by the runner, then stored as a version, which is activated at
//! once or later.

use plinth_project::{PreparationError, Project, ProjectName, ProjectRef};
use plinth_settings::keys;
use tokio_postgres::Transaction;
use uuid::Uuid;

use super::{
    Bundle, StoredFunction,
    bundle::bundle_error,
    checked_slug, no_function, row,
    staged::StagedFolder,
    versions::{activate, prune},
};
use crate::{Platform, PlatformError};

const MAX_NAME_CHARS: usize = 256;

/// Parameters of a deployment.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The function's name in URLs.
    pub slug: String,
    /// Display name; unchanged when absent, the slug for a new function.
    pub name: Option<String>,
    /// Whether callers need a credential; unchanged when absent, yes for a new function.
    pub verify_jwt: Option<bool>,
    /// Its sources.
    pub bundle: Bundle,
    /// Whether the version is activated at once.
    pub activates: bool,
}

/// New settings of a function; absent ones are unchanged.
#[derive(Debug, Clone, Default)]
pub struct FunctionUpdate {
    /// Display name.
    pub name: Option<String>,
    /// Whether callers need a credential.
    pub verify_jwt: Option<bool>,
}

impl Platform {
    /// Stores a new version. If its sources cannot be prepared, nothing changes.
    pub async fn deploy_function(
        &self,
        project: &ProjectName,
        deployment: &Deployment,
    ) -> Result<StoredFunction, PlatformError> {
        checked_slug(&deployment.slug)?;
        checked_name(deployment.name.as_deref())?;
        let project = self.open(project).await?;
        self.prepare_bundle(&project, &deployment.bundle).await?;
        let reference = project.reference();

        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let (function, version) = next_version(&transaction, reference, &deployment.slug).await?;
        insert_version(&transaction, reference, deployment, function, version).await?;
        if deployment.activates {
            activate(&transaction, function, version).await?;
            self.notify_functions_changed(&transaction, reference)
                .await?;
        }
        let kept = project
            .settings()
            .current()
            .get(keys::plinth_functions::VERSIONS);
        prune(&transaction, function, kept).await?;
        let stored = row::load_version(&transaction, function, version).await?;
        transaction.commit().await?;
        if deployment.activates {
            self.reload_functions(reference).await;
        }
        Ok(stored)
    }

    /// Has the runner, if there is one, fetch the imports and check the sources.
    async fn prepare_bundle(
        &self,
        project: &Project,
        bundle: &Bundle,
    ) -> Result<(), PlatformError> {
        let Some(runner) = self.function_runner() else {
            return Ok(());
        };
        let folder = StagedFolder::write(&bundle.files).await?;
        let prepared = runner.prepare(project, &bundle.source, folder.path()).await;
        prepared.map_err(|error| match error {
            PreparationError::Source(error) => bundle_error(&error.to_string()),
            PreparationError::Io(error) => error.into(),
        })
    }

    /// Changes settings of the active version.
    pub async fn update_function(
        &self,
        project: &ProjectName,
        slug: &str,
        update: &FunctionUpdate,
    ) -> Result<StoredFunction, PlatformError> {
        checked_name(update.name.as_deref())?;
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let sql = "update platform.functions set updated_at = now()
                   where project = $1 and slug = $2 and active_version is not null
                   returning id, active_version";
        let row = transaction
            .query_opt(sql, &[&reference.as_str(), &slug])
            .await?;
        let row = row.ok_or_else(|| no_function(slug))?;
        let (function, version): (Uuid, i32) = (row.get(0), row.get(1));
        set_settings(&transaction, function, version, update).await?;
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        let stored = row::load_version(&transaction, function, version).await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(stored)
    }

    /// Removes a function with all its versions.
    pub async fn delete_function(
        &self,
        project: &ProjectName,
        slug: &str,
    ) -> Result<(), PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let sql = "delete from platform.functions where project = $1 and slug = $2";
        let gone = transaction
            .execute(sql, &[&reference.as_str(), &slug])
            .await?;
        if gone == 0 {
            return Err(no_function(slug));
        }
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(())
    }
}

/// Updates the settings of a version that are present in `update`.
pub(super) async fn set_settings(
    transaction: &Transaction<'_>,
    function: Uuid,
    version: i32,
    update: &FunctionUpdate,
) -> Result<(), PlatformError> {
    let sql = "update platform.function_versions
               set name = coalesce($3, name), verify_jwt = coalesce($4, verify_jwt)
               where function = $1 and version = $2";
    transaction
        .execute(
            sql,
            &[&function, &version, &update.name, &update.verify_jwt],
        )
        .await?;
    Ok(())
}

/// Version numbers are never reused. Locks the row against concurrent deployments of the function.
async fn next_version(
    transaction: &Transaction<'_>,
    project: &ProjectRef,
    slug: &str,
) -> Result<(Uuid, i32), PlatformError> {
    let sql = "insert into platform.functions as f (project, slug, last_version)
               values ($1, $2, 1)
               on conflict (project, slug) do update set last_version = f.last_version + 1
               returning id, last_version";
    let row = transaction
        .query_one(sql, &[&project.as_str(), &slug])
        .await?;
    Ok((row.get(0), row.get(1)))
}

async fn insert_version(
    transaction: &Transaction<'_>,
    project: &ProjectRef,
    deployment: &Deployment,
    function: Uuid,
    version: i32,
) -> Result<(), PlatformError> {
    let Deployment {
        slug,
        name,
        verify_jwt,
        bundle: bundle @ Bundle { source, files },
        ..
    } = deployment;
    let active = row::find_active(transaction, project, slug).await?;
    let active = active.as_ref();
    let name = name
        .as_deref()
        .or(active.map(|active| active.name.as_str()));
    let verify_jwt = verify_jwt.or(active.map(|active| active.verify_jwt));
    let sql = "insert into platform.function_versions
                   (function, version, name, verify_jwt, entrypoint, import_map, static_patterns,
                    digest)
               values ($1, $2, $3, $4, $5, $6, $7, $8)";
    transaction
        .execute(
            sql,
            &[
                &function,
                &version,
                &name.unwrap_or(slug),
                &verify_jwt.unwrap_or(true),
                &source.entrypoint,
                &source.import_map,
                &source.static_patterns,
                &bundle.digest(),
            ],
        )
        .await?;
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let contents: Vec<&[u8]> = files.iter().map(|file| &*file.content).collect();
    let sql = "insert into platform.function_files (function, version, path, content)
               select $1, $2, path, content
               from unnest($3::text[], $4::bytea[]) as files (path, content)";
    transaction
        .execute(sql, &[&function, &version, &paths, &contents])
        .await?;
    Ok(())
}

pub(super) fn checked_name(name: Option<&str>) -> Result<(), PlatformError> {
    let is_valid = |name: &str| {
        (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control)
    };
    if name.is_none_or(is_valid) {
        Ok(())
    } else {
        Err(PlatformError::Invalid(format!(
            "A function's name has 1 to {MAX_NAME_CHARS} characters and no control characters"
        )))
    }
}
