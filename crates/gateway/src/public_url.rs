//! Which public URL a request's project has.

use std::net::IpAddr;

use plinth_project::PublicUrl;

use crate::{GatewayConfig, destination::Addressed, origin::Origin};

/// The configured URL counts first. A project with a host of its own keeps that host: the
/// configured URL then says only scheme and port. Without one it is where the client came to, in
/// the client's own words only if these cannot lead anybody astray: mails have this URL in them,
/// and whoever asks for a mail is not always who reads it.
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
        (None, _) if is_ours(config, origin, addressed) => {
            format!("{}://{}{}", origin.scheme, origin.authority, origin.prefix)
        }
        (None, _) => format!("{}://{}{}", origin.scheme, origin.local, origin.prefix),
    };
    url.truncate(url.trim_end_matches('/').len());
    if let Addressed::Path(name) = addressed {
        url.push_str("/p/");
        url.push_str(name);
    }
    match config.public_url.is_some() {
        true => PublicUrl::configured(&url),
        false => PublicUrl::new(&url),
    }
}

/// Whether the host that the client used is known to be this instance's: a project's own, one at
/// or below the domain, what a trusted proxy says, or this machine.
fn is_ours(config: &GatewayConfig, origin: &Origin, addressed: Addressed<'_>) -> bool {
    if addressed == Addressed::Host || origin.is_trusted {
        return true;
    }
    let host = origin.host.trim_end_matches('.').to_ascii_lowercase();
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
            client: ClientAddress { ip, peer: ip },
            is_trusted: false,
            scheme: "http",
            authority: format!("{host}:8080"),
            host: host.to_owned(),
            prefix: "/base".to_owned(),
            local: ([192, 0, 2, 1], 54321).into(),
        };
        assert_eq!(public_url(&config, &origin, addressed).as_str(), expected);
    }

    fn check(public: Option<&str>, addressed: Addressed<'_>, expected: &str) {
        check_at("shop.example", public, addressed, expected);
    }

    #[test]
    fn without_a_setting_it_is_where_the_client_came_to() {
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
    fn names_that_are_known_stay() {
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
