//! Where the outside world finds the project that a request is for.

use std::{fmt, sync::Arc};

use crate::{GatewayConfig, destination::Addressed, origin::Origin};

/// The externally visible base URL, without a slash at its end; an extension of every request.
///
/// A service's own address is this followed by its mount: `<public url>/storage/v1`. Requests to
/// the instance itself have the instance's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(Arc<str>);

impl PublicUrl {
    /// From a text as it stands in settings; slashes at its end are dropped.
    pub fn new(text: &str) -> Self {
        Self(text.trim_end_matches('/').into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL of a path below it; the path begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The configured URL counts first. A project with a host of its own keeps that host: the
    /// configured URL then says only scheme and port.
    pub(crate) fn of(config: &GatewayConfig, origin: &Origin, addressed: Addressed<'_>) -> Self {
        let mut url = match (&config.public_url, addressed) {
            (Some(public), Addressed::Host) => {
                let port = public
                    .port()
                    .map(|port| format!(":{port}"))
                    .unwrap_or_default();
                format!("{}://{}{port}", public.scheme(), origin.host)
            }
            (Some(public), _) => public
                .as_str()
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
                .to_owned(),
            (None, _) => format!("{}://{}{}", origin.scheme, origin.authority, origin.prefix),
        };
        url.truncate(url.trim_end_matches('/').len());
        if let Addressed::Path(name) = addressed {
            url.push_str("/p/");
            url.push_str(name);
        }
        Self(url.into())
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use plinth_settings::Settings;
    use url::Url;

    use super::*;
    use crate::ClientAddress;

    fn check(public: Option<&str>, addressed: Addressed<'_>, expected: &str) {
        let mut config = GatewayConfig::from_settings(&Settings::default());
        config.public_url = public.and_then(|text| Url::parse(text).ok());
        let ip = [127, 0, 0, 1].into();
        let origin = Origin {
            client: ClientAddress { ip, peer: ip },
            is_trusted: false,
            scheme: "http",
            authority: "shop.example:8080".to_owned(),
            host: "shop.example".to_owned(),
            prefix: "/base".to_owned(),
        };
        assert_eq!(
            PublicUrl::of(&config, &origin, addressed).as_str(),
            expected
        );
    }

    #[test]
    fn without_a_setting_it_is_what_the_client_used() {
        check(None, Addressed::Bare, "http://shop.example:8080/base");
        check(None, Addressed::Host, "http://shop.example:8080/base");
        check(
            None,
            Addressed::Path("default"),
            "http://shop.example:8080/base/p/default",
        );
    }

    #[test]
    fn the_setting_counts_first() {
        let public = Some("https://plinth.example/");
        check(public, Addressed::Bare, "https://plinth.example");
        check(
            public,
            Addressed::Path("platform"),
            "https://plinth.example/p/platform",
        );
        check(
            Some("https://plinth.example/x/?y"),
            Addressed::Bare,
            "https://plinth.example/x",
        );
    }

    #[test]
    fn a_project_with_a_host_of_its_own_keeps_it() {
        check(
            Some("https://plinth.example"),
            Addressed::Host,
            "https://shop.example",
        );
        check(
            Some("https://plinth.example:8443/x"),
            Addressed::Host,
            "https://shop.example:8443",
        );
    }

    #[test]
    fn paths_are_appended() {
        assert_eq!(
            PublicUrl::new("http://a/").join("/auth/v1"),
            "http://a/auth/v1"
        );
    }
}
