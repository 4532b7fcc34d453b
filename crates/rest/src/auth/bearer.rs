//! Bearer tokens, verified with the keys of a standalone service.

use std::borrow::Cow;

use http::{HeaderMap, header::AUTHORIZATION};
use plinth_project::Caller;
use plinth_token::{ClaimRules, TokenError, VerifiedToken};

use crate::{RestConfig, RestError, config::JwtConfig, metrics::jwt_cache};

/// The token of the Authorization header, if its scheme is Bearer. Lossy decoding is fine: tokens
/// are ASCII.
pub(super) fn find_token(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let header = headers.get(AUTHORIZATION)?.as_bytes();
    let scheme_end = header.iter().position(u8::is_ascii_whitespace);
    let (scheme, token) = header.split_at(scheme_end.unwrap_or(header.len()));
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| String::from_utf8_lossy(token.trim_ascii_start()))
}

pub(super) fn verify_caller(
    token: &str,
    jwt: &JwtConfig,
    config: &RestConfig,
    now: i64,
) -> Result<Caller, RestError> {
    let keys = jwt.keys().ok_or(RestError::NoJwtSecret)?;
    let verified = jwt.cache().verify(keys, token);
    jwt_cache::publish(jwt.cache());
    // A key set without a key of a supported kind counts as one without a suitable key.
    let verified = verified.map_err(|error| match error {
        TokenError::NoKeys => super::token_error::no_suitable_key(),
        error => error.into(),
    })?;
    let rules = ClaimRules::rest(now);
    let rules = match &config.jwt_aud {
        Some(audience) => rules.with_audience(audience),
        None => rules,
    };
    verified.check(&rules)?;
    caller_of(verified, config)
}

/// The caller with the role of `jwt-role-claim-key`, else with `db-anon-role`.
pub(super) fn caller_of(token: VerifiedToken, config: &RestConfig) -> Result<Caller, RestError> {
    let found = config.role_claim.find(token.claims());
    let role = found.or_else(|| config.anon_role.clone());
    let role = role.ok_or(RestError::AnonymousDisabled)?;
    Ok(Caller::from_verified(token, &role))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_bearer_scheme_carries_a_token() {
        let check = |header: &'static str, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            assert_eq!(find_token(&headers).as_deref(), expected, "{header:?}");
        };

        check("Bearer abc", Some("abc"));
        check("bEARER \t abc", Some("abc"));
        check("Bearer", Some(""));
        check("Bearer ", Some(""));
        check("Basic abc", None);
        check("Bearerabc", None);
        assert_eq!(find_token(&HeaderMap::new()), None);
    }
}
