//! The slot of a project's stream.

use std::time::Duration;

use plinth_db::DbError;
use plinth_project::ProjectRef;
use tokio_postgres::Client;

/// What all slots of ours begin with.
const PREFIX: &str = "plinth_rt_";

/// Whoever is about to come back does so within this time.
const SECOND_LOOK: Duration = Duration::from_secs(15);

/// What a project's slot is called.
pub(super) fn name(project: &ProjectRef) -> String {
    format!("{PREFIX}{project}")
}

/// Whether there is no such slot.
pub(super) fn is_missing(error: &DbError) -> bool {
    has_code(error, "42704")
}

/// Whether the slot, or the server, cannot be used for this: the log that it would need may be
/// gone.
pub(super) fn is_unusable(error: &DbError) -> bool {
    has_code(error, "55000")
}

/// Whether somebody else follows it.
pub(super) fn is_in_use(error: &DbError) -> bool {
    has_code(error, "55006")
}

fn has_code(error: &DbError, code: &str) -> bool {
    error.sqlstate().is_some_and(|state| state.code() == code)
}

/// Drops slots that a program which ended badly has left behind. To be called some time after the
/// start, when those that are needed are in use again.
pub async fn sweep(admin: &Client) -> Result<u64, tokio_postgres::Error> {
    let unused = unused(admin).await?;
    if unused.is_empty() {
        return Ok(0);
    }
    tokio::time::sleep(SECOND_LOOK).await;
    let still_unused = self::unused(admin).await?;
    let mut dropped = 0;
    for slot in unused.iter().filter(|slot| still_unused.contains(slot)) {
        // It may be taken at this very moment, and then it is needed.
        match admin
            .execute(
                "select pg_catalog.pg_drop_replication_slot($1::text::name)",
                &[slot],
            )
            .await
        {
            Ok(_) => dropped += 1,
            Err(error) => tracing::debug!(slot, "a slot stays: {error}"),
        }
    }
    Ok(dropped)
}

async fn unused(admin: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = admin
        .query(
            "select slot_name::text from pg_catalog.pg_replication_slots
             where starts_with(slot_name::text, $1) and not active",
            &[&PREFIX],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
