//! Uploads in one request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;

use super::file_options::{FileOptions, with_file_options};
use super::form::Form;
use super::request::{Call, RequestContext, read_json};
use super::upload_body::Sending;
use super::{Files, StorageError, UploadBody, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::{HttpResponse, StreamedBody};

/// Longer headers may be rejected by proxies and servers; more than this is sent in a form.
const MAX_METADATA_HEADER: usize = 4096;
/// Maximum size of an upload's response.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadedFile {
    /// Its id, if the response has it.
    pub id: Option<String>,
    /// Its path in the bucket.
    pub path: String,
    /// The same with the bucket before it.
    pub full_path: String,
}

/// How an existing file is treated.
pub(super) enum Target {
    /// An error, unless the upload says otherwise.
    New,
    Any,
    /// As the token says.
    Signed(String),
}

/// An upload; see [`Files::upload`], [`Files::update`] and [`Files::upload_to_signed_url`].
#[must_use = "nothing is sent before `send`"]
pub struct UploadRequest {
    context: RequestContext,
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

    /// The content encoding, such as `gzip`: the bytes are stored as they are, and downloads carry the header.
    /// Servers without support ignore it.
    pub fn content_encoding(mut self, encoding: impl Into<String>) -> Self {
        self.content_encoding = Some(encoding.into());
        self
    }

    /// Uploads.
    pub async fn send(self) -> Result<UploadedFile, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let encoding = self.content_encoding.as_deref().unwrap_or_default();
        // A form would accept anything.
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
        let response = send(&self.context, call, body, &self.options).await?;
        uploaded(&response, self.path)
    }
}

async fn send(
    context: &RequestContext,
    call: Call,
    body: Sending,
    options: &CallOptions,
) -> Result<HttpResponse, StorageError> {
    let pieces = match body {
        Sending::Bytes(bytes) => return context.response(call.bytes(bytes), options).await,
        Sending::Pieces(pieces) => pieces,
    };
    let body = StreamedBody::new(pieces.pieces, pieces.length);
    let failure = body.failure();
    let response = context.stream(call, Some(body), options).await;
    // An error of the source is more precise than the transport's.
    let response = response.map_err(|error| failure.take().map_or(error, StorageError::Body))?;
    Ok(response.collect(MAX_RESPONSE_BYTES).await?)
}

fn uploaded(response: &HttpResponse, path: String) -> Result<UploadedFile, StorageError> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(rename = "Id")]
        id: Option<String>,
        #[serde(rename = "Key")]
        key: String,
    }

    let body: Body = read_json(response)?;
    Ok(UploadedFile {
        id: body.id,
        path,
        full_path: body.key,
    })
}
