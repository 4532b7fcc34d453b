//! Settings of the edge. They are read once at the start: a listener does not change its shape.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use plinth_settings::Settings;
use plinth_token::Secret;
use url::Url;

use crate::Network;

/// How long a client may take to send a request's head.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// More connections than this wait in the operating system's queue.
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
    /// Whether answers are compressed. `plinth.compression`, default yes.
    pub compression: bool,
    /// What `/metrics` asks for. `plinth.metrics_token`, unset: nobody is let in.
    pub metrics_token: Option<Secret>,
    /// Whether `/metrics` asks for nothing; the binary sets it in development on loopback.
    pub open_metrics: bool,
    /// Certificate and key. `plinth.tls.*`, unset: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Largest request body, unless a service changes it. `plinth.limits.max_body`.
    pub max_body_bytes: u64,
    /// Largest request head. `plinth.limits.max_header`.
    pub max_header_bytes: usize,
    /// Longest silence before an answer begins. `plinth.limits.request_timeout`.
    pub request_timeout: Duration,
    /// How long a client may take to send a request's head; also closes idle connections.
    pub header_timeout: Duration,
    /// Time that open requests get at shutdown. `plinth.limits.drain`.
    pub drain: Duration,
    /// Most connections served at once.
    pub max_connections: usize,
}

/// Where certificate and key lie.
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
            settings.opt_path("plinth.tls.cert_file"),
            settings.opt_path("plinth.tls.key_file"),
        );
        let tls = match files {
            (Some(cert), Some(key)) => Some(TlsFiles {
                cert_file: cert.to_owned(),
                key_file: key.to_owned(),
            }),
            _ => None,
        };
        let proxies = settings.list("plinth.trusted_proxies").iter();
        let max_header = settings.bytes("plinth.limits.max_header");
        Self {
            domain: settings.opt_text("plinth.domain").map(tidy_domain),
            public_url: settings
                .opt_url("plinth.public_url")
                .or_else(|| settings.opt_url("api.external_url")),
            trusted_proxies: proxies.filter_map(|text| text.parse().ok()).collect(),
            compression: settings.bool("plinth.compression"),
            metrics_token: settings
                .secret("plinth.metrics_token")
                .map(|secret| Secret::new(secret.expose())),
            open_metrics: false,
            tls,
            max_body_bytes: settings.bytes("plinth.limits.max_body"),
            max_header_bytes: usize::try_from(max_header).unwrap_or(usize::MAX),
            request_timeout: settings.duration("plinth.limits.request_timeout"),
            header_timeout: HEADER_TIMEOUT,
            drain: settings.duration("plinth.limits.drain"),
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

/// As hosts are compared: in lower case, without dots around it.
fn tidy_domain(text: &str) -> String {
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
        assert_eq!(tidy_domain(" .Plinth.Example. "), "plinth.example");
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
