//! From the rows to the blobs: does every row have its blob?
//!
//! A blob is complete before a row references it, and stays as long as it does. So if it is not
//! there after the row was read, and the row is still the same then, it is missing.

use std::{io, pin::pin};

use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use md5::{Digest, Md5};
use plinth_db::{DbError, Queries as _, Row};
use plinth_project::Service;
use serde_json::Value;
use uuid::Uuid;

use super::{
    finding::{Finding, RowBlob, RowKind},
    report::{Check, CheckError},
};
use crate::{
    blobs::{Blobs, Version},
    objects::ObjectDetails,
};

/// Rows per query.
const PAGE_SIZE: i64 = 500;
/// Blobs that are looked up at the same time.
const CONCURRENCY: usize = 8;
/// After so many unreadable blobs in a row the store counts as failed.
const MAX_CONSECUTIVE_FAILURES: usize = 16;

/// A row, and what it says about its blob.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CheckedRow {
    key: Uuid,
    blob: RowBlob,
    /// Without its quotes.
    etag: Option<String>,
}

impl RowKind {
    const ALL: [Self; 3] = [Self::Object, Self::Part, Self::Upload];

    /// Selects a page of rows by key. A resumable upload that is finished is an object.
    fn page_sql(self) -> &'static str {
        match self {
            Self::Object => {
                "select o.id as key, o.bucket_id, o.name, o.version,
                    jsonb_build_object(
                        'size', o.metadata->'size',
                        'contentLength', o.metadata->'contentLength',
                        'eTag', o.metadata->'eTag'
                    ) as details
                from storage.objects o
                where o.id >= $1
                order by o.id
                limit $2"
            }
            Self::Part => {
                "select p.id as key, p.bucket_id, p.key as name, p.version,
                    jsonb_build_object('size', p.size, 'eTag', p.etag) as details
                from storage.s3_multipart_uploads_parts p
                where p.id >= $1
                order by p.id
                limit $2"
            }
            Self::Upload => {
                "select u.version as key, u.bucket_id, u.name, u.version::text as version,
                    jsonb_build_object('size', u.received) as details
                from plinth.resumable_upload u
                where u.version >= $1
                and exists (select from plinth.pending_blob p where p.version = u.version)
                order by u.version
                limit $2"
            }
        }
    }

    fn parse(self, row: &Row) -> CheckedRow {
        let details: Option<Value> = row.get("details");
        let details = ObjectDetails::new(details.as_ref(), None);
        let text = |column: &str| row.get::<_, Option<String>>(column).unwrap_or_default();
        CheckedRow {
            key: row.get("key"),
            blob: RowBlob {
                kind: self,
                bucket: text("bucket_id"),
                name: text("name"),
                version: row.get("version"),
                size: details.size(),
            },
            etag: details
                .etag()
                .map(|etag| etag.trim_matches('"').to_ascii_lowercase()),
        }
    }
}

/// The result of a comparison.
enum Comparison {
    Match,
    /// There is no digest to compare the blob with.
    Unverified,
    Mismatch(Finding),
}

impl Check<'_> {
    /// Every row must have its blob.
    pub(super) async fn rows(&mut self) -> Result<(), CheckError> {
        for kind in RowKind::ALL {
            let mut last = None;
            loop {
                let start = last.unwrap_or_default();
                let page = self.read_rows(kind, start, PAGE_SIZE).await?;
                let is_last = (page.len() as i64) < PAGE_SIZE;
                // A page starts with the last row of the one before.
                let first = usize::from(page.first().is_some_and(|row| Some(row.key) == last));
                last = page.last().map(|row| row.key);
                let rows = &page[first..];
                *match kind {
                    RowKind::Object => &mut self.summary.objects,
                    RowKind::Part => &mut self.summary.parts,
                    RowKind::Upload => &mut self.summary.uploads,
                } += rows.len() as u64;
                self.compare_rows(rows).await?;
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn read_rows(
        &self,
        kind: RowKind,
        from: Uuid,
        limit: i64,
    ) -> Result<Vec<CheckedRow>, DbError> {
        let mut connection = self.db.as_service(Service::Storage).await?;
        let rows = connection.query(kind.page_sql(), &[&from, &limit]).await?;
        Ok(rows.iter().map(|row| kind.parse(row)).collect())
    }

    async fn compare_rows(&mut self, rows: &[CheckedRow]) -> Result<(), CheckError> {
        let (blobs, reads) = (self.blobs.clone(), self.options.verifies_digests);
        let compared = stream::iter(rows.to_vec()).map(|row| {
            let blobs = blobs.clone();
            async move {
                let comparison = compare(&blobs, &row, reads).await;
                (row, comparison)
            }
        });
        let mut compared = pin!(compared.buffered(CONCURRENCY));
        while let Some((row, comparison)) = compared.next().await {
            match comparison {
                Ok(Comparison::Match) => self.consecutive_failures = 0,
                Ok(Comparison::Unverified) => {
                    self.consecutive_failures = 0;
                    self.summary.unverified += 1;
                }
                Ok(Comparison::Mismatch(_)) | Err(_) => self.compare_again(&row).await?,
            }
        }
        self.report_progress().await
    }

    /// The object may have been replaced or deleted since its row was read.
    async fn compare_again(&mut self, row: &CheckedRow) -> Result<(), CheckError> {
        let now = self.read_rows(row.blob.kind, row.key, 1).await?;
        let same = |now: &&CheckedRow| now.key == row.key && now.blob.version == row.blob.version;
        let Some(now) = now.iter().find(same) else {
            return Ok(());
        };
        let reads = self.options.verifies_digests;
        match compare(&self.blobs, now, reads).await {
            Ok(comparison) => {
                self.consecutive_failures = 0;
                if let Comparison::Mismatch(finding) = comparison {
                    self.report(&finding).await?;
                }
            }
            Err(error) => {
                let (row, reason) = (now.blob.clone(), error.to_string());
                self.report(&Finding::Unreadable { row, reason }).await?;
                self.consecutive_failures += 1;
                if self.consecutive_failures >= MAX_CONSECUTIVE_FAILURES {
                    return Err(CheckError::Store(error));
                }
            }
        }
        Ok(())
    }
}

/// Fails where the store does. With `reads` the digest is compared, too.
async fn compare(blobs: &Blobs, row: &CheckedRow, reads: bool) -> io::Result<Comparison> {
    let blob = || row.blob.clone();
    let version = row.blob.version.as_deref().and_then(Version::parse);
    let Some(version) = version else {
        return Ok(Comparison::Mismatch(Finding::Missing(blob())));
    };
    if row.blob.kind == RowKind::Upload {
        // Bytes beyond the received ones do not count.
        let is_there = blobs.has_staged(&version, row.blob.size.unwrap_or_default());
        return Ok(if is_there.await? {
            Comparison::Match
        } else {
            Comparison::Mismatch(Finding::Missing(blob()))
        });
    }
    let Some(stored) = blobs.size(&version).await? else {
        return Ok(Comparison::Mismatch(Finding::Missing(blob())));
    };
    if row.blob.size.is_some_and(|size| size != stored) {
        let row = blob();
        return Ok(Comparison::Mismatch(Finding::WrongSize { row, stored }));
    }
    if !reads {
        return Ok(Comparison::Match);
    }
    let Some(etag) = row.etag.as_deref().filter(|etag| is_digest(etag)) else {
        return Ok(Comparison::Unverified);
    };
    Ok(match digest(blobs, &version, stored).await? {
        Some(digest) if digest == etag => Comparison::Match,
        Some(_) => Comparison::Mismatch(Finding::WrongDigest(blob())),
        None => Comparison::Mismatch(Finding::Missing(blob())),
    })
}

/// Not so the ETag of a multipart upload, which is a digest of digests with a count behind it.
fn is_digest(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads a whole blob, chunk by chunk.
async fn digest(blobs: &Blobs, version: &Version, size: u64) -> io::Result<Option<String>> {
    let Some(mut body) = blobs.read(version, 0..size).await? else {
        return Ok(None);
    };
    let mut md5 = Md5::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        if let Some(bytes) = frame.data_ref() {
            md5.update(bytes);
        }
    }
    let digest = md5.finalize();
    Ok(Some(
        digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    ))
}
