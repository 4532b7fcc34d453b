//! From the rows to the bytes: is everything there that a row names?
//!
//! Bytes are whole before a row names them and stay while it does. So where they are not there
//! after the row was read, and the row still says the same then, they are missing.

use std::{io, pin::pin};

use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use md5::{Digest, Md5};
use plinth_db::{DbError, Queries as _, Row};
use plinth_project::Service;
use serde_json::Value;
use uuid::Uuid;

use super::{
    Check, CheckError,
    finding::{Finding, Kind, Named},
};
use crate::{
    blobs::{Blobs, Version},
    objects::Facts,
};

/// Rows that are read at once.
const PAGE: i64 = 500;
/// Blobs that are looked for at once.
const AT_ONCE: usize = 8;
/// After so many blobs in a row that cannot be read, it is the store that cannot.
const MOST_IN_VAIN: usize = 16;

/// A row, and what must be true of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    key: Uuid,
    named: Named,
    /// Without its quotes.
    etag: Option<String>,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Object, Self::Part, Self::Upload];

    /// Rows from a key on, in their order. An upload that is finished has become an object.
    fn page(self) -> &'static str {
        match self {
            Self::Object => {
                "select o.id as key, o.bucket_id, o.name, o.version,
                    jsonb_build_object(
                        'size', o.metadata->'size',
                        'contentLength', o.metadata->'contentLength',
                        'eTag', o.metadata->'eTag'
                    ) as facts
                from storage.objects o
                where o.id >= $1
                order by o.id
                limit $2"
            }
            Self::Part => {
                "select p.id as key, p.bucket_id, p.key as name, p.version,
                    jsonb_build_object('size', p.size, 'eTag', p.etag) as facts
                from storage.s3_multipart_uploads_parts p
                where p.id >= $1
                order by p.id
                limit $2"
            }
            Self::Upload => {
                "select u.version as key, u.bucket_id, u.name, u.version::text as version,
                    jsonb_build_object('size', u.received) as facts
                from plinth.resumable_upload u
                where u.version >= $1
                and exists (select from plinth.pending_blob p where p.version = u.version)
                order by u.version
                limit $2"
            }
        }
    }

    fn claim(self, row: &Row) -> Claim {
        let facts: Option<Value> = row.get("facts");
        let facts = Facts::new(facts.as_ref(), None);
        let text = |column: &str| row.get::<_, Option<String>>(column).unwrap_or_default();
        Claim {
            key: row.get("key"),
            named: Named {
                kind: self,
                bucket: text("bucket_id"),
                name: text("name"),
                version: row.get("version"),
                size: facts.size(),
            },
            etag: facts
                .etag()
                .map(|etag| etag.trim_matches('"').to_ascii_lowercase()),
        }
    }
}

/// How a claim came out.
enum Verdict {
    True,
    /// There was nothing to compare the bytes with.
    Unverified,
    False(Finding),
}

impl Check<'_> {
    /// Everything that a row names must be there.
    pub(super) async fn rows(&mut self) -> Result<(), CheckError> {
        for kind in Kind::ALL {
            let mut last = None;
            loop {
                let page = self.claims(kind, last.unwrap_or_default(), PAGE).await?;
                let is_last = (page.len() as i64) < PAGE;
                // A page begins with the row that the one before it ended with.
                let begins_at = usize::from(page.first().is_some_and(|row| Some(row.key) == last));
                last = page.last().map(|row| row.key);
                let claims = &page[begins_at..];
                *match kind {
                    Kind::Object => &mut self.summary.objects,
                    Kind::Part => &mut self.summary.parts,
                    Kind::Upload => &mut self.summary.uploads,
                } += claims.len() as u64;
                self.page(claims).await?;
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn claims(&self, kind: Kind, from: Uuid, most: i64) -> Result<Vec<Claim>, DbError> {
        let mut connection = self.db.as_service(Service::Storage).await?;
        let rows = connection.query(kind.page(), &[&from, &most]).await?;
        Ok(rows.iter().map(|row| kind.claim(row)).collect())
    }

    async fn page(&mut self, claims: &[Claim]) -> Result<(), CheckError> {
        let (blobs, reads) = (self.blobs.clone(), self.how.verifies_digests);
        let judged = stream::iter(claims.to_vec()).map(|claim| {
            let blobs = blobs.clone();
            async move {
                let verdict = judge(&blobs, &claim, reads).await;
                (claim, verdict)
            }
        });
        let mut judged = pin!(judged.buffered(AT_ONCE));
        while let Some((claim, verdict)) = judged.next().await {
            match verdict {
                Ok(Verdict::True) => self.in_vain = 0,
                Ok(Verdict::Unverified) => {
                    self.in_vain = 0;
                    self.summary.unverified += 1;
                }
                Ok(Verdict::False(_)) | Err(_) => self.look_again(&claim).await?,
            }
        }
        self.tell_progress().await
    }

    /// The object may have been replaced or deleted since its row was read.
    async fn look_again(&mut self, claim: &Claim) -> Result<(), CheckError> {
        let kind = claim.named.kind;
        let now = self.claims(kind, claim.key, 1).await?;
        let same = |now: &&Claim| now.key == claim.key && now.named.version == claim.named.version;
        let Some(now) = now.iter().find(same) else {
            return Ok(());
        };
        let reads = self.how.verifies_digests;
        match judge(&self.blobs, now, reads).await {
            Ok(verdict) => {
                self.in_vain = 0;
                if let Verdict::False(finding) = verdict {
                    self.tell(&finding).await?;
                }
            }
            Err(error) => {
                let (named, reason) = (now.named.clone(), error.to_string());
                self.tell(&Finding::Unreadable { named, reason }).await?;
                self.in_vain += 1;
                if self.in_vain >= MOST_IN_VAIN {
                    return Err(CheckError::Store(error));
                }
            }
        }
        Ok(())
    }
}

/// Fails where the store does.
async fn judge(blobs: &Blobs, claim: &Claim, reads: bool) -> io::Result<Verdict> {
    let named = || claim.named.clone();
    let version = claim.named.version.as_deref().and_then(Version::parse);
    let Some(version) = version else {
        return Ok(Verdict::False(Finding::Missing(named())));
    };
    if claim.named.kind == Kind::Upload {
        // What the store has beyond that does not count.
        let is_there = blobs.has_staged(&version, claim.named.size.unwrap_or_default());
        return Ok(match is_there.await? {
            true => Verdict::True,
            false => Verdict::False(Finding::Missing(named())),
        });
    }
    let Some(stored) = blobs.size(&version).await? else {
        return Ok(Verdict::False(Finding::Missing(named())));
    };
    if claim.named.size.is_some_and(|size| size != stored) {
        let named = named();
        return Ok(Verdict::False(Finding::WrongSize { named, stored }));
    }
    if !reads {
        return Ok(Verdict::True);
    }
    let Some(etag) = claim.etag.as_deref().filter(|etag| is_digest(etag)) else {
        return Ok(Verdict::Unverified);
    };
    Ok(match digest(blobs, &version, stored).await? {
        Some(digest) if digest == etag => Verdict::True,
        Some(_) => Verdict::False(Finding::WrongDigest(named())),
        None => Verdict::False(Finding::Missing(named())),
    })
}

/// Bytes that came in parts have the digest of their parts' digests, and a count behind it.
fn is_digest(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads a whole blob, piece by piece.
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
