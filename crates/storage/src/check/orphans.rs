//! From the blobs to the rows: which blobs does nothing reference?
//!
//! A blob is registered in the ledger before it is written, and removed before its entry there is.
//! So a blob that is listed, then is in no row and no ledger in one snapshot of the database, and
//! then still exists, is an orphan. There are two exceptions: the blob of a single request may
//! exist a moment before its registration is committed, and a crash of PostgreSQL can lose a
//! registration while the upload continues. Hence blobs modified within the grace period are
//! skipped, orphans are removed only after another grace period, and then they are looked up once
//! more.

use std::{
    io,
    pin::pin,
    time::{Duration, SystemTime},
};

use futures_util::StreamExt as _;
use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    finding::Finding,
    report::{Check, CheckError},
};
use crate::blobs::{Blobs, GcTiming, RELEASE_DELAY, StoredBlob};

/// Blobs per query.
const PAGE_SIZE: usize = 500;

impl Check<'_> {
    /// Every blob of the store must be referenced.
    pub(super) async fn bytes(&mut self) -> Result<(), CheckError> {
        let blobs = self.blobs.clone();
        let mut pages = pin!(blobs.inventory().chunks(PAGE_SIZE));
        while let Some(page) = pages.next().await {
            let mut unreadable = Vec::new();
            let page = keep_readable(page, &mut unreadable);
            self.summary.files += page.len() as u64;
            self.summary.bytes += page.iter().map(|stored| stored.size).sum::<u64>();
            let orphans =
                find_orphans(self.db, &self.blobs, page, &self.timing, &mut unreadable).await?;
            for error in unreadable {
                let reason = error.to_string();
                self.report(&Finding::Unlisted { reason }).await?;
            }
            if self.options.repairs {
                self.summary.repaired += enqueue(self.db, &orphans, RELEASE_DELAY).await?;
            }
            for stored in orphans {
                let is_repaired = self.options.repairs;
                let orphan = Finding::Orphan {
                    stored,
                    is_repaired,
                };
                self.report(&orphan).await?;
            }
            self.report_progress().await?;
        }
        Ok(())
    }
}

/// Scans a whole store and hands orphans to the garbage collection; gives how many. After each page
/// it sleeps as long as the page took, to leave the store and the database to requests.
///
/// No operator has asked for it, so orphans stay for as long as an upload may take: rows may just
/// be restored from a backup. In a store that other installations may use as well, such as a copy
/// of this one, orphans are only logged, until an operator runs a check with `--repair`.
pub(crate) async fn collect_orphans(
    db: &ProjectDb,
    blobs: &Blobs,
    timing: &GcTiming,
) -> Result<u64, CheckError> {
    let mut pages = pin!(blobs.inventory().chunks(PAGE_SIZE));
    let delay = RELEASE_DELAY + timing.upload_timeout;
    let is_shared = blobs.may_be_shared();
    let consequence = if is_shared {
        "`plinth storage check --repair` would remove it"
    } else {
        "garbage collection will remove it"
    };
    let mut found = 0;
    loop {
        let began = Instant::now();
        let Some(page) = pages.next().await else {
            return Ok(found);
        };
        let mut unreadable = Vec::new();
        let page = keep_readable(page, &mut unreadable);
        let orphans = find_orphans(db, blobs, page, timing, &mut unreadable).await?;
        for error in unreadable {
            tracing::warn!(%error, "cannot list a part of the file store: {error}");
        }
        for StoredBlob { version, size, .. } in &orphans {
            tracing::warn!(
                "orphaned blob {version} of {size} bytes: nothing references it; {consequence}"
            );
        }
        if !is_shared {
            found += enqueue(db, &orphans, delay).await?;
        }
        sleep(began.elapsed()).await;
    }
}

/// The entries that could be read; the errors of the others are collected.
fn keep_readable(
    page: Vec<io::Result<StoredBlob>>,
    unreadable: &mut Vec<io::Error>,
) -> Vec<StoredBlob> {
    let mut keep =
        |stored: io::Result<StoredBlob>| stored.map_err(|error| unreadable.push(error)).ok();
    page.into_iter().filter_map(&mut keep).collect()
}

/// Blobs older than the grace period that nothing references and that still exist then.
async fn find_orphans(
    db: &ProjectDb,
    blobs: &Blobs,
    mut page: Vec<StoredBlob>,
    timing: &GcTiming,
    unreadable: &mut Vec<io::Error>,
) -> Result<Vec<StoredBlob>, DbError> {
    let now = SystemTime::now();
    page.retain(|stored| {
        let age = now.duration_since(stored.modified).unwrap_or_default();
        age >= timing.grace_period
    });
    if page.is_empty() {
        return Ok(page);
    }
    let unreferenced = unreferenced(db, &page).await?;
    let mut orphans = Vec::new();
    for stored in page {
        if !unreferenced.contains(&stored.version.uuid()) {
            continue;
        }
        match blobs.still_exists(&stored).await {
            Ok(true) => orphans.push(stored),
            Ok(false) => {}
            Err(error) => unreadable.push(error),
        }
    }
    Ok(orphans)
}

/// Versions that are in no row and in no ledger, in one snapshot.
async fn unreferenced(db: &ProjectDb, page: &[StoredBlob]) -> Result<Vec<Uuid>, DbError> {
    const SQL: &str = "
        select v.version
        from unnest($1::uuid[]) as v (version)
        where not exists (select from storage.objects o where o.version = v.version::text)
        and not exists (
            select from storage.s3_multipart_uploads_parts p where p.version = v.version::text
        )
        and not exists (select from plinth.pending_blob p where p.version = v.version)
        and not exists (select from plinth.blob_gc g where g.version = v.version)
    ";
    let versions: Vec<Uuid> = page.iter().map(|stored| stored.version.uuid()).collect();
    let mut connection = db.as_service(Service::Storage).await?;
    let rows = connection.query(SQL, &[&versions]).await?;
    Ok(rows.iter().map(|row| row.get("version")).collect())
}

/// Hands orphans to the garbage collection; gives how many were new to it.
async fn enqueue(db: &ProjectDb, orphans: &[StoredBlob], delay: Duration) -> Result<u64, DbError> {
    const SQL: &str = "
        insert into plinth.blob_gc (version, not_before)
        select v.version, now() + make_interval(secs => $2)
        from unnest($1::uuid[]) as v (version)
        on conflict do nothing
    ";
    if orphans.is_empty() {
        return Ok(0);
    }
    let versions: Vec<Uuid> = orphans.iter().map(|stored| stored.version.uuid()).collect();
    let mut connection = db.as_service(Service::Storage).await?;
    connection
        .execute(SQL, &[&versions, &delay.as_secs_f64()])
        .await
}
