//! The collector of bytes that nobody needs (storage contract §14.4).

use std::{io, time::Duration};

use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use uuid::Uuid;

use super::{Blobs, Removal, Version};

/// How long the ledger lets bytes stay that were deleted or replaced: `plinth.release_blob` says so.
pub(crate) const RELEASED_AFTER: Duration = Duration::from_secs(15 * 60);
/// Blobs that go in one transaction.
const BATCH: i64 = 100;

/// What the collector waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// How long bytes stay after they were deleted or replaced, and how long nobody must have
    /// touched bytes without an owner.
    pub(crate) grace: Duration,
    /// No upload in one request takes longer.
    pub(crate) longest_upload: Duration,
}

impl Patience {
    /// How many seconds before the ledger says so bytes may go.
    fn early(&self) -> f64 {
        RELEASED_AFTER.as_secs_f64() - self.grace.as_secs_f64()
    }
}

/// Removes what no object needs; gives how many blobs went.
pub(crate) async fn sweep(
    db: &ProjectDb,
    blobs: &Blobs,
    patience: &Patience,
) -> Result<u64, DbError> {
    blobs
        .forget_unfinished(patience.longest_upload)
        .await
        .unwrap_or_else(warn);
    give_up_pending(db, patience).await?;
    let mut removed = 0;
    loop {
        let batch = remove_due(db, blobs, patience).await?;
        removed += batch.removed;
        if batch.taken < BATCH || batch.has_failed {
            return Ok(removed);
        }
    }
}

/// What was announced long ago and never became an object. Uploads over several requests have a
/// time of their own. The bytes stay a little longer: somebody may be writing the row just now.
async fn give_up_pending(db: &ProjectDb, patience: &Patience) -> Result<(), DbError> {
    const SQL: &str = "
        with given_up as (
            delete from plinth.pending_blob p
            where p.created_at < now() - make_interval(secs => $1)
            and not exists (select from plinth.resumable_upload u where u.version = p.version)
            returning p.version
        )
        insert into plinth.blob_gc (version, not_before)
        select version, now() + make_interval(secs => $2) from given_up
        on conflict do nothing
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let longest = patience.longest_upload.as_secs_f64();
    let grace = RELEASED_AFTER.as_secs_f64();
    connection.execute(SQL, &[&longest, &grace]).await?;
    Ok(())
}

struct Batch {
    taken: i64,
    removed: u64,
    has_failed: bool,
}

/// One transaction: rows that another node works on are left to it, and a crash in between leaves
/// rows whose bytes are gone already, which the next round finds out.
async fn remove_due(db: &ProjectDb, blobs: &Blobs, patience: &Patience) -> Result<Batch, DbError> {
    const DUE: &str = "
        select g.version,
            exists (select from storage.objects o where o.version = g.version::text)
            or exists (
                select from storage.s3_multipart_uploads_parts p
                where p.version = g.version::text
            )
            or exists (select from plinth.pending_blob p where p.version = g.version) as is_needed
        from plinth.blob_gc g
        where g.not_before <= now() + make_interval(secs => $2)
        and (g.attempts = 0 or g.not_before <= now())
        order by g.not_before
        limit $1
        for update skip locked
    ";
    const DONE: &str = "delete from plinth.blob_gc where version = any($1)";
    const AGAIN: &str = "
        update plinth.blob_gc set
            attempts = attempts + 1,
            not_before = now() + interval '1 minute' * power(2, least(attempts, 10))
        where version = $1
    ";
    let mut transaction = db.begin_as_service(Service::Storage).await?;
    let due = transaction.query(DUE, &[&BATCH, &patience.early()]).await?;
    // A user's SQL may have brought a row back that names these bytes, and what seemed to have no
    // owner may have got one.
    let (needed, unneeded): (Vec<_>, Vec<_>) = due.iter().partition(|row| row.get("is_needed"));
    let version = |row: &Row| -> Uuid { row.get("version") };
    let unneeded: Vec<_> = unneeded
        .into_iter()
        .map(|row| Version::from(version(row)))
        .collect();
    let Removal { gone, failure } = blobs.remove_all(&unneeded).await;
    let mut done: Vec<Uuid> = gone.iter().map(Version::uuid).collect();
    done.extend(needed.into_iter().map(version));
    transaction.execute(DONE, &[&done]).await?;
    let has_failed = failure.is_some();
    if let Some((version, error)) = failure {
        warn(error);
        transaction.execute(AGAIN, &[&version.uuid()]).await?;
    }
    transaction.commit().await?;
    Ok(Batch {
        taken: due.len() as i64,
        removed: gone.len() as u64,
        has_failed,
    })
}

fn warn(error: io::Error) {
    tracing::warn!(%error, "bytes that nobody needs could not be removed: {error}");
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plinth_db::PoolConfig;
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::blobs::LocalBlobs;

    #[tokio::test]
    async fn bytes_of_an_upload_under_way_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        let (kept, unneeded) = (Version::generate(), Version::generate());
        for version in [&kept, &unneeded] {
            let mut writer = blobs.create(version, 1).await.expect("a writer");
            writer.write(Bytes::from_static(b"x")).await.expect("taken");
            writer.finish().await.expect("settled");
        }
        let database = TestDatabase::create().await;
        let sql = format!(
            "insert into storage.buckets (id, name) values ('b', 'b');
             insert into storage.s3_multipart_uploads
                 (id, upload_signature, bucket_id, key, version)
             values ('u', 's', 'b', 'k', 'v');
             insert into storage.s3_multipart_uploads_parts
                 (upload_id, part_number, bucket_id, key, etag, version)
             values ('u', 1, 'b', 'k', 'e', '{kept}');
             insert into plinth.blob_gc (version, not_before)
             values ('{kept}', now()), ('{unneeded}', now())"
        );
        let admin = database.admin().await;
        admin.batch_execute(&sql).await.expect("an upload");
        let db = ProjectDb::alone(database.target().clone(), PoolConfig::default());

        let patience = Patience {
            grace: RELEASED_AFTER,
            longest_upload: Duration::from_secs(86_400),
        };
        let removed = sweep(&db, &blobs, &patience).await.expect("swept");

        assert_eq!(removed, 1);
        let is_there = async |version| blobs.read(version, 0..1).await.expect("read").is_some();
        assert!(is_there(&kept).await);
        assert!(!is_there(&unneeded).await);
    }
}
