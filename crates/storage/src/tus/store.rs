//! The state of an upload, as a row in PostgreSQL: it survives disconnects and restarts (storage
//! contract §14.5).

use std::time::Duration;

use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{metadata::UploadMetadata, upload_id::UploadId};
use crate::{
    blobs::{Version, WrittenChunk},
    request::ObjectPath,
};

/// An upload.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) id: UploadId,
    /// Of the whole file, once it is declared.
    pub(super) length: Option<u64>,
    /// Bytes that are durable.
    pub(super) offset: u64,
    pub(super) metadata: UploadMetadata,
    pub(super) chunk_md5: Vec<Vec<u8>>,
    /// Whether it has become an object.
    pub(super) is_finished: bool,
    pub(super) expires_at: OffsetDateTime,
    pub(super) is_expired: bool,
}

impl Upload {
    /// The columns that [`Upload::from_row`] reads, of `resumable_upload u`.
    pub(super) const COLUMNS: &str = "
        u.version, u.bucket_id, u.name, u.length, u.received, u.metadata, u.chunk_md5, u.expires_at,
        u.expires_at <= now() as is_expired,
        not exists (select from plinth.pending_blob p where p.version = u.version) as is_finished
    ";

    pub(super) fn from_row(row: &Row) -> Self {
        let length: Option<i64> = row.get("length");
        let length = length.and_then(|length| u64::try_from(length).ok());
        let received = u64::try_from(row.get::<_, i64>("received")).unwrap_or_default();
        let is_finished = row.get("is_finished");
        let version: Uuid = row.get("version");
        let metadata: &str = row.get("metadata");
        Self {
            id: UploadId {
                path: ObjectPath {
                    bucket: row.get("bucket_id"),
                    key: row.get("name"),
                },
                version: Version::from(version),
            },
            length,
            offset: length.filter(|_| is_finished).unwrap_or(received),
            metadata: UploadMetadata::from_stored(metadata),
            chunk_md5: row.get("chunk_md5"),
            is_finished,
            expires_at: row.get("expires_at"),
            is_expired: row.get("is_expired"),
        }
    }

    pub(super) async fn find(db: &ProjectDb, id: &UploadId) -> Result<Option<Self>, DbError> {
        let sql = format!(
            "select {} from plinth.resumable_upload u
             where u.version = $1 and u.bucket_id = $2 and u.name = $3",
            Self::COLUMNS
        );
        let mut connection = db.as_service(Service::Storage).await?;
        let path = &id.path;
        let params: plinth_db::Params<'_> = &[&id.version.uuid(), &path.bucket, &path.key];
        let row = connection.query_opt(&sql, params).await?;
        Ok(row.as_ref().map(Self::from_row))
    }

    /// Inserts a new upload, and registers its blob as pending.
    pub(super) async fn insert(
        db: &ProjectDb,
        id: &UploadId,
        length: Option<u64>,
        metadata: &UploadMetadata,
        lifetime: Duration,
    ) -> Result<Self, DbError> {
        const SQL: &str = "
            with pending as (insert into plinth.pending_blob (version) values ($1))
            insert into plinth.resumable_upload
                (version, bucket_id, name, length, metadata, expires_at)
            values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
            returning expires_at
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let params: plinth_db::Params<'_> = &[
            &id.version.uuid(),
            &id.path.bucket,
            &id.path.key,
            &length.map(number),
            &metadata.render(),
            &lifetime.as_secs_f64(),
        ];
        let row = connection.query_opt(SQL, params).await?;
        let expires_at = row.map(|row| row.get("expires_at"));
        Ok(Self {
            id: id.clone(),
            length,
            offset: 0,
            metadata: metadata.clone(),
            chunk_md5: Vec::new(),
            is_finished: false,
            expires_at: expires_at.unwrap_or_else(OffsetDateTime::now_utc),
            is_expired: false,
        })
    }

    /// Stores the length of the file, which the client has declared late.
    pub(super) async fn set_length(&mut self, db: &ProjectDb, length: u64) -> Result<(), DbError> {
        const SQL: &str = "
            update plinth.resumable_upload set length = $2 where version = $1 and length is null
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let version = self.id.version.uuid();
        connection
            .execute(SQL, &[&version, &number(length)])
            .await?;
        self.length = Some(length);
        Ok(())
    }

    /// Stores that more bytes are durable; `false` if the lease is lost.
    pub(super) async fn advance(
        &mut self,
        db: &ProjectDb,
        lease: Uuid,
        chunk: &WrittenChunk,
    ) -> Result<bool, DbError> {
        const SQL: &str = "
            update plinth.resumable_upload set
                received = $3 + $4,
                chunk_md5 = array_append(chunk_md5, $5)
            where version = $1 and lease_id = $2 and received = $3
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let (offset, size) = (number(self.offset), number(chunk.size));
        let md5 = chunk.md5.as_slice();
        let params: plinth_db::Params<'_> =
            &[&self.id.version.uuid(), &lease, &offset, &size, &md5];
        let is_advanced = connection.execute(SQL, params).await? > 0;
        if is_advanced {
            self.offset += chunk.size;
            self.chunk_md5.push(chunk.md5.to_vec());
        }
        Ok(is_advanced)
    }

    /// Deletes the upload and hands its blob to the garbage collection; `false` if the lease is
    /// lost.
    pub(super) async fn cancel(
        db: &ProjectDb,
        version: &Version,
        lease: Uuid,
    ) -> Result<bool, DbError> {
        const SQL: &str = "
            with cancelled as (
                delete from plinth.resumable_upload
                where version = $1 and lease_id = $2
                returning version
            ),
            unneeded as (
                delete from plinth.pending_blob p using cancelled c
                where p.version = c.version
                returning p.version
            )
            insert into plinth.blob_gc (version, not_before)
            select version, now() from unneeded
            on conflict do nothing
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let cancelled = connection.execute(SQL, &[&version.uuid(), &lease]).await?;
        Ok(cancelled > 0)
    }
}

/// Deletes expired uploads and hands their blobs to the garbage collection. An upload whose lease
/// is held may still be completed.
pub(crate) async fn expire_uploads(db: &ProjectDb) -> Result<u64, DbError> {
    const SQL: &str = "
        with expired as (
            delete from plinth.resumable_upload
            where expires_at <= now() and (lease_until is null or lease_until < now())
            returning version
        ),
        unneeded as (
            delete from plinth.pending_blob p
            using expired e
            where p.version = e.version
            returning p.version
        )
        insert into plinth.blob_gc (version, not_before)
        select version, now() from unneeded
        on conflict do nothing
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    connection.execute(SQL, &[]).await
}

/// All lengths fit: they are checked when a header is parsed.
fn number(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
