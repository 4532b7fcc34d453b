//! The ledger of bytes that no object names yet, or any more (storage contract §14.4).

use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};

use super::{Blobs, Version};

/// Bytes of this version are about to be written.
///
/// The disk need not have the row at once: if it is lost with a crash of PostgreSQL, the scan for
/// bytes without an owner finds them. A store that others may use as well is not cleared by that
/// scan; there the row must be safe.
pub(crate) async fn announce(
    db: &ProjectDb,
    blobs: &Blobs,
    version: &Version,
) -> Result<(), DbError> {
    const SQL: &str = "insert into plinth.pending_blob (version) values ($1)";
    const UNHURRIED_SQL: &str = "
        insert into plinth.pending_blob (version)
        select $1 from (select set_config('synchronous_commit', 'off', true)) as unhurried
    ";
    let sql = match blobs.may_be_shared() {
        true => SQL,
        false => UNHURRIED_SQL,
    };
    let mut connection = db.as_service(Service::Storage).await?;
    connection.execute(sql, &[&version.uuid()]).await?;
    Ok(())
}

/// Bytes that were announced are not wanted: they may go at once, since nobody has seen them.
pub(crate) async fn withdraw(db: &ProjectDb, version: &Version) -> Result<(), DbError> {
    const SQL: &str = "
        with pending as (delete from plinth.pending_blob where version = $1)
        insert into plinth.blob_gc (version, not_before) values ($1, now())
        on conflict do nothing
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    connection.execute(SQL, &[&version.uuid()]).await?;
    Ok(())
}
