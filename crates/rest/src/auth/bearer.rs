//! Bearer tokens, checked with the service's own keys.

use std::{borrow::Cow, sync::OnceLock};

use http::{HeaderMap, header::AUTHORIZATION};
use metrics::{Counter, counter, describe_counter};
use plinth_project::Caller;
use plinth_token::{ClaimRules, TokenError, VerifiedToken};

use crate::{RestConfig, RestError, config::JwtConfig};

/// The token that a request carries; other schemes carry none. Nothing but ASCII can be a token,
/// so whatever else stands there may be replaced.
pub(super) fn token(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let header = headers.get(AUTHORIZATION)?.as_bytes();
    let scheme_end = header.iter().position(u8::is_ascii_whitespace);
    let (scheme, token) = header.split_at(scheme_end.unwrap_or(header.len()));
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| String::from_utf8_lossy(token.trim_ascii_start()))
}

/// Whoever the token speaks for.
pub(super) fn caller(
    token: &str,
    jwt: &JwtConfig,
    config: &RestConfig,
    now: i64,
) -> Result<Caller, RestError> {
    let keys = jwt.keys().ok_or(RestError::NoJwtSecret)?;
    let verified = jwt.cache().verify(keys, token);
    count(jwt);
    // Keys of kinds that we cannot use are passed over, which may leave none.
    let verified = verified.map_err(|error| match error {
        TokenError::NoKeys => super::refusal::no_suitable_key(),
        error => error.into(),
    })?;
    let rules = ClaimRules::rest(now);
    let rules = match &config.jwt_aud {
        Some(audience) => rules.with_audience(audience),
        None => rules,
    };
    verified.check(&rules)?;
    with_role_of(verified, config)
}

/// The role that stands where the settings say, else that of strangers.
pub(super) fn with_role_of(token: VerifiedToken, config: &RestConfig) -> Result<Caller, RestError> {
    let found = config.role_claim.find(token.claims()).map(Cow::into_owned);
    let role = found.or_else(|| config.anon_role.clone());
    let role = role.ok_or(RestError::AnonymousDisabled)?;
    Ok(Caller::from_verified(token, &role))
}

const REQUESTS: &str = "pgrst_jwt_cache_requests_total";
const HITS: &str = "pgrst_jwt_cache_hits_total";
const EVICTIONS: &str = "pgrst_jwt_cache_evictions_total";

/// Looked up once, because every request counts.
static COUNTERS: OnceLock<[Counter; 3]> = OnceLock::new();

/// Makes the numbers appear before there is anything to count. To be called once, by a service
/// that checks tokens itself.
pub(crate) fn describe_metrics() {
    for (name, meaning) in [
        (REQUESTS, "The total number of JWT cache lookups"),
        (HITS, "The total number of JWT cache hits"),
        (EVICTIONS, "The total number of JWT cache evictions"),
    ] {
        describe_counter!(name, meaning);
        counter!(name).absolute(0);
    }
    COUNTERS.get_or_init(|| [REQUESTS, HITS, EVICTIONS].map(|name| counter!(name)));
}

/// The cache keeps the numbers; metrics only show them.
fn count(jwt: &JwtConfig) {
    let Some([requests, hits, evictions]) = COUNTERS.get() else {
        return;
    };
    let counts = jwt.cache().counts();
    requests.absolute(counts.requests);
    hits.absolute(counts.hits);
    evictions.absolute(counts.evictions);
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
            assert_eq!(token(&headers).as_deref(), expected, "{header:?}");
        };

        check("Bearer abc", Some("abc"));
        check("bEARER \t abc", Some("abc"));
        check("Bearer", Some(""));
        check("Bearer ", Some(""));
        check("Basic abc", None);
        check("Bearerabc", None);
        assert_eq!(token(&HeaderMap::new()), None);
    }
}
