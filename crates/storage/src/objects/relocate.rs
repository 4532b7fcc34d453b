//! Moving and copying (storage contract §3.8). No byte is read: names are rows, and a copy is a link.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use plinth_db::Params;
use serde_json::{Value, json};

use super::{
    Object,
    commit::{Arrival, UserMetadata, commit},
    find::find_as_caller,
    probe::{Intent, owner_columns, probe},
    serve::value as header_value,
    upload_body::{check_content_type, decode_metadata},
};
use crate::{
    blobs::{Version, announce, discard},
    error::{Code, StorageError},
    request::{Context, Fields, Place, check_bucket, check_key, read_fields},
    response::message,
    sqlstate::taken_as,
    wire_time,
};

/// From where to where.
struct Ways {
    from: Place,
    to: Place,
}

impl Ways {
    fn read(fields: &Fields) -> Result<Self, StorageError> {
        let bucket = fields.required_text("bucketId")?;
        let from = Place {
            bucket: bucket.clone(),
            key: fields.required_text("sourceKey")?,
        };
        let to = Place {
            bucket: fields.text("destinationBucket")?.unwrap_or(bucket),
            key: fields.required_text("destinationKey")?,
        };
        check_bucket(&from.bucket)?;
        check_bucket(&to.bucket)?;
        // Where a user's SQL has made a name that nobody may give, it can still be left.
        check_key(&to.key)?;
        Ok(Self { from, to })
    }
}

/// `POST /object/move`
pub(crate) async fn move_object(context: &Context, body: Body) -> Result<Response, StorageError> {
    context.caller()?;
    let Ways { from, to } = Ways::read(&read_fields(body).await?)?;
    // Invisible things do not exist, whoever else has the new name.
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
        .map_err(taken_as(Code::ResourceAlreadyExists))?;
    match rows.is_empty() {
        true => Err(StorageError::no_such_key()),
        false => Ok(message("Successfully moved")),
    }
}

/// `POST /object/copy`
pub(crate) async fn copy(context: &Arc<Context>, body: Body) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let Ways { from, to } = Ways::read(&fields)?;
    let copies_metadata = fields.flag("copyMetadata")?.unwrap_or(true);
    let given = fields.object("metadata")?;
    let given = |name| given.as_ref().map_or(Ok(None), |given| given.text(name));
    let content_type = given("mimetype")?;
    content_type.as_deref().map_or(Ok(()), check_content_type)?;
    let cache_control = given("cacheControl")?;
    cache_control
        .as_deref()
        .map_or(Ok(()), |text| header_value(text).map(drop))?;
    let changes = Changes {
        content_type,
        cache_control,
        user_metadata: match context.header("x-metadata").and_then(decode_metadata) {
            Some(metadata) => UserMetadata::Given(Some(metadata)),
            None => UserMetadata::Kept,
        },
    };
    let changes = (!copies_metadata).then_some(changes);
    let may_replace = context.header("x-upsert") == Some("true");
    let object = copy_object(context, from, to, changes, may_replace).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    let mut answer = serde_json::to_value(&object).map_err(StorageError::internal)?;
    answer["Key"] = json!(key);
    answer["Id"] = json!(object.id);
    Ok(Json(answer).into_response())
}

/// What a copy shall not have of its source.
pub(crate) struct Changes {
    pub(crate) content_type: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) user_metadata: UserMetadata,
}

/// Makes another object with the same bytes.
pub(crate) async fn copy_object(
    context: &Arc<Context>,
    from: Place,
    to: Place,
    changes: Option<Changes>,
    may_replace: bool,
) -> Result<Object, StorageError> {
    let source = find_as_caller(context, &from).await?;
    let source_blob = source.blob().ok_or_else(StorageError::no_such_bytes)?;
    let described = source.metadata.clone().filter(Value::is_object);
    let mut metadata = described.unwrap_or_else(|| json!({}));
    metadata["lastModified"] = json!(wire_time::render(context.now));
    let user_metadata = match changes {
        None => UserMetadata::Given(source.user_metadata.clone()),
        Some(changes) => {
            let mut set = |name: &str, value: Option<String>| {
                if let Some(value) = value {
                    metadata[name] = json!(value);
                }
            };
            set("mimetype", changes.content_type);
            set("cacheControl", changes.cache_control);
            changes.user_metadata
        }
    };
    let intended = match &user_metadata {
        UserMetadata::Given(value) => value.as_ref(),
        UserMetadata::Kept => None,
    };
    let intent = Intent {
        place: &to,
        may_replace,
        content_type: metadata.get("mimetype").and_then(Value::as_str),
        content_length: source.facts().size(),
        user_metadata: intended,
    };
    probe(context, &intent).await?;
    let owned = context.clone();
    let owner = context.owner().map(str::to_owned);
    context
        .to_the_end(async move {
            let version = copy_blob(&owned, &source_blob).await?;
            let arrival = Arrival {
                place: &to,
                version,
                metadata,
                user_metadata,
                owner: owner.as_deref(),
                may_replace,
            };
            commit(&owned, arrival).await
        })
        .await
}

async fn copy_blob(context: &Context, from: &Version) -> Result<Version, StorageError> {
    let version = Version::generate();
    let db = &context.project.db;
    announce(db, &context.blobs, &version).await?;
    match context.blobs.copy(from, &version).await {
        Ok(true) => Ok(version),
        Ok(false) => {
            discard(db, &version).await;
            Err(StorageError::no_such_bytes())
        }
        Err(error) => {
            discard(db, &version).await;
            Err(error.into())
        }
    }
}
