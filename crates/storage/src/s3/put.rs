//! Stores an object in one request.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH},
};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::{S3Request, body::S3Body, preconditions};
use crate::{
    blobs::{ByteSource, WrittenBlob, discard, receive},
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{
        NewObject, Object, PLACEHOLDER, StoredHeaders, UserMetadata, WriteIntent, commit,
        header_value, new_metadata, probe_write, respond,
    },
    request::{ObjectPath, RequestContext, check_bucket, check_key, check_type},
};

const DEFAULT_TYPE: &str = "application/octet-stream";
const DEFAULT_CACHE_CONTROL: &str = "no-cache";
const META: &str = "x-amz-meta-";

/// What a client declares about an object.
pub(super) struct ObjectInfo {
    pub(super) content_type: String,
    pub(super) cache_control: String,
    /// Further headers of downloads.
    pub(super) headers: StoredHeaders,
    pub(super) user_metadata: Value,
}

impl ObjectInfo {
    /// From headers.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let texts = headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str(), value.into_owned())
        });
        Self::from_fields(texts)
    }

    /// From fields, whose names are in lower case.
    pub(super) fn from_fields<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> Self {
        let mut info = Self {
            content_type: DEFAULT_TYPE.to_owned(),
            cache_control: DEFAULT_CACHE_CONTROL.to_owned(),
            headers: StoredHeaders::default(),
            user_metadata: Value::Null,
        };
        let mut user_metadata = Map::new();
        for (name, value) in fields {
            if name == CONTENT_TYPE.as_str() && !value.is_empty() {
                info.content_type = value;
            } else if name == CACHE_CONTROL.as_str() && !value.is_empty() {
                info.cache_control = value;
            } else if let Some(name) = name.strip_prefix(META) {
                user_metadata.insert(name.to_owned(), value.into());
            } else {
                info.headers.add(name, &value);
            }
        }
        info.user_metadata = Value::Object(user_metadata);
        info
    }

    /// The metadata of an object with these bytes.
    pub(super) fn metadata(&self, written: &WrittenBlob, now: OffsetDateTime) -> Value {
        let (content_type, cache_control) = (&self.content_type, &self.cache_control);
        let mut metadata = new_metadata(written, content_type, cache_control, None, now);
        self.headers.write_to(&mut metadata);
        metadata
    }
}

/// The conditions of an upload.
pub(super) struct StoreOptions {
    pub(super) may_replace: bool,
    /// As declared.
    pub(super) length: Option<u64>,
    /// The limits of a policy, in addition to those of the bucket.
    pub(super) min_size: u64,
    pub(super) max_size: u64,
}

/// `PUT /{bucket}/{key}`
pub(super) async fn put(request: &S3Request, body: &mut S3Body) -> Result<Response, StorageError> {
    let headers = request.context.headers();
    if headers.contains_key(IF_MATCH) {
        let message = "If-Match is not implemented for writing";
        return Err(StorageError::new(Code::NotImplemented, 501, message));
    }
    let is_new = headers.contains_key(IF_NONE_MATCH);
    let info = ObjectInfo::from_headers(headers);
    let mut path = request.object_path();
    // Clients create folders so; other protocols use a placeholder object.
    if path.key.ends_with('/') && body.length() == Some(0) {
        path.key.push_str(PLACEHOLDER);
    }
    let options = StoreOptions {
        may_replace: !is_new,
        length: body.length(),
        min_size: 0,
        max_size: u64::MAX,
    };
    let stored = store(&request.context, path, info, options, body).await;
    let object = match stored {
        Err(error) if is_new && error.code() == Code::KeyAlreadyExists => {
            return Err(preconditions::failed());
        }
        stored => stored?,
    };
    let mut headers = HeaderMap::new();
    headers.extend(body.take_verified_checksums());
    headers.insert(ETAG, etag(&object)?);
    Ok(respond(StatusCode::OK, headers, Body::empty()))
}

pub(super) fn etag(object: &Object) -> Result<HeaderValue, StorageError> {
    header_value(object.details().etag().unwrap_or_default())
}

/// Everything is checked before a byte is stored; after the last byte the object is created even if
/// the client disconnects.
pub(super) async fn store(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    info: ObjectInfo,
    options: StoreOptions,
    source: &mut impl ByteSource,
) -> Result<Object, StorageError> {
    check_bucket(&path.bucket)?;
    let rules = BucketRules::load(context, &path.bucket).await?;
    let is_placeholder = path.key.ends_with(PLACEHOLDER);
    let limit = if is_placeholder {
        0
    } else {
        rules
            .max_file_size(context.config.file_size_limit)
            .min(options.max_size)
    };
    if options.length.is_some_and(|length| length > limit) {
        return Err(StorageError::too_large());
    }
    if !is_placeholder {
        check_type(&info.content_type, &rules.allowed_mime_types)?;
    }
    check_key(&path.key, context.config.key_rules)?;
    let intent = WriteIntent {
        path: &path,
        may_replace: options.may_replace,
        content_type: Some(&info.content_type),
        content_length: options.length,
        user_metadata: Some(&info.user_metadata),
    };
    probe_write(context, &intent).await?;
    let received = receive(&context.project.db, &context.blobs, source, limit).await?;
    let owned = context.clone();
    context
        .run_to_completion(async move {
            let (version, written) = received.finish(&owned.project.db).await?;
            if written.size < options.min_size {
                discard(&owned.project.db, &version).await;
                let message = "The object is smaller than the policy allows";
                return Err(StorageError::new(Code::EntityTooSmall, 400, message));
            }
            let object = NewObject {
                path: &path,
                version,
                metadata: info.metadata(&written, owned.now),
                user_metadata: UserMetadata::Given(Some(info.user_metadata)),
                owner: owned.owner(),
                may_replace: options.may_replace,
            };
            commit(&owned, object).await
        })
        .await
}
