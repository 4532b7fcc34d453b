//! `OPTIONS /upload/resumable`: the capabilities of the server.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::ACCESS_CONTROL_ALLOW_METHODS};

use super::headers::VERSION;
use crate::{config::StorageConfig, request::RequestContext};

const EXTENSIONS: &str =
    "creation,creation-with-upload,creation-defer-length,termination,expiration";

/// The response to clients that are not browsers; a CORS preflight is handled before.
pub(super) fn options(context: &RequestContext) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("POST, GET, HEAD, PATCH, DELETE, OPTIONS");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert("access-control-max-age", HeaderValue::from(86_400));
    add_capabilities(&context.config, headers);
    response
}

/// Adds the headers that describe the capabilities of the server.
pub(crate) fn add_capabilities(config: &StorageConfig, headers: &mut HeaderMap) {
    headers.insert("tus-resumable", HeaderValue::from_static(VERSION));
    headers.insert("tus-version", HeaderValue::from_static(VERSION));
    headers.insert("tus-extension", HeaderValue::from_static(EXTENSIONS));
    headers.insert("tus-max-size", config.file_size_limit.into());
}
