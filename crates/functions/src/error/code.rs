//! Every error code of the service, with its entry in the error reference.

use http::StatusCode;
use plinth_project::ErrorEntry;

/// Defines the codes. A code cannot be written without its entry, and a variant of `FunctionError`
/// does not compile without a code.
macro_rules! error_codes {
    ($($variant:ident: $status:literal $code:literal, $meaning:literal, $next_step:literal;)*) => {
        /// An error code, as it stands in body, header and log.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ErrorCode {
            $($variant,)*
        }

        impl ErrorCode {
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            fn status_number(self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                }
            }
        }

        /// Every error code that `/functions/v1` responds with.
        pub fn error_reference() -> Vec<ErrorEntry> {
            vec![
                $(ErrorEntry {
                    code: $code,
                    statuses: vec![$status],
                    meaning: $meaning,
                    next_step: $next_step,
                },)*
            ]
        }
    };
}

error_codes! {
    NotFound: 404 "NOT_FOUND",
        "The project has no enabled function of that name.",
        "Check the name in the URL, that the function is deployed and enabled, and that \
         edge_runtime.enabled is true.";
    MethodNotAllowed: 405 "METHOD_NOT_ALLOWED",
        "Functions are not called with that HTTP method.",
        "Use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.";
    NoCredential: 401 "UNAUTHORIZED_NO_AUTH_HEADER",
        "The function has verify_jwt, and the request has no credential.",
        "Send an access token as bearer or an API key in the header apikey, or set verify_jwt to false.";
    MalformedCredential: 401 "UNAUTHORIZED_INVALID_JWT_FORMAT",
        "The bearer token is no JWT, or the key is not one of the project.",
        "Send the header as `Authorization: Bearer <token>`, with a key or token of this project.";
    InvalidLegacyToken: 401 "UNAUTHORIZED_LEGACY_JWT",
        "The HS256 token has expired, was not signed with the project's JWT secret, or is a legacy key, \
         which an operator disabled.",
        "Refresh the session, or use the keys of this project.";
    InvalidAsymmetricToken: 401 "UNAUTHORIZED_ASYMMETRIC_JWT",
        "The ES256 or RS256 token has expired, or was not signed with a key of the project.",
        "Refresh the session, and check that the signing key was not revoked.";
    UnsupportedAlgorithm: 401 "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM",
        "The token is signed with an algorithm that the project does not accept.",
        "Sign tokens with HS256, ES256 or RS256.";
    BodyTooLarge: 413 "PAYLOAD_TOO_LARGE",
        "The request body is larger than plinth.functions.max_body.",
        "Send less, upload the file to storage instead, or raise the limit.";
    BootError: 503 "BOOT_ERROR",
        "The function failed to start: its code does not parse or throws, an import is missing, or it \
         did not serve within plinth.functions.boot_timeout.",
        "Read the BootFailure record in the function's log; after repeated failures, wait for Retry-After.";
    WorkerError: 500 "WORKER_ERROR",
        "The worker process exited while the request was in flight.",
        "Look for an uncaught error or an unhandled rejection in the function's log.";
    FunctionFailed: 500 "EDGE_FUNCTION_ERROR",
        "The function itself responded with a 5xx status, or its handler threw; the code is only in the \
         header sb-error-code.",
        "Read the function's log at the time of the request.";
    InvalidStatus: 500 "INVALID_RESPONSE_STATUS_CODE",
        "The function responded with a status outside of 101 and 200 to 599.",
        "Correct the status in the function's response.";
    IdleTimeout: 504 "IDLE_TIMEOUT",
        "The function sent no response within plinth.functions.request_idle.",
        "Respond earlier and finish the work with EdgeRuntime.waitUntil, or raise the limit.";
    ResourceLimit: 546 "WORKER_RESOURCE_LIMIT",
        "The worker was killed for its memory, CPU or wall clock limit while the request was in flight.",
        "Read the reason of the Shutdown record, then use less or raise the limit.";
    NoCapacity: 503 "NO_WORKER_AVAILABLE",
        "No worker was free within plinth.functions.wait_timeout.",
        "Retry with backoff; if it persists, raise max_workers or max_workers_total.";
    Unreachable: 502 "WORKER_UNREACHABLE",
        "The connection to the worker could not be made, or broke for an unknown reason.",
        "Retry if the request may run twice; the server's log names the cause.";
    Unreadable: 500 "LOAD_FUNCTION_ERROR",
        "The deployed functions or secrets of the project could not be read from the database.",
        "Check that the database is reachable, then retry.";
}

impl ErrorCode {
    pub(crate) fn status(self) -> StatusCode {
        let status = StatusCode::from_u16(self.status_number());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_one_entry_in_sentences() {
        let entries = error_reference();
        let codes: BTreeSet<_> = entries.iter().map(|entry| entry.code).collect();
        assert_eq!(codes.len(), entries.len());
        for entry in entries {
            assert!(
                entry.meaning.ends_with('.') && entry.next_step.ends_with('.'),
                "{entry:?}"
            );
            assert!(entry.statuses.iter().all(|status| *status >= 400));
        }
    }

    #[test]
    fn statuses_outside_of_the_registry_are_kept() {
        assert_eq!(ErrorCode::ResourceLimit.status().as_u16(), 546);
    }
}
