//! Every error of the service, by name: its status, code and text stand here and nowhere else.
//!
//! [`errors!`] also lists which status each code is sent with, from which
//! [`super::error_reference`] is made. Checks of one field that no other place makes write their
//! text beside the check, with [`AuthError::validation_failed`].

mod accounts;
mod applications;
mod factors;
mod hooks;
mod messages;
mod providers;
mod requests;
mod sessions;

use super::{AuthError, Code};

/// Declares constructors, each as `name(arguments) => status Code, text;`, and the table
/// `STATUSES` of the statuses and codes that they use.
macro_rules! errors {
    ($(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $type:ty),*) => $status:literal $code:ident, $text:expr;
    )*) => {
        impl AuthError {
            $(
                $(#[$attribute])*
                pub(crate) fn $name($($argument: $type),*) -> Self {
                    Self::new($status, Code::$code, $text)
                }
            )*
        }

        pub(super) const STATUSES: &[(Code, u16)] = &[$((Code::$code, $status)),*];
    };
}
use errors;

/// Declares constructors of 500 `unexpected_failure`, each as `name => text;`. They take the cause,
/// which goes to the log.
macro_rules! internal_errors {
    ($(
        $(#[$attribute:meta])*
        $name:ident => $text:literal;
    )*) => {
        impl AuthError {
            $(
                $(#[$attribute])*
                pub(crate) fn $name(cause: impl ToString) -> Self {
                    Self::internal($text, cause)
                }
            )*
        }
    };
}
use internal_errors;

/// Every status that errors of this code are sent with, in ascending order.
pub(super) fn statuses_of(code: Code) -> Vec<u16> {
    let tables = [
        super::STATUSES,
        accounts::STATUSES,
        applications::STATUSES,
        factors::STATUSES,
        hooks::STATUSES,
        hooks::RETRYABLE_STATUSES,
        messages::STATUSES,
        providers::STATUSES,
        requests::STATUSES,
        sessions::STATUSES,
    ];
    let rows = tables.into_iter().flatten();
    let mut statuses: Vec<u16> = rows
        .filter(|(used, _)| *used == code)
        .map(|(_, status)| *status)
        .collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}
