//! `verify_jwt`: whether a request has any valid credential of the project (functions contract §4).

use http::{HeaderMap, header::AUTHORIZATION};
use plinth_project::{CallerError, Credentials, Project};
use plinth_token::{Algorithm, TokenHeader};

/// Why the credential of a request is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CredentialError {
    #[error("Missing authorization header")]
    Missing,
    #[error("Invalid JWT format")]
    Malformed,
    /// As the edge says it for the other services: unknown, revoked, expired or of another project.
    #[error("Invalid API key")]
    UnknownKey,
    /// The same for a legacy key, which an operator disabled.
    #[error("Legacy API keys are disabled")]
    LegacyKeyDisabled,
    /// Signed with the project's shared secret, or said to be.
    #[error("Invalid JWT")]
    InvalidLegacyToken,
    #[error("Invalid JWT")]
    InvalidAsymmetricToken,
    #[error("Unsupported JWT algorithm {0}")]
    UnsupportedAlgorithm(String),
}

/// The credential in the headers of a request.
#[derive(PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
enum Presented<'a> {
    Nothing,
    /// Something that is neither a token nor a key.
    Unusable,
    Token(&'a str),
    Key(&'a str),
}

/// A bearer token decides; without one, an API key as bearer or in `apikey`.
pub(crate) fn verify(
    project: &Project,
    headers: &HeaderMap,
    now: i64,
) -> Result<(), CredentialError> {
    let presented = presented(headers);
    let text = match presented {
        Presented::Nothing => return Err(CredentialError::Missing),
        Presented::Unusable => return Err(CredentialError::Malformed),
        Presented::Token(text) | Presented::Key(text) => text,
    };
    match Credentials::read_bearer(project, text, now) {
        Ok(_) => Ok(()),
        Err(error) => Err(rejection(&presented, &error)),
    }
}

/// A wrong key gets the text that it gets from every service, whatever is wrong with it.
fn rejection(presented: &Presented<'_>, error: &CallerError) -> CredentialError {
    match (error, presented) {
        (CallerError::LegacyKeyDisabled, _) => CredentialError::LegacyKeyDisabled,
        (CallerError::Token(_), Presented::Token(text)) => invalid_token(text),
        (CallerError::UnknownApiKey | CallerError::Token(_), _) => CredentialError::UnknownKey,
        (CallerError::Missing, _) => CredentialError::Malformed,
    }
}

fn presented(headers: &HeaderMap) -> Presented<'_> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let key = text("apikey").map(str::trim).filter(|key| !key.is_empty());
    let bearer = text(AUTHORIZATION.as_str()).map(|header| {
        let mut parts = header.split_ascii_whitespace();
        let scheme = parts.next().unwrap_or_default();
        match (parts.next(), parts.next()) {
            (Some(token), None) if scheme.eq_ignore_ascii_case("bearer") => Some(token),
            _ => None,
        }
    });
    match (bearer, key) {
        (Some(Some(token)), _) if !token.starts_with("sb_") => Presented::Token(token),
        (Some(Some(key)), _) | (_, Some(key)) => Presented::Key(key),
        (Some(None), None) => Presented::Unusable,
        (None, None) => Presented::Nothing,
    }
}

/// The error of an invalid token depends on the algorithm that its header names.
fn invalid_token(token: &str) -> CredentialError {
    let Ok(header) = TokenHeader::peek(token) else {
        return CredentialError::Malformed;
    };
    match Algorithm::from_name(&header.alg) {
        Some(Algorithm::Hs256) => CredentialError::InvalidLegacyToken,
        Some(Algorithm::Es256 | Algorithm::Rs256) => CredentialError::InvalidAsymmetricToken,
        _ => CredentialError::UnsupportedAlgorithm(header.alg),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use plinth_token::TokenError;

    use super::*;

    fn check(pairs: &[(&'static str, &'static str)], expected: Presented<'_>) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().expect("a header"));
        }
        assert_eq!(presented(&headers), expected, "{pairs:?}");
    }

    #[test]
    fn a_token_as_bearer_wins_and_a_key_may_stand_in_either_header() {
        check(&[], Presented::Nothing);
        check(
            &[("authorization", "Bearer a.b.c")],
            Presented::Token("a.b.c"),
        );
        check(
            &[("authorization", "bEARER a.b.c")],
            Presented::Token("a.b.c"),
        );
        check(
            &[("apikey", "sb_publishable_x")],
            Presented::Key("sb_publishable_x"),
        );
        check(
            &[("authorization", "Bearer sb_secret_x"), ("apikey", "a.b.c")],
            Presented::Key("sb_secret_x"),
        );
        check(
            &[("authorization", "Bearer a.b.c"), ("apikey", "sb_secret_x")],
            Presented::Token("a.b.c"),
        );
    }

    #[test]
    fn a_malformed_header_counts_only_without_another_credential() {
        for header in ["Basic abc", "Bearer", "Bearer a b", "a.b.c"] {
            check(&[("authorization", header)], Presented::Unusable);
            check(
                &[("authorization", header), ("apikey", "sb_secret_x")],
                Presented::Key("sb_secret_x"),
            );
        }
    }

    #[test]
    fn a_wrong_key_is_rejected_as_one_also_if_it_is_a_token() {
        let (key, token) = (Presented::Key("a.b.c"), Presented::Token("a.b.c"));
        let expired = CallerError::Token(TokenError::Expired);

        let unknown = CredentialError::UnknownKey;
        assert_eq!(rejection(&key, &expired), unknown);
        assert_eq!(rejection(&key, &CallerError::UnknownApiKey), unknown);
        assert_eq!(rejection(&token, &expired), CredentialError::Malformed);
        for presented in [&key, &token] {
            let disabled = CallerError::LegacyKeyDisabled;
            let expected = CredentialError::LegacyKeyDisabled;
            assert_eq!(rejection(presented, &disabled), expected);
        }
    }

    #[test]
    fn an_invalid_token_is_rejected_by_its_own_algorithm() {
        let token = |header: &str| {
            let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header);
            format!("{header}.e30.AAAA")
        };

        assert_eq!(invalid_token("nonsense"), CredentialError::Malformed);
        assert_eq!(
            invalid_token(&token(r#"{"alg":"HS256"}"#)),
            CredentialError::InvalidLegacyToken
        );
        assert_eq!(
            invalid_token(&token(r#"{"alg":"ES256"}"#)),
            CredentialError::InvalidAsymmetricToken
        );
        assert_eq!(
            invalid_token(&token(r#"{"alg":"none"}"#)),
            CredentialError::UnsupportedAlgorithm("none".to_owned())
        );
    }
}
