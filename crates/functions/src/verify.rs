//! `verify_jwt`: whether a request shows any credential of the project (functions contract §4).

use http::{HeaderMap, header::AUTHORIZATION};
use plinth_project::{CallerError, Credentials, Project};
use plinth_token::{Algorithm, TokenHeader};

/// Why a request does not reach the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Missing,
    Malformed,
    BadSharedSecret,
    BadKeyPair,
    UnknownAlgorithm(String),
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Missing => "UNAUTHORIZED_NO_AUTH_HEADER",
            Self::Malformed => "UNAUTHORIZED_INVALID_JWT_FORMAT",
            Self::BadSharedSecret => "UNAUTHORIZED_LEGACY_JWT",
            Self::BadKeyPair => "UNAUTHORIZED_ASYMMETRIC_JWT",
            Self::UnknownAlgorithm(_) => "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM",
        }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::Missing => "Missing authorization header".to_owned(),
            Self::Malformed => "Invalid JWT format".to_owned(),
            Self::BadSharedSecret | Self::BadKeyPair => "Invalid JWT".to_owned(),
            Self::UnknownAlgorithm(name) => format!("Unsupported JWT algorithm {name}"),
        }
    }
}

/// What a request shows.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    Nothing,
    /// Something that is neither a token nor a key.
    Unusable,
    Token(&'a str),
    Key(&'a str),
}

/// A token as bearer decides; else a key, as bearer or in `apikey`.
pub(crate) fn verify(project: &Project, headers: &HeaderMap, now: i64) -> Result<(), Refusal> {
    let text = match shown(headers) {
        Shown::Nothing => return Err(Refusal::Missing),
        Shown::Unusable => return Err(Refusal::Malformed),
        Shown::Token(text) | Shown::Key(text) => text,
    };
    match Credentials::read_bearer(project, text, now) {
        Ok(_) => Ok(()),
        Err(CallerError::Missing | CallerError::UnknownApiKey) => Err(Refusal::Malformed),
        Err(CallerError::LegacyKeyDisabled | CallerError::Token(_)) => Err(why_bad(text)),
    }
}

fn shown(headers: &HeaderMap) -> Shown<'_> {
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
        (Some(Some(token)), _) if !token.starts_with("sb_") => Shown::Token(token),
        (Some(Some(key)), _) | (_, Some(key)) => Shown::Key(key),
        (Some(None), None) => Shown::Unusable,
        (None, None) => Shown::Nothing,
    }
}

/// A token that was refused, by what its header says of it.
fn why_bad(token: &str) -> Refusal {
    let Ok(header) = TokenHeader::peek(token) else {
        return Refusal::Malformed;
    };
    match Algorithm::from_name(&header.alg) {
        Some(Algorithm::Hs256) => Refusal::BadSharedSecret,
        Some(Algorithm::Es256 | Algorithm::Rs256) => Refusal::BadKeyPair,
        _ => Refusal::UnknownAlgorithm(header.alg),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    fn check(pairs: &[(&'static str, &'static str)], expected: Shown<'_>) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().expect("a header"));
        }
        assert_eq!(shown(&headers), expected, "{pairs:?}");
    }

    #[test]
    fn a_token_as_bearer_wins_and_a_key_may_stand_in_either_header() {
        check(&[], Shown::Nothing);
        check(&[("authorization", "Bearer a.b.c")], Shown::Token("a.b.c"));
        check(&[("authorization", "bEARER a.b.c")], Shown::Token("a.b.c"));
        check(
            &[("apikey", "sb_publishable_x")],
            Shown::Key("sb_publishable_x"),
        );
        check(
            &[("authorization", "Bearer sb_secret_x"), ("apikey", "a.b.c")],
            Shown::Key("sb_secret_x"),
        );
        check(
            &[("authorization", "Bearer a.b.c"), ("apikey", "sb_secret_x")],
            Shown::Token("a.b.c"),
        );
    }

    #[test]
    fn a_header_of_another_form_counts_only_where_nothing_else_is_shown() {
        for header in ["Basic abc", "Bearer", "Bearer a b", "a.b.c"] {
            check(&[("authorization", header)], Shown::Unusable);
            check(
                &[("authorization", header), ("apikey", "sb_secret_x")],
                Shown::Key("sb_secret_x"),
            );
        }
    }

    #[test]
    fn a_bad_token_is_refused_for_what_it_says_it_is() {
        let token = |header: &str| {
            let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header);
            format!("{header}.e30.AAAA")
        };

        assert_eq!(why_bad("nonsense"), Refusal::Malformed);
        assert_eq!(
            why_bad(&token(r#"{"alg":"HS256"}"#)),
            Refusal::BadSharedSecret
        );
        assert_eq!(why_bad(&token(r#"{"alg":"ES256"}"#)), Refusal::BadKeyPair);
        assert_eq!(
            why_bad(&token(r#"{"alg":"none"}"#)),
            Refusal::UnknownAlgorithm("none".to_owned())
        );
    }
}
