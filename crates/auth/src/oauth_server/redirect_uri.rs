//! Redirect URIs of applications.

use url::{Url, form_urlencoded};

const BANNED: [&str; 6] = ["javascript", "data", "file", "vbscript", "about", "blob"];
const MAX_CHARACTERS: usize = 2048;

/// Checks a redirect URI at registration.
pub(super) fn check(uri: &str) -> Result<(), &'static str> {
    // It is compared byte by byte and sent in a header; lists of them are stored separated by
    // commas.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    if uri.len() > MAX_CHARACTERS || !uri.bytes().all(is_plain) {
        return Err("must be at most 2048 ASCII characters without spaces and commas");
    }
    let url = Url::parse(uri).map_err(|_| "invalid URL format")?;
    if BANNED.contains(&url.scheme()) {
        return Err("this scheme is not allowed for security reasons");
    }
    let host = url.host_str().unwrap_or_default();
    if host.is_empty() {
        return Err("must have scheme and host");
    }
    if url.scheme() == "http" && !matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
        return Err("HTTP scheme only allowed for localhost");
    }
    if uri.contains('#') {
        return Err("fragment not allowed in redirect URI");
    }
    Ok(())
}

/// A registered URI with these pairs appended to its query.
pub(super) fn with_query(uri: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    query.extend_pairs(given);
    let separator = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{separator}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_harmless_scheme() {
        for uri in [
            "https://app.example/callback",
            "https://app.example:8443/callback?x=1",
            "http://localhost:3000/cb",
            "http://127.0.0.1/cb",
            "http://[::1]:9999/cb",
            "myapp://callback",
            "com.example.app://oauth/done",
        ] {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        for uri in [
            "",
            "/callback",
            "app.example/callback",
            "https://",
            "mailto:ann@mail.dev",
            "com.example.app:/done",
            "http://app.example/cb",
            "http://localhost.evil.test/cb",
            "https://app.example/cb#x",
            "https://app.example/cb#",
            "javascript://app.example/%0aalert(1)",
            "JavaScript://x/y",
            "data://x/y",
            "file://host/etc",
            "blob://x/y",
            "https://good.example/,https://evil.example/",
            "https://app.example/a b",
            "https://app.example/\r\nX: y",
            "https://\u{e4}.example/",
        ] {
            assert!(check(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn pairs_go_after_what_was_there() {
        let check = |uri, expected: &str| {
            let pairs = [("code", "a b"), ("state", ""), ("x", "&")];
            assert_eq!(with_query(uri, &pairs), expected);
        };
        check("https://a.test/cb", "https://a.test/cb?code=a+b&x=%26");
        check("myapp://cb?y=1", "myapp://cb?y=1&code=a+b&x=%26");
    }

    proptest! {
        #[test]
        fn any_text_is_checked(text in ".*") {
            let _ = check(&text);
        }

        #[test]
        fn a_good_address_can_be_sent(text in "https://[a-z]{1,9}\\.test/[!-~]{0,20}") {
            if check(&text).is_ok() {
                let sent = with_query(&text, &[("code", "1")]);
                prop_assert!(http::HeaderValue::from_str(&sent).is_ok());
            }
        }
    }
}
