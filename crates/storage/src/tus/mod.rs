//! Uploads that may stop and go on, by the protocol TUS 1.0.0 (storage contract §5).
//!
//! `store.rs` keeps what is known of an upload in Postgres, `lease.rs` sees to it that one request
//! at a time writes to it, and `receive.rs` brings bytes to their end. One file for each method.

mod create;
mod headers;
mod lease;
mod metadata;
mod offer;
mod proceed;
mod receive;
mod refusal;
mod right;
mod store;
mod tell;
mod terminate;
mod upload_id;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, request::Parts};

pub(crate) use offer::offer;
use refusal::Refusal;
pub(crate) use store::give_up_expired;

use crate::request::Context;

const VERSION: &str = "1.0.0";

/// Answers every request below `/upload/resumable`.
pub(crate) async fn respond(
    context: &Arc<Context>,
    is_signed: bool,
    id: Option<&str>,
    body: Body,
) -> Response {
    let answer = answer(context, is_signed, id, body).await;
    let mut response = answer.unwrap_or_else(Refusal::into_response);
    let version = HeaderValue::from_static(VERSION);
    response.headers_mut().insert("tus-resumable", version);
    response
}

async fn answer(
    context: &Arc<Context>,
    is_signed: bool,
    id: Option<&str>,
    body: Body,
) -> Result<Response, Refusal> {
    let method = method(&context.parts);
    if method == Method::OPTIONS {
        return Ok(offer::options(context));
    }
    if !is_signed {
        right::require_caller(context)?;
    }
    headers::check_version(context)?;
    let named = || id.ok_or_else(refusal::no_such_upload);
    match method {
        Method::POST => create::create(context, is_signed, body).await,
        Method::HEAD => tell::tell(context, is_signed, named()?).await,
        Method::PATCH => proceed::proceed(context, is_signed, named()?, body).await,
        Method::DELETE => terminate::terminate(context, is_signed, named()?).await,
        _ => Err(refusal::no_such_upload().into()),
    }
}

/// What policies are told that a request does (storage contract §10.4).
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

/// Where something between cannot pass on a method, clients send `POST` and say what they mean.
fn method(parts: &Parts) -> Method {
    let meant = parts.headers.get("x-http-method-override");
    let meant = meant.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    match meant {
        Some(meant) if parts.method == Method::POST => meant,
        _ => parts.method.clone(),
    }
}
