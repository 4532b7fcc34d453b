//! The ledger of blobs that no object references yet (storage contract §14.4).

use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};

use super::{backend::Blobs, version::Version};

/// Registers a blob that is about to be written.
///
/// On local disk the commit is asynchronous: if a crash of PostgreSQL loses the row, the scan for
/// orphans finds the blob. A store that other installations may use is not cleared by that scan, so
/// there the row must be durable.
pub(crate) async fn register_pending(
    db: &ProjectDb,
    blobs: &Blobs,
    version: &Version,
) -> Result<(), DbError> {
    const SQL: &str = "insert into plinth.pending_blob (version) values ($1)";
    const ASYNCHRONOUS_SQL: &str = "
        insert into plinth.pending_blob (version)
        select $1 from (select set_config('synchronous_commit', 'off', true)) as asynchronous
    ";
    let sql = if blobs.may_be_shared() {
        SQL
    } else {
        ASYNCHRONOUS_SQL
    };
    let mut connection = db.as_service(Service::Storage).await?;
    connection.execute(sql, &[&version.uuid()]).await?;
    Ok(())
}

/// Hands a pending blob to the garbage collection, due at once: no row ever referenced it.
pub(crate) async fn abandon_pending(db: &ProjectDb, version: &Version) -> Result<(), DbError> {
    const SQL: &str = "
        with pending as (delete from plinth.pending_blob where version = $1)
        insert into plinth.blob_gc (version, not_before) values ($1, now())
        on conflict do nothing
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    connection.execute(SQL, &[&version.uuid()]).await?;
    Ok(())
}
