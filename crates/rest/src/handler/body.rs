//! Reads a request's body, up to a limit.

use std::error::Error;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use plinth_project::BodyLimit;

use crate::RestError;

/// The body limit where no gateway sets one.
const MAX_BODY_BYTES: usize = 50 << 20;

/// Behind a gateway the body carries its limit already ([`BodyLimit`]); standalone, this sets it.
pub(super) async fn read_body(parts: &Parts, body: Body) -> Result<Bytes, RestError> {
    let Some(limit) = parts.extensions.get::<BodyLimit>() else {
        let limited = Limited::new(body, MAX_BODY_BYTES).collect().await;
        return limited.map(Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                RestError::BodyTooLarge(MAX_BODY_BYTES as u64)
            } else {
                unreadable(&*error)
            }
        });
    };
    let collected = body.collect().await;
    collected.map(Collected::to_bytes).map_err(|error| {
        if limit.is_exceeded() {
            RestError::BodyTooLarge(limit.max_bytes())
        } else {
            unreadable(&error)
        }
    })
}

fn unreadable(error: &dyn Error) -> RestError {
    RestError::UnreadableBody(error.to_string())
}
