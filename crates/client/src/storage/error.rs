//! Errors of the storage service (client contract R7).

use serde_json::Value;

use super::StorageErrorCode;
use crate::auth::AuthError;
use crate::http::{HttpResponse, TransportError};

/// A failed request to the storage service.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The server rejected the request.
    #[error("{message}")]
    Api {
        /// The HTTP status. The service uses 400 for most errors; `status_code` is more precise.
        status: u16,
        /// The status in the body: `404` for a missing file.
        status_code: String,
        /// The error code.
        code: Option<StorageErrorCode>,
        /// The message.
        message: String,
    },
    /// There was no response.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The session could not be refreshed. The request is not sent anonymously instead.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The upload's source could not be read.
    #[error("the data to be uploaded cannot be read: {0}")]
    Body(String),
    /// A successful response that could not be decoded.
    #[error("the response cannot be decoded: {0}")]
    Unreadable(String),
    /// The request is invalid.
    #[error("{0}")]
    InvalidInput(&'static str),
}

impl StorageError {
    /// Whether a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Transport(_) => true,
            Self::Auth(error) => error.is_retryable(),
            Self::Api { .. } => matches!(
                self.said_status(),
                Some(408 | 423 | 429 | 500..=504 | 520..=530 | 544)
            ),
            Self::Body(_) | Self::Unreadable(_) | Self::InvalidInput(_) => false,
        }
    }

    /// The error code.
    pub fn code(&self) -> Option<&StorageErrorCode> {
        match self {
            Self::Api { code, .. } => code.as_ref(),
            _ => None,
        }
    }

    /// The HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The status in the body, else that of HTTP.
    pub(super) fn said_status(&self) -> Option<u16> {
        match self {
            Self::Api {
                status,
                status_code,
                ..
            } => Some(status_code.parse().unwrap_or(*status)),
            _ => None,
        }
    }

    /// Whether the file does not exist. A missing bucket does not count.
    pub(super) fn is_missing_file(&self) -> bool {
        match self {
            Self::Api { status, code, .. } => match code {
                Some(code) => *code == StorageErrorCode::NoSuchKey,
                None => *status == 404,
            },
            _ => false,
        }
    }

    pub(super) fn from_response(response: &HttpResponse) -> Self {
        let status = response.status;
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else {
            // Errors of resumable uploads are plain text.
            let text = response.text();
            let is_text = response
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("text/plain"));
            return Self::Api {
                status,
                status_code: status.to_string(),
                code: None,
                message: match text.trim() {
                    text if is_text && !text.is_empty() => text.to_owned(),
                    _ => reason(status),
                },
            };
        };
        let word = |name: &str| match body.get(name)? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let code = word("code");
        Self::Api {
            status,
            status_code: word("statusCode")
                .or_else(|| code.clone())
                .unwrap_or_else(|| status.to_string()),
            code: code.as_deref().map(StorageErrorCode::from),
            message: message_of(&body),
        }
    }

    pub(super) fn unreadable(why: impl ToString) -> Self {
        Self::Unreadable(why.to_string())
    }
}

fn message_of(body: &Value) -> String {
    let text = ["msg", "message", "error_description", "error"]
        .iter()
        .find_map(|name| body.get(name)?.as_str())
        .or_else(|| body.get("error")?.get("message")?.as_str());
    text.map_or_else(|| body.to_string(), str::to_owned)
}

/// The reason phrase of a status.
fn reason(status: u16) -> String {
    let known = http::StatusCode::from_u16(status).ok();
    let known = known.and_then(|status| status.canonical_reason());
    known.map_or_else(|| format!("HTTP {status} error"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(status: u16, body: &'static str) -> StorageError {
        StorageError::from_response(&HttpResponse {
            status,
            headers: Default::default(),
            body: body.into(),
        })
    }

    #[test]
    fn an_error_has_the_members_of_its_body() {
        let body = r#"{"statusCode":"404","error":"not_found","message":"m","code":"NoSuchKey"}"#;
        let StorageError::Api {
            status,
            status_code,
            code,
            message,
        } = rejected(400, body)
        else {
            panic!("another error");
        };

        assert_eq!((status, status_code.as_str()), (400, "404"));
        assert_eq!(code, Some(StorageErrorCode::NoSuchKey));
        assert_eq!(message, "m");
    }

    #[test]
    fn the_status_is_said_by_the_body_else_by_its_code_else_by_http() {
        let check = |body, expected: &str| match rejected(418, body) {
            StorageError::Api { status_code, .. } => assert_eq!(status_code, expected),
            other => panic!("{other:?}"),
        };

        check(r#"{"statusCode":"409","code":"X"}"#, "409");
        check(r#"{"statusCode":409}"#, "409");
        check(r#"{"code":"X"}"#, "X");
        check(r#"{"statusCode":""}"#, "418");
        check("[]", "418");
        check("<html>", "418");
    }

    #[test]
    fn the_message_is_found_where_servers_put_it() {
        let check = |body, expected: &str| assert_eq!(rejected(502, body).to_string(), expected);

        check(r#"{"msg":"a","message":"b"}"#, "a");
        check(r#"{"error_description":"c","error":"d"}"#, "c");
        check(r#"{"error":"d"}"#, "d");
        check(r#"{"error":{"message":"e"}}"#, "e");
        check(r#"{"x":1}"#, r#"{"x":1}"#);
        check("<html>", "Bad Gateway");
        check("", "Bad Gateway");
    }

    #[test]
    fn transient_errors_are_retryable() {
        assert!(rejected(400, r#"{"statusCode":"503","code":"LockTimeout"}"#).is_retryable());
        assert!(rejected(429, r#"{"code":"SlowDown"}"#).is_retryable());
        assert!(rejected(544, "").is_retryable());
        assert!(StorageError::from(TransportError::new("lost")).is_retryable());
        assert!(!rejected(400, r#"{"statusCode":"404"}"#).is_retryable());
        assert!(!rejected(403, "").is_retryable());
    }

    #[test]
    fn a_missing_file_is_distinguished_from_a_missing_bucket() {
        assert!(rejected(400, r#"{"code":"NoSuchKey"}"#).is_missing_file());
        assert!(rejected(404, "").is_missing_file());
        assert!(!rejected(400, r#"{"code":"NoSuchBucket"}"#).is_missing_file());
        assert!(!rejected(404, r#"{"code":"NoSuchBucket"}"#).is_missing_file());
        assert!(!rejected(400, "").is_missing_file());
    }
}
