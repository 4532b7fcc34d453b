//! Versions: activating several functions at once, rollback, pruning.

use plinth_project::{ProjectName, ProjectRef};
use tokio_postgres::Transaction;
use uuid::Uuid;

use super::{
    FunctionUpdate, StoredFunction,
    deploy::{checked_name, set_settings},
    no_function, row,
};
use crate::{Platform, PlatformError};

/// A deployed version to be activated.
#[derive(Debug, Clone)]
pub struct Activation {
    /// The function.
    pub slug: String,
    /// Its id, if the caller knows it: the slug may have been reused.
    pub id: Option<Uuid>,
    /// The version.
    pub version: i32,
    /// New settings for it.
    pub update: FunctionUpdate,
}

impl Platform {
    /// Makes all of these versions active, or none.
    pub async fn activate_functions(
        &self,
        project: &ProjectName,
        activations: &[Activation],
    ) -> Result<Vec<StoredFunction>, PlatformError> {
        // Rows are locked in one order, so that concurrent calls cannot deadlock.
        let mut activations: Vec<&Activation> = activations.iter().collect();
        activations.sort_by(|a, b| a.slug.cmp(&b.slug));
        if let Some(pair) = activations
            .windows(2)
            .find(|pair| pair[0].slug == pair[1].slug)
        {
            let slug = &pair[0].slug;
            return Err(PlatformError::Invalid(format!(
                "The function {slug} is named twice"
            )));
        }
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let mut active = Vec::new();
        for activation in activations {
            active.push(activate_one(&transaction, &reference, activation).await?);
        }
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(active)
    }

    /// Activates an older version: the given one, else the most recently active one among those with
    /// smaller numbers.
    pub async fn roll_back_function(
        &self,
        project: &ProjectName,
        slug: &str,
        version: Option<i32>,
    ) -> Result<StoredFunction, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        let (function, active) = lock_function(&transaction, &reference, slug).await?;
        let active = active.ok_or_else(|| no_function(slug))?;
        let version = match version {
            Some(version) => version,
            None => previous_version(&transaction, function, active)
                .await?
                .ok_or_else(|| {
                    PlatformError::Conflict(format!(
                        "No version of {slug} before version {active} is kept"
                    ))
                })?,
        };
        ensure_version_exists(&transaction, function, slug, version).await?;
        activate(&transaction, function, version).await?;
        self.notify_functions_changed(&transaction, &reference)
            .await?;
        let stored = row::load_version(&transaction, function, version).await?;
        transaction.commit().await?;
        self.reload_functions(&reference).await;
        Ok(stored)
    }
}

async fn activate_one(
    transaction: &Transaction<'_>,
    project: &ProjectRef,
    activation: &Activation,
) -> Result<StoredFunction, PlatformError> {
    let Activation {
        slug,
        id,
        version,
        update,
    } = activation;
    checked_name(update.name.as_deref())?;
    let (function, _) = lock_function(transaction, project, slug).await?;
    if id.is_some_and(|id| id != function) {
        return Err(PlatformError::Conflict(format!(
            "The function {slug} was deleted and deployed anew meanwhile"
        )));
    }
    ensure_version_exists(transaction, function, slug, *version).await?;
    set_settings(transaction, function, *version, update).await?;
    activate(transaction, function, *version).await?;
    Ok(row::load_version(transaction, function, *version).await?)
}

/// The function and its active version; locks the row until the end of the transaction.
async fn lock_function(
    transaction: &Transaction<'_>,
    project: &ProjectRef,
    slug: &str,
) -> Result<(Uuid, Option<i32>), PlatformError> {
    let sql = "select id, active_version from platform.functions
               where project = $1 and slug = $2
               for update";
    let row = transaction
        .query_opt(sql, &[&project.as_str(), &slug])
        .await?;
    let row = row.ok_or_else(|| no_function(slug))?;
    Ok((row.get(0), row.get(1)))
}

async fn ensure_version_exists(
    transaction: &Transaction<'_>,
    function: Uuid,
    slug: &str,
    version: i32,
) -> Result<(), PlatformError> {
    let sql = "select from platform.function_versions where function = $1 and version = $2";
    match transaction.query_opt(sql, &[&function, &version]).await? {
        Some(_) => Ok(()),
        None => Err(PlatformError::NotFound(format!(
            "Version {version} of the function {slug} is not kept"
        ))),
    }
}

async fn previous_version(
    transaction: &Transaction<'_>,
    function: Uuid,
    active: i32,
) -> Result<Option<i32>, PlatformError> {
    let sql = "select version from platform.function_versions
               where function = $1 and version < $2 and activated_at is not null
               order by activated_at desc, version desc
               limit 1";
    let row = transaction.query_opt(sql, &[&function, &active]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Makes this version active with the commit of the transaction.
pub(super) async fn activate(
    transaction: &Transaction<'_>,
    function: Uuid,
    version: i32,
) -> Result<(), PlatformError> {
    let sql = "with activated as (
                   update platform.function_versions set activated_at = now()
                   where function = $1 and version = $2
               )
               update platform.functions set active_version = $2, updated_at = now()
               where id = $1";
    transaction.execute(sql, &[&function, &version]).await?;
    Ok(())
}

/// Deletes all but the newest versions; the active one is always kept.
pub(super) async fn prune(
    transaction: &Transaction<'_>,
    function: Uuid,
    kept: i64,
) -> Result<(), PlatformError> {
    let sql = "delete from platform.function_versions v
               using platform.functions f
               where f.id = $1 and v.function = f.id
                 and v.version is distinct from f.active_version
                 and v.version not in (
                     select version from platform.function_versions
                     where function = $1
                     order by version desc
                     limit $2
                 )";
    transaction.execute(sql, &[&function, &kept]).await?;
    Ok(())
}
