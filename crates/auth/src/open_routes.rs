//! Routes that work without an API key: browsers navigate to them, and programs discover or log in by
//! them (auth contract §1.1).

use http::Method;

/// Whether a request needs no API key. The path is the one below the service's prefix.
pub fn is_open_route(method: &Method, path: &str) -> bool {
    let is_read = method == Method::GET || method == Method::HEAD;
    match path {
        // With POST it is a client's, which has a key.
        "/verify" => is_read,
        "/health"
        | "/authorize"
        | "/callback"
        | "/oauth/authorize"
        | "/oauth/token"
        | "/oauth/clients/register" => true,
        path => {
            let is_below = |prefix: &str| path.starts_with(prefix);
            is_below("/.well-known/") || is_below("/sso/saml/") || is_below("/scim/v2/")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_and_discovery_use_is_open() {
        for path in [
            "/health",
            "/.well-known/jwks.json",
            "/.well-known/oauth-authorization-server",
            "/verify",
            "/authorize",
            "/callback",
            "/sso/saml/metadata",
            "/oauth/authorize",
            "/scim/v2/Users",
        ] {
            assert!(is_open_route(&Method::GET, path), "{path}");
        }
        for path in [
            "/callback",
            "/sso/saml/acs",
            "/oauth/token",
            "/oauth/clients/register",
        ] {
            assert!(is_open_route(&Method::POST, path), "{path}");
        }
    }

    #[test]
    fn everything_else_needs_a_key() {
        for path in [
            "/verify",
            "/token",
            "/signup",
            "/sso",
            "/oauth/authorizations/1/consent",
        ] {
            assert!(!is_open_route(&Method::POST, path), "{path}");
        }
        for path in [
            "/",
            "",
            "/user",
            "/settings",
            "/oauth/userinfo",
            "/verify/",
            "/healthy",
        ] {
            assert!(!is_open_route(&Method::GET, path), "{path}");
        }
    }
}
