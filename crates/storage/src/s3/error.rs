//! Refusals as S3 clients read them.

use axum::{body::Body, response::Response};
use http::header::CONTENT_TYPE;

use super::xml::Xml;
use crate::error::StorageError;

/// The error with its true status. Where only headers are asked for, they are all there is.
pub(super) fn respond(error: &StorageError, resource: &str, is_head: bool) -> Response {
    let mut response = document(error, resource).into_response(error.status());
    if is_head {
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}

/// The same as a document.
pub(super) fn document(error: &StorageError, resource: &str) -> Xml {
    error.log();
    Xml::error(|xml| {
        xml.text("Resource", resource);
        xml.text("Code", error.code().name());
        xml.text("Message", error);
    })
}
