//! Who asks for a page, as far as the request alone tells.

use http::{HeaderMap, header};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    /// Nobody is signed in: there is no session at all.
    Guest,
    /// There is a session, which the page itself checks before it shows anything.
    Unknown,
}

/// Looks for the session's cookie, whole or in parts.
pub(super) fn visitor(storage_key: &str, headers: &HeaderMap) -> Visitor {
    let mut cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let is_session = |name: &str| match name.strip_prefix(storage_key) {
        Some(rest) => rest.is_empty() || rest == ".0",
        None => false,
    };
    match cookies.any(|(name, value)| is_session(name) && !value.is_empty()) {
        true => Visitor::Unknown,
        false => Visitor::Guest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_one_cookie_or_several() {
        let check = |cookie: &'static str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().expect("a header"));
            assert_eq!(visitor("sb-x-auth-token", &headers), expected, "{cookie}");
        };
        check("a=b; sb-x-auth-token=base64-e30", Visitor::Unknown);
        check(
            "sb-x-auth-token.0=base64-e; sb-x-auth-token.1=30",
            Visitor::Unknown,
        );
        check("sb-x-auth-token=", Visitor::Guest);
        check("sb-x-auth-token-code-verifier=1", Visitor::Guest);
        check("sb-y-auth-token=base64-e30", Visitor::Guest);
        check("nonsense", Visitor::Guest);
        assert_eq!(
            visitor("sb-x-auth-token", &HeaderMap::new()),
            Visitor::Guest
        );
    }
}
