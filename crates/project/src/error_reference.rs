//! Rows of `docs/errors.md`; each service exports those of its own codes.

/// One error code of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorEntry {
    /// As in the response body.
    pub code: &'static str,
    /// HTTP statuses of the code, ascending; empty where there is no HTTP response.
    pub statuses: Vec<u16>,
    /// What happened, in one sentence.
    pub meaning: &'static str,
    /// What the reader can do about it, in one sentence.
    pub next_step: &'static str,
}

/// Defines `status_and_code` and `reference` of an error enum by one table, so that a variant
/// without an entry does not compile.
///
/// ```
/// use http::StatusCode;
///
/// enum DoorError {
///     Closed,
///     Locked { by: String },
/// }
///
/// plinth_project::error_table! { pub DoorError;
///     Self::Closed => CONFLICT, "closed",
///         "The door is closed.", "Open it.";
///     Self::Locked { .. } => FORBIDDEN, "locked",
///         "The door is locked.", "Ask for the key.";
/// }
///
/// assert_eq!(DoorError::Closed.status_and_code(), (StatusCode::CONFLICT, "closed"));
/// assert_eq!(DoorError::reference()[1].statuses, [403]);
/// ```
#[macro_export]
macro_rules! error_table {
    ($visibility:vis $error:ident;
     $($variant:pat => $status:ident, $code:literal, $meaning:literal, $next_step:literal;)+) => {
        impl $error {
            /// HTTP status and error code.
            $visibility fn status_and_code(&self) -> (::http::StatusCode, &'static str) {
                match self {
                    $($variant => (::http::StatusCode::$status, $code),)+
                }
            }

            /// The rows of all variants in `docs/errors.md`.
            $visibility fn reference() -> ::std::vec::Vec<$crate::ErrorEntry> {
                ::std::vec![$($crate::ErrorEntry {
                    code: $code,
                    statuses: ::std::vec![::http::StatusCode::$status.as_u16()],
                    meaning: $meaning,
                    next_step: $next_step,
                },)+]
            }
        }
    };
}
