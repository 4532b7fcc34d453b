//! Keys of the default project that config.toml or the environment give; used as they are.

use std::path::Path;

use plinth_settings::Settings;
use plinth_token::{KeyFile, Secret};

/// What is given; each part that is not comes from the platform's tables.
#[derive(Default, Clone)]
pub struct GivenKeys {
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

/// Given keys that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{key} cannot be used: {reason}")]
pub struct BadGivenKey {
    key: &'static str,
    reason: String,
}

impl GivenKeys {
    /// Reads them from the settings; `read_file` resolves a path below the project's folder.
    pub fn from_settings(
        settings: &Settings,
        read_file: impl FnOnce(&Path) -> std::io::Result<String>,
    ) -> Result<Self, BadGivenKey> {
        let secret = |key: &str| settings.secret(key).map(|text| Secret::new(text.expose()));
        let jwt_secret = secret("auth.jwt_secret");
        if let Some(given) = &jwt_secret
            && given.expose().len() < plinth_token::MIN_JWT_SECRET_BYTES
        {
            return Err(BadGivenKey {
                key: "auth.jwt_secret",
                reason: format!(
                    "it has {} characters, and at least {} are needed",
                    given.expose().len(),
                    plinth_token::MIN_JWT_SECRET_BYTES
                ),
            });
        }
        let signing_keys = match settings.opt_path("auth.signing_keys_path") {
            None => None,
            Some(path) => {
                let file = read_file(path)
                    .map_err(|error| error.to_string())
                    .and_then(|json| KeyFile::from_json(&json).map_err(|error| error.to_string()));
                Some(file.map_err(|reason| BadGivenKey {
                    key: "auth.signing_keys_path",
                    reason: format!("{}: {reason}", path.display()),
                })?)
            }
        };
        Ok(Self {
            jwt_secret,
            anon_key: secret("auth.anon_key"),
            service_role_key: secret("auth.service_role_key"),
            publishable_key: secret("auth.publishable_key"),
            secret_key: secret("auth.secret_key"),
            signing_keys,
        })
    }
}
