//! Signed upload URLs.

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::request::{Call, RequestContext};
use super::signed_url::absolute;
use super::{Files, StorageError, path};
use crate::call_options::{CallOptions, with_call_options};

/// Permission to upload one file; for [`Files::upload_to_signed_url`], or any other client.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedUploadUrl {
    /// The upload URL.
    pub url: String,
    /// The signed token.
    pub token: String,
    /// The file's path.
    pub path: String,
}

/// The token stays out of logs.
impl std::fmt::Debug for SignedUploadUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SignedUploadUrl")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Allowing an upload; see [`Files::signed_upload_url`].
#[must_use = "nothing is sent before `send`"]
pub struct SignedUploadUrlRequest {
    context: RequestContext,
    bucket: String,
    path: String,
    is_upsert: bool,
    options: CallOptions,
}

with_call_options!(SignedUploadUrlRequest);

impl SignedUploadUrlRequest {
    pub(super) fn new(files: &Files, path: &str) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path.to_owned(),
            is_upsert: false,
            options: CallOptions::default(),
        }
    }

    /// Whether an existing file may be replaced.
    pub fn upsert(mut self, is_upsert: bool) -> Self {
        self.is_upsert = is_upsert;
        self
    }

    /// Requests the URL.
    pub async fn send(self) -> Result<SignedUploadUrl, StorageError> {
        #[derive(Deserialize)]
        struct Body {
            url: String,
        }

        let object = path::object(&self.bucket, &self.path)?;
        let call = Call::new(Method::POST, format!("object/upload/sign/{object}"));
        let mut call = call.json(&Value::Object(Map::new()))?;
        if self.is_upsert {
            call = call.header("x-upsert", true);
        }
        let body: Body = self.context.json(call, &self.options).await?;
        let (url, token) = absolute(&self.context.root(), &body.url)?;
        Ok(SignedUploadUrl {
            token: token.to_owned(),
            url,
            path: self.path,
        })
    }
}
