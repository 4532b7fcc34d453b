//! `OPTIONS /upload/resumable`: what this server can do.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::ACCESS_CONTROL_ALLOW_METHODS};

use super::VERSION;
use crate::{config::StorageConfig, request::Context};

const EXTENSIONS: &str =
    "creation,creation-with-upload,creation-defer-length,termination,expiration";

/// The answer to whoever asks without a browser's rules.
pub(super) fn options(context: &Context) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("POST, GET, HEAD, PATCH, DELETE, OPTIONS");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert("access-control-max-age", HeaderValue::from(86_400));
    offer(&context.config, headers);
    response
}

/// Adds what this server can do.
pub(crate) fn offer(config: &StorageConfig, headers: &mut HeaderMap) {
    headers.insert("tus-resumable", HeaderValue::from_static(VERSION));
    headers.insert("tus-version", HeaderValue::from_static(VERSION));
    headers.insert("tus-extension", HeaderValue::from_static(EXTENSIONS));
    headers.insert("tus-max-size", config.file_size_limit.into());
}
