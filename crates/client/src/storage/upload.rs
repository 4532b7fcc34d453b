//! Uploads in one request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;

use super::file_options::{FileOptions, with_file_options};
use super::form::Form;
use super::request::{Call, Context, read_json};
use super::upload_body::Sending;
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
    about: FileOptions,
    content_encoding: Option<String>,
    options: CallOptions,
}

with_call_options!(UploadRequest);
with_file_options!(UploadRequest);

impl UploadRequest {
    pub(super) fn new(files: &Files, path: &str, body: UploadBody, target: Target) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path::clean(path),
            body,
            target,
            about: FileOptions::default(),
            content_encoding: None,
            options: CallOptions::default(),
        }
    }

    /// How the bytes are encoded, such as `gzip`: they are sent and stored as they are, and whoever
    /// fetches them is told. Servers that know nothing of this store them all the same.
    pub fn content_encoding(mut self, encoding: impl Into<String>) -> Self {
        self.content_encoding = Some(encoding.into());
        self
    }

    /// Uploads.
    pub async fn send(self) -> Result<UploadedFile, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let encoding = self.content_encoding.as_deref().unwrap_or_default();
        // A form would take anything.
        if http::HeaderValue::from_str(encoding).is_err() {
            return Err(StorageError::InvalidInput(
                "the content encoding cannot be sent as given",
            ));
        }
        let FileOptions {
            is_upsert,
            content_type,
            cache_seconds,
            metadata,
        } = self.about;
        let call = match &self.target {
            Target::New => {
                Call::new(Method::POST, format!("object/{object}")).header("x-upsert", is_upsert)
            }
            Target::Any => Call::new(Method::PUT, format!("object/{object}")),
            Target::Signed(token) => Call::new(Method::PUT, format!("object/upload/sign/{object}"))
                .query("token", Some(token))
                .header("x-upsert", is_upsert),
        };
        let content_type = content_type.unwrap_or_else(|| self.body.content_type().to_owned());
        let body = self.body.open().await?;
        let metadata = metadata?;
        let encoded = metadata.as_deref().map(|text| STANDARD.encode(text));
        let (call, body) = match (metadata, encoded) {
            (Some(metadata), Some(encoded)) if encoded.len() > MAX_METADATA_HEADER => {
                let mut form = Form::new(&content_type)?
                    .field("cacheControl", &cache_seconds.to_string())
                    .field("metadata", &metadata);
                if let Some(encoding) = &self.content_encoding {
                    form = form.field("contentEncoding", encoding);
                }
                (
                    call.header("content-type", form.content_type()),
                    form.around(body),
                )
            }
            (_, encoded) => {
                let mut call = call
                    .header("content-type", content_type)
                    .header("cache-control", format!("max-age={cache_seconds}"));
                if let Some(encoding) = self.content_encoding {
                    call = call.header("content-encoding", encoding);
                }
                if let Some(encoded) = encoded {
                    call = call.header("x-metadata", encoded);
                }
                (call, body)
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
