//! Hooks: what the service says when a hook fails, and what a hook says itself.

use http::StatusCode;
use plinth_db::DbError;

use super::{AuthError, Code, errors, internal_errors};

errors! {
    hook_timeout(seconds: u64) => 422 HookTimeout,
        format!("Failed to reach hook within maximum time of {seconds} seconds");
    hook_unreachable() => 422 HookTimeoutAfterRetry, "Failed to reach hook after maximum retries";
    hook_response_too_large(max_bytes: usize) => 422 HookPayloadOverSizeLimit,
        format!("Payload size exceeded size limit of {max_bytes} bytes");
    hook_content_type_missing() => 400 HookPayloadInvalidContentType,
        "Invalid Content-Type: Missing Content-Type header";
    hook_content_type_invalid(content_type: &str) => 400 HookPayloadInvalidContentType,
        format!("Invalid JSON response. Received content-type: {content_type}");

    hook_unavailable() => 500 UnexpectedFailure, "Service currently unavailable due to hook";
    hook_rejected_payload() => 500 UnexpectedFailure, "Invalid payload sent to hook";
    hook_unauthorized() => 500 UnexpectedFailure, "Hook requires authorization token";
    hook_status_unexpected(status: StatusCode) => 500 UnexpectedFailure,
        format!("Unexpected status code returned from hook: {}", status.as_u16());
    hook_claims_missing() => 500 UnexpectedFailure, "output claims field is missing";
    hook_claims_not_object() => 500 UnexpectedFailure, "output claims field is not an object";
    hook_claims_invalid(problems: &str) => 500 UnexpectedFailure,
        format!("output claims do not conform to the expected schema: \n{problems}");
}

internal_errors! {
    hook_not_callable => "The hook cannot be called";
    reading_hook_response_failed => "The hook's response could not be read";
    hook_response_malformed => "Error unmarshaling JSON output.";
}

/// Failures of a hook that may not happen again.
const RETRYABLE: [Code; 4] = [
    Code::HookTimeout,
    Code::HookTimeoutAfterRetry,
    Code::HookPayloadOverSizeLimit,
    Code::HookPayloadInvalidContentType,
];

/// What [`AuthError::or_retry`] makes of them.
pub(super) const RETRYABLE_STATUSES: &[(Code, u16)] = &[
    (RETRYABLE[0], 503),
    (RETRYABLE[1], 503),
    (RETRYABLE[2], 503),
    (RETRYABLE[3], 503),
];

impl AuthError {
    /// 503 if a hook could not be called or its response is invalid: a retry may succeed, and a
    /// status below 500 would end the client's session (client contract S93). Errors that a hook
    /// returns itself keep their status.
    pub(crate) fn or_retry(self) -> Self {
        if RETRYABLE.contains(&self.code) {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Self { status, ..self }
        } else {
            self
        }
    }

    /// The error in a hook's response: any status from 400 to 599, otherwise 500.
    pub(crate) fn from_hook(status: Option<u64>, text: String) -> Self {
        let status = status
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..=599).contains(status))
            .unwrap_or(500);
        let code = match status {
            500 => Code::UnexpectedFailure,
            _ => Code::Unknown,
        };
        Self::new(status, code, text)
    }

    /// PostgreSQL ended the call of a function.
    pub(crate) fn hook_function_failed(schema: &str, name: &str, error: DbError) -> Self {
        let text = format!("Error running hook URI: pg-functions://postgres/{schema}/{name}");
        Self::internal(text, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_hook_itself_says_keeps_a_status_that_ends_sessions() {
        let status = |error: AuthError| {
            let code = error.code();
            let retried = error.or_retry();
            assert_eq!(retried.code(), code);
            retried.status().as_u16()
        };
        assert_eq!(status(AuthError::hook_timeout(5)), 503);
        assert_eq!(status(AuthError::hook_unreachable()), 503);
        assert_eq!(status(AuthError::hook_response_too_large(1)), 503);
        assert_eq!(status(AuthError::hook_content_type_missing()), 503);
        assert_eq!(
            status(AuthError::from_hook(Some(422), "no".to_owned())),
            422
        );
    }
}
