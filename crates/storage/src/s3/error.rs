//! Errors as XML, for S3 clients.

use axum::{body::Body, response::Response};
use http::header::CONTENT_TYPE;

use super::xml::Xml;
use crate::error::StorageError;

/// The response of an error. The response to `HEAD` has no body.
pub(super) fn respond(error: &StorageError, resource: &str, is_head: bool) -> Response {
    let mut response = document(error, resource).into_response(error.status());
    if is_head {
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}

/// The document of an error.
pub(super) fn document(error: &StorageError, resource: &str) -> Xml {
    error.log();
    let documented = error.code().reference().s3;
    debug_assert!(documented.contains(&error.status().as_u16()), "{error:?}");
    Xml::error(|xml| {
        xml.text("Resource", resource);
        xml.text("Code", error.code().name());
        xml.text("Message", error);
    })
}
