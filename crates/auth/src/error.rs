//! Every failure the auth service can answer with, in both versions of the error body
//! (auth contract §1.3).

use std::{borrow::Cow, sync::Arc};

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_db::{DbError, PgError};
use plinth_project::RequestId;
use serde_json::{Value, json};

pub(crate) use crate::code::Code;

/// A failure: status, code and text, and what else its body holds. [`render_errors`] makes bytes
/// of it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct AuthError {
    status: StatusCode,
    code: Code,
    message: Cow<'static, str>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Plain,
    /// Reasons why a password is too weak.
    WeakPassword(Vec<&'static str>),
    /// The body that OAuth has for errors, in every version.
    OAuth(&'static str),
    /// What a user's trigger or constraint said, shown to callers of the old version only.
    Database(Box<PgError>),
    /// Our fault: the cause goes to the log, never to the client.
    Internal(String),
}

impl AuthError {
    /// A failure of the caller's.
    pub(crate) fn new(status: u16, code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            message: message.into(),
            kind: Kind::Plain,
        }
    }

    /// 400 `validation_failed`.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, Code::ValidationFailed, message)
    }

    /// 404 `validation_failed`: an id in the path that cannot be one.
    pub(crate) fn bad_path_id(what: &'static str) -> Self {
        Self::new(
            404,
            Code::ValidationFailed,
            format!("{what} must be a UUID"),
        )
    }

    /// 422 `weak_password` with its reasons.
    pub(crate) fn weak_password(message: String, reasons: Vec<&'static str>) -> Self {
        Self {
            kind: Kind::WeakPassword(reasons),
            ..Self::new(422, Code::WeakPassword, message)
        }
    }

    /// 400 in the form that OAuth has.
    pub(crate) fn oauth(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: Kind::OAuth(error),
            ..Self::new(400, Code::Unknown, description)
        }
    }

    /// Our own fault; `message` is what the client sees, `cause` what the log does.
    pub(crate) fn internal(message: impl Into<Cow<'static, str>>, cause: impl ToString) -> Self {
        Self {
            kind: Kind::Internal(cause.to_string()),
            ..Self::new(500, Code::UnexpectedFailure, message)
        }
    }

    /// A failure of the database while doing `what`; users' own triggers and constraints are told
    /// apart from trouble of ours.
    pub(crate) fn database(what: &'static str, error: DbError) -> Self {
        let DbError::Postgres(refusal) = error else {
            return error.into();
        };
        if let Some(reason) = unstorable(refusal.sqlstate()) {
            return Self::invalid(reason);
        }
        match raised_status(refusal.sqlstate()) {
            Some(500) => Self {
                kind: Kind::Database(refusal),
                ..Self::new(500, Code::UnexpectedFailure, what)
            },
            Some(status) => Self {
                kind: Kind::Database(refusal),
                ..Self::new(status, Code::Unknown, what)
            },
            None => Self::internal(what, refusal),
        }
    }

    /// The same with another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Tells the log about a fault of ours, or of a user's trigger; for whoever makes the answer.
    pub(crate) fn log(&self) {
        match &self.kind {
            Kind::Internal(cause) => {
                tracing::error!(error = %cause, "an auth request failed: {cause}");
            }
            Kind::Database(refusal) if self.status.is_server_error() => {
                tracing::warn!(error = %refusal, "the database refused a request: {refusal}");
            }
            _ => {}
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether the body has the form of OAuth's errors.
    pub(crate) fn is_oauth(&self) -> bool {
        matches!(self.kind, Kind::OAuth(_))
    }

    /// The code of the body.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// What the log is told of a failure of ours.
    pub(crate) fn cause(&self) -> Option<&str> {
        match &self.kind {
            Kind::Internal(cause) => Some(cause),
            _ => None,
        }
    }
}

/// What was sent is good JSON, and yet no column can hold it.
fn unstorable(sqlstate: &str) -> Option<&'static str> {
    match sqlstate {
        "22021" | "22P05" => Some("Texts must not contain the NUL character"),
        "22001" => Some("A text is longer than its column"),
        _ => None,
    }
}

/// Which SQLSTATEs are a user's own, and what they come to.
fn raised_status(sqlstate: &str) -> Option<u16> {
    match sqlstate {
        "P0001" | "23000" | "23001" | "23502" | "23503" | "23505" | "23514" | "23P01" => Some(500),
        _ => {
            let status: u16 = sqlstate.strip_prefix("PT")?.parse().ok()?;
            (400..=599).contains(&status).then_some(status)
        }
    }
}

impl From<DbError> for AuthError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Unavailable(cause)
            | DbError::Full(cause)
            | DbError::NotReady(cause)
            | DbError::Lost(cause) => Self {
                kind: Kind::Internal(cause),
                ..Self::new(
                    503,
                    Code::UnexpectedFailure,
                    "The database cannot be reached",
                )
            },
            DbError::PoolTimeout => Self::new(
                504,
                Code::RequestTimeout,
                "Timed out waiting for the database",
            ),
            DbError::Postgres(_) => Self::database("Unexpected failure", error),
            DbError::Misuse(_) => Self::internal("Unexpected failure", error),
        }
    }
}

impl IntoResponse for AuthError {
    /// Carries the error to [`render_errors`], which knows the caller's API version.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// The one place where an auth error becomes bytes, and the one that logs it.
pub(crate) async fn render_errors(request: Request, next: Next) -> Response {
    let is_dated = is_dated_version(request.headers());
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .map(RequestId::to_string);
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<Arc<AuthError>>() else {
        return response;
    };
    error.log();
    let code_header = [("x-sb-error-code", error.code.as_str())];
    let body = Json(error.body(is_dated, request_id));
    let mut rendered = (error.status, code_header, body).into_response();
    if is_dated && !matches!(error.kind, Kind::OAuth(_)) {
        let version = http::HeaderValue::from_static("2024-01-01");
        rendered
            .headers_mut()
            .insert("x-supabase-api-version", version);
    }
    if error.status == StatusCode::SERVICE_UNAVAILABLE {
        let seconds = http::HeaderValue::from_static("1");
        rendered
            .headers_mut()
            .insert(http::header::RETRY_AFTER, seconds);
    }
    rendered
}

impl AuthError {
    fn body(&self, is_dated: bool, request_id: Option<String>) -> Value {
        let message = &self.message;
        let mut body = match (&self.kind, is_dated) {
            (Kind::OAuth(error), _) => {
                return json!({ "error": error, "error_description": message });
            }
            (Kind::Database(db), false) => {
                let mut body = json!({ "code": db.sqlstate(), "message": db.message });
                for (key, value) in [("hint", &db.hint), ("detail", &db.detail)] {
                    if let Some(value) = value {
                        body[key] = value.as_str().into();
                    }
                }
                return body;
            }
            (_, true) => json!({ "code": self.code.as_str(), "message": message }),
            (_, false) => json!({
                "code": self.status.as_u16(), "error_code": self.code.as_str(), "msg": message,
            }),
        };
        if let Kind::WeakPassword(reasons) = &self.kind {
            body["weak_password"] = json!({ "reasons": reasons });
        }
        if let Some(id) = request_id.filter(|_| !is_dated && self.status.is_server_error()) {
            body["error_id"] = id.into();
        }
        body
    }
}

/// `X-Supabase-Api-Version: YYYY-MM-DD`, from 2024-01-01 on. ISO dates compare as texts.
fn is_dated_version(headers: &HeaderMap) -> bool {
    let version = headers
        .get("x-supabase-api-version")
        .and_then(|value| value.to_str().ok());
    version.is_some_and(|text| is_date(text) && text >= "2024-01-01")
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
