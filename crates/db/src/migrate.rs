//! Versioned, idempotent, advisory-locked migrations of the system schemas.
//!
//! Each service owns a [`MigrationSet`]. The ledger `plinth.migrations` says which of them a
//! database has. One advisory lock per database makes nodes that start at once queue up instead
//! of colliding. A file runs in one transaction together with its ledger row, so a killed process
//! leaves either both or neither.

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

/// A system migration that did not go through. Nothing of it remains.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database could not be asked.
    #[error(transparent)]
    Database(#[from] DbError),
    /// One file was refused.
    #[error("system migration {service}/{version:04}_{name} failed: {reason}")]
    Refused {
        /// The owner of the file.
        service: &'static str,
        /// Its number.
        version: i32,
        /// Its name.
        name: &'static str,
        /// What Postgres said.
        reason: String,
    },
    /// The database was used by a newer Plinth.
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

/// The lock's number is fixed: every Plinth that ever starts must mean the same lock.
const LOCK: &str = "select pg_advisory_lock(7305820114271963)";
const UNLOCK: &str = "select pg_advisory_unlock(7305820114271963)";

/// Only superusers may; a lesser role has no rights worth taking.
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

/// Brings the database up to date and tells how many files ran. `client` must be privileged.
pub async fn migrate(client: &mut Client, sets: &[MigrationSet]) -> Result<usize, MigrateError> {
    client.batch_execute(LOCK).await?;
    let applied = migrate_locked(client, sets).await;
    // A lost connection has lost the lock too; the first error is the one worth telling.
    let unlocked = client.batch_execute(UNLOCK).await;
    let applied = applied?;
    unlocked?;
    Ok(applied)
}

/// Whether [`migrate`] would do nothing. One query, no lock.
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

async fn migrate_locked(client: &mut Client, sets: &[MigrationSet]) -> Result<usize, MigrateError> {
    client.batch_execute(LEDGER).await?;
    let mut applied = 0;
    for set in sets {
        let found = applied_version(client, set).await?;
        let known = last_version(set);
        if found > known {
            return Err(MigrateError::Newer {
                service: set.service,
                found,
                known,
            });
        }
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
    let refused = |error: tokio_postgres::Error| MigrateError::Refused {
        service,
        version: migration.version,
        name: migration.name,
        reason: describe(&error),
    };
    let transaction = client.transaction().await?;
    // Users may have triggers on our tables, and those would run with our rights.
    transaction.batch_execute(WITHOUT_TRIGGERS).await?;
    transaction
        .batch_execute(migration.sql)
        .await
        .map_err(refused)?;
    // The file may have assumed another role to own what it made.
    transaction.batch_execute("reset role").await?;
    let record = "insert into plinth.migrations (service, version, name) values ($1, $2, $3)";
    transaction
        .execute(record, &[&service, &migration.version, &migration.name])
        .await?;
    Ok(transaction.commit().await?)
}
