//! The project's published keys, and verifying tokens (client contract S46–S49).

mod cache;

use std::fmt;

use serde_json::Value;

use super::api::AuthApi;
use super::{AuthError, Claims, Decoded};
pub use cache::{
    FETCH_TIMEOUT, JwksCache, KEY_SET_LIFETIME_MS, REFETCH_INTERVAL_MS, STALE_LIFETIME_MS,
};

/// Maximum number of keys in a set.
pub const MAX_KEYS: usize = 64;
/// Maximum size of a set.
pub const MAX_KEY_SET_BYTES: usize = 256 * 1024;

/// Keys for verifying tokens locally.
#[derive(Clone, Default)]
pub struct KeySet {
    #[cfg(not(target_arch = "wasm32"))]
    keys: std::sync::Arc<Vec<plinth_token::VerifyingKey>>,
}

/// Result of verifying a token with a key set.
#[derive(Debug)]
pub enum Verdict {
    /// The signature is valid.
    Verified(Claims),
    /// No key applies: the token is signed with a shared secret, or by an unknown key. [`AuthApi::user`] can
    /// decide.
    Undecided(Decoded),
}

impl KeySet {
    /// Parses a published key set. Unsupported keys are skipped, and so are all beyond [`MAX_KEYS`].
    pub fn from_json(text: &str) -> Result<Self, AuthError> {
        let set: Value = serde_json::from_str(text).map_err(|_| AuthError::unreadable())?;
        let keys = set.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(AuthError::unreadable)?;
        Ok(Self::of_keys(keys))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn of_keys(keys: &[Value]) -> Self {
        let checks = |key: &&Value| key.get("use").is_none_or(|usage| usage == "sig");
        let keys = keys.iter().take(MAX_KEYS).filter(checks);
        let keys = keys
            .filter_map(|key| plinth_token::VerifyingKey::from_jwk(key).ok())
            .filter(|key| key.kid().is_some() && !key.algorithm().is_symmetric());
        Self {
            keys: std::sync::Arc::new(keys.collect()),
        }
    }

    /// There is no signature library for the browser; the server is asked instead (S46).
    #[cfg(target_arch = "wasm32")]
    fn of_keys(_keys: &[Value]) -> Self {
        Self::default()
    }

    /// Whether no key is usable.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys there are.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many keys there are.
    #[cfg(target_arch = "wasm32")]
    pub fn len(&self) -> usize {
        0
    }

    /// Whether a key of this id is here.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == Some(kid))
    }

    /// Whether a key of this id is here.
    #[cfg(target_arch = "wasm32")]
    pub fn has(&self, _kid: &str) -> bool {
        false
    }

    /// Verifies a token's signature. The key is the one that the header names, never one in the token (`jwk`, `jku`,
    /// `x5u`), and its algorithm must be the header's (S49). Check the expiry with
    /// [`Decoded::check_expiry`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn verify(&self, token: &str) -> Result<Verdict, AuthError> {
        let decoded = Decoded::parse(token)?;
        let Some(kid) = decoded.kid().filter(|_| is_asymmetric(&decoded)) else {
            return Ok(Verdict::Undecided(decoded));
        };
        let Some(key) = self.keys.iter().find(|key| key.kid() == Some(kid)) else {
            return Ok(Verdict::Undecided(decoded));
        };
        let rejected = |text: &str| AuthError::InvalidJwt(text.to_owned());
        if !matches!(decoded.alg(), Some("ES256" | "RS256")) {
            return Err(rejected("Unsupported JWT algorithm"));
        }
        plinth_token::KeySet::builder()
            .foreign_key(key.clone())
            .build()
            .map_err(|_| rejected("Unusable key"))?
            .verify(token)
            .map_err(|_| rejected("Invalid JWT signature"))?;
        Ok(Verdict::Verified(decoded.into_claims()))
    }

    /// Undecided: there is no signature library here.
    #[cfg(target_arch = "wasm32")]
    pub fn verify(&self, token: &str) -> Result<Verdict, AuthError> {
        Decoded::parse(token).map(Verdict::Undecided)
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeySet")
            .field("keys", &self.len())
            .finish()
    }
}

/// Whether a published key can apply at all: shared secrets are not published (S46).
fn is_asymmetric(decoded: &Decoded) -> bool {
    let can_check_here = cfg!(not(target_arch = "wasm32"));
    can_check_here && decoded.alg().is_some_and(|alg| !alg.starts_with("HS"))
}

/// Options of [`verify`].
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Accept expired tokens.
    pub allow_expired: bool,
    /// Keys to use before the cache.
    pub keys: Option<KeySet>,
}

/// Verifies a token and returns its claims (S45–S47).
///
/// With a published key if one applies; otherwise by asking the server, which also knows whether the session has
/// ended.
pub async fn verify(
    token: &str,
    api: &AuthApi,
    cache: &JwksCache,
    options: &VerifyOptions,
) -> Result<Claims, AuthError> {
    let decoded = Decoded::parse(token)?;
    if !options.allow_expired {
        decoded.check_expiry(api.clock().now_s())?;
    }
    if let Some(kid) = decoded.kid().filter(|_| is_asymmetric(&decoded)) {
        let given = options.keys.as_ref().filter(|keys| keys.has(kid));
        let keys = match given {
            Some(keys) => keys.clone(),
            None => cache.keys_for(api, kid).await,
        };
        if let Verdict::Verified(claims) = keys.verify(token)? {
            return Ok(claims);
        }
    }
    api.user(token).await?;
    Ok(decoded.into_claims())
}
