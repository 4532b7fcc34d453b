//! One-time secrets in a request's URL: sign-in codes, token hashes of mailed links (A36). They must not appear
//! in logs or in other URLs.

use http::Uri;
use url::form_urlencoded;

/// Query parameters that carry them.
const SECRETS: [&str; 8] = [
    "code",
    "token",
    "token_hash",
    "access_token",
    "refresh_token",
    "provider_token",
    "provider_refresh_token",
    "id_token",
];

/// A request's URL for logs: the query of pages that receive secrets is left out.
///
/// ```
/// use plinth_session::redacted_uri;
///
/// assert_eq!(redacted_uri(&"/auth/callback?code=secret".parse().unwrap()), "/auth/callback?…");
/// assert_eq!(redacted_uri(&"/orders?page=2".parse().unwrap()), "/orders?page=2");
/// ```
pub fn redacted_uri(uri: &Uri) -> String {
    match uri.query() {
        None => uri.path().to_owned(),
        Some(query) if query.split('&').any(is_secret) => format!("{}?…", uri.path()),
        Some(query) => format!("{}?{query}", uri.path()),
    }
}

/// A request's path and query without secrets, to redirect back to.
///
/// ```
/// use plinth_session::path_without_secrets;
///
/// let here = "/orders?page=2&code=secret".parse().unwrap();
/// assert_eq!(path_without_secrets(&here), "/orders?page=2");
/// ```
pub fn path_without_secrets(uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default();
    let cached: Vec<&str> = query.split('&').filter(|pair| !is_secret(pair)).collect();
    match cached.join("&") {
        none if none.is_empty() => uri.path().to_owned(),
        query => format!("{}?{query}", uri.path()),
    }
}

/// Whether a query parameter is a secret, in any encoding of its name.
fn is_secret(pair: &str) -> bool {
    let name = form_urlencoded::parse(pair.as_bytes()).next();
    name.is_some_and(|(name, _)| {
        SECRETS
            .iter()
            .any(|token_cache| name.eq_ignore_ascii_case(token_cache))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &'static str, logged: &str, led_back_to: &str) {
        let uri = Uri::from_static(given);
        assert_eq!(redacted_uri(&uri), logged, "{given}");
        assert_eq!(path_without_secrets(&uri), led_back_to, "{given}");
    }

    #[test]
    fn secrets_are_left_out_and_the_rest_stays_as_it_is() {
        check("/a", "/a", "/a");
        check("/a?", "/a?", "/a");
        check("/a?b=%20c&d", "/a?b=%20c&d", "/a?b=%20c&d");
        check("/a?code=x", "/a?…", "/a");
        check("/a?b=1&token_hash=x&c=2", "/a?…", "/a?b=1&c=2");
        check("/a?CODE=x&%63ode=y&z=1", "/a?…", "/a?z=1");
        check(
            "/a?error_code=e&codec=h264",
            "/a?error_code=e&codec=h264",
            "/a?error_code=e&codec=h264",
        );
        for name in SECRETS {
            let uri: Uri = format!("/a?{name}=x").parse().unwrap();
            assert_eq!(
                (
                    redacted_uri(&uri).as_str(),
                    path_without_secrets(&uri).as_str()
                ),
                ("/a?…", "/a")
            );
        }
    }
}
