//! Uploads in one request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::{Deserialize, Serialize};

use super::form::Form;
use super::request::{Call, Context, read_json};
use super::upload_body::{Sending, type_by_name};
use super::{Files, StorageError, UploadBody, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::{Answer, StreamedBody};

/// Proxies and servers refuse longer headers; more than this is sent in a form.
const MAX_METADATA_HEADER: usize = 4096;
/// How much of an answer about an upload is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadedFile {
    /// Its id, where the answer tells it.
    pub id: Option<String>,
    /// Its path in the bucket.
    pub path: String,
    /// The same with the bucket before it.
    pub full_path: String,
}

/// What an upload may meet at its path.
pub(super) enum Target {
    /// Nothing, unless the upload says otherwise.
    New,
    Any,
    /// What a token says.
    Signed(String),
}

/// An upload; see [`Files::upload`], [`Files::update`] and [`Files::upload_to_signed_url`].
#[must_use = "nothing is sent before `send`"]
pub struct UploadRequest {
    context: Context,
    bucket: String,
    path: String,
    body: UploadBody,
    target: Target,
    is_upsert: bool,
    content_type: Option<String>,
    cache_seconds: u64,
    metadata: Result<Option<String>, StorageError>,
    options: CallOptions,
}

with_call_options!(UploadRequest);

impl UploadRequest {
    pub(super) fn new(files: &Files, path: &str, body: UploadBody, target: Target) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path::clean(path),
            body,
            target,
            is_upsert: false,
            content_type: None,
            cache_seconds: 3600,
            metadata: Ok(None),
            options: CallOptions::default(),
        }
    }

    /// What it is. [Files](UploadBody::file) say so themselves; anything else is
    /// `text/plain;charset=UTF-8` unless this says otherwise.
    pub fn content_type(mut self, kind: impl Into<String>) -> Self {
        self.content_type = Some(kind.into());
        self
    }

    /// Is of the type that files with the end of this path usually are.
    pub fn guess_content_type(mut self) -> Self {
        self.content_type = Some(type_by_name(&self.path).to_owned());
        self
    }

    /// For how many seconds those who fetch it may keep it; 3600 unless this says otherwise.
    pub fn cache_control(mut self, seconds: u64) -> Self {
        self.cache_seconds = seconds;
        self
    }

    /// Whether a file that is there is replaced. [`Files::update`] always does; of a signed
    /// upload the token decides.
    pub fn upsert(mut self, is_upsert: bool) -> Self {
        self.is_upsert = is_upsert;
        self
    }

    /// What to keep about the file, an object.
    pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
        self.metadata = json_text(metadata).map(Some);
        self
    }

    /// Uploads.
    pub async fn send(self) -> Result<UploadedFile, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let call = match &self.target {
            Target::New => Call::new(Method::POST, format!("object/{object}"))
                .header("x-upsert", self.is_upsert),
            Target::Any => Call::new(Method::PUT, format!("object/{object}")),
            Target::Signed(token) => Call::new(Method::PUT, format!("object/upload/sign/{object}"))
                .query("token", Some(token))
                .header("x-upsert", self.is_upsert),
        };
        let content_type = self.content_type;
        let content_type = content_type.unwrap_or_else(|| self.body.content_type().to_owned());
        let body = self.body.open().await?;
        let metadata = self.metadata?;
        let encoded = metadata.as_deref().map(|text| STANDARD.encode(text));
        let (call, body) = match (metadata, encoded) {
            (Some(metadata), Some(encoded)) if encoded.len() > MAX_METADATA_HEADER => {
                let form = Form::new(&content_type)?
                    .field("cacheControl", &self.cache_seconds.to_string())
                    .field("metadata", &metadata);
                (
                    call.header("content-type", form.content_type()),
                    form.around(body),
                )
            }
            (_, encoded) => {
                let call = call
                    .header("content-type", content_type)
                    .header("cache-control", format!("max-age={}", self.cache_seconds));
                match encoded {
                    Some(encoded) => (call.header("x-metadata", encoded), body),
                    None => (call, body),
                }
            }
        };
        let answer = send(&self.context, call, body, &self.options).await?;
        uploaded(&answer, self.path)
    }
}

async fn send(
    context: &Context,
    call: Call,
    body: Sending,
    options: &CallOptions,
) -> Result<Answer, StorageError> {
    let pieces = match body {
        Sending::Bytes(bytes) => return context.answer(call.bytes(bytes), options).await,
        Sending::Pieces(pieces) => pieces,
    };
    let body = StreamedBody::new(pieces.pieces, pieces.length);
    let failure = body.failure();
    let answer = context.stream(call, Some(body), options).await;
    // What went wrong on this side counts more than what the transport made of it.
    let answer = answer.map_err(|error| failure.take().map_or(error, StorageError::Body))?;
    Ok(answer.collect(MAX_ANSWER_BYTES).await?)
}

fn uploaded(answer: &Answer, path: String) -> Result<UploadedFile, StorageError> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(rename = "Id")]
        id: Option<String>,
        #[serde(rename = "Key")]
        key: String,
    }

    let body: Body = read_json(answer)?;
    Ok(UploadedFile {
        id: body.id,
        path,
        full_path: body.key,
    })
}

/// What a caller gives as metadata, as JSON.
pub(super) fn json_text(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|_| StorageError::InvalidInput("the metadata cannot be written as JSON"))
}
