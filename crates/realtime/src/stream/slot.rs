//! The replication slot of a project's stream.

use std::time::Duration;

use plinth_db::{DbError, Queries as _, replication::Lsn};
use plinth_project::{ProjectDb, ProjectRef, Service};
use tokio_postgres::Client;

/// All slots of this service start with it.
const PREFIX: &str = "plinth_rt_";

/// A slot is orphaned if it is unused now and after this time.
const RECHECK_DELAY: Duration = Duration::from_secs(15);

/// The name of a project's slot.
pub(super) fn name(project: &ProjectRef) -> String {
    format!("{PREFIX}{project}")
}

/// Whether there is no such slot.
pub(super) fn is_missing(error: &DbError) -> bool {
    has_code(error, "42704")
}

/// Whether the slot, or the server, cannot be used: the WAL that the slot needs may be gone.
pub(super) fn is_unusable(error: &DbError) -> bool {
    has_code(error, "55000")
}

/// Whether another connection reads it.
pub(super) fn is_in_use(error: &DbError) -> bool {
    has_code(error, "55006")
}

fn has_code(error: &DbError, code: &str) -> bool {
    error.sqlstate().is_some_and(|state| state.code() == code)
}

/// The position from which the slot is read next; `None` if there is none.
pub(super) async fn confirmed_position(db: &ProjectDb, slot: &str) -> Result<Option<Lsn>, DbError> {
    const SQL: &str = "
        select pg_catalog.pg_wal_lsn_diff(confirmed_flush_lsn, '0/0')::bigint
        from pg_catalog.pg_replication_slots where slot_name = $1::text::name
    ";
    let mut connection = db.as_service(Service::Realtime).await?;
    let rows = connection.query(SQL, &[&slot]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let position: Option<i64> = row.try_get(0)?;
    Ok(position
        .and_then(|position| u64::try_from(position).ok())
        .map(Lsn))
}

/// Drops slots that a crashed process has left behind. To be called some time after the start, when
/// the slots that are needed are in use again.
pub async fn drop_orphaned_slots(admin: &Client) -> Result<u64, tokio_postgres::Error> {
    let unused = list_unused(admin).await?;
    if unused.is_empty() {
        return Ok(0);
    }
    tokio::time::sleep(RECHECK_DELAY).await;
    let still_unused = list_unused(admin).await?;
    let mut dropped = 0;
    for slot in unused.iter().filter(|slot| still_unused.contains(slot)) {
        // Fails if it is in use again by now.
        match admin
            .execute(
                "select pg_catalog.pg_drop_replication_slot($1::text::name)",
                &[slot],
            )
            .await
        {
            Ok(_) => dropped += 1,
            Err(error) => {
                tracing::debug!(slot, "could not drop an orphaned replication slot: {error}");
            }
        }
    }
    Ok(dropped)
}

async fn list_unused(admin: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = admin
        .query(
            "select slot_name::text from pg_catalog.pg_replication_slots
             where starts_with(slot_name::text, $1) and not active",
            &[&PREFIX],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
