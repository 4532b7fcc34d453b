//! Whether a caller may write an object, found out by a dry run (storage contract §10.3).
//!
//! The row is inserted, with everything that policies and triggers can look at, and the transaction
//! is rolled back. Nothing else would show what they decide.

use plinth_db::{End, Params, Step};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    error::{Code, StorageError, unique_violation_as},
    request::{ObjectPath, RequestContext},
};

/// The object that a caller is about to write.
pub(crate) struct WriteIntent<'a> {
    pub(crate) path: &'a ObjectPath,
    /// Whether an existing object may be replaced.
    pub(crate) may_replace: bool,
    pub(crate) content_type: Option<&'a str>,
    /// As the request declares it.
    pub(crate) content_length: Option<u64>,
    pub(crate) user_metadata: Option<&'a Value>,
}

const CREATE: &str = "
    insert into storage.objects
        (bucket_id, name, version, owner, owner_id, metadata, user_metadata)
    values ($1, $2, '1', $3, $4, $5, $6)
";

const REPLACE: &str = "
    insert into storage.objects
        (bucket_id, name, version, owner, owner_id, metadata, user_metadata)
    values ($1, $2, '1', $3, $4, $5, $6)
    on conflict (name, bucket_id) do update set
        version = excluded.version,
        owner = excluded.owner,
        owner_id = excluded.owner_id,
        metadata = excluded.metadata,
        user_metadata = excluded.user_metadata
    returning *
";

/// Fails if the caller's policies reject the row, or if the object exists and may not be replaced.
pub(crate) async fn probe_write(
    context: &RequestContext,
    intent: &WriteIntent<'_>,
) -> Result<(), StorageError> {
    let (owner, owner_id) = owner_columns(context.owner());
    let mut metadata = json!({});
    if let Some(content_type) = intent.content_type {
        metadata["mimetype"] = json!(content_type);
    }
    if let Some(length) = intent.content_length {
        metadata["contentLength"] = json!(length);
    }
    let ObjectPath { bucket, key } = intent.path;
    let params: Params<'_> = &[
        bucket,
        key,
        &owner,
        &owner_id,
        &metadata,
        &intent.user_metadata,
    ];
    let sql = if intent.may_replace { REPLACE } else { CREATE };
    let dry_run = [Step::typed(sql, params)];
    let result = context.as_caller()?.run(&dry_run, End::Rollback).await;
    result.map_err(unique_violation_as(Code::KeyAlreadyExists))?;
    Ok(())
}

/// The two columns of the owner: the older one takes UUIDs only.
pub(crate) fn owner_columns(owner: Option<&str>) -> (Option<Uuid>, Option<&str>) {
    (owner.and_then(|owner| Uuid::try_parse(owner).ok()), owner)
}
