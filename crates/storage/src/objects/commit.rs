//! A blob becomes an object: its row is written (storage contract §10.3).

use plinth_db::{DbError, End, Params, Step};
use serde_json::Value;
use uuid::Uuid;

use super::{Object, probe_write::owner_columns};
use crate::{
    blobs::{Version, discard},
    error::{Code, StorageError, unique_violation_as},
    request::{ObjectPath, RequestContext},
};

/// A blob that is stored, and the object that it becomes.
pub(crate) struct NewObject<'a> {
    pub(crate) path: &'a ObjectPath,
    pub(crate) version: Version,
    pub(crate) metadata: Value,
    pub(crate) user_metadata: UserMetadata,
    pub(crate) owner: Option<&'a str>,
    pub(crate) may_replace: bool,
}

/// The upload that ends with the row of the object. It ends in the same transaction, which fails if
/// the upload has ended already: so no upload becomes an object twice, whichever nodes try.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CompletedUpload<'a> {
    /// None: the bytes came in one request.
    None,
    /// A resumable upload. The caller must hold this lease; the database checks it
    /// (`plinth.follow_objects`).
    Resumable(Uuid),
    /// A multipart upload, whose rows are deleted.
    Multipart(&'a str),
}

/// The object's user metadata.
pub(crate) enum UserMetadata {
    Given(Option<Value>),
    /// That of the object that is replaced; a new object has none.
    Kept,
}

/// How long to wait for another writer of the same object, in milliseconds.
const LOCK_TIMEOUT_MS: &str = "5000";

/// Serializes the writers of one object.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1, 0))";

/// The rows of its parts are deleted by cascade.
const END_MULTIPART: &str = "delete from storage.s3_multipart_uploads where id = $1 returning id";

const CREATE: &str = "
    insert into storage.objects as o
        (bucket_id, name, version, owner, owner_id, metadata, user_metadata)
    values ($1, $2, $3, $4, $5, $6, $7)
    returning o.name, o.bucket_id, o.owner, o.owner_id, o.version, o.id, o.updated_at,
        o.created_at, o.last_accessed_at, o.metadata, o.user_metadata
";

/// A caller without a `sub` leaves the owner as it is.
const REPLACE: &str = "
    insert into storage.objects as o
        (bucket_id, name, version, owner, owner_id, metadata, user_metadata)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (name, bucket_id) do update set
        version = excluded.version,
        metadata = excluded.metadata,
        user_metadata = case when $8 then o.user_metadata else excluded.user_metadata end,
        owner = case when excluded.owner_id is null then o.owner else excluded.owner end,
        owner_id = coalesce(excluded.owner_id, o.owner_id)
    returning o.name, o.bucket_id, o.owner, o.owner_id, o.version, o.id, o.updated_at,
        o.created_at, o.last_accessed_at, o.metadata, o.user_metadata
";

/// Writes the row as `service_role`: the caller's permission was checked before. Where that fails,
/// the blob is discarded and the object that was there stays. Where the outcome is unknown, the
/// blob stays and the ledger decides.
pub(crate) async fn commit(
    context: &RequestContext,
    object: NewObject<'_>,
) -> Result<Object, StorageError> {
    commit_upload(context, object, CompletedUpload::None).await
}

/// The same for a blob that completes an upload.
pub(crate) async fn commit_upload(
    context: &RequestContext,
    object: NewObject<'_>,
    upload: CompletedUpload<'_>,
) -> Result<Object, StorageError> {
    let version = object.version;
    let committed = write_row(context, object, upload).await;
    if committed
        .as_ref()
        .is_err_and(|error| !error.is_outcome_unknown())
    {
        discard(&context.project.db, &version).await;
    }
    committed
}

/// The same, but the blob is kept in any case: the client may try again.
pub(crate) async fn write_row(
    context: &RequestContext,
    object: NewObject<'_>,
    upload: CompletedUpload<'_>,
) -> Result<Object, StorageError> {
    let ObjectPath { bucket, key } = object.path;
    let (owner, owner_id) = owner_columns(object.owner);
    let version = object.version.to_string();
    let (user_metadata, is_kept) = match object.user_metadata {
        UserMetadata::Given(value) => (value, false),
        UserMetadata::Kept => (None, true),
    };
    let name = object.path.joined();
    let lock: Params<'_> = &[&name];
    let create: Params<'_> = &[
        bucket,
        key,
        &version,
        &owner,
        &owner_id,
        &object.metadata,
        &user_metadata,
    ];
    let replace: Params<'_> = &[
        bucket,
        key,
        &version,
        &owner,
        &owner_id,
        &object.metadata,
        &user_metadata,
        &is_kept,
    ];
    let (write, params) = if object.may_replace {
        (REPLACE, replace)
    } else {
        (CREATE, create)
    };
    let mut work = context
        .as_service_role()
        .setting("lock_timeout", LOCK_TIMEOUT_MS);
    if let CompletedUpload::Resumable(lease) = upload {
        work = work.setting("plinth.upload_lease", lease.to_string());
    }
    let rows = match upload {
        CompletedUpload::None | CompletedUpload::Resumable(_) => {
            let steps = [Step::typed(LOCK, lock), Step::typed(write, params)];
            let rows = work.run(&steps, End::Commit).await.map_err(write_error)?;
            rows.into_iter().next_back().unwrap_or_default()
        }
        CompletedUpload::Multipart(id) => {
            let id: Params<'_> = &[&id];
            let steps = [Step::typed(LOCK, lock), Step::typed(END_MULTIPART, id)];
            let (mut transaction, rows) = work.begin(&steps).await.map_err(write_error)?;
            if rows.last().is_none_or(Vec::is_empty) {
                return Err(StorageError::no_such_upload());
            }
            let rows = transaction
                .query(write, params)
                .await
                .map_err(write_error)?;
            transaction.commit().await?;
            rows
        }
    };
    let row = rows.first();
    let row =
        row.ok_or_else(|| StorageError::internal("a row was written and did not come back"))?;
    Ok(Object::from_row(row))
}

fn write_error(error: DbError) -> StorageError {
    match error.sqlstate().map(|state| state.code()) {
        Some("55P03") => StorageError::new(Code::LockTimeout, 503, "acquiring lock timeout")
            .with_label("acquiring_lock_timeout"),
        _ => unique_violation_as(Code::KeyAlreadyExists)(error),
    }
}
