//! Everything that can go wrong with accounts and sessions (client contract §1.15).

use std::time::Duration;

use serde_json::Value;

use super::ErrorCode;
use crate::http::{Answer, TransportError};
use crate::project_url::InvalidProjectUrl;
use crate::store::StoreError;

/// A failed call to the auth service, or a session that is not as it should be.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The server refused.
    #[error("{message}")]
    Api {
        /// The HTTP status.
        status: u16,
        /// Why, in one word.
        code: Option<ErrorCode>,
        /// Why, for people.
        message: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server could not be reached (status 0), or is in trouble for the moment.
    #[error("{message}")]
    Retryable {
        /// The HTTP status, 0 where there was no answer.
        status: u16,
        /// What happened.
        message: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server refused without saying why in a form that can be read.
    #[error("{message}")]
    Unknown {
        /// The HTTP status.
        status: u16,
        /// What came instead of an answer.
        message: String,
    },
    /// Nobody is signed in, or the server has ended the session.
    #[error("Auth session missing!")]
    SessionMissing,
    /// The server answered well, but without the session or the user that was due.
    #[error("Auth session or user missing")]
    InvalidTokenResponse,
    /// The call lacks something, for example both an e-mail address and a phone number.
    #[error("{0}")]
    InvalidInput(&'static str),
    /// The page that the user was sent to says that signing in failed.
    #[error("{message}")]
    Redirect {
        /// `error` of the URL, or `unspecified_error`.
        error: String,
        /// `error_code` of the URL, or `unspecified_code`.
        code: String,
        /// `error_description` of the URL.
        message: String,
    },
    /// The URL carries no code, or one of a flow that this client does not use.
    #[error("{0}")]
    CodeExchange(&'static str),
    /// The secret with which the sign-in began is not in the store (S53).
    #[error(
        "PKCE code verifier not found in storage: the sign-in was started by another client, \
         or its store was cleared"
    )]
    VerifierMissing,
    /// While the session was being refreshed, the user signed out or another session came (S28).
    #[error("The refreshed session was discarded because the stored session changed meanwhile")]
    RefreshDiscarded,
    /// Another ceremony with a security key began before this one had ended (S74).
    #[error("The ceremony was aborted because another one began")]
    CeremonyAborted,
    /// The password is too easy to guess.
    #[error("{message}")]
    WeakPassword {
        /// The HTTP status.
        status: u16,
        /// What is wrong, for people.
        message: String,
        /// `length`, `characters`, `pwned`.
        reasons: Vec<String>,
    },
    /// A token that is malformed, expired or not genuine.
    #[error("{0}")]
    InvalidJwt(String),
    /// The session could not be read from or written to its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project's URL cannot be used.
    #[error(transparent)]
    Url(#[from] InvalidProjectUrl),
}

/// What is infrastructure trouble, not an answer of the service (S26).
pub(crate) fn is_retryable_status(status: u16) -> bool {
    matches!(status, 500..=504 | 520..=530)
}

impl AuthError {
    /// Whether the same call may succeed in a moment.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Retryable { .. })
    }

    /// Whether a refresh that failed like this means that the session is over. Rate limits do not
    /// (S34).
    pub fn ends_session(&self) -> bool {
        !self.is_retryable()
            && self.status() != Some(429)
            && !matches!(
                self,
                Self::Store(_) | Self::RefreshDiscarded | Self::CeremonyAborted
            )
    }

    /// Whether a sign-out that failed like this has nothing left to end: the server does not know
    /// the session any more (S66).
    pub fn means_signed_out(&self) -> bool {
        matches!(self, Self::SessionMissing) || matches!(self.status(), Some(401 | 403 | 404))
    }

    /// Why, in one word.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Api { code, .. } => code.clone(),
            Self::WeakPassword { .. } => Some(ErrorCode::WeakPassword),
            Self::VerifierMissing => Some(ErrorCode::PkceCodeVerifierNotFound),
            Self::InvalidJwt(_) => Some(ErrorCode::InvalidJwt),
            _ => None,
        }
    }

    /// The HTTP status, or the one that JavaScript clients give the same failure.
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

    /// How long the server asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api { retry_after, .. } | Self::Retryable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What went wrong, for logs. The server's own sentences stay out of them: some repeat what
    /// they are about, and that may be a credential (S35).
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

    /// What a failed answer means (S26, S83).
    pub(crate) fn from_answer(answer: &Answer) -> Self {
        let (status, retry_after) = (answer.status, answer.retry_after());
        if is_retryable_status(status) {
            return Self::Retryable {
                status,
                message: infrastructure_text(answer),
                retry_after,
            };
        }
        let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
            return Self::Unknown {
                status,
                message: infrastructure_text(answer),
            };
        };
        let message = message_of(&body);
        let code = code_of(&body, answer.header("x-supabase-api-version"));
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

    /// A good answer that cannot be read.
    pub(crate) fn unreadable() -> Self {
        Self::Retryable {
            status: 0,
            message: "The server's answer is not JSON".to_owned(),
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

/// Since 2024 the word stands in `code`, where earlier answers have the status; the header tells
/// them apart.
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

/// Proxies answer with pages; only what is JSON has words worth repeating.
fn infrastructure_text(answer: &Answer) -> String {
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) if body.is_object() => message_of(&body),
        _ => format!("The server answered with status {}", answer.status),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn answer(status: u16, version: Option<&'static str>, body: &'static str) -> AuthError {
        let mut headers = HeaderMap::new();
        if let Some(version) = version {
            headers.insert("x-supabase-api-version", HeaderValue::from_static(version));
        }
        AuthError::from_answer(&Answer {
            status,
            headers,
            body: Bytes::from_static(body.as_bytes()),
        })
    }

    #[test]
    fn the_first_text_of_four_is_the_message() {
        let check = |body: &'static str, expected: &str| {
            assert_eq!(answer(400, None, body).to_string(), expected);
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
        let code = |version, body| answer(400, version, body).code();

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
    fn s26_infrastructure_trouble_is_retryable_and_nothing_else() {
        for status in [500, 501, 502, 503, 504, 520, 525, 530] {
            assert!(answer(status, None, "{}").is_retryable(), "{status}");
        }
        for status in [400, 401, 403, 404, 408, 422, 429, 505, 519, 531, 599] {
            assert!(!answer(status, None, "{}").is_retryable(), "{status}");
        }
        assert!(AuthError::from(TransportError::new("lost")).is_retryable());
    }

    #[test]
    fn weak_passwords_are_told_by_code_or_by_reasons() {
        let reasons = |error: AuthError| match error {
            AuthError::WeakPassword { reasons, .. } => reasons,
            other => panic!("{other:?}"),
        };

        let by_code = answer(
            422,
            None,
            r#"{"error_code":"weak_password","msg":"m","weak_password":{"reasons":["length"]}}"#,
        );
        assert_eq!(by_code.code(), Some(ErrorCode::WeakPassword));
        assert_eq!(reasons(by_code), ["length"]);
        let by_reasons = r#"{"weak_password":{"reasons":["pwned","characters"]}}"#;
        assert_eq!(
            reasons(answer(422, None, by_reasons)),
            ["pwned", "characters"]
        );
        let with_other_code =
            r#"{"error_code":"same_password","weak_password":{"reasons":["length"]}}"#;
        assert_eq!(
            answer(422, None, with_other_code).code(),
            Some(ErrorCode::SamePassword)
        );
    }

    #[test]
    fn an_ended_session_is_a_missing_one() {
        let error = answer(403, None, r#"{"error_code":"session_not_found"}"#);

        assert!(matches!(error, AuthError::SessionMissing));
        assert_eq!(error.status(), Some(400));
    }

    #[test]
    fn what_is_not_json_is_unknown() {
        let error = answer(404, None, "<html>");

        assert!(
            matches!(error, AuthError::Unknown { status: 404, .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("html"));
    }

    #[test]
    fn s66_a_session_that_is_gone_needs_no_sign_out() {
        for status in [401, 403, 404] {
            assert!(answer(status, None, "{}").means_signed_out(), "{status}");
        }
        assert!(AuthError::SessionMissing.means_signed_out());
        for status in [400, 429, 500, 503] {
            assert!(!answer(status, None, "{}").means_signed_out(), "{status}");
        }
    }

    #[test]
    fn s34_a_rate_limit_does_not_end_a_session() {
        assert!(!answer(429, None, "{}").ends_session());
        assert!(!answer(503, None, "{}").ends_session());
        assert!(answer(400, None, "{}").ends_session());
        assert!(answer(404, None, "<html>").ends_session());
        assert!(!AuthError::RefreshDiscarded.ends_session());
    }
}
