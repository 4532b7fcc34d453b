//! What the process needs to know: where to listen, which database, which keys.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use plinth_token::{KeyFile, KeySet, Secret};

use super::{SECOND, variables::Variables};

const DEFAULT_PORT: u16 = 8081;
/// The replaced program opens as many as it likes; Postgres has a hundred for everybody.
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
    /// `SECURITY_SB_FORWARDED_FOR_ENABLED`: that header tells the client's address.
    pub trusts_sb_forwarded_for: bool,
}

impl ServerConfig {
    /// `None` when something is missing; then a problem was told.
    pub(super) fn read(v: &mut Variables) -> Option<Self> {
        refuse_what_is_not_here(v);
        let database_url = v.text_of(&["DB_DATABASE_URL"], Some("DATABASE_URL"));
        if database_url.is_none() {
            v.complain("DATABASE_URL is not set, so there is no database to work on");
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

fn refuse_what_is_not_here(v: &mut Variables) {
    let namespace = v.text_of(&["DB_DB_NAMESPACE", "DB_NAMESPACE"], Some("DB_NAMESPACE"));
    if namespace.is_some_and(|name| name != "auth") {
        v.complain("DB_NAMESPACE: Plinth's accounts are in the schema auth and nowhere else");
    }
    let encrypts = v.flag("SECURITY_DB_ENCRYPTION_ENCRYPT", false);
    let decrypts = v.text("SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS").is_some();
    v.text("SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID");
    v.text("SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY");
    if encrypts || decrypts {
        v.complain(
            "GOTRUE_SECURITY_DB_ENCRYPTION_*: this plinth cannot read or write encrypted columns",
        );
    }
}

fn address(v: &mut Variables) -> Option<SocketAddr> {
    let host = v.text_of(&["API_HOST"], Some("API_HOST"));
    let host = host.unwrap_or_else(|| "0.0.0.0".to_owned());
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if ip.is_err() {
        v.complain(format!(
            "API_HOST: {host:?} is not an IP address, as in 0.0.0.0"
        ));
    }
    let port = match v.text_of(&["API_PORT"], Some("PORT")) {
        None => Some(DEFAULT_PORT),
        Some(text) => {
            let port = text.parse().ok();
            if port.is_none() {
                v.complain(format!("PORT: {text:?} is no port"));
            }
            port
        }
    };
    Some(SocketAddr::new(ip.ok()?, port?))
}

/// Of `JWT_KEYS` one key signs; without them the secret does (auth contract §3.2).
fn keys(v: &mut Variables) -> Option<KeySet> {
    let secret = v.text_of(&["JWT_SECRET"], Some("JWT_SECRET"));
    let id = v.text_of(&["JWT_KEY_ID"], Some("JWT_KEY_ID"));
    let keys = v.text_of(&["JWT_KEYS"], Some("JWT_KEYS"));
    if secret.is_none() && keys.is_none() {
        v.complain("GOTRUE_JWT_SECRET is not set, so no token can be signed or checked");
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
                v.problem("JWT_KEYS", error);
                return None;
            }
        }
    }
    let keyset = builder.build();
    if let Err(error) = &keyset {
        v.complain(format!("GOTRUE_JWT_*: {error}"));
    }
    keyset.ok()
}
