//! Storing an object in one request.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH},
};
use serde_json::{Map, Value};

use super::{Request, body::S3Body, preconditions};
use crate::{
    blobs::{Source, receive},
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{
        Arrival, Intent, Object, PLACEHOLDER, UserMetadata, commit, metadata, probe, respond,
        value as header_value,
    },
    request::{Context, Place, check_bucket, check_key, check_type},
};

const DEFAULT_TYPE: &str = "application/octet-stream";
const DEFAULT_CACHE_CONTROL: &str = "no-cache";
const META: &str = "x-amz-meta-";

/// What is said about an object to be.
pub(super) struct About {
    pub(super) content_type: String,
    pub(super) cache_control: String,
    pub(super) user_metadata: Value,
}

impl About {
    /// What the headers say.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        let texts = headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str(), value.into_owned())
        });
        Self::of_fields(texts)
    }

    /// What fields say, whose names are in lower case.
    pub(super) fn of_fields<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> Self {
        let mut about = Self {
            content_type: DEFAULT_TYPE.to_owned(),
            cache_control: DEFAULT_CACHE_CONTROL.to_owned(),
            user_metadata: Value::Null,
        };
        let mut user_metadata = Map::new();
        for (name, value) in fields {
            if name == CONTENT_TYPE.as_str() && !value.is_empty() {
                about.content_type = value;
            } else if name == CACHE_CONTROL.as_str() && !value.is_empty() {
                about.cache_control = value;
            } else if let Some(name) = name.strip_prefix(META) {
                user_metadata.insert(name.to_owned(), value.into());
            }
        }
        about.user_metadata = Value::Object(user_metadata);
        about
    }
}

/// On what terms bytes are taken.
pub(super) struct Terms {
    pub(super) may_replace: bool,
    /// As it was declared.
    pub(super) length: Option<u64>,
    /// What a policy asks for beside what the bucket does.
    pub(super) least: u64,
    pub(super) most: u64,
}

/// `PUT /{bucket}/{key}`
pub(super) async fn put(request: &Request, body: &mut S3Body) -> Result<Response, StorageError> {
    let headers = request.context.headers();
    if headers.contains_key(IF_MATCH) {
        let message = "If-Match is not implemented for writing";
        return Err(StorageError::new(Code::NotImplemented, 501, message));
    }
    let is_new = headers.contains_key(IF_NONE_MATCH);
    let about = About::of_headers(headers);
    let mut place = request.place();
    // Clients make folders so; what stands for a folder elsewhere is this object.
    if place.key.ends_with('/') && body.length() == Some(0) {
        place.key.push_str(PLACEHOLDER);
    }
    let terms = Terms {
        may_replace: !is_new,
        length: body.length(),
        least: 0,
        most: u64::MAX,
    };
    let stored = store(&request.context, place, about, terms, body).await;
    let object = match stored {
        Err(error) if is_new && error.code() == Code::KeyAlreadyExists => {
            return Err(preconditions::failed());
        }
        stored => stored?,
    };
    let mut answer = HeaderMap::new();
    answer.extend(body.found());
    answer.insert(ETAG, etag(&object)?);
    Ok(respond(StatusCode::OK, answer, Body::empty()))
}

pub(super) fn etag(object: &Object) -> Result<HeaderValue, StorageError> {
    header_value(object.facts().etag().unwrap_or_default())
}

/// Everything is checked before a byte is stored; once the last byte has come, the object is made
/// whether or not the client stays.
pub(super) async fn store(
    context: &Arc<Context>,
    place: Place,
    about: About,
    terms: Terms,
    source: &mut impl Source,
) -> Result<Object, StorageError> {
    check_bucket(&place.bucket)?;
    let rules = BucketRules::get(context, &place.bucket).await?;
    let is_placeholder = place.key.ends_with(PLACEHOLDER);
    let limit = match is_placeholder {
        true => 0,
        false => rules.limit(context.config.file_size_limit).min(terms.most),
    };
    if terms.length.is_some_and(|length| length > limit) {
        return Err(StorageError::too_large());
    }
    if !is_placeholder {
        check_type(&about.content_type, &rules.allowed_mime_types)?;
    }
    check_key(&place.key)?;
    let intent = Intent {
        place: &place,
        may_replace: terms.may_replace,
        content_type: Some(&about.content_type),
        content_length: terms.length,
        user_metadata: Some(&about.user_metadata),
    };
    probe(context, &intent).await?;
    let arrived = receive(&context.project.db, &context.blobs, source, limit).await?;
    let owned = context.clone();
    context
        .to_the_end(async move {
            let (version, written) = arrived.settle(&owned.project.db).await?;
            if written.size < terms.least {
                crate::blobs::discard(&owned.project.db, &version).await;
                let message = "The object is smaller than the policy allows";
                return Err(StorageError::new(Code::EntityTooSmall, 400, message));
            }
            let arrival = Arrival {
                place: &place,
                version,
                metadata: metadata(
                    &written,
                    &about.content_type,
                    &about.cache_control,
                    None,
                    owned.now,
                ),
                user_metadata: UserMetadata::Given(Some(about.user_metadata)),
                owner: owned.owner(),
                may_replace: terms.may_replace,
            };
            commit(&owned, arrival).await
        })
        .await
}
