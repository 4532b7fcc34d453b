//! Moving and copying (storage contract §3.8). No byte is read: a name is a row, and the blob store
//! copies by itself.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use plinth_db::Params;
use serde_json::{Value, json};

use super::{
    Object, StoredHeaders,
    commit::{NewObject, UserMetadata, commit},
    find::find_as_caller,
    probe_write::{WriteIntent, owner_columns, probe_write},
    serve::header_value,
    upload_body::{check_content_type, decode_metadata},
};
use crate::{
    blobs::{Version, discard, register_pending},
    error::{Code, StorageError, unique_violation_as},
    request::{Fields, KeyRules, ObjectPath, RequestContext, check_bucket, check_key, read_fields},
    response::message,
    wire_time,
};

/// Source and destination.
struct Relocation {
    from: ObjectPath,
    to: ObjectPath,
}

impl Relocation {
    fn parse(fields: &Fields, rules: KeyRules) -> Result<Self, StorageError> {
        let bucket = fields.required_text("bucketId")?;
        let from = ObjectPath {
            bucket: bucket.clone(),
            key: fields.required_text("sourceKey")?,
        };
        let to = ObjectPath {
            bucket: fields.text("destinationBucket")?.unwrap_or(bucket),
            key: fields.required_text("destinationKey")?,
        };
        check_bucket(&from.bucket)?;
        check_bucket(&to.bucket)?;
        // The source may have an invalid name, written by a user's SQL: it can still be moved.
        check_key(&to.key, rules)?;
        Ok(Self { from, to })
    }
}

/// `POST /object/move`
pub(crate) async fn move_object(
    context: &RequestContext,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let Relocation { from, to } =
        Relocation::parse(&read_fields(body).await?, context.config.key_rules)?;
    // An object that the caller cannot see is missing, even if the destination is taken.
    find_as_caller(context, &from).await?;
    if from == to {
        return Ok(message("Successfully moved"));
    }
    const SQL: &str = "
        update storage.objects set
            bucket_id = $3,
            name = $4,
            metadata = metadata || jsonb_build_object('lastModified', $5::text),
            owner = case when $7::text is null then owner else $6 end,
            owner_id = coalesce($7, owner_id)
        where bucket_id = $1 and name = $2
        returning id
    ";
    let (owner, owner_id) = owner_columns(context.owner());
    let now = wire_time::render(context.now);
    let params: Params<'_> = &[
        &from.bucket,
        &from.key,
        &to.bucket,
        &to.key,
        &now,
        &owner,
        &owner_id,
    ];
    let rows = context
        .as_caller()?
        .query(SQL, params)
        .await
        .map_err(unique_violation_as(Code::ResourceAlreadyExists))?;
    if rows.is_empty() {
        Err(StorageError::no_such_key())
    } else {
        Ok(message("Successfully moved"))
    }
}

/// `POST /object/copy`
pub(crate) async fn copy(
    context: &Arc<RequestContext>,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let Relocation { from, to } = Relocation::parse(&fields, context.config.key_rules)?;
    let copies_metadata = fields.flag("copyMetadata")?.unwrap_or(true);
    let given = fields.object("metadata")?;
    let given = |name| given.as_ref().map_or(Ok(None), |given| given.text(name));
    let content_type = given("mimetype")?;
    content_type.as_deref().map_or(Ok(()), check_content_type)?;
    let cache_control = given("cacheControl")?;
    cache_control
        .as_deref()
        .map_or(Ok(()), |text| header_value(text).map(drop))?;
    let overrides = CopyOverrides {
        content_type,
        cache_control,
        headers: None,
        user_metadata: match context.header("x-metadata").and_then(decode_metadata) {
            Some(metadata) => UserMetadata::Given(Some(metadata)),
            None => UserMetadata::Kept,
        },
    };
    let overrides = (!copies_metadata).then_some(overrides);
    let may_replace = context.header("x-upsert") == Some("true");
    let object = copy_object(context, from, to, overrides, may_replace).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    let mut body = serde_json::to_value(&object).map_err(StorageError::internal)?;
    body["Key"] = json!(key);
    body["Id"] = json!(object.id);
    Ok(Json(body).into_response())
}

/// What a copy has instead of the metadata of its source.
pub(crate) struct CopyOverrides {
    pub(crate) content_type: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) headers: Option<StoredHeaders>,
    pub(crate) user_metadata: UserMetadata,
}

/// Creates an object with the bytes of another.
pub(crate) async fn copy_object(
    context: &Arc<RequestContext>,
    from: ObjectPath,
    to: ObjectPath,
    overrides: Option<CopyOverrides>,
    may_replace: bool,
) -> Result<Object, StorageError> {
    let source = find_as_caller(context, &from).await?;
    let source_blob = source.blob().ok_or_else(StorageError::missing_blob)?;
    let metadata = source.metadata.clone().filter(Value::is_object);
    let mut metadata = metadata.unwrap_or_else(|| json!({}));
    metadata["lastModified"] = json!(wire_time::render(context.now));
    let user_metadata = match overrides {
        None => UserMetadata::Given(source.user_metadata.clone()),
        Some(overrides) => {
            let mut set = |name: &str, value: Option<String>| {
                if let Some(value) = value {
                    metadata[name] = json!(value);
                }
            };
            set("mimetype", overrides.content_type);
            set("cacheControl", overrides.cache_control);
            if let Some(headers) = overrides.headers {
                StoredHeaders::remove_from(&mut metadata);
                headers.write_to(&mut metadata);
            }
            overrides.user_metadata
        }
    };
    let intended = match &user_metadata {
        UserMetadata::Given(value) => value.as_ref(),
        UserMetadata::Kept => None,
    };
    let intent = WriteIntent {
        path: &to,
        may_replace,
        content_type: metadata.get("mimetype").and_then(Value::as_str),
        content_length: source.details().size(),
        user_metadata: intended,
    };
    probe_write(context, &intent).await?;
    let owned = context.clone();
    let owner = context.owner().map(str::to_owned);
    context
        .run_to_completion(async move {
            let version = copy_blob(&owned, &source_blob).await?;
            let object = NewObject {
                path: &to,
                version,
                metadata,
                user_metadata,
                owner: owner.as_deref(),
                may_replace,
            };
            commit(&owned, object).await
        })
        .await
}

async fn copy_blob(context: &RequestContext, from: &Version) -> Result<Version, StorageError> {
    let version = Version::generate();
    let db = &context.project.db;
    register_pending(db, &context.blobs, &version).await?;
    match context.blobs.copy(from, &version).await {
        Ok(true) => Ok(version),
        Ok(false) => {
            discard(db, &version).await;
            Err(StorageError::missing_blob())
        }
        Err(error) => {
            discard(db, &version).await;
            Err(error.into())
        }
    }
}
