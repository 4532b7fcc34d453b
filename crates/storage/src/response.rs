//! Responses that many endpoints share.

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, header::CONTENT_TYPE};
use plinth_db::Row;
use serde_json::json;

/// `{"message":…}`
pub(crate) fn message(text: &str) -> Response {
    Json(json!({ "message": text })).into_response()
}

/// JSON that PostgreSQL has rendered, unchanged.
pub(crate) fn raw_json(bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// A text column of the first row, without a copy.
pub(crate) fn json_bytes(rows: &[Row], column: &str) -> Bytes {
    let bytes = rows.first().and_then(|row| row.raw(column));
    bytes.unwrap_or_default()
}
