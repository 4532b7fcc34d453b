//! The public address of the API.

use url::Url;

/// Scheme, host with port, and base path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PublicAddress<'a> {
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) base_path: &'a str,
}

/// The proxy's address, else the listen address. Always with port.
pub(super) fn public_address<'a>(
    proxy: Option<&'a Url>,
    (host, port): (&'a str, u16),
) -> PublicAddress<'a> {
    let Some(proxy) = proxy else {
        return PublicAddress {
            scheme: "http",
            host: format!("{}:{port}", resolve_special(host)),
            base_path: "/",
        };
    };
    let host = proxy.host_str().unwrap_or_default();
    let port = proxy.port_or_known_default().unwrap_or(80);
    PublicAddress {
        scheme: match proxy.scheme() {
            "http" => "http",
            _ => "https",
        },
        host: format!("{host}:{port}"),
        base_path: proxy.path(),
    }
}

/// Replaces the special values of `server-host` for all addresses.
fn resolve_special(host: &str) -> &str {
    match host {
        "*" | "*4" | "!4" | "*6" | "!6" => "0.0.0.0",
        host => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_gives_scheme_host_port_and_path() {
        let check = |uri: &str, scheme: &str, host: &str, base_path: &str| {
            let uri = Url::parse(uri).expect("the case has a valid address");
            let address = public_address(Some(&uri), ("localhost", 3000));
            let actual = (address.scheme, &*address.host, address.base_path);
            assert_eq!(actual, (scheme, host, base_path), "{uri}");
        };

        check(
            "https://api.example.com/v1",
            "https",
            "api.example.com:443",
            "/v1",
        );
        check(
            "https://api.example.com:8443",
            "https",
            "api.example.com:8443",
            "/",
        );
        check(
            "http://api.example.com/a/b/",
            "http",
            "api.example.com:80",
            "/a/b/",
        );
        check(
            "HTTPS://Api.Example.com/",
            "https",
            "api.example.com:443",
            "/",
        );
    }

    #[test]
    fn without_a_proxy_the_listening_address_is_shown() {
        let check = |host: &str, expected: &str| {
            let address = public_address(None, (host, 3000));
            let expected = PublicAddress {
                scheme: "http",
                host: expected.to_owned(),
                base_path: "/",
            };
            assert_eq!(address, expected, "{host}");
        };

        check("localhost", "localhost:3000");
        for all_addresses in ["*", "*4", "!4", "*6", "!6"] {
            check(all_addresses, "0.0.0.0:3000");
        }
    }
}
