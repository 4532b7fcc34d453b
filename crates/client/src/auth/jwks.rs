//! The project's published keys, fetched when needed and kept for ten minutes (client contract
//! S46–S49, A16, A17, K6).

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::api::AuthApi;
use super::{AuthError, Claims, Decoded};

/// K6: how long a fetched key set is good for.
pub const KEY_SET_LIFETIME_MS: i64 = 600_000;
/// At most one fetch in this time because of a key that is not in the set.
pub const REFETCH_INTERVAL_MS: i64 = 30_000;
/// How long keys go on being used when they cannot be fetched again.
pub const STALE_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;
/// The most keys that are taken from a set.
pub const MAX_KEYS: usize = 64;
/// The most bytes that a set may have.
pub const MAX_KEY_SET_BYTES: usize = 256 * 1024;
/// How long a fetch may take.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Keys by which tokens can be checked without asking the server.
#[derive(Clone, Default)]
pub struct KeySet {
    #[cfg(not(target_arch = "wasm32"))]
    keys: std::sync::Arc<Vec<plinth_token::VerifyingKey>>,
}

/// What a key set says about a token.
#[derive(Debug)]
pub enum Verdict {
    /// The signature is right.
    Genuine(Claims),
    /// No key can decide: the token is signed with a shared secret, or by a key that is not here.
    /// [`AuthApi::user`] can.
    Undecided(Decoded),
}

impl KeySet {
    /// Reads a published key set. Keys that cannot check signatures here are passed over, and so
    /// are all beyond [`MAX_KEYS`].
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

    /// The library that checks signatures does not exist for the browser; there the server is
    /// asked (S46).
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

    /// Checks a token's signature. The key is the one that the header names, never one that the
    /// token brings along (`jwk`, `jku`, `x5u`), and its algorithm must be the header's (S49).
    /// Expiry is the next question: [`Decoded::check_expiry`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn verify(&self, token: &str) -> Result<Verdict, AuthError> {
        let decoded = Decoded::parse(token)?;
        let Some(kid) = decoded.kid().filter(|_| is_asymmetric(&decoded)) else {
            return Ok(Verdict::Undecided(decoded));
        };
        let Some(key) = self.keys.iter().find(|key| key.kid() == Some(kid)) else {
            return Ok(Verdict::Undecided(decoded));
        };
        let refused = |text: &str| AuthError::InvalidJwt(text.to_owned());
        if !matches!(decoded.alg(), Some("ES256" | "RS256")) {
            return Err(refused("Unsupported JWT algorithm"));
        }
        plinth_token::KeySet::builder()
            .foreign_key(key.clone())
            .build()
            .map_err(|_| refused("Unusable key"))?
            .verify(token)
            .map_err(|_| refused("Invalid JWT signature"))?;
        Ok(Verdict::Genuine(decoded.into_claims()))
    }

    /// Decides nothing: there is no library for it here.
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

/// Whether a published key could decide at all: shared secrets are not published (S46).
fn is_asymmetric(decoded: &Decoded) -> bool {
    let can_check_here = cfg!(not(target_arch = "wasm32"));
    can_check_here && decoded.alg().is_some_and(|alg| !alg.starts_with("HS"))
}

/// Keeps the key set of one project. Share one among all clients of a process.
#[derive(Default)]
pub struct JwksCache {
    state: Mutex<Fetched>,
    /// Held while fetching, so that many who miss a key make one request.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Fetched {
    keys: KeySet,
    /// When `keys` came.
    at_ms: Option<i64>,
    /// When a fetch was last tried.
    tried_ms: Option<i64>,
    failures: u64,
}

impl Fetched {
    /// The keys, unless they are too old to be believed.
    fn alive(&self, now_ms: i64) -> KeySet {
        let age = |at: i64| now_ms.saturating_sub(at);
        match self.at_ms {
            Some(at) if age(at) < STALE_LIFETIME_MS => self.keys.clone(),
            _ => KeySet::default(),
        }
    }
}

impl JwksCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cache that begins with these keys, as if they had just been fetched.
    pub fn with_keys(keys: KeySet, now_ms: i64) -> Self {
        Self {
            state: Mutex::new(Fetched {
                keys,
                at_ms: Some(now_ms),
                ..Fetched::default()
            }),
            fetching: tokio::sync::Mutex::new(()),
        }
    }

    /// How old the keys are, in milliseconds.
    pub fn age_ms(&self, now_ms: i64) -> Option<i64> {
        self.state().at_ms.map(|at| now_ms.saturating_sub(at))
    }

    /// How many fetches have failed.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// The keys, fetched if there are none younger than ten minutes. Fetching is tried at most
    /// once in 30 s; in between, and when it fails, keys of the last 24 hours serve on.
    pub async fn keys(&self, api: &AuthApi) -> KeySet {
        self.keys_with(api, None).await
    }

    /// The same, fetched also when a key of this id is missing, at most once in 30 s.
    pub async fn keys_for(&self, api: &AuthApi, kid: &str) -> KeySet {
        self.keys_with(api, Some(kid)).await
    }

    async fn keys_with(&self, api: &AuthApi, kid: Option<&str>) -> KeySet {
        let clock = api.clock();
        if let Some(keys) = self.usable(clock.now_ms(), kid) {
            return keys;
        }
        let _one_at_a_time = self.fetching.lock().await;
        // Somebody else may have fetched while we waited.
        if let Some(keys) = self.usable(clock.now_ms(), kid) {
            return keys;
        }
        self.state().tried_ms = Some(clock.now_ms());
        let fetched = api.jwks().await;
        let mut state = self.state();
        match fetched {
            Ok(keys) => {
                state.keys = keys;
                state.at_ms = Some(clock.now_ms());
            }
            Err(error) => {
                state.failures += 1;
                tracing::warn!(error = %error, "the key set cannot be fetched");
            }
        }
        state.alive(clock.now_ms())
    }

    /// The keys, if they need not be fetched, or may not be fetched again yet.
    fn usable(&self, now_ms: i64, kid: Option<&str>) -> Option<KeySet> {
        let state = self.state();
        let age = |at: i64| now_ms.saturating_sub(at);
        let is_fresh = state.at_ms.is_some_and(|at| age(at) < KEY_SET_LIFETIME_MS);
        let is_known = kid.is_none_or(|kid| state.keys.has(kid));
        let may_fetch = state
            .tried_ms
            .is_none_or(|at| age(at) >= REFETCH_INTERVAL_MS);
        if (is_fresh && is_known) || !may_fetch {
            return Some(state.alive(now_ms));
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, Fetched> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for JwksCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        formatter
            .debug_struct("JwksCache")
            .field("keys", &state.keys.len())
            .field("at_ms", &state.at_ms)
            .finish_non_exhaustive()
    }
}

/// How [`verify`] may go.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Accept tokens that have ended.
    pub allow_expired: bool,
    /// Keys to look at before the cache.
    pub keys: Option<KeySet>,
}

/// Proves a token and gives its claims (S45–S47).
///
/// By a published key where one decides; else by asking the server, which also knows whether the
/// session has been ended.
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
        if let Verdict::Genuine(claims) = keys.verify(token)? {
            return Ok(claims);
        }
    }
    api.user(token).await?;
    Ok(decoded.into_claims())
}
