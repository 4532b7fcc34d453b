//! What is known of an upload, as a row in Postgres: it outlives the client and Plinth (storage
//! contract §14.5).

use std::time::Duration;

use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{metadata::UploadMetadata, upload_id::UploadId};
use crate::blobs::{Piece, Version};

/// An upload, as far as it has come.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) id: UploadId,
    /// Of the whole file, once it is known.
    pub(super) length: Option<u64>,
    /// Bytes that are safe.
    pub(super) offset: u64,
    pub(super) metadata: UploadMetadata,
    pub(super) chunk_md5: Vec<Vec<u8>>,
    /// Whether it has become an object.
    pub(super) is_finished: bool,
    pub(super) expires_at: OffsetDateTime,
    pub(super) is_expired: bool,
}

impl Upload {
    /// The columns that [`Upload::of_row`] reads, of `resumable_upload u`.
    pub(super) const COLUMNS: &str = "
        u.version, u.bucket_id, u.name, u.length, u.received, u.metadata, u.chunk_md5, u.expires_at,
        u.expires_at <= now() as is_expired,
        not exists (select from plinth.pending_blob p where p.version = u.version) as is_finished
    ";

    pub(super) fn of_row(row: &Row) -> Self {
        let length: Option<i64> = row.get("length");
        let length = length.and_then(|length| u64::try_from(length).ok());
        let received = u64::try_from(row.get::<_, i64>("received")).unwrap_or_default();
        let is_finished = row.get("is_finished");
        let version: Uuid = row.get("version");
        let metadata: &str = row.get("metadata");
        Self {
            id: UploadId {
                place: crate::request::Place {
                    bucket: row.get("bucket_id"),
                    key: row.get("name"),
                },
                version: Version::from(version),
            },
            length,
            offset: length.filter(|_| is_finished).unwrap_or(received),
            metadata: UploadMetadata::of_stored(metadata),
            chunk_md5: row.get("chunk_md5"),
            is_finished,
            expires_at: row.get("expires_at"),
            is_expired: row.get("is_expired"),
        }
    }

    /// Looks an upload up.
    pub(super) async fn find(db: &ProjectDb, id: &UploadId) -> Result<Option<Self>, DbError> {
        let sql = format!(
            "select {} from plinth.resumable_upload u
             where u.version = $1 and u.bucket_id = $2 and u.name = $3",
            Self::COLUMNS
        );
        let mut connection = db.as_service(Service::Storage).await?;
        let place = &id.place;
        let params: plinth_db::Params<'_> = &[&id.version.uuid(), &place.bucket, &place.key];
        let row = connection.query_opt(&sql, params).await?;
        Ok(row.as_ref().map(Self::of_row))
    }

    /// Notes a new upload, and that bytes of it will come.
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
            &id.place.bucket,
            &id.place.key,
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

    /// The client has said how long the file is.
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

    /// More bytes are safe. Only the holder of the lease can say so: gives whether it still was.
    pub(super) async fn advance(
        &mut self,
        db: &ProjectDb,
        lease: Uuid,
        piece: &Piece,
    ) -> Result<bool, DbError> {
        const SQL: &str = "
            update plinth.resumable_upload set
                received = $3 + $4,
                chunk_md5 = array_append(chunk_md5, $5)
            where version = $1 and lease_id = $2 and received = $3
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let (offset, size) = (number(self.offset), number(piece.size));
        let md5 = piece.md5.as_slice();
        let params: plinth_db::Params<'_> =
            &[&self.id.version.uuid(), &lease, &offset, &size, &md5];
        let is_advanced = connection.execute(SQL, params).await? > 0;
        if is_advanced {
            self.offset += piece.size;
            self.chunk_md5.push(piece.md5.to_vec());
        }
        Ok(is_advanced)
    }

    /// The upload is not wanted any more, nor are its bytes; the sweeper removes them. Only the
    /// holder of the lease can say so: gives whether it still was.
    pub(super) async fn forget(
        db: &ProjectDb,
        version: &Version,
        lease: Uuid,
    ) -> Result<bool, DbError> {
        const SQL: &str = "
            with forgotten as (
                delete from plinth.resumable_upload
                where version = $1 and lease_id = $2
                returning version
            ),
            unneeded as (
                delete from plinth.pending_blob p using forgotten f
                where p.version = f.version
                returning p.version
            )
            insert into plinth.blob_gc (version, not_before)
            select version, now() from unneeded
            on conflict do nothing
        ";
        let mut connection = db.as_service(Service::Storage).await?;
        let forgotten = connection.execute(SQL, &[&version.uuid(), &lease]).await?;
        Ok(forgotten > 0)
    }
}

/// Gives up uploads whose time is over; their bytes go with the next sweep. What somebody writes to
/// at the moment may come to its end.
pub(crate) async fn give_up_expired(db: &ProjectDb) -> Result<u64, DbError> {
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

/// Lengths are checked when they come: all of them fit.
fn number(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
