//! Whether a caller may write an object, found out by trying (storage contract §10.3).
//!
//! The row is really inserted, with everything that policies and triggers can look at, and the
//! transaction rolled back. Nothing else answers as they would.

use plinth_db::{End, Params, Step};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    error::{Code, StorageError},
    request::{Context, Place},
    sqlstate::taken_as,
};

/// What somebody is about to write.
pub(crate) struct Intent<'a> {
    pub(crate) place: &'a Place,
    /// Whether what is there may be replaced.
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

/// Refuses what the caller's policies, or a name that is taken, would refuse.
pub(crate) async fn probe(context: &Context, intent: &Intent<'_>) -> Result<(), StorageError> {
    let (owner, owner_id) = owner_columns(context.owner());
    let mut metadata = json!({});
    if let Some(content_type) = intent.content_type {
        metadata["mimetype"] = json!(content_type);
    }
    if let Some(length) = intent.content_length {
        metadata["contentLength"] = json!(length);
    }
    let Place { bucket, key } = intent.place;
    let params: Params<'_> = &[
        bucket,
        key,
        &owner,
        &owner_id,
        &metadata,
        &intent.user_metadata,
    ];
    let sql = match intent.may_replace {
        true => REPLACE,
        false => CREATE,
    };
    let trial = [Step::typed(sql, params)];
    let tried = context.as_caller()?.run(&trial, End::Rollback).await;
    tried.map_err(taken_as(Code::KeyAlreadyExists))?;
    Ok(())
}

/// The two columns that name an owner: the older one takes nothing but uuids.
pub(crate) fn owner_columns(owner: Option<&str>) -> (Option<Uuid>, Option<&str>) {
    (owner.and_then(|owner| Uuid::try_parse(owner).ok()), owner)
}
