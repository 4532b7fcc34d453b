//! Keys of the default project from config.toml or the environment; used unchanged.

use std::path::Path;

use plinth_settings::{Key, Settings, keys::auth};
use plinth_token::{KeyFile, Secret};

/// The configured keys; each one that is absent comes from the platform's tables.
#[derive(Default, Clone)]
pub struct ConfiguredKeys {
    /// `auth.jwt_secret`.
    pub jwt_secret: Option<Secret>,
    /// `auth.anon_key`.
    pub anon_key: Option<Secret>,
    /// `auth.service_role_key`.
    pub service_role_key: Option<Secret>,
    /// `auth.publishable_key`.
    pub publishable_key: Option<Secret>,
    /// `auth.secret_key`.
    pub secret_key: Option<Secret>,
    /// The file named by `auth.signing_keys_path`.
    pub signing_keys: Option<KeyFile>,
}

/// A configured key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{key} cannot be used: {reason}")]
pub struct ConfiguredKeyError {
    key: &'static str,
    reason: String,
}

impl ConfiguredKeys {
    /// Reads them from the settings; `read_file` resolves a path relative to the project's folder.
    pub fn from_settings(
        settings: &Settings,
        read_file: impl FnOnce(&Path) -> std::io::Result<String>,
    ) -> Result<Self, ConfiguredKeyError> {
        let secret = |key: Key<Option<plinth_settings::Secret>>| {
            settings.get(key).map(|text| Secret::new(text.expose()))
        };
        let jwt_secret = secret(auth::JWT_SECRET);
        if let Some(secret) = &jwt_secret
            && secret.expose().len() < plinth_token::MIN_JWT_SECRET_BYTES
        {
            return Err(ConfiguredKeyError {
                key: auth::JWT_SECRET.path(),
                reason: format!(
                    "it has {} characters, and at least {} are needed",
                    secret.expose().len(),
                    plinth_token::MIN_JWT_SECRET_BYTES
                ),
            });
        }
        let signing_keys = match settings.get(auth::SIGNING_KEYS_PATH) {
            None => None,
            Some(path) => {
                let file = read_file(path)
                    .map_err(|error| error.to_string())
                    .and_then(|json| KeyFile::from_json(&json).map_err(|error| error.to_string()));
                Some(file.map_err(|reason| ConfiguredKeyError {
                    key: auth::SIGNING_KEYS_PATH.path(),
                    reason: format!("{}: {reason}", path.display()),
                })?)
            }
        };
        Ok(Self {
            jwt_secret,
            anon_key: secret(auth::ANON_KEY),
            service_role_key: secret(auth::SERVICE_ROLE_KEY),
            publishable_key: secret(auth::PUBLISHABLE_KEY),
            secret_key: secret(auth::SECRET_KEY),
            signing_keys,
        })
    }
}
