//! The bearer token of a request (auth contract §1.1).

use axum::http::request::Parts;
use http::{HeaderMap, header};
use plinth_project::{Caller, CallerError, Credentials};
use plinth_token::ClaimRules;
use time::OffsetDateTime;

use crate::{AuthConfig, AuthError};

/// Whether the request carries a valid token of an admin role. That exempts it from captchas;
/// [`crate::caller::Admin`] checks more.
pub(super) fn has_admin_token(parts: &Parts, config: &AuthConfig, now: OffsetDateTime) -> bool {
    let is_admin = |caller: Caller| {
        let mut roles = config.jwt.admin_roles.iter();
        roles.any(|role| role == caller.role())
    };
    verified_caller(parts, now).is_ok_and(is_admin)
}

/// The role and claims of a valid bearer token.
pub(crate) fn verified_caller(parts: &Parts, now: OffsetDateTime) -> Result<Caller, AuthError> {
    let credentials = parts.extensions.get::<Credentials>();
    let shown = credentials.and_then(|credentials| credentials.bearer.clone());
    let caller = match shown {
        None => return Err(AuthError::missing_bearer_token()),
        Some(Err(CallerError::Missing)) => return Err(AuthError::missing_bearer_token()),
        Some(Err(_)) if !has_bearer_format(&parts.headers) => {
            return Err(AuthError::missing_bearer_token());
        }
        Some(Err(error)) => return Err(AuthError::invalid_jwt(&error)),
        Some(Ok(caller)) => caller,
    };
    if let Some(token) = caller.token() {
        let rules = ClaimRules::exact(now.unix_timestamp());
        token
            .check(&rules)
            .map_err(|error| AuthError::invalid_jwt(&error))?;
    }
    Ok(caller)
}

/// Whether the header is a scheme and one word that could be a token.
fn has_bearer_format(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION);
    let text = value.and_then(|value| value.to_str().ok());
    text.is_some_and(|text| text.split_ascii_whitespace().count() == 2)
}
