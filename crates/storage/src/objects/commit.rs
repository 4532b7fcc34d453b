//! Bytes become an object (storage contract §10.3).

use plinth_db::{DbError, End, Params, Step};
use serde_json::Value;
use uuid::Uuid;

use super::{Object, probe::owner_columns};
use crate::{
    blobs::{Version, discard},
    error::{Code, StorageError},
    request::{Context, Place},
    sqlstate::taken_as,
};

/// Bytes that are stored, and the object that they shall be.
pub(crate) struct Arrival<'a> {
    pub(crate) place: &'a Place,
    pub(crate) version: Version,
    pub(crate) metadata: Value,
    pub(crate) user_metadata: UserMetadata,
    pub(crate) owner: Option<&'a str>,
    pub(crate) may_replace: bool,
}

/// What is over once the bytes are an object. It is over in the same transaction, and must not have
/// been before: so nothing becomes an object twice, whichever nodes try.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ends<'a> {
    /// The bytes came in one request.
    Nothing,
    /// An upload over several requests. It is the turn of whoever has this lease; the database looks
    /// (`plinth.follow_objects`).
    Resumable(Uuid),
    /// An upload in parts, whose rows go.
    Multipart(&'a str),
}

/// What the object's user metadata shall be.
pub(crate) enum UserMetadata {
    Given(Option<Value>),
    /// That of the object that is replaced; none for a new one.
    Kept,
}

/// How long another writer of the same name is waited for, in milliseconds.
const PATIENCE: &str = "5000";

/// Writers of one name take turns.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1, 0))";

/// Rows of parts go with that of their upload.
const END: &str = "delete from storage.s3_multipart_uploads where id = $1 returning id";

const CREATE: &str = "
    insert into storage.objects as o
        (bucket_id, name, version, owner, owner_id, metadata, user_metadata)
    values ($1, $2, $3, $4, $5, $6, $7)
    returning o.name, o.bucket_id, o.owner, o.owner_id, o.version, o.id, o.updated_at,
        o.created_at, o.last_accessed_at, o.metadata, o.user_metadata
";

/// Whoever has no name of their own leaves the owner as it is.
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

/// Writes the row in the service's own name: whether the caller may was settled before. Bytes that
/// get no row are let go, and what was there stays as it is. Where nobody knows whether there is a
/// row now, the bytes stay: the ledger knows.
pub(crate) async fn commit(
    context: &Context,
    arrival: Arrival<'_>,
) -> Result<Object, StorageError> {
    commit_ending(context, arrival, Ends::Nothing).await
}

/// The same for bytes with which something ends.
pub(crate) async fn commit_ending(
    context: &Context,
    arrival: Arrival<'_>,
    ends: Ends<'_>,
) -> Result<Object, StorageError> {
    let version = arrival.version;
    let committed = write_row(context, arrival, ends).await;
    if committed.as_ref().is_err_and(|error| !error.is_undecided()) {
        discard(&context.project.db, &version).await;
    }
    committed
}

/// The same, where bytes that get no row are kept: whoever sent them may try again.
pub(crate) async fn write_row(
    context: &Context,
    arrival: Arrival<'_>,
    ends: Ends<'_>,
) -> Result<Object, StorageError> {
    let Place { bucket, key } = arrival.place;
    let (owner, owner_id) = owner_columns(arrival.owner);
    let version = arrival.version.to_string();
    let (user_metadata, is_kept) = match arrival.user_metadata {
        UserMetadata::Given(value) => (value, false),
        UserMetadata::Kept => (None, true),
    };
    let name = arrival.place.path();
    let lock: Params<'_> = &[&name];
    let create: Params<'_> = &[
        bucket,
        key,
        &version,
        &owner,
        &owner_id,
        &arrival.metadata,
        &user_metadata,
    ];
    let replace: Params<'_> = &[
        bucket,
        key,
        &version,
        &owner,
        &owner_id,
        &arrival.metadata,
        &user_metadata,
        &is_kept,
    ];
    let (write, params) = match arrival.may_replace {
        true => (REPLACE, replace),
        false => (CREATE, create),
    };
    let mut work = context.as_service_role().setting("lock_timeout", PATIENCE);
    if let Ends::Resumable(lease) = ends {
        work = work.setting("plinth.upload_lease", lease.to_string());
    }
    let rows = match ends {
        Ends::Nothing | Ends::Resumable(_) => {
            let steps = [Step::typed(LOCK, lock), Step::typed(write, params)];
            let rows = work.run(&steps, End::Commit).await.map_err(refuse)?;
            rows.into_iter().next_back().unwrap_or_default()
        }
        Ends::Multipart(upload) => {
            let upload: Params<'_> = &[&upload];
            let steps = [Step::typed(LOCK, lock), Step::typed(END, upload)];
            let (mut transaction, rows) = work.begin(&steps).await.map_err(refuse)?;
            if rows.last().is_none_or(Vec::is_empty) {
                return Err(StorageError::no_such_upload());
            }
            let rows = transaction.query(write, params).await.map_err(refuse)?;
            transaction.commit().await?;
            rows
        }
    };
    let row = rows.first();
    let row =
        row.ok_or_else(|| StorageError::internal("a row was written and did not come back"))?;
    Ok(Object::of_row(row))
}

fn refuse(error: DbError) -> StorageError {
    match error.sqlstate().map(|state| state.code()) {
        Some("55P03") => StorageError::new(Code::LockTimeout, 503, "acquiring lock timeout")
            .labelled("acquiring_lock_timeout"),
        _ => taken_as(Code::KeyAlreadyExists)(error),
    }
}
