//! Reading request bodies.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::{
    body_timeout::TooSlow,
    fields::{Fields, MAX_JSON_BYTES},
};
use crate::error::{Code, StorageError};

/// The next bytes of a body; trailers are skipped.
pub(crate) async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, StorageError> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(body_error)?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Why a body could not be read to its end. The message of a timeout is that of S3.
fn body_error(error: axum::Error) -> StorageError {
    let error = error.into_inner();
    if error.is::<TooSlow>() {
        let message = "Your socket connection to the server was not read from or written to \
                           within the timeout period. Idle connections will be closed.";
        StorageError::new(Code::RequestTimeout, 400, message)
    } else {
        body_aborted(error)
    }
}

/// Reads the fields of a small JSON body.
pub(crate) async fn read_fields(body: Body) -> Result<Fields, StorageError> {
    Fields::from_body(&read_small_body(body).await?)
}

/// Reads a small body at once.
pub(crate) async fn read_small_body(body: Body) -> Result<Bytes, StorageError> {
    match Limited::new(body, MAX_JSON_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(
                StorageError::new(Code::EntityTooLarge, 413, "Request body is too large")
                    .with_label("FastifyError")
                    .with_status_in_rest(),
            )
        }
        Err(error) => Err(body_aborted(error)),
    }
}

/// The client disconnected, or the body is not as long as announced.
pub(crate) fn body_aborted(error: impl ToString) -> StorageError {
    StorageError::invalid_request(format!(
        "The request's body ended early: {}",
        error.to_string()
    ))
}

/// Closes the connection after the response: the rest of the request body will not be read.
pub(crate) fn close_connection(mut response: Response) -> Response {
    let close = http::HeaderValue::from_static("close");
    response
        .headers_mut()
        .insert(http::header::CONNECTION, close);
    response
}
