//! Garbage collection: removes blobs that no object references (storage contract §14.4).

use std::{io, time::Duration};

use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use uuid::Uuid;

use super::{backend::Blobs, model::Removal, version::Version};

/// How long blobs of deleted and replaced objects stay, so that downloads in flight can end. As in
/// the SQL function `plinth.release_blob`.
pub(crate) const RELEASE_DELAY: Duration = Duration::from_secs(15 * 60);
/// Blobs per transaction.
const BATCH_SIZE: i64 = 100;

/// When blobs become garbage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GcTiming {
    /// How long a blob stays after its object was deleted or replaced, and how old an orphan must
    /// be.
    pub(crate) grace_period: Duration,
    /// The timeout of an upload in a single request.
    pub(crate) upload_timeout: Duration,
}

impl GcTiming {
    /// How many seconds before `not_before` a blob is removed: the ledger is written with
    /// [`RELEASE_DELAY`], whatever the setting says.
    fn lead_seconds(&self) -> f64 {
        RELEASE_DELAY.as_secs_f64() - self.grace_period.as_secs_f64()
    }
}

/// Removes blobs that no object references; gives how many.
pub(crate) async fn collect_garbage(
    db: &ProjectDb,
    blobs: &Blobs,
    timing: &GcTiming,
) -> Result<u64, DbError> {
    blobs
        .remove_stale_uploads(timing.upload_timeout)
        .await
        .unwrap_or_else(warn);
    expire_pending(db, timing).await?;
    let mut removed = 0;
    loop {
        let batch = remove_due(db, blobs, timing).await?;
        removed += batch.removed;
        if batch.taken < BATCH_SIZE || batch.has_failed {
            return Ok(removed);
        }
    }
}

/// Schedules pending blobs whose upload must have timed out. Resumable uploads expire by
/// themselves. The blobs stay a little longer: their row may be written just now.
async fn expire_pending(db: &ProjectDb, timing: &GcTiming) -> Result<(), DbError> {
    const SQL: &str = "
        with expired as (
            delete from plinth.pending_blob p
            where p.created_at < now() - make_interval(secs => $1)
            and not exists (select from plinth.resumable_upload u where u.version = p.version)
            returning p.version
        )
        insert into plinth.blob_gc (version, not_before)
        select version, now() + make_interval(secs => $2) from expired
        on conflict do nothing
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let timeout = timing.upload_timeout.as_secs_f64();
    let delay = RELEASE_DELAY.as_secs_f64();
    connection.execute(SQL, &[&timeout, &delay]).await?;
    Ok(())
}

struct Batch {
    taken: i64,
    removed: u64,
    has_failed: bool,
}

/// Removes one batch in one transaction. Rows that another node has locked are skipped; a crash
/// leaves rows whose blobs are gone already, which the next run removes.
async fn remove_due(db: &ProjectDb, blobs: &Blobs, timing: &GcTiming) -> Result<Batch, DbError> {
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
    const RETRY_LATER: &str = "
        update plinth.blob_gc set
            attempts = attempts + 1,
            not_before = now() + interval '1 minute' * power(2, least(attempts, 10))
        where version = $1
    ";
    let mut transaction = db.begin_as_service(Service::Storage).await?;
    let due = transaction
        .query(DUE, &[&BATCH_SIZE, &timing.lead_seconds()])
        .await?;
    // A user's SQL may have restored a row that references the blob, and the row of a supposed
    // orphan may have been written meanwhile.
    let (needed, unneeded): (Vec<_>, Vec<_>) = due.iter().partition(|row| row.get("is_needed"));
    let version = |row: &Row| -> Uuid { row.get("version") };
    let unneeded: Vec<_> = unneeded
        .into_iter()
        .map(|row| Version::from(version(row)))
        .collect();
    let Removal { removed, failure } = blobs.remove_all(&unneeded).await;
    let mut done: Vec<Uuid> = removed.iter().map(Version::uuid).collect();
    done.extend(needed.into_iter().map(version));
    transaction.execute(DONE, &[&done]).await?;
    let has_failed = failure.is_some();
    if let Some((version, error)) = failure {
        warn(error);
        transaction.execute(RETRY_LATER, &[&version.uuid()]).await?;
    }
    transaction.commit().await?;
    Ok(Batch {
        taken: due.len() as i64,
        removed: removed.len() as u64,
        has_failed,
    })
}

fn warn(error: io::Error) {
    tracing::warn!(%error, "garbage collection cannot remove a blob and will retry with backoff: {error}");
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plinth_db::PoolConfig;
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::blobs::local::LocalBlobs;

    #[tokio::test]
    async fn blobs_of_an_upload_in_flight_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        let (kept, unneeded) = (Version::generate(), Version::generate());
        for version in [&kept, &unneeded] {
            let mut writer = blobs.create(version, 1).await.expect("a writer");
            writer.write(Bytes::from_static(b"x")).await.expect("taken");
            writer.finish().await.expect("finished");
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
        let db = ProjectDb::standalone(database.target().clone(), PoolConfig::default());

        let timing = GcTiming {
            grace_period: RELEASE_DELAY,
            upload_timeout: Duration::from_secs(86_400),
        };
        let collected = collect_garbage(&db, &blobs, &timing).await;

        assert_eq!(collected.expect("collected"), 1);
        let is_there = async |version| blobs.read(version, 0..1).await.expect("read").is_some();
        assert!(is_there(&kept).await);
        assert!(!is_there(&unneeded).await);
    }
}
