//! A project's URL and the URLs derived from it (client contract S4, S5).

use std::fmt;

use url::Url;

/// The base URL of a project, checked and normalised.
#[derive(Clone, PartialEq, Eq)]
pub struct ProjectUrl(Url);

/// Why a text is no project URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the project URL must begin with http:// or https:// and name a host")]
pub struct InvalidProjectUrl;

impl ProjectUrl {
    /// Parses a base URL such as `https://abc.example.co` or `http://localhost:54321`. Service paths are
    /// appended to its path.
    pub fn parse(text: &str) -> Result<Self, InvalidProjectUrl> {
        let text = text.trim();
        // The parser would also accept `https:abc.example.co`.
        let begins_with = |scheme: &str| {
            let begin = text.get(..scheme.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
        };
        if !begins_with("http://") && !begins_with("https://") {
            return Err(InvalidProjectUrl);
        }
        let mut url = Url::parse(text).map_err(|_| InvalidProjectUrl)?;
        url.set_query(None);
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self(url))
    }

    /// The URL of a service: `auth/v1`, `rest/v1`, …, without a trailing slash.
    pub fn service(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The URL of the WebSocket service.
    pub fn realtime(&self) -> String {
        self.service("realtime/v1").replacen("http", "ws", 1)
    }

    /// The key under which clients of this project store their session.
    ///
    /// Only the first label of the host counts, so `api.a.test` and `api.b.test` share one; an application that
    /// uses both, or IP addresses, should set its own key (S6).
    pub fn storage_key(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        let first = host.split('.').next().unwrap_or_default();
        format!("sb-{first}-auth-token")
    }

    /// The URL itself; its path ends in a slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Credentials in the URL stay out of logs.
impl fmt::Debug for ProjectUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.0.origin().ascii_serialization();
        write!(formatter, "ProjectUrl({origin}{})", self.0.path())
    }
}

/// The default storage key of a project (S4): `sb-<first label of the host>-auth-token`.
///
/// ```
/// let key = plinth_client::storage_key("https://abc.example.co").unwrap();
/// assert_eq!(key, "sb-abc-auth-token");
/// ```
pub fn storage_key(project_url: &str) -> Result<String, InvalidProjectUrl> {
    ProjectUrl::parse(project_url).map(|url| url.storage_key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_key_is_made_of_the_first_label() {
        let check = |url: &str, expected: &str| assert_eq!(storage_key(url).unwrap(), expected);

        check("https://abc.example.co", "sb-abc-auth-token");
        check("http://localhost:54321", "sb-localhost-auth-token");
        check("http://127.0.0.1:54321", "sb-127-auth-token");
        check("http://192.168.1.20", "sb-192-auth-token");
        check("https://api.example.com", "sb-api-auth-token");
        check("https://example.com/base", "sb-example-auth-token");
        check("http://[::1]:8000", "sb-[::1]-auth-token");
        // As JavaScript writes it.
        check("http://[::ffff:1.2.3.4]", "sb-[::ffff:102:304]-auth-token");
        check("  HTTPS://User:Pass@ABC.Example.co  ", "sb-abc-auth-token");
        check("https://bücher.example", "sb-xn--bcher-kva-auth-token");
    }

    #[test]
    fn services_are_below_the_path() {
        let service = |url: &str| ProjectUrl::parse(url).unwrap().service("auth/v1");

        assert_eq!(service("https://a.test"), "https://a.test/auth/v1");
        assert_eq!(service("https://a.test/"), "https://a.test/auth/v1");
        assert_eq!(
            service("https://a.test/p/x?y#z"),
            "https://a.test/p/x/auth/v1"
        );
        let realtime = |url: &str| ProjectUrl::parse(url).unwrap().realtime();
        assert_eq!(realtime("http://a.test"), "ws://a.test/realtime/v1");
        assert_eq!(realtime("https://a.test"), "wss://a.test/realtime/v1");
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "abc",
            "ftp://a.test",
            "//a.test",
            "http://",
            "https:abc.example.co",
            "localhost:54321",
        ] {
            assert_eq!(ProjectUrl::parse(text), Err(InvalidProjectUrl), "{text}");
        }
    }
}
