//! Creating, copying, replacing and dropping whole databases, the template among them.
//!
//! A database is first created under a temporary name and then renamed in one transaction, so that
//! a killed process leaves either nothing or a leftover that the next start removes.

use std::time::{Duration, Instant};

use plinth_db::{
    DbError, QuotedIdent, QuotedLiteral, Target,
    migrate::{self, MigrationSet},
};
use tokio_postgres::{Client, error::SqlState};

use crate::PlatformError;

/// The template database that projects are copied from. It accepts no connections.
pub(crate) const TEMPLATE: &str = "plinth_template";
const TEMPLATE_NEW: &str = "plinth_template_new";

/// Whether a database of that name exists.
pub(crate) async fn exists(client: &Client, name: &str) -> Result<bool, DbError> {
    let sql = "select exists (select from pg_database where datname = $1)";
    Ok(client.query_one(sql, &[&name]).await?.get(0))
}

/// Copies a database, which must have no sessions.
pub(crate) async fn create_from(
    client: &Client,
    name: &str,
    template: &str,
) -> Result<(), DbError> {
    let (name, template) = (QuotedIdent::new(name), QuotedIdent::new(template));
    Ok(client
        .batch_execute(&format!("create database {name} template {template}"))
        .await?)
}

/// How long to retry while another node replaces the template.
const TEMPLATE_TIMEOUT: Duration = Duration::from_secs(10);
const TEMPLATE_RETRY_DELAY: Duration = Duration::from_millis(100);

/// How long to retry dropping replication slots whose readers are still disconnecting.
const SLOT_DROP_TIMEOUT: Duration = Duration::from_secs(5);
const SLOT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Creates a database from the template. Another node, perhaps of another version, may be replacing
/// the template, which is then missing or in use for a moment.
pub(crate) async fn create_from_template(client: &Client, name: &str) -> Result<(), PlatformError> {
    let began = Instant::now();
    loop {
        let error = match create_from(client, name, TEMPLATE).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !is_missing_or_in_use(&error) {
            return Err(error.into());
        }
        if began.elapsed() > TEMPLATE_TIMEOUT {
            return Err(PlatformError::Unavailable(error));
        }
        tokio::time::sleep(TEMPLATE_RETRY_DELAY).await;
    }
}

fn is_missing_or_in_use(error: &DbError) -> bool {
    let codes = [SqlState::INVALID_CATALOG_NAME, SqlState::OBJECT_IN_USE];
    error.sqlstate().is_some_and(|code| codes.contains(code))
}

/// Whether a copy failed because its source has sessions.
pub(crate) fn is_in_use(error: &DbError) -> bool {
    error.sqlstate() == Some(&SqlState::OBJECT_IN_USE)
}

/// Drops a database and terminates its sessions. Succeeds if it does not exist.
pub(crate) async fn drop_database(client: &Client, name: &str) -> Result<(), DbError> {
    drop_slots(client, name).await?;
    let name = QuotedIdent::new(name);
    Ok(client
        .batch_execute(&format!("drop database if exists {name} with (force)"))
        .await?)
}

/// A database with replication slots cannot be dropped.
async fn drop_slots(client: &Client, database: &str) -> Result<(), DbError> {
    let began = Instant::now();
    loop {
        let slots = client
            .query(
                "select slot_name::text, pg_terminate_backend(active_pid)
                 from pg_replication_slots where database = $1",
                &[&database],
            )
            .await?;
        for slot in &slots {
            let slot: &str = slot.get(0);
            // Fails while its reader is still connected, or if it was dropped meanwhile.
            _ = client
                .execute("select pg_drop_replication_slot($1::text::name)", &[&slot])
                .await;
        }
        // A slot that remains makes `drop database` fail with a clear message.
        if slots.is_empty() || began.elapsed() > SLOT_DROP_TIMEOUT {
            return Ok(());
        }
        tokio::time::sleep(SLOT_RETRY_DELAY).await;
    }
}

/// Allows connections, or forbids them and terminates the open ones.
pub(crate) async fn allow_connections(
    client: &Client,
    name: &str,
    allow: bool,
) -> Result<(), DbError> {
    let ident = QuotedIdent::new(name);
    client
        .batch_execute(&format!("alter database {ident} allow_connections {allow}"))
        .await?;
    if !allow {
        terminate_sessions(client, name, SessionKind::Any).await?;
    }
    Ok(())
}

/// Only roles with an explicit grant may connect from now on.
pub(crate) async fn revoke_public_connect(client: &Client, name: &str) -> Result<(), DbError> {
    let name = QuotedIdent::new(name);
    Ok(client
        .batch_execute(&format!("revoke connect on database {name} from public"))
        .await?)
}

/// Which sessions of a database are terminated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// All of them.
    Any,
    /// Idle connections in the pool of some node.
    IdlePooled,
}

/// Terminates sessions and waits until they have ended, at most half a second each.
pub(crate) async fn terminate_sessions(
    client: &Client,
    database: &str,
    kind: SessionKind,
) -> Result<(), DbError> {
    let sql = "select count(pg_catalog.pg_terminate_backend(pid, 500::bigint))
               from pg_stat_activity
               where datname = $1 and pid <> pg_backend_pid() and backend_type = 'client backend'
                 and ($2 or (application_name = 'plinth' and state = 'idle'))";
    client
        .query_one(sql, &[&database, &(kind == SessionKind::Any)])
        .await?;
    Ok(())
}

/// Names of the sessions on the database, WAL senders included, for the message that explains why
/// it cannot be copied.
pub(crate) async fn foreign_sessions(
    client: &Client,
    database: &str,
) -> Result<Vec<String>, DbError> {
    let sql = "select coalesce(nullif(application_name, ''), usename::text, 'unknown')
               from pg_stat_activity
               where datname = $1 and pid <> pg_backend_pid()
                 and backend_type in ('client backend', 'walsender')
               order by 1";
    Ok(client
        .query(sql, &[&database])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect())
}

/// Replaces a database by a new one and drops the old one.
pub(crate) async fn replace(client: &mut Client, name: &str, by: &str) -> Result<(), DbError> {
    let old = format!("{name}_old");
    drop_database(client, &old).await?;
    terminate_sessions(client, name, SessionKind::Any).await?;
    let (name_id, by_id, old_id) = (
        QuotedIdent::new(name),
        QuotedIdent::new(by),
        QuotedIdent::new(&old),
    );
    let transaction = client.transaction().await?;
    transaction
        .batch_execute(&format!(
            "alter database {name_id} rename to {old_id}; alter database {by_id} rename to {name_id}"
        ))
        .await?;
    transaction.commit().await?;
    drop_database(client, &old).await
}

/// Creates the template, or replaces it if a system schema is not at its current version.
pub(crate) async fn ensure_template(
    maintenance: &Target,
    client: &mut Client,
    schemas: &[MigrationSet],
) -> Result<(), PlatformError> {
    let wanted = fingerprint(schemas);
    if template_is_current(client, schemas).await? {
        return Ok(());
    }
    drop_database(client, TEMPLATE_NEW).await?;
    client
        .batch_execute(&format!(
            "create database {TEMPLATE_NEW} template template0 encoding 'UTF8'"
        ))
        .await?;
    client
        .batch_execute(&format!(
            "grant create, temporary on database {TEMPLATE_NEW} to postgres"
        ))
        .await?;
    let mut inside = maintenance.database(TEMPLATE_NEW).connect().await?;
    migrate::migrate(&mut inside, schemas).await?;
    drop(inside);
    revoke_public_connect(client, TEMPLATE_NEW).await?;
    allow_connections(client, TEMPLATE_NEW, false).await?;
    if exists(client, TEMPLATE).await? {
        client
            .batch_execute(&format!("alter database {TEMPLATE} is_template false"))
            .await?;
        drop_database(client, TEMPLATE).await?;
    }
    let transaction = client.transaction().await?;
    transaction
        .batch_execute(&format!(
            "alter database {TEMPLATE_NEW} rename to {TEMPLATE};
             alter database {TEMPLATE} is_template true;
             comment on database {TEMPLATE} is {};",
            QuotedLiteral::new(&wanted)
        ))
        .await?;
    Ok(transaction.commit().await?)
}

/// Whether the template has every schema at its current version, according to its comment.
pub(crate) async fn template_is_current(
    client: &Client,
    schemas: &[MigrationSet],
) -> Result<bool, DbError> {
    Ok(comment(client, TEMPLATE).await?.as_deref() == Some(fingerprint(schemas).as_str()))
}

/// The database with exactly this comment.
pub(crate) async fn find_by_comment(
    client: &Client,
    comment: &str,
) -> Result<Option<String>, DbError> {
    let sql = "select d.datname::text
               from pg_database d
               join pg_shdescription s on s.objoid = d.oid
                and s.classoid = 'pg_catalog.pg_database'::regclass
               where s.description = $1";
    Ok(client
        .query_opt(sql, &[&comment])
        .await?
        .map(|row| row.get(0)))
}

async fn comment(client: &Client, database: &str) -> Result<Option<String>, DbError> {
    let sql = "select pg_catalog.shobj_description(oid, 'pg_database'::name) from pg_catalog.pg_database where datname = $1";
    Ok(client
        .query_opt(sql, &[&database])
        .await?
        .and_then(|row| row.get(0)))
}

/// The schema versions of a template, stored as its comment.
fn fingerprint(schemas: &[MigrationSet]) -> String {
    let versions: Vec<String> = schemas
        .iter()
        .map(|set| {
            format!(
                "{} {}",
                set.service,
                set.migrations.last().map_or(0, |m| m.version)
            )
        })
        .collect();
    format!("plinth template: {}", versions.join(", "))
}
