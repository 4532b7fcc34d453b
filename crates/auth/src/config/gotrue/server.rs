//! Settings of the process: listen address, database, keys.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use plinth_token::{KeyFile, KeySet, Secret};
use url::Url;

use super::{AuthConfig, SECOND, variables::Variables};

const DEFAULT_PORT: u16 = 8081;
/// GoTrue has no default limit, but PostgreSQL allows a hundred connections for all clients.
const DEFAULT_POOL_SIZE: usize = 10;

/// For the process that runs the service.
#[derive(Debug)]
pub struct ServerConfig {
    /// `API_HOST` and `PORT`.
    pub address: SocketAddr,
    /// `DATABASE_URL`
    pub database_url: Secret,
    /// `DB_MAX_POOL_SIZE`
    pub pool_size: usize,
    /// `DB_CONN_MAX_LIFETIME`
    pub pool_max_lifetime: Duration,
    /// `DB_CONN_MAX_IDLE_TIME`
    pub pool_idle_timeout: Duration,
    /// `JWT_SECRET`, `JWT_KEY_ID` and `JWT_KEYS`.
    pub keyset: KeySet,
    /// `SECURITY_SB_FORWARDED_FOR_ENABLED`: whether that header is trusted for the client's
    /// address.
    pub trusts_sb_forwarded_for: bool,
}

impl ServerConfig {
    /// `None` when a required variable is missing, which is recorded as a problem.
    pub(super) fn read(v: &mut Variables) -> Option<Self> {
        reject_unsupported(v);
        let database_url = v.text_of(&["DB_DATABASE_URL"], Some("DATABASE_URL"));
        if database_url.is_none() {
            v.add_problem("DATABASE_URL is not set, so there is no database to work on");
        }
        let (address, keyset) = (address(v), keys(v));
        let size = v.number("DB_MAX_POOL_SIZE", 0) as usize;
        v.number("DB_MAX_IDLE_POOL_SIZE", 0);
        v.number_up_to("DB_CONN_PERCENTAGE", 0, 100);
        let lifetime = v.duration_or_if_zero("DB_CONN_MAX_LIFETIME", 1800 * SECOND);
        let idle = v.duration_or_if_zero("DB_CONN_MAX_IDLE_TIME", 30 * SECOND);
        let trusts_sb_forwarded_for = v.flag("SECURITY_SB_FORWARDED_FOR_ENABLED", false);
        Some(Self {
            address: address?,
            database_url: database_url?.into(),
            pool_size: if size == 0 { DEFAULT_POOL_SIZE } else { size },
            pool_max_lifetime: lifetime,
            pool_idle_timeout: idle,
            keyset: keyset?,
            trusts_sb_forwarded_for,
        })
    }
}

impl ServerConfig {
    /// Behind a proxy every client has the proxy's address, so that all share one rate limit unless a
    /// header names the client.
    pub(super) fn shared_limit_warning(&self, auth: &AuthConfig) -> Option<String> {
        let is_named = auth.rates.client_header.is_some();
        let external = Url::parse(auth.external_url.as_deref()?).ok()?;
        (!is_named && self.is_behind_proxy(&external)).then(|| {
            format!(
                "GOTRUE_RATE_LIMIT_HEADER is not set: {external} leads through a proxy, and all \
                 clients of a proxy share one rate limit; name the header in which it passes on \
                 their address"
            )
        })
    }

    /// This server has no TLS, no path, and its own port.
    fn is_behind_proxy(&self, external: &Url) -> bool {
        external.scheme() == "https"
            || !matches!(external.path(), "" | "/")
            || external.port_or_known_default() != Some(self.address.port())
    }
}

fn reject_unsupported(v: &mut Variables) {
    let namespace = v.text_of(&["DB_DB_NAMESPACE", "DB_NAMESPACE"], Some("DB_NAMESPACE"));
    if namespace.is_some_and(|name| name != "auth") {
        v.add_problem("DB_NAMESPACE: Plinth's accounts are in the schema auth and nowhere else");
    }
    let encrypts = v.flag("SECURITY_DB_ENCRYPTION_ENCRYPT", false);
    let decrypts = v.text("SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS").is_some();
    v.text("SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID");
    v.text("SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY");
    if encrypts || decrypts {
        v.add_problem(
            "GOTRUE_SECURITY_DB_ENCRYPTION_*: this plinth cannot read or write encrypted columns",
        );
    }
}

fn address(v: &mut Variables) -> Option<SocketAddr> {
    let host = v.text_of(&["API_HOST"], Some("API_HOST"));
    let host = host.unwrap_or_else(|| "0.0.0.0".to_owned());
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if ip.is_err() {
        v.add_problem(format!(
            "API_HOST: {host:?} is not an IP address, as in 0.0.0.0"
        ));
    }
    let port = match v.text_of(&["API_PORT"], Some("PORT")) {
        None => Some(DEFAULT_PORT),
        Some(text) => {
            let port = text.parse().ok();
            if port.is_none() {
                v.add_problem(format!("PORT: {text:?} is no port"));
            }
            port
        }
    };
    Some(SocketAddr::new(ip.ok()?, port?))
}

/// One key of `JWT_KEYS` signs; without them the secret does (auth contract §3.2).
fn keys(v: &mut Variables) -> Option<KeySet> {
    let secret = v.text_of(&["JWT_SECRET"], Some("JWT_SECRET"));
    let id = v.text_of(&["JWT_KEY_ID"], Some("JWT_KEY_ID"));
    let keys = v.text_of(&["JWT_KEYS"], Some("JWT_KEYS"));
    if secret.is_none() && keys.is_none() {
        v.add_problem("GOTRUE_JWT_SECRET is not set, so no token can be signed or checked");
        return None;
    }
    let mut builder = KeySet::builder();
    if let Some(secret) = secret {
        builder = builder.legacy_secret(secret);
    }
    if let Some(id) = id {
        builder = builder.legacy_key_id(id);
    }
    if let Some(keys) = keys {
        match KeyFile::from_json(&keys) {
            Ok(file) => builder = builder.key_file(file),
            Err(error) => {
                v.add_problem_with("JWT_KEYS", error);
                return None;
            }
        }
    }
    let keyset = builder.build();
    if let Err(error) = &keyset {
        v.add_problem(format!("GOTRUE_JWT_*: {error}"));
    }
    keyset.ok()
}
