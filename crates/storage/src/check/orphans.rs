//! From the bytes to the rows: what does nothing name?
//!
//! Whoever stores bytes announces them first, and whoever removes them does so before the ledger
//! forgets them. So bytes that are listed, then are in no row and in no ledger at one moment, and
//! then are still there, have no owner. Two things come between: the bytes of one request may be
//! there a moment before their announcement, and an announcement may be lost with a crash of
//! PostgreSQL while the upload goes on. Hence bytes that somebody touched within the grace are left
//! alone, those that seem to have no owner go only after another one, and before they go they are
//! looked for once more.

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

use super::{Check, CheckError, finding::Finding};
use crate::blobs::{Blobs, Patience, RELEASED_AFTER, Stored};

/// Bytes that are looked for in the database at once.
const PAGE: usize = 500;

impl Check<'_> {
    /// Every blob of the store must have an owner.
    pub(super) async fn bytes(&mut self) -> Result<(), CheckError> {
        let blobs = self.blobs.clone();
        let mut pages = pin!(blobs.inventory().chunks(PAGE));
        while let Some(page) = pages.next().await {
            let mut unreadable = Vec::new();
            let page = readable(page, &mut unreadable);
            self.summary.files += page.len() as u64;
            self.summary.bytes += page.iter().map(|stored| stored.size).sum::<u64>();
            let orphans =
                orphans(self.db, &self.blobs, page, &self.patience, &mut unreadable).await?;
            for error in unreadable {
                let reason = error.to_string();
                self.tell(&Finding::Unlisted { reason }).await?;
            }
            if self.how.repairs {
                self.summary.repaired += hand_over(self.db, &orphans, RELEASED_AFTER).await?;
            }
            for stored in orphans {
                let is_repaired = self.how.repairs;
                let orphan = Finding::Orphan {
                    stored,
                    is_repaired,
                };
                self.tell(&orphan).await?;
            }
            self.tell_progress().await?;
        }
        Ok(())
    }
}

/// Goes through a whole store and puts what nothing names on the collector's list; gives how many
/// blobs that were. Takes its time: half of it is left to others.
///
/// Nobody has asked for it, so the bytes stay as long as an upload may take: somebody may be
/// bringing rows back from a backup. Bytes in a store that other installations may use as well, say
/// a copy of this one, stay until somebody says that they are nobody's.
pub(crate) async fn collect_orphans(
    db: &ProjectDb,
    blobs: &Blobs,
    patience: &Patience,
) -> Result<u64, CheckError> {
    let mut pages = pin!(blobs.inventory().chunks(PAGE));
    let stay = RELEASED_AFTER + patience.longest_upload;
    let is_shared = blobs.may_be_shared();
    let what_follows = match is_shared {
        true => "`plinth storage check --repair` would have them collected",
        false => "they will be collected",
    };
    let mut found = 0;
    loop {
        let began = Instant::now();
        let Some(page) = pages.next().await else {
            return Ok(found);
        };
        let mut unreadable = Vec::new();
        let page = readable(page, &mut unreadable);
        let orphans = orphans(db, blobs, page, patience, &mut unreadable).await?;
        for error in unreadable {
            tracing::warn!(%error, "a part of the store cannot be read: {error}");
        }
        for Stored { version, size, .. } in &orphans {
            tracing::warn!("nothing names the {size} bytes of {version}; {what_follows}");
        }
        if !is_shared {
            found += hand_over(db, &orphans, stay).await?;
        }
        sleep(began.elapsed()).await;
    }
}

/// Those that can be read are looked after all the same.
fn readable(page: Vec<io::Result<Stored>>, unreadable: &mut Vec<io::Error>) -> Vec<Stored> {
    let mut keep = |stored: io::Result<Stored>| stored.map_err(|error| unreadable.push(error)).ok();
    page.into_iter().filter_map(&mut keep).collect()
}

/// Those that nobody has touched for a while, that nothing names, and that are still there then.
async fn orphans(
    db: &ProjectDb,
    blobs: &Blobs,
    mut page: Vec<Stored>,
    patience: &Patience,
    unreadable: &mut Vec<io::Error>,
) -> Result<Vec<Stored>, DbError> {
    let now = SystemTime::now();
    page.retain(|stored| {
        let age = now.duration_since(stored.modified).unwrap_or_default();
        age >= patience.grace
    });
    if page.is_empty() {
        return Ok(page);
    }
    let unnamed = unnamed(db, &page).await?;
    let mut orphans = Vec::new();
    for stored in page {
        if !unnamed.contains(&stored.version.uuid()) {
            continue;
        }
        match blobs.still_has(&stored).await {
            Ok(true) => orphans.push(stored),
            Ok(false) => {}
            Err(error) => unreadable.push(error),
        }
    }
    Ok(orphans)
}

/// Versions that are in no row and in no ledger, all at one moment.
async fn unnamed(db: &ProjectDb, page: &[Stored]) -> Result<Vec<Uuid>, DbError> {
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

/// Puts bytes on the collector's list; gives how many were not on it.
async fn hand_over(db: &ProjectDb, orphans: &[Stored], stay: Duration) -> Result<u64, DbError> {
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
        .execute(SQL, &[&versions, &stay.as_secs_f64()])
        .await
}
