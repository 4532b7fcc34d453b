//! Versioned, idempotent, advisory-locked migrations of the system schemas.
//!
//! Each service owns a [`MigrationSet`]. The ledger `plinth.migrations` records which files a
//! database has. One advisory lock per database serialises nodes that start at once. A file runs in
//! one transaction together with its ledger row, so a killed process leaves either both or neither.

use tokio_postgres::Client;

use crate::{DbError, error::describe};

/// One file of a service's `migrations/` folder. Once released it is never edited.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Position in the service's own history, from 1.
    pub version: i32,
    /// The file's name without number and extension.
    pub name: &'static str,
    /// Plain SQL of one or more statements; runs in one transaction as the administrating role.
    pub sql: &'static str,
}

/// All migrations of one service, in order.
#[derive(Debug, Clone, Copy)]
pub struct MigrationSet {
    /// The service that owns the schema, as in `auth`.
    pub service: &'static str,
    /// In ascending order of version.
    pub migrations: &'static [Migration],
}

/// A failed system migration. Its transaction was rolled back.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database failed outside of a migration.
    #[error(transparent)]
    Database(#[from] DbError),
    /// One file failed.
    #[error("system migration {service}/{version:04}_{name} failed: {reason}")]
    Failed {
        /// The owner of the file.
        service: &'static str,
        /// Its number.
        version: i32,
        /// Its name.
        name: &'static str,
        /// The error of PostgreSQL.
        reason: String,
    },
    /// The database was migrated by a newer Plinth.
    #[error(
        "the schema of {service} is at version {found}, but this plinth knows only {known}: \
         use the newer plinth that made it"
    )]
    Newer {
        /// The service in question.
        service: &'static str,
        /// The version in the ledger.
        found: i32,
        /// The last one in this program.
        known: i32,
    },
}

impl From<tokio_postgres::Error> for MigrateError {
    fn from(error: tokio_postgres::Error) -> Self {
        MigrateError::Database(error.into())
    }
}

/// Must never change: every version of Plinth has to use the same lock.
const LOCK: &str = "select pg_advisory_lock(7305820114271963)";
const UNLOCK: &str = "select pg_advisory_unlock(7305820114271963)";

/// Requires a superuser; other roles have no rights that a user's trigger could abuse.
const WITHOUT_TRIGGERS: &str = "
    select pg_catalog.set_config('session_replication_role', 'replica', true)
    from pg_catalog.pg_roles where rolname = current_user and rolsuper";

const LEDGER: &str = "
    create schema if not exists plinth;
    revoke all on schema plinth from public;
    create table if not exists plinth.migrations (
        service text not null,
        version integer not null,
        name text not null,
        applied_at timestamptz not null default now(),
        primary key (service, version)
    );";

/// Brings the database up to date and returns how many files ran. `client` must be privileged.
pub async fn migrate(client: &mut Client, sets: &[MigrationSet]) -> Result<usize, MigrateError> {
    client.batch_execute(LOCK).await?;
    let applied = migrate_locked(client, sets).await;
    // A lost connection has released the lock; report the first error.
    let unlocked = client.batch_execute(UNLOCK).await;
    let applied = applied?;
    unlocked?;
    Ok(applied)
}

/// Whether no migration is missing; a newer Plinth may have applied more, as during a rolling upgrade.
/// Reads the ledger only: no lock and no privileges beyond SELECT on it.
pub async fn is_current(client: &Client, sets: &[MigrationSet]) -> Result<bool, MigrateError> {
    let exists = client
        .query_one("select to_regclass('plinth.migrations') is not null", &[])
        .await?
        .get::<_, bool>(0);
    if !exists {
        return Ok(false);
    }
    for set in sets {
        if applied_version(client, set).await? < last_version(set) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rejects a database that a newer Plinth has migrated. The ledger must exist.
pub async fn check_not_newer(client: &Client, sets: &[MigrationSet]) -> Result<(), MigrateError> {
    for set in sets {
        known_version(client, set).await?;
    }
    Ok(())
}

async fn migrate_locked(client: &mut Client, sets: &[MigrationSet]) -> Result<usize, MigrateError> {
    client.batch_execute(LEDGER).await?;
    let mut applied = 0;
    for set in sets {
        let found = known_version(client, set).await?;
        for migration in set.migrations.iter().filter(|m| m.version > found) {
            apply(client, set.service, migration).await?;
            applied += 1;
        }
    }
    Ok(applied)
}

async fn applied_version(client: &Client, set: &MigrationSet) -> Result<i32, MigrateError> {
    let sql = "select coalesce(max(version), 0) from plinth.migrations where service = $1";
    Ok(client.query_one(sql, &[&set.service]).await?.get(0))
}

/// The version in the ledger, unless a newer Plinth made it.
async fn known_version(client: &Client, set: &MigrationSet) -> Result<i32, MigrateError> {
    let found = applied_version(client, set).await?;
    let known = last_version(set);
    if found > known {
        return Err(MigrateError::Newer {
            service: set.service,
            found,
            known,
        });
    }
    Ok(found)
}

fn last_version(set: &MigrationSet) -> i32 {
    set.migrations
        .last()
        .map_or(0, |migration| migration.version)
}

async fn apply(
    client: &mut Client,
    service: &'static str,
    migration: &Migration,
) -> Result<(), MigrateError> {
    let failed = |error: tokio_postgres::Error| MigrateError::Failed {
        service,
        version: migration.version,
        name: migration.name,
        reason: describe(&error),
    };
    let transaction = client.transaction().await?;
    // User-defined triggers on our tables would run with our rights.
    transaction.batch_execute(WITHOUT_TRIGGERS).await?;
    transaction
        .batch_execute(migration.sql)
        .await
        .map_err(failed)?;
    // The file may have changed the role to own what it creates.
    transaction.batch_execute("reset role").await?;
    let record = "insert into plinth.migrations (service, version, name) values ($1, $2, $3)";
    transaction
        .execute(record, &[&service, &migration.version, &migration.name])
        .await?;
    Ok(transaction.commit().await?)
}
