//! Uploads in one request (storage contract §3.1, §3.2).

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use http::header::CONTENT_LENGTH;
use serde_json::json;

use super::{
    Object,
    commit::{Arrival, UserMetadata, commit},
    model::metadata,
    probe::Intent,
    right::Right,
    upload_body::{About, UploadBody},
};
use crate::{
    blobs::receive,
    buckets::BucketRules,
    error::StorageError,
    request::{Context, Place, check_bucket, check_key, check_robots_tag, check_type},
};

/// Consoles make an empty folder with an object of this name: it has no bytes.
pub(crate) const PLACEHOLDER: &str = ".emptyFolderPlaceholder";

/// `POST /object/{bucket}/{key}`
pub(crate) async fn create(
    context: &Arc<Context>,
    place: Place,
    body: Body,
) -> Result<Response, StorageError> {
    let may_replace = context.header("x-upsert") == Some("true");
    upload_as_caller(context, place, body, may_replace).await
}

/// `PUT /object/{bucket}/{key}`: creates where there is nothing to replace.
pub(crate) async fn replace(
    context: &Arc<Context>,
    place: Place,
    body: Body,
) -> Result<Response, StorageError> {
    upload_as_caller(context, place, body, true).await
}

async fn upload_as_caller(
    context: &Arc<Context>,
    place: Place,
    body: Body,
    may_replace: bool,
) -> Result<Response, StorageError> {
    context.caller()?;
    let right = Right::of_caller(context, may_replace);
    let object = upload_to_the_end(context, place, body, right).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    Ok(Json(json!({ "Key": key, "Id": object.id })).into_response())
}

/// `PUT /object/upload/sign/{bucket}/{key}`: on the word of a token.
pub(crate) async fn upload_signed(
    context: &Arc<Context>,
    place: Place,
    body: Body,
) -> Result<Response, StorageError> {
    let query = context.query();
    let token = query.text("token")?.ok_or_else(|| query.missing("token"))?;
    let right = Right::of_token(context, &place, &token)?;
    let object = upload_to_the_end(context, place, body, right).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    Ok(Json(json!({ "Key": key })).into_response())
}

/// A client may leave as soon as it has sent everything, before we have even read it. Where the
/// request says how long it is, the upload goes on alone: it knows whether the rest has come. Where
/// it does not, an end that is none could not be told from the end of the file.
async fn upload_to_the_end(
    context: &Arc<Context>,
    place: Place,
    body: Body,
    right: Right,
) -> Result<Object, StorageError> {
    let owned = context.clone();
    let work = async move { upload(&owned, place, body, right).await };
    match context.headers().contains_key(CONTENT_LENGTH) {
        true => context.to_the_end(work).await,
        false => work.await,
    }
}

/// Everything is checked before a byte is stored; once the last byte has come, the object is made
/// whether or not the client stays.
async fn upload(
    context: &Arc<Context>,
    place: Place,
    body: Body,
    right: Right,
) -> Result<Object, StorageError> {
    check_bucket(&place.bucket)?;
    let rules = BucketRules::get(context, &place.bucket).await?;
    let robots_tag = robots_tag(context)?;
    let is_placeholder = place.key.ends_with(PLACEHOLDER);
    let limit = match is_placeholder {
        true => 0,
        false => rules.limit(context.config.standard_size_limit),
    };
    let mut body = UploadBody::open(context.headers(), body).await?;
    let about = body.about();
    if body.is_raw() && about.content_length.is_some_and(|length| length > limit) {
        return Err(StorageError::too_large());
    }
    let allowed = |content_type: &str| match is_placeholder {
        true => Ok(()),
        false => check_type(content_type, &rules.allowed_mime_types),
    };
    allowed(about.content_type())?;
    check_key(&place.key)?;
    may_upload(context, &place, about, &right).await?;
    let probed = about.clone();

    let arrived = receive(&context.project.db, &context.blobs, &mut body, limit).await?;
    // A form may have more to say behind the file; what is new is asked about as well.
    let settled = async {
        let about = body.close().await?;
        allowed(about.content_type())?;
        if about != probed {
            may_upload(context, &place, &about, &right).await?;
        }
        Ok(about)
    };
    let about = match settled.await {
        Ok(about) => about,
        Err(error) => {
            arrived.forget(&context.project.db).await;
            return Err(error);
        }
    };
    let owned = context.clone();
    context
        .to_the_end(async move {
            let (version, written) = arrived.settle(&owned.project.db).await?;
            let arrival = Arrival {
                place: &place,
                version,
                metadata: metadata(
                    &written,
                    about.content_type(),
                    about.cache_control(),
                    robots_tag.as_deref(),
                    owned.now,
                ),
                user_metadata: UserMetadata::Given(Some(
                    about.user_metadata.unwrap_or_else(|| json!({})),
                )),
                owner: right.owner.as_deref(),
                may_replace: right.may_replace,
            };
            commit(&owned, arrival).await
        })
        .await
}

/// Refuses a tag that means nothing to any search engine.
fn robots_tag(context: &Context) -> Result<Option<String>, StorageError> {
    let Some(header) = context.headers().get("x-robots-tag") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(header.as_bytes()).into_owned();
    check_robots_tag(&text)?;
    Ok(Some(text))
}

async fn may_upload(
    context: &Context,
    place: &Place,
    about: &About,
    right: &Right,
) -> Result<(), StorageError> {
    let intent = Intent {
        place,
        may_replace: right.may_replace,
        content_type: Some(about.content_type()),
        content_length: about.content_length,
        user_metadata: about.user_metadata.as_ref(),
    };
    right.check(context, &intent).await
}
