//! Errors below `/pg`: the members of the platform API, and `error`, which clients of postgres-meta
//! read.

use axum::{
    Json,
    body::{Body, to_bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    PlatformError,
    catalog::{CatalogError, DatabaseFailure},
};

/// Our own error bodies are far smaller.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

/// A request failed.
#[derive(Debug)]
pub(super) struct PgFailure(CatalogError);

impl<E: Into<CatalogError>> From<E> for PgFailure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// An error of PostgreSQL: its `code` is the SQLSTATE.
#[derive(Serialize)]
struct RejectedBody<'a> {
    error: &'a str,
    #[serde(flatten)]
    failure: &'a DatabaseFailure,
}

impl IntoResponse for PgFailure {
    fn into_response(self) -> Response {
        match self.0 {
            CatalogError::Platform(error) => error.into_response(),
            CatalogError::Rejected(failure) => {
                let body = RejectedBody {
                    error: &failure.message,
                    failure: &failure,
                };
                (status(&failure.code), Json(body)).into_response()
            }
            error @ CatalogError::Changing => {
                PlatformError::Conflict(error.to_string()).into_response()
            }
        }
    }
}

/// 400 as postgres-meta has it, but where HTTP has a word for it.
fn status(sqlstate: &str) -> StatusCode {
    match sqlstate {
        "42501" => StatusCode::FORBIDDEN,
        // A timeout of the statement.
        "57014" => StatusCode::REQUEST_TIMEOUT,
        // Locked; dependent objects; names that are taken.
        "55P03" | "40P01" | "2BP01" | "42P07" | "42710" | "42701" | "42P06" | "42723" => {
            StatusCode::CONFLICT
        }
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Adds `error` to the bodies of errors that have none.
pub(super) async fn with_error_member(response: Response) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_ERROR_BYTES).await else {
        return PlatformError::internal("an error body is too long").into_response();
    };
    let mut value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let Value::Object(members) = &mut value else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    if let Some(message) = members.get("message").cloned() {
        members.entry("error").or_insert(message);
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(value.to_string()))
}
