//! Refusals as S3 clients read them.

use axum::{body::Body, response::Response};
use http::header::CONTENT_TYPE;

use super::xml::Xml;
use crate::error::StorageError;

/// The error with its true status. Where only headers are asked for, they are all there is.
pub(super) fn respond(error: &StorageError, resource: &str, is_head: bool) -> Response {
    error.log();
    let xml = Xml::error(|xml| {
        xml.text("Resource", resource);
        xml.text("Code", error.code().name());
        xml.text("Message", error);
    });
    let mut response = xml.into_response(error.status());
    if is_head {
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}
