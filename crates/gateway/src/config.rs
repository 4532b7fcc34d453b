//! Settings of the edge. They are read once at the start and not reloaded.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use plinth_settings::{Settings, keys};
use plinth_token::Secret;
use url::Url;

use crate::Network;

/// Timeout for receiving a request's head.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Further connections wait in the kernel's accept queue.
const MAX_CONNECTIONS: usize = 16_384;

/// Settings of the edge.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// Domain below which each project has a host. `plinth.domain`, unset: no such hosts.
    pub domain: Option<String>,
    /// Where the outside world reaches the instance. `plinth.public_url`, else
    /// `api.external_url`; unset: where connections come in.
    pub public_url: Option<Url>,
    /// Peers whose forwarding headers count. `plinth.trusted_proxies`, default none.
    pub trusted_proxies: Vec<Network>,
    /// Whether responses are compressed. `plinth.compression`, default yes.
    pub compression: bool,
    /// Bearer token for `/metrics`. `plinth.metrics_token`, unset: no access.
    pub metrics_token: Option<Secret>,
    /// Whether `/metrics` needs no token; the binary sets it in development on loopback.
    pub open_metrics: bool,
    /// Certificate and key. `plinth.tls.*`, unset: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Largest request body, unless a service changes it. `plinth.limits.max_body`.
    pub max_body_bytes: u64,
    /// Largest request head. `plinth.limits.max_header`.
    pub max_header_bytes: usize,
    /// Timeout until a response begins. `plinth.limits.request_timeout`.
    pub request_timeout: Duration,
    /// Timeout for receiving a request's head; also closes idle connections.
    pub header_timeout: Duration,
    /// Time that requests in flight get at shutdown. `plinth.limits.drain`.
    pub drain: Duration,
    /// Most connections served at once.
    pub max_connections: usize,
}

/// Paths of certificate and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, PEM, the server's own first.
    pub cert_file: PathBuf,
    /// The private key, PEM.
    pub key_file: PathBuf,
}

impl GatewayConfig {
    /// The tree is checked already, so this cannot fail.
    pub fn from_settings(settings: &Settings) -> Self {
        let files = (
            settings.get(keys::plinth::TLS_CERT_FILE),
            settings.get(keys::plinth::TLS_KEY_FILE),
        );
        let tls = match files {
            (Some(cert), Some(key)) => Some(TlsFiles {
                cert_file: cert.to_owned(),
                key_file: key.to_owned(),
            }),
            _ => None,
        };
        let proxies = settings.get(keys::plinth::TRUSTED_PROXIES).iter();
        let max_header = settings.get(keys::plinth::LIMITS_MAX_HEADER);
        Self {
            domain: settings.get(keys::plinth::DOMAIN).map(normalize_domain),
            public_url: settings
                .get(keys::plinth::PUBLIC_URL)
                .or_else(|| settings.get(keys::api::EXTERNAL_URL))
                .map(|url| url.url().clone()),
            trusted_proxies: proxies.filter_map(|text| text.parse().ok()).collect(),
            compression: settings.get(keys::plinth::COMPRESSION),
            metrics_token: settings
                .get(keys::plinth::METRICS_TOKEN)
                .map(|secret| Secret::new(secret.expose())),
            open_metrics: false,
            tls,
            max_body_bytes: settings.get(keys::plinth::LIMITS_MAX_BODY),
            max_header_bytes: usize::try_from(max_header).unwrap_or(usize::MAX),
            request_timeout: settings.get(keys::plinth::LIMITS_REQUEST_TIMEOUT),
            header_timeout: HEADER_TIMEOUT,
            drain: settings.get(keys::plinth::LIMITS_DRAIN),
            max_connections: MAX_CONNECTIONS,
        }
    }

    /// Whether forwarding headers from this peer count.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted_proxies
            .iter()
            .any(|network| network.contains(peer))
    }

    /// The path of the public URL without a slash at its end; empty when it has none.
    pub(crate) fn base_path(&self) -> &str {
        self.public_url
            .as_ref()
            .map_or("", |url| url.path().trim_end_matches('/'))
    }
}

/// The form in which hosts are compared: lower case, without leading and trailing dots.
fn normalize_domain(text: &str) -> String {
    text.trim().trim_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;

    #[test]
    fn defaults_suit_a_laptop() {
        let config = GatewayConfig::from_settings(&Settings::default());

        assert_eq!(config.max_body_bytes, 50 << 20);
        assert_eq!(config.max_header_bytes, 64 << 10);
        assert_eq!(config.request_timeout, Duration::from_secs(60));
        assert_eq!(config.drain, Duration::from_secs(30));
        assert!(config.compression && !config.open_metrics);
        assert!(config.tls.is_none() && config.metrics_token.is_none());
        assert!(!config.trusts(IpAddr::from([127, 0, 0, 1])));
    }

    #[test]
    fn a_domain_is_compared_in_lower_case_and_without_dots_around_it() {
        assert_eq!(normalize_domain(" .Plinth.Example. "), "plinth.example");
    }

    #[test]
    fn the_official_name_of_the_public_url_counts_too() {
        let public = |pairs: &[(&str, &str)]| {
            let loader = pairs.iter().fold(Loader::new(), |loader, (name, value)| {
                loader.command_line(*name, *value)
            });
            let settings = loader.load().expect("good settings").settings;
            let url = GatewayConfig::from_settings(&settings).public_url;
            url.map(String::from)
        };
        let official = ("api.external_url", "https://api.example");
        let own = ("plinth.public_url", "https://own.example");

        assert_eq!(public(&[]), None);
        assert_eq!(public(&[official]).as_deref(), Some("https://api.example/"));
        assert_eq!(
            public(&[official, own]).as_deref(),
            Some("https://own.example/")
        );
    }

    #[test]
    fn the_base_path_has_no_slash_at_its_end() {
        let mut config = GatewayConfig::from_settings(&Settings::default());
        assert_eq!(config.base_path(), "");
        config.public_url = Url::parse("https://x.example/base/").ok();
        assert_eq!(config.base_path(), "/base");
        config.public_url = Url::parse("https://x.example").ok();
        assert_eq!(config.base_path(), "");
    }
}
