//! Who sent a request: the caller of its token or API key.

use http::{header::AUTHORIZATION, request::Parts};
use plinth_project::{Caller, CallerError, Credentials, Project};
use plinth_token::TokenError;
use serde_json::{Map, Value};

use crate::error::StorageError;

/// The caller of a request. Upstream accepts a token also without `Bearer` in front of it.
pub(super) fn read_caller(
    project: &Project,
    parts: &Parts,
    now: i64,
) -> Result<Caller, CallerError> {
    let credentials = parts.extensions.get::<Credentials>();
    let has_scheme = |text: &str| {
        let scheme = text.split(' ').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer")
    };
    let bare = authorization(parts).filter(|text| !has_scheme(text));
    let has_api_key = credentials.is_some_and(|credentials| credentials.api_key.is_some());
    let caller = match (bare, credentials) {
        // Another scheme may be meant for a proxy, if there is an API key as well.
        (Some(bare), _) if !(has_api_key && bare.contains(' ')) => {
            Credentials::read_bearer(project, bare, now)
        }
        (_, Some(credentials)) => credentials.caller(),
        (_, None) => Err(CallerError::Missing),
    };
    caller.and_then(reject_url_token)
}

/// The token of a signed URL identifies no user. Access tokens may have a claim `url`, too, but
/// they have a role as well.
fn reject_url_token(caller: Caller) -> Result<Caller, CallerError> {
    let claims = caller.token().map(|token| token.claims());
    let is_url_token =
        |claims: &Map<String, Value>| claims.contains_key("url") && !claims.contains_key("role");
    if claims.is_some_and(is_url_token) {
        Err(CallerError::Missing)
    } else {
        Ok(caller)
    }
}

/// The caller of a token that another protocol carries.
pub(crate) fn caller_from_token(
    project: &Project,
    token: &str,
    now: i64,
) -> Result<Caller, StorageError> {
    Credentials::read_bearer(project, token, now)
        .and_then(reject_url_token)
        .map_err(|error| caller_error(&error))
}

/// `Authorization`, unless it is empty.
fn authorization(parts: &Parts) -> Option<&str> {
    let text = parts.headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    (!text.is_empty()).then_some(text)
}

/// The token of `Authorization`, with or without a scheme in front.
pub(super) fn bearer_token(parts: &Parts) -> Option<&str> {
    authorization(parts)?.split(' ').next_back()
}

pub(super) fn caller_error(error: &CallerError) -> StorageError {
    match error {
        CallerError::Missing => {
            let message = "headers must have required property 'authorization'";
            StorageError::invalid_field(message)
        }
        CallerError::Token(error) => StorageError::access_denied(jwt_message(error)),
        CallerError::UnknownApiKey | CallerError::LegacyKeyDisabled => {
            StorageError::access_denied(error.to_string())
        }
    }
}

/// What is wrong with a token, in the words of upstream.
pub(crate) fn jwt_message(error: &TokenError) -> String {
    match error {
        TokenError::Empty | TokenError::NotThreeParts(_) | TokenError::UndecodableHeader => {
            "Invalid Compact JWS".to_owned()
        }
        TokenError::BadSignature { .. } | TokenError::UndecodableSignature => {
            "signature verification failed".to_owned()
        }
        TokenError::Expired => "\"exp\" claim timestamp check failed".to_owned(),
        TokenError::NotYetValid => "\"nbf\" claim timestamp check failed".to_owned(),
        TokenError::NoSuitableKey { .. } => {
            "no applicable key found in the JSON Web Key Set".to_owned()
        }
        other => other.to_string(),
    }
}
