//! Errors of auth and sessions (client contract §1.15).

use std::time::Duration;

use serde_json::Value;

use super::ErrorCode;
use crate::http::{HttpResponse, TransportError};
use crate::project_url::InvalidProjectUrl;
use crate::store::StoreError;

/// A failed call to the auth service, or an invalid session.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The server rejected the request.
    #[error("{message}")]
    Api {
        /// The HTTP status.
        status: u16,
        /// The error code.
        code: Option<ErrorCode>,
        /// The error message.
        message: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The server could not be reached (status 0), or failed temporarily.
    #[error("{message}")]
    Retryable {
        /// The HTTP status, 0 without a response.
        status: u16,
        /// The error message.
        message: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The server rejected the request with an unreadable body.
    #[error("{message}")]
    Unknown {
        /// The HTTP status.
        status: u16,
        /// What was received.
        message: String,
    },
    /// Not signed in, or the server has ended the session.
    #[error("Auth session missing!")]
    SessionMissing,
    /// A successful response without the expected session or user.
    #[error("Auth session or user missing")]
    InvalidTokenResponse,
    /// An invalid call, for example without e-mail address and phone number.
    #[error("{0}")]
    InvalidInput(&'static str),
    /// The redirect URL reports a failed sign-in.
    #[error("{message}")]
    Redirect {
        /// `error` of the URL, or `unspecified_error`.
        error: String,
        /// `error_code` of the URL, or `unspecified_code`.
        code: String,
        /// `error_description` of the URL.
        message: String,
    },
    /// The redirect URL has no code, or one of a flow that this client does not support.
    #[error("{0}")]
    CodeExchange(&'static str),
    /// The PKCE verifier of the sign-in is not in the store (S53).
    #[error(
        "PKCE code verifier not found in storage: the sign-in was started by another client, \
         or its store was cleared"
    )]
    VerifierMissing,
    /// During the refresh the user signed out or another session was stored (S28).
    #[error("The refreshed session was discarded because the stored session changed meanwhile")]
    RefreshDiscarded,
    /// Another WebAuthn ceremony was started (S74).
    #[error("The ceremony was aborted because another one began")]
    CeremonyAborted,
    /// The password is too weak.
    #[error("{message}")]
    WeakPassword {
        /// The HTTP status.
        status: u16,
        /// The error message.
        message: String,
        /// `length`, `characters`, `pwned`.
        reasons: Vec<String>,
    },
    /// A malformed, expired or forged token.
    #[error("{0}")]
    InvalidJwt(String),
    /// The session store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project's URL is invalid.
    #[error(transparent)]
    Url(#[from] InvalidProjectUrl),
}

/// Whether it is an infrastructure error rather than a response of the service (S26).
pub(crate) fn is_retryable_status(status: u16) -> bool {
    matches!(status, 500..=504 | 520..=530)
}

impl AuthError {
    /// Whether a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Retryable { .. })
    }

    /// Whether a refresh that failed with this means that the session has ended. Rate limits do not (S34).
    pub fn ends_session(&self) -> bool {
        !self.is_retryable()
            && self.status() != Some(429)
            && !matches!(
                self,
                Self::Store(_) | Self::RefreshDiscarded | Self::CeremonyAborted
            )
    }

    /// Whether a sign-out that failed with this counts as done: the server does not know the session any more
    /// (S66).
    pub fn means_signed_out(&self) -> bool {
        matches!(self, Self::SessionMissing) || matches!(self.status(), Some(401 | 403 | 404))
    }

    /// The error code.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Api { code, .. } => code.clone(),
            Self::WeakPassword { .. } => Some(ErrorCode::WeakPassword),
            Self::VerifierMissing => Some(ErrorCode::PkceCodeVerifierNotFound),
            Self::InvalidJwt(_) => Some(ErrorCode::InvalidJwt),
            _ => None,
        }
    }

    /// The HTTP status, or the one that JavaScript clients use for the same error.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api { status, .. }
            | Self::Retryable { status, .. }
            | Self::WeakPassword { status, .. }
            | Self::Unknown { status, .. } => Some(*status),
            Self::SessionMissing
            | Self::InvalidInput(_)
            | Self::VerifierMissing
            | Self::InvalidJwt(_) => Some(400),
            Self::InvalidTokenResponse | Self::Redirect { .. } | Self::CodeExchange(_) => Some(500),
            Self::RefreshDiscarded => Some(409),
            Self::CeremonyAborted | Self::Store(_) | Self::Url(_) => None,
        }
    }

    /// The server's `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api { retry_after, .. } | Self::Retryable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// A message for logs, without the server's text: that may repeat its input, and so a credential (S35).
    pub(crate) fn for_logs(&self) -> String {
        match self {
            Self::Api {
                code: Some(code),
                status,
                ..
            } => format!("{} (status {status})", code.as_str()),
            Self::Api { status, .. }
            | Self::Unknown { status, .. }
            | Self::WeakPassword { status, .. }
            | Self::Retryable {
                status: status @ 1..,
                ..
            } => format!("status {status}"),
            Self::Redirect { code, .. } => code.clone(),
            ours => ours.to_string(),
        }
    }

    /// Interprets an error response (S26, S83).
    pub(crate) fn from_response(response: &HttpResponse) -> Self {
        let (status, retry_after) = (response.status, response.retry_after());
        if is_retryable_status(status) {
            return Self::Retryable {
                status,
                message: infrastructure_text(response),
                retry_after,
            };
        }
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else {
            return Self::Unknown {
                status,
                message: infrastructure_text(response),
            };
        };
        let message = message_of(&body);
        let code = code_of(&body, response.header("x-supabase-api-version"));
        let reasons = reasons_of(&body);
        match code {
            Some(ErrorCode::SessionNotFound) => Self::SessionMissing,
            Some(ErrorCode::WeakPassword) => Self::WeakPassword {
                status,
                message,
                reasons: reasons.unwrap_or_default(),
            },
            None if reasons.is_some() => Self::WeakPassword {
                status,
                message,
                reasons: reasons.unwrap_or_default(),
            },
            code => Self::Api {
                status,
                code,
                message,
                retry_after,
            },
        }
    }

    /// A successful response that cannot be parsed.
    pub(crate) fn unreadable() -> Self {
        Self::Retryable {
            status: 0,
            message: "The server's response is not JSON".to_owned(),
            retry_after: None,
        }
    }
}

impl From<TransportError> for AuthError {
    fn from(error: TransportError) -> Self {
        Self::Retryable {
            status: 0,
            message: error.to_string(),
            retry_after: None,
        }
    }
}

fn message_of(body: &Value) -> String {
    ["msg", "message", "error_description", "error"]
        .iter()
        .find_map(|name| body.get(name)?.as_str())
        .map_or_else(|| body.to_string(), str::to_owned)
}

/// Since 2024 the error code is in `code`, where earlier responses have the status; the version header
/// distinguishes them.
fn code_of(body: &Value, version: Option<&str>) -> Option<ErrorCode> {
    let member = |name: &str| body.get(name).and_then(Value::as_str);
    let is_dated = version.is_some_and(|version| is_date(version) && version >= "2024-01-01");
    let code = if is_dated { member("code") } else { None };
    code.or_else(|| member("error_code")).map(ErrorCode::from)
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn reasons_of(body: &Value) -> Option<Vec<String>> {
    let reasons = body.get("weak_password")?.get("reasons")?.as_array()?;
    let reasons: Option<Vec<String>> = reasons
        .iter()
        .map(|reason| reason.as_str().map(str::to_owned))
        .collect();
    reasons.filter(|reasons| !reasons.is_empty())
}

/// Proxies respond with HTML; only JSON messages are repeated.
fn infrastructure_text(response: &HttpResponse) -> String {
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(body) if body.is_object() => message_of(&body),
        _ => format!("The server responded with status {}", response.status),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn response(status: u16, version: Option<&'static str>, body: &'static str) -> AuthError {
        let mut headers = HeaderMap::new();
        if let Some(version) = version {
            headers.insert("x-supabase-api-version", HeaderValue::from_static(version));
        }
        AuthError::from_response(&HttpResponse {
            status,
            headers,
            body: Bytes::from_static(body.as_bytes()),
        })
    }

    #[test]
    fn the_first_text_of_four_is_the_message() {
        let check = |body: &'static str, expected: &str| {
            assert_eq!(response(400, None, body).to_string(), expected);
        };

        check(
            r#"{"error":"d","error_description":"c","message":"b","msg":"a"}"#,
            "a",
        );
        check(
            r#"{"error":"d","error_description":"c","message":"b","msg":1}"#,
            "b",
        );
        check(r#"{"error":"d","error_description":"c"}"#, "c");
        check(r#"{"error":"d"}"#, "d");
        check(r#"{"x":1}"#, r#"{"x":1}"#);
    }

    #[test]
    fn the_code_is_where_the_version_says() {
        let code = |version, body| response(400, version, body).code();

        let both = r#"{"code":"bad_jwt","error_code":"user_banned"}"#;
        assert_eq!(code(Some("2024-01-01"), both), Some(ErrorCode::BadJwt));
        assert_eq!(code(Some("2031-12-31"), both), Some(ErrorCode::BadJwt));
        assert_eq!(code(Some("2023-12-31"), both), Some(ErrorCode::UserBanned));
        assert_eq!(code(Some("soon"), both), Some(ErrorCode::UserBanned));
        assert_eq!(code(None, both), Some(ErrorCode::UserBanned));
        assert_eq!(code(None, r#"{"code":"bad_jwt"}"#), None);
        assert_eq!(code(Some("2024-01-01"), r#"{"code":400}"#), None);
    }

    #[test]
    fn s26_infrastructure_errors_are_retryable_and_nothing_else() {
        for status in [500, 501, 502, 503, 504, 520, 525, 530] {
            assert!(response(status, None, "{}").is_retryable(), "{status}");
        }
        for status in [400, 401, 403, 404, 408, 422, 429, 505, 519, 531, 599] {
            assert!(!response(status, None, "{}").is_retryable(), "{status}");
        }
        assert!(AuthError::from(TransportError::new("lost")).is_retryable());
    }

    #[test]
    fn weak_passwords_are_recognised_by_code_or_by_reasons() {
        let reasons = |error: AuthError| match error {
            AuthError::WeakPassword { reasons, .. } => reasons,
            other => panic!("{other:?}"),
        };

        let by_code = response(
            422,
            None,
            r#"{"error_code":"weak_password","msg":"m","weak_password":{"reasons":["length"]}}"#,
        );
        assert_eq!(by_code.code(), Some(ErrorCode::WeakPassword));
        assert_eq!(reasons(by_code), ["length"]);
        let by_reasons = r#"{"weak_password":{"reasons":["pwned","characters"]}}"#;
        assert_eq!(
            reasons(response(422, None, by_reasons)),
            ["pwned", "characters"]
        );
        let with_other_code =
            r#"{"error_code":"same_password","weak_password":{"reasons":["length"]}}"#;
        assert_eq!(
            response(422, None, with_other_code).code(),
            Some(ErrorCode::SamePassword)
        );
    }

    #[test]
    fn an_ended_session_is_a_missing_one() {
        let error = response(403, None, r#"{"error_code":"session_not_found"}"#);

        assert!(matches!(error, AuthError::SessionMissing));
        assert_eq!(error.status(), Some(400));
    }

    #[test]
    fn what_is_not_json_is_unknown() {
        let error = response(404, None, "<html>");

        assert!(
            matches!(error, AuthError::Unknown { status: 404, .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("html"));
    }

    #[test]
    fn s66_a_session_that_is_gone_needs_no_sign_out() {
        for status in [401, 403, 404] {
            assert!(response(status, None, "{}").means_signed_out(), "{status}");
        }
        assert!(AuthError::SessionMissing.means_signed_out());
        for status in [400, 429, 500, 503] {
            assert!(!response(status, None, "{}").means_signed_out(), "{status}");
        }
    }

    #[test]
    fn s34_a_rate_limit_does_not_end_a_session() {
        assert!(!response(429, None, "{}").ends_session());
        assert!(!response(503, None, "{}").ends_session());
        assert!(response(400, None, "{}").ends_session());
        assert!(response(404, None, "<html>").ends_session());
        assert!(!AuthError::RefreshDiscarded.ends_session());
    }
}
