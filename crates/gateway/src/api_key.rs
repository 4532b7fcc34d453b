//! Which requests need an API key, and what they get without a valid one.
//!
//! The texts are those of the hosted service, so that clients and people recognise them. Without
//! this check a request without any credential would be anonymous, and revoking the publishable key
//! would close nothing.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, Uri, header::AUTHORIZATION, uri::PathAndQuery};
use plinth_project::{CallerError, Cors, Credentials, Project};
use url::form_urlencoded;

use crate::error::EdgeError;

/// The realtime protocol's header for a key.
const SOCKET_KEY: &str = "x-api-key";

/// The rule of one service.
#[derive(Clone)]
pub(crate) struct KeyRule {
    /// Requests whose key is not looked at.
    is_open: Arc<Matches>,
    /// Requests that need no key, but whose key must be valid if they have one.
    is_optional: Arc<Matches>,
    checks_tokens: bool,
}

/// Whether a request matches; the path is the one below the service's prefix.
type Matches = dyn Fn(&Method, &str) -> bool + Send + Sync;

impl KeyRule {
    /// Every token must be valid, be it the key or the bearer.
    pub(crate) fn new(is_open: impl Fn(&Method, &str) -> bool + Send + Sync + 'static) -> Self {
        Self {
            is_open: Arc::new(is_open),
            is_optional: Arc::new(|_, _| false),
            checks_tokens: true,
        }
    }

    /// Lets these requests pass without a key.
    pub(crate) fn with_optional(
        mut self,
        is_optional: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.is_optional = Arc::new(is_optional);
        self
    }

    /// Leaves tokens to the service, which accepts more of them than the edge.
    pub(crate) fn without_token_check(mut self) -> Self {
        self.checks_tokens = false;
        self
    }

    /// Checks a request as the service would receive it.
    pub(crate) fn check(&self, request: &Request<Body>) -> Result<(), EdgeError> {
        let (method, path) = (request.method(), request.uri().path());
        if Cors::is_preflight(method, request.headers()) || (self.is_open)(method, path) {
            return Ok(());
        }
        let Some(credentials) = request.extensions().get::<Credentials>() else {
            return Err(EdgeError::ApiKeyMissing);
        };
        check_other_keys(request)?;
        let checked = if self.checks_tokens {
            check_all(credentials)
        } else {
            check_key(credentials, has_other_credential(request))
        };
        match checked {
            Err(EdgeError::ApiKeyMissing) if (self.is_optional)(method, path) => Ok(()),
            checked => checked,
        }
    }
}

/// The key must be valid. A valid access token can replace it, but an invalid one does not say what is
/// missing, which is the key.
fn check_all(credentials: &Credentials) -> Result<(), EdgeError> {
    check_bearer_key(credentials)?;
    match (&credentials.api_key, &credentials.bearer) {
        (Some(Ok(_)), _) | (None, Some(Ok(_))) => Ok(()),
        (Some(Err(error)), _) => Err(rejection(error)),
        (None, _) => Err(EdgeError::ApiKeyMissing),
    }
}

/// A credential must be there, and the key must be valid; a bearer token is left to the service.
fn check_key(credentials: &Credentials, has_other: bool) -> Result<(), EdgeError> {
    check_bearer_key(credentials)?;
    match (&credentials.api_key, &credentials.bearer) {
        (Some(Err(error)), _) => Err(rejection(error)),
        (None, None) if !has_other => Err(EdgeError::ApiKeyMissing),
        _ => Ok(()),
    }
}

/// Clients without a session send their key as bearer token, too.
fn check_bearer_key(credentials: &Credentials) -> Result<(), EdgeError> {
    match &credentials.bearer {
        Some(Err(error @ (CallerError::UnknownApiKey | CallerError::LegacyKeyDisabled))) => {
            Err(rejection(error))
        }
        _ => Ok(()),
    }
}

/// A key among them must be valid; tokens are left to the service.
fn check_other_keys(request: &Request<Body>) -> Result<(), EdgeError> {
    let Some(project) = request.extensions().get::<Project>() else {
        return Ok(());
    };
    for key in other_credentials(request).filter(|text| text.starts_with(b"sb_")) {
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        let key = String::from_utf8_lossy(key);
        Credentials::read_bearer(project, &key, now).map_err(|error| rejection(&error))?;
    }
    Ok(())
}

fn has_other_credential(request: &Request<Body>) -> bool {
    other_credentials(request).any(|text| !text.is_empty())
}

/// What [`Credentials`] does not read: `Authorization`, which may lack a scheme, and a socket's key.
fn other_credentials(request: &Request<Body>) -> impl Iterator<Item = &[u8]> {
    let names = [AUTHORIZATION.as_str(), SOCKET_KEY];
    let values = names
        .into_iter()
        .filter_map(|name| request.headers().get(name));
    values.map(|value| value.as_bytes().trim_ascii())
}

fn rejection(error: &CallerError) -> EdgeError {
    match error {
        CallerError::Missing => EdgeError::ApiKeyMissing,
        CallerError::LegacyKeyDisabled => EdgeError::LegacyKeysDisabled,
        CallerError::UnknownApiKey | CallerError::Token(_) => EdgeError::ApiKeyInvalid,
    }
}

/// The parameter `apikey`, which browsers use where they cannot send headers.
pub(crate) fn query_key(query: &str) -> Option<std::borrow::Cow<'_, str>> {
    // Most queries have none; looking for the word is cheaper than decoding.
    if !query.contains("apikey") {
        return None;
    }
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs
        .find(|(name, _)| name == "apikey")
        .map(|(_, value)| value)
}

/// The target without the parameter `apikey`; everything else stays byte for byte. A service with
/// filters in its query would take the key for one.
pub(crate) fn without_query_key(uri: &Uri) -> Uri {
    let is_key = |pair: &&str| {
        let mut parsed = form_urlencoded::parse(pair.as_bytes());
        parsed.next().is_some_and(|(name, _)| name == "apikey")
    };
    let query: Vec<&str> = uri.query().unwrap_or_default().split('&').collect();
    let query: Vec<&str> = query.into_iter().filter(|pair| !is_key(pair)).collect();
    let target = match query.join("&") {
        query if query.is_empty() => PathAndQuery::try_from(uri.path()),
        query => PathAndQuery::try_from(format!("{}?{query}", uri.path())),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = target.ok();
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

#[cfg(test)]
mod tests {
    use plinth_project::Caller;
    use plinth_token::TokenError;

    use super::*;

    type Shown = Option<Result<Caller, CallerError>>;

    fn good() -> Shown {
        Some(Ok(Caller::anonymous("anon")))
    }

    fn bad(error: CallerError) -> Shown {
        Some(Err(error))
    }

    fn expired() -> Shown {
        bad(CallerError::Token(TokenError::Expired))
    }

    fn code(checked: Result<(), EdgeError>) -> &'static str {
        checked.map_or_else(|error| error.status_and_code().1, |()| "ok")
    }

    fn all(api_key: Shown, bearer: Shown) -> &'static str {
        code(check_all(&Credentials { api_key, bearer }))
    }

    fn key(api_key: Shown, bearer: Shown) -> &'static str {
        code(check_key(&Credentials { api_key, bearer }, false))
    }

    #[test]
    fn a_key_or_a_valid_token_is_needed() {
        assert_eq!(all(None, None), "api_key_missing");
        assert_eq!(all(good(), None), "ok");
        assert_eq!(all(None, good()), "ok");
        // The service says what is wrong with a user's token.
        assert_eq!(all(good(), expired()), "ok");
        assert_eq!(all(None, expired()), "api_key_missing");
    }

    #[test]
    fn a_wrong_key_is_rejected_beside_a_valid_token() {
        let unknown = || bad(CallerError::UnknownApiKey);
        for check in [all, key] {
            assert_eq!(check(unknown(), good()), "api_key_invalid");
            assert_eq!(check(unknown(), None), "api_key_invalid");
            assert_eq!(check(good(), unknown()), "api_key_invalid");
            assert_eq!(check(None, unknown()), "api_key_invalid");
            let disabled = bad(CallerError::LegacyKeyDisabled);
            assert_eq!(check(disabled, good()), "legacy_keys_disabled");
            assert_eq!(check(expired(), good()), "api_key_invalid");
        }
    }

    #[test]
    fn services_that_check_tokens_themselves_get_them_all() {
        assert_eq!(key(None, expired()), "ok");
        assert_eq!(key(None, None), "api_key_missing");
        let nothing = Credentials {
            api_key: None,
            bearer: None,
        };
        assert_eq!(code(check_key(&nothing, true)), "ok");
    }

    #[test]
    fn the_key_is_found_in_the_query() {
        assert_eq!(
            query_key("vsn=1.0.0&apikey=sb_a%2Bb&x").as_deref(),
            Some("sb_a+b")
        );
        assert_eq!(query_key("my_apikey=x"), None);
        assert_eq!(query_key("select=*"), None);
    }

    #[test]
    fn the_key_is_removed_from_the_query_and_the_rest_stays() {
        let check = |uri: &'static str, expected: &str| {
            let uri = without_query_key(&Uri::from_static(uri));
            assert_eq!(uri.to_string(), expected);
        };
        check("/films?apikey=k", "/films");
        check("/films?a=%2F&apikey=k&b", "/films?a=%2F&b");
        check("/films?%61pikey=k&my_apikey=x", "/films?my_apikey=x");
        check("http://a.example/x?apikey=k", "http://a.example/x");
        check("/films", "/films");
    }
}
