//! Resumable uploads, by the protocol TUS 1.0.0 (storage contract §5).
//!
//! `store.rs` keeps the state of an upload in PostgreSQL, `lease.rs` sees to it that one request at
//! a time writes to it, and `receive.rs` stores the bytes and completes the upload. Each method has
//! a file: `options`, `create` (`POST`), `head`, `patch`, `terminate` (`DELETE`).

mod create;
mod error;
mod head;
mod headers;
mod lease;
mod metadata;
mod options;
mod patch;
mod permission;
mod receive;
mod store;
mod terminate;
mod upload_id;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, request::Parts};

pub use error::tus_error_reference;
use error::{TusError, UploadError};
use headers::VERSION;
pub(crate) use options::add_capabilities;
pub(crate) use store::expire_uploads;

use crate::request::RequestContext;

/// Every request below `/upload/resumable`.
pub(crate) async fn respond(
    context: &Arc<RequestContext>,
    is_signed: bool,
    id: Option<&str>,
    body: Body,
) -> Response {
    let handled = dispatch(context, is_signed, id, body).await;
    let mut response = handled.unwrap_or_else(TusError::into_response);
    let version = HeaderValue::from_static(VERSION);
    response.headers_mut().insert("tus-resumable", version);
    response
}

async fn dispatch(
    context: &Arc<RequestContext>,
    is_signed: bool,
    id: Option<&str>,
    body: Body,
) -> Result<Response, TusError> {
    let method = method(&context.parts);
    if method == Method::OPTIONS {
        return Ok(options::options(context));
    }
    if !is_signed {
        permission::require_caller(context)?;
    }
    headers::check_version(context)?;
    let required_id = || id.ok_or(UploadError::NotFound);
    match method {
        Method::POST => create::create(context, is_signed, body).await,
        Method::HEAD => head::head(context, is_signed, required_id()?).await,
        Method::PATCH => patch::patch(context, is_signed, required_id()?, body).await,
        Method::DELETE => terminate::terminate(context, is_signed, required_id()?).await,
        _ => Err(UploadError::NotFound.into()),
    }
}

/// What policies read as `storage.operation()` (storage contract §10.4).
pub(crate) fn operation(parts: &Parts, is_signed: bool) -> &'static str {
    match (method(parts), is_signed) {
        (Method::POST, false) => "storage.tus.upload.create",
        (Method::POST, true) => "storage.tus.upload.create_signed",
        (Method::PATCH, false) => "storage.tus.upload.part",
        (Method::PATCH, true) => "storage.tus.upload.part_signed",
        (Method::DELETE, false) => "storage.tus.upload.delete",
        (Method::DELETE, true) => "storage.tus.upload.delete_signed",
        (Method::OPTIONS, false) => "storage.tus.options",
        (Method::OPTIONS, true) => "storage.tus.options_signed",
        (_, false) => "storage.tus.upload.get",
        (_, true) => "storage.tus.upload.get_signed",
    }
}

/// `POST` may carry another method, for clients behind proxies that do not forward it.
fn method(parts: &Parts) -> Method {
    let carried = parts.headers.get("x-http-method-override");
    let carried = carried.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    match carried {
        Some(carried) if parts.method == Method::POST => carried,
        _ => parts.method.clone(),
    }
}
