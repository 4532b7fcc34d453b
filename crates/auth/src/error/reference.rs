//! The error codes of the service as rows of `docs/errors.md`.

use plinth_project::ErrorEntry;

use super::{Code, constructors::statuses_of};

/// One entry per code of the auth service. Statuses are those that the constructors use; hooks and
/// triggers of a project can choose others for `unknown`.
pub fn error_reference() -> Vec<ErrorEntry> {
    let codes = Code::ALL.iter();
    codes
        .map(|code| ErrorEntry {
            code: code.as_str(),
            statuses: statuses_of(*code),
            meaning: code.meaning(),
            next_step: code.next_step(),
        })
        .collect()
}

/// `error` of the OAuth server's token endpoint (RFC 6749 §5.2), all with status 400.
pub fn oauth_error_reference() -> Vec<ErrorEntry> {
    let entry = |(code, meaning, next_step)| ErrorEntry {
        code,
        statuses: vec![400],
        meaning,
        next_step,
    };
    OAUTH_ERRORS.map(entry).into()
}

const OAUTH_ERRORS: [(&str, &str, &str); 5] = [
    (
        "access_denied",
        "The user is banned.",
        "Lift the ban, or let another user sign in.",
    ),
    (
        "invalid_client",
        "The refresh token was issued to another client.",
        "Use the client that the refresh token was issued to.",
    ),
    (
        "invalid_grant",
        "The authorization code or refresh token is unknown, used, expired, or does not match the \
         redirect URI or PKCE verifier.",
        "Send the user to the authorization endpoint again.",
    ),
    (
        "invalid_request",
        "A parameter is missing or malformed; `error_description` names it.",
        "Correct the request.",
    ),
    (
        "unsupported_grant_type",
        "The client may not use this grant type.",
        "Use a grant type that the client is registered for.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use plinth_db::DbError;

    use super::*;
    use crate::AuthError;

    #[test]
    fn every_code_has_a_status_and_two_sentences() {
        let entries = error_reference();
        let codes: HashSet<&str> = entries.iter().map(|entry| entry.code).collect();
        assert_eq!(codes.len(), entries.len(), "a code is listed twice");
        for entry in &entries {
            assert!(
                !entry.statuses.is_empty(),
                "no constructor uses {}",
                entry.code
            );
            for text in [entry.meaning, entry.next_step] {
                assert!(text.ends_with('.') && !text.contains("  "), "{text}");
            }
        }
    }

    #[test]
    fn every_error_of_the_oauth_server_is_listed() {
        let code = include_str!("constructors/applications.rs");
        let mut used: Vec<&str> = code
            .split("Self::oauth(")
            .skip(1)
            .filter_map(|call| call.split('"').nth(1))
            .collect();
        used.sort_unstable();
        assert_eq!(used, OAUTH_ERRORS.map(|(code, _, _)| code));
    }

    /// Constructors of the tables are listed by the macro that makes them; these are not.
    #[test]
    fn constructors_that_are_written_by_hand_are_listed() {
        let unreachable = DbError::Unavailable("gone".to_owned());
        for error in [
            AuthError::unexpected("a cause"),
            AuthError::from(unreachable),
            AuthError::from(DbError::PoolTimeout),
            AuthError::weak_password("too short".to_owned(), vec!["length"]),
            AuthError::oauth_invalid_grant("no"),
            AuthError::nonce_mismatch(),
            AuthError::from_hook(None, "no".to_owned()),
            AuthError::hook_timeout(5).or_retry(),
            AuthError::hook_unreachable().or_retry(),
            AuthError::hook_response_too_large(1).or_retry(),
            AuthError::hook_content_type_missing().or_retry(),
        ] {
            let listed = statuses_of(error.code());
            let status = error.status().as_u16();
            assert!(
                listed.contains(&status),
                "{} {status}",
                error.code().as_str()
            );
        }
    }

    #[test]
    fn statuses_come_from_the_constructors() {
        assert_eq!(statuses_of(Code::UserBanned), [400, 403]);
        assert_eq!(statuses_of(Code::UserNotFound), [403, 404, 422]);
        assert_eq!(statuses_of(Code::UnexpectedFailure), [500, 503]);
        assert_eq!(statuses_of(Code::HookTimeout), [422, 503]);
        assert_eq!(statuses_of(Code::OtpExpired), [403]);
    }
}
