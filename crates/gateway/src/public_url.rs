//! Which public URL a request's project has.

use plinth_project::PublicUrl;

use crate::{GatewayConfig, destination::Addressed, origin::Origin};

/// The configured URL counts first. A project with a host of its own keeps that host: the
/// configured URL then says only scheme and port.
pub(crate) fn public_url(
    config: &GatewayConfig,
    origin: &Origin,
    addressed: Addressed<'_>,
) -> PublicUrl {
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
    PublicUrl::new(&url)
}

#[cfg(test)]
mod tests {
    use plinth_settings::Settings;
    use url::Url;

    use super::*;
    use plinth_project::ClientAddress;

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
        assert_eq!(public_url(&config, &origin, addressed).as_str(), expected);
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
}
