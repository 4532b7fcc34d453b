//! Copying and moving files, within a bucket and to another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::file_options::json_text;
use super::request::{Call, RequestContext};
use super::{Files, StorageError, UploadedFile};
use crate::call_options::{CallOptions, with_call_options};

/// From where to where.
fn route(files: &Files, from: &str, to: &str) -> Map<String, Value> {
    let members = [
        ("bucketId", files.bucket.as_str()),
        ("sourceKey", from),
        ("destinationKey", to),
    ];
    let members = members.into_iter();
    members
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

/// Moving a file; see [`Files::move_`].
#[must_use = "nothing is sent before `send`"]
pub struct MoveRequest {
    context: RequestContext,
    body: Map<String, Value>,
    options: CallOptions,
}

with_call_options!(MoveRequest);

impl MoveRequest {
    pub(super) fn new(files: &Files, from: &str, to: &str) -> Self {
        Self {
            context: files.context.clone(),
            body: route(files, from, to),
            options: CallOptions::default(),
        }
    }

    /// Into another bucket.
    pub fn to_bucket(mut self, id: &str) -> Self {
        self.body.insert("destinationBucket".to_owned(), id.into());
        self
    }

    /// Moves it.
    pub async fn send(self) -> Result<(), StorageError> {
        let call = Call::new(Method::POST, "object/move").json(&self.body)?;
        self.context.response(call, &self.options).await.map(drop)
    }
}

/// Copying a file; see [`Files::copy`].
#[must_use = "nothing is sent before `send`"]
pub struct CopyRequest {
    context: RequestContext,
    to: String,
    body: Map<String, Value>,
    replaced: Map<String, Value>,
    metadata: Result<Option<String>, StorageError>,
    is_upsert: bool,
    options: CallOptions,
}

with_call_options!(CopyRequest);

impl CopyRequest {
    pub(super) fn new(files: &Files, from: &str, to: &str) -> Self {
        Self {
            context: files.context.clone(),
            to: to.to_owned(),
            body: route(files, from, to),
            replaced: Map::new(),
            metadata: Ok(None),
            is_upsert: false,
            options: CallOptions::default(),
        }
    }

    /// Into another bucket.
    pub fn to_bucket(mut self, id: &str) -> Self {
        self.body.insert("destinationBucket".to_owned(), id.into());
        self
    }

    /// Whether a file that is there is replaced.
    pub fn upsert(mut self, is_upsert: bool) -> Self {
        self.is_upsert = is_upsert;
        self
    }

    /// Whether the copy keeps the source's metadata; default true. Otherwise the content type, cache time and
    /// [metadata](Self::metadata) given here apply.
    pub fn copy_metadata(mut self, is_copied: bool) -> Self {
        self.body
            .insert("copyMetadata".to_owned(), is_copied.into());
        self
    }

    /// The content encoding of the copy, such as `gzip`; its bytes are not changed. An empty text removes the
    /// source's.
    pub fn content_encoding(mut self, encoding: &str) -> Self {
        self.replaced
            .insert("contentEncoding".to_owned(), encoding.into());
        self
    }

    /// What the copy is.
    pub fn content_type(mut self, kind: &str) -> Self {
        self.replaced.insert("mimetype".to_owned(), kind.into());
        self
    }

    /// Cache time of the copy in seconds.
    pub fn cache_control(mut self, seconds: u64) -> Self {
        let value = format!("max-age={seconds}").into();
        self.replaced.insert("cacheControl".to_owned(), value);
        self
    }

    /// Custom metadata of the copy, an object.
    pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
        self.metadata = json_text(metadata).map(Some);
        self
    }

    /// Copies it.
    pub async fn send(mut self) -> Result<UploadedFile, StorageError> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(rename = "Id")]
            id: Option<String>,
            #[serde(rename = "Key")]
            key: String,
        }

        if !self.replaced.is_empty() {
            self.body
                .insert("metadata".to_owned(), self.replaced.into());
        }
        let mut call = Call::new(Method::POST, "object/copy").json(&self.body)?;
        if self.is_upsert {
            call = call.header("x-upsert", true);
        }
        if let Some(metadata) = self.metadata? {
            call = call.header("x-metadata", STANDARD.encode(metadata));
        }
        let body: Body = self.context.json(call, &self.options).await?;
        Ok(UploadedFile {
            id: body.id,
            path: self.to,
            full_path: body.key,
        })
    }
}
