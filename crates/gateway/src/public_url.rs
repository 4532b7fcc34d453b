//! The public URL of a request's project.

use std::net::IpAddr;

use plinth_project::PublicUrl;

use crate::{
    GatewayConfig,
    destination::{Addressed, canonical_host},
    origin::Origin,
};

/// The configured URL takes precedence; for a project with its own host it gives only scheme and
/// port. Without one it is the host that the client sent, if that host is known to be ours, else the
/// address that the connection came to. An arbitrary `Host` header is not used: mails contain this
/// URL, and the sender of the request need not be the mail's recipient.
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
        (None, _) if is_own_host(config, origin, addressed) => {
            format!("{}://{}{}", origin.scheme, origin.authority, origin.prefix)
        }
        (None, _) => format!("{}://{}{}", origin.scheme, origin.local, origin.prefix),
    };
    url.truncate(url.trim_end_matches('/').len());
    if let Addressed::Path(name) = addressed {
        url.push_str("/p/");
        url.push_str(name);
    }
    if config.public_url.is_some() {
        PublicUrl::configured(&url)
    } else {
        PublicUrl::new(&url)
    }
}

/// Whether the host that the client sent is known to be this instance's: a project's own host, one at
/// or below `plinth.domain`, one from a trusted proxy, or loopback.
fn is_own_host(config: &GatewayConfig, origin: &Origin, addressed: Addressed<'_>) -> bool {
    if addressed == Addressed::Host || origin.is_trusted {
        return true;
    }
    let host = canonical_host(&origin.host);
    let is_at_or_below = |domain: &str| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    is_at_or_below("localhost")
        || config.domain.as_deref().is_some_and(is_at_or_below)
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use plinth_settings::Settings;
    use url::Url;

    use super::*;
    use plinth_project::ClientAddress;

    fn check_at(host: &str, public: Option<&str>, addressed: Addressed<'_>, expected: &str) {
        let mut config = GatewayConfig::from_settings(&Settings::default());
        config.public_url = public.and_then(|text| Url::parse(text).ok());
        config.domain = Some("plinth.example".to_owned());
        let ip = [127, 0, 0, 1].into();
        let origin = Origin {
            client: ClientAddress {
                ip,
                peer: ip,
                is_forwarded: false,
            },
            is_trusted: false,
            scheme: "http",
            authority: format!("{host}:8080"),
            host: host.to_owned(),
            port: 8080,
            prefix: "/base".to_owned(),
            local: ([192, 0, 2, 1], 54321).into(),
        };
        assert_eq!(public_url(&config, &origin, addressed).as_str(), expected);
    }

    fn check(public: Option<&str>, addressed: Addressed<'_>, expected: &str) {
        check_at("shop.example", public, addressed, expected);
    }

    #[test]
    fn without_a_setting_it_is_the_address_of_the_connection() {
        let bare = Addressed::Bare;
        let path = Addressed::Path("default");
        check(None, bare, "http://192.0.2.1:54321/base");
        check(None, path, "http://192.0.2.1:54321/base/p/default");
        for host in [
            "notplinth.example",
            "plinth.example.evil.test",
            "localhost.evil.test",
        ] {
            check_at(host, None, bare, "http://192.0.2.1:54321/base");
        }
    }

    #[test]
    fn known_hosts_are_kept() {
        for host in [
            "localhost",
            "app.localhost",
            "127.0.0.1",
            "[::1]",
            "plinth.example",
            "www.Plinth.example",
        ] {
            let expected = format!("http://{host}:8080/base");
            check_at(host, None, Addressed::Bare, &expected);
        }
        check(None, Addressed::Host, "http://shop.example:8080/base");
    }

    #[test]
    fn the_setting_takes_precedence() {
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
    fn a_project_with_its_own_host_keeps_it() {
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
