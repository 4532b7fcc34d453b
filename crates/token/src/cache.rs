//! Cache of verified tokens, so that each signature is checked once and not per request.
//!
//! Only the signature check is cached. Time and audience are checked again on every request
//! ([`VerifiedToken::check`](crate::VerifiedToken::check)), so a cached token still expires. Rejected
//! tokens are not cached: an attacker could fill the cache with them.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use moka::notification::RemovalCause;
use moka::sync::{Cache, CacheBuilder};

use crate::error::TokenError;
use crate::keyset::KeySet;
use crate::verified::VerifiedToken;

const DEFAULT_BYTES: u64 = 16 * 1024 * 1024;
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Parsed claims take several times the memory of their text; a flat part covers the entry itself.
const BYTES_PER_CLAIM_BYTE: usize = 4;
const BYTES_PER_ENTRY: usize = 512;

/// A bounded cache of verified tokens. One can serve all projects: entries belong to the key set that
/// verified them, and a new key set finds none.
#[derive(Clone, Debug)]
pub struct TokenCache {
    tokens: Cache<Key, VerifiedToken>,
    counters: Arc<Counters>,
    secrets: [RandomState; 2],
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Lookups.
    pub requests: u64,
    /// Lookups that found the token.
    pub hits: u64,
    /// Tokens evicted for space.
    pub evictions: u64,
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    hits: AtomicU64,
    evictions: AtomicU64,
}

/// Hash of the token, which keeps credentials out of memory dumps.
///
/// SipHash twice under random keys: a forged match has to guess 128 bits. An unkeyed hash would have to
/// be collision resistant, and cost ten times as much on every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    generation: u64,
    token_hash: [u64; 2],
}

impl TokenCache {
    /// A cache that takes about this much memory at most.
    pub fn with_max_bytes(max_bytes: u64) -> Self {
        let tokens = Cache::builder()
            .max_capacity(max_bytes)
            .weigher(|_, token: &VerifiedToken| weight(token));
        Self::build(tokens, Arc::default())
    }

    /// A cache of at most this many tokens; none at all with zero.
    pub fn with_max_entries(max_entries: u64) -> Self {
        Self::build(Cache::builder().max_capacity(max_entries), Arc::default())
    }

    /// An empty cache of another size with the same counters.
    pub fn resized(&self, max_entries: u64) -> Self {
        let tokens = Cache::builder().max_capacity(max_entries);
        Self::build(tokens, Arc::clone(&self.counters))
    }

    fn build(
        tokens: CacheBuilder<Key, VerifiedToken, Cache<Key, VerifiedToken>>,
        counters: Arc<Counters>,
    ) -> Self {
        let counted = Arc::clone(&counters);
        let tokens = tokens
            .time_to_idle(IDLE_TIMEOUT)
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    counted.evictions.fetch_add(1, Relaxed);
                }
            })
            .build();
        Self {
            tokens,
            counters,
            secrets: [RandomState::new(), RandomState::new()],
        }
    }

    /// Like [`KeySet::verify`], but cached.
    pub fn verify(&self, keys: &KeySet, token: &str) -> Result<VerifiedToken, TokenError> {
        let key = Key {
            generation: keys.generation(),
            token_hash: self.secrets.each_ref().map(|secret| secret.hash_one(token)),
        };
        self.counters.requests.fetch_add(1, Relaxed);
        if let Some(known) = self.tokens.get(&key) {
            self.counters.hits.fetch_add(1, Relaxed);
            return Ok(known);
        }
        let verified = keys.verify(token)?;
        self.tokens.insert(key, verified.clone());
        Ok(verified)
    }

    /// Current counters.
    pub fn counts(&self) -> CacheCounts {
        CacheCounts {
            requests: self.counters.requests.load(Relaxed),
            hits: self.counters.hits.load(Relaxed),
            evictions: self.counters.evictions.load(Relaxed),
        }
    }

    /// How many tokens are cached.
    pub fn len(&self) -> u64 {
        self.tokens.run_pending_tasks();
        self.tokens.entry_count()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Evicts all tokens.
    pub fn clear(&self) {
        self.tokens.invalidate_all();
    }
}

impl Default for TokenCache {
    /// 16 MiB: a few thousand signed-in users.
    fn default() -> Self {
        Self::with_max_bytes(DEFAULT_BYTES)
    }
}

fn weight(token: &VerifiedToken) -> u32 {
    let bytes = token.claims_text().len() * BYTES_PER_CLAIM_BYTE + BYTES_PER_ENTRY;
    bytes.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::keyset::KeyStatus;
    use crate::signing_key::SigningKey;
    use crate::verified::ClaimRules;

    fn keys_of(key: &SigningKey, status: KeyStatus) -> KeySet {
        KeySet::builder()
            .signing_key(key.clone(), status)
            .build()
            .unwrap()
    }

    fn key() -> SigningKey {
        SigningKey::generate(Algorithm::Es256).unwrap()
    }

    #[test]
    fn a_token_is_read_once_and_then_remembered() {
        let (cache, key) = (TokenCache::default(), key());
        let keys = keys_of(&key, KeyStatus::InUse);
        let token = keys.sign(&json!({ "sub": "u1" })).unwrap();

        let first = cache.verify(&keys, &token).unwrap();
        let second = cache.verify(&keys, &token).unwrap();

        // The same allocation: the second result came from the cache.
        assert!(std::ptr::eq(first.claims(), second.claims()));
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn a_changed_key_set_knows_nothing_of_the_old_one() {
        let (cache, key) = (TokenCache::default(), key());
        let before = keys_of(&key, KeyStatus::InUse);
        let token = before.sign(&json!({ "sub": "u1" })).unwrap();
        cache.verify(&before, &token).unwrap();

        let after = KeySet::builder()
            .signing_key(key.clone(), KeyStatus::Revoked)
            .signing_key(
                SigningKey::generate(Algorithm::Es256).unwrap(),
                KeyStatus::InUse,
            )
            .build()
            .unwrap();

        let rejected = cache.verify(&after, &token).unwrap_err();
        assert!(matches!(rejected, TokenError::NoSuitableKey { .. }));
    }

    #[test]
    fn another_projects_keys_do_not_accept_a_remembered_token() {
        let cache = TokenCache::default();
        let (ours, theirs) = (
            keys_of(&key(), KeyStatus::InUse),
            keys_of(&key(), KeyStatus::InUse),
        );
        let token = ours.sign(&json!({})).unwrap();
        cache.verify(&ours, &token).unwrap();

        assert!(cache.verify(&theirs, &token).is_err());
    }

    #[test]
    fn a_remembered_token_still_expires() {
        let (cache, keys) = (TokenCache::default(), keys_of(&key(), KeyStatus::InUse));
        let token = keys.sign(&json!({ "exp": 1000 })).unwrap();

        let at = |now| {
            cache
                .verify(&keys, &token)
                .unwrap()
                .check(&ClaimRules::exact(now))
        };

        assert_eq!(at(999), Ok(()));
        assert_eq!(at(1000), Err(TokenError::Expired));
    }

    #[test]
    fn rejected_tokens_are_not_remembered() {
        let (cache, keys) = (TokenCache::default(), keys_of(&key(), KeyStatus::InUse));
        let foreign = key().sign(&json!({})).unwrap();

        for token in ["", "a.b.c", foreign.as_str()] {
            assert!(cache.verify(&keys, token).is_err());
        }

        assert!(cache.is_empty());
    }

    #[test]
    fn the_cache_stays_within_its_memory() {
        let cache = TokenCache::with_max_bytes(10_000);
        let key =
            SigningKey::from_shared_secret(b"a secret of 32 bytes, at least..", None).unwrap();
        let keys = keys_of(&key, KeyStatus::InUse);

        for number in 0..200 {
            cache
                .verify(&keys, &keys.sign(&json!({ "sub": number })).unwrap())
                .unwrap();
        }
        assert!((1..20).contains(&cache.len()), "{}", cache.len());

        let too_big = keys.sign(&json!({ "sub": "x".repeat(10_000) })).unwrap();
        assert!(cache.verify(&keys, &too_big).is_ok());
        assert!(cache.len() < 20);
    }

    #[test]
    fn a_cache_may_be_bounded_by_entries_and_counts_its_use() {
        let cache = TokenCache::with_max_entries(2);
        let keys = keys_of(&key(), KeyStatus::InUse);
        let token = |sub: u32| keys.sign(&json!({ "sub": sub })).unwrap();
        let first = token(0);

        cache.verify(&keys, &first).unwrap();
        cache.verify(&keys, &first).unwrap();
        for number in 1..10 {
            cache.verify(&keys, &token(number)).unwrap();
        }

        assert!(cache.len() <= 2, "{}", cache.len());
        let counts = cache.counts();
        assert_eq!((counts.requests, counts.hits), (11, 1));
        assert!(counts.evictions >= 8, "{counts:?}");
        assert_eq!(cache.resized(5).counts(), counts);
    }

    #[test]
    fn a_cache_of_no_entries_remembers_nothing() {
        let (cache, keys) = (
            TokenCache::with_max_entries(0),
            keys_of(&key(), KeyStatus::InUse),
        );
        let token = keys.sign(&json!({})).unwrap();

        for _ in 0..2 {
            cache.verify(&keys, &token).unwrap();
        }

        assert!(cache.is_empty());
        assert_eq!(cache.counts().hits, 0);
    }

    #[test]
    fn clearing_forgets_everything() {
        let (cache, keys) = (TokenCache::default(), keys_of(&key(), KeyStatus::InUse));
        cache
            .verify(&keys, &keys.sign(&json!({})).unwrap())
            .unwrap();

        cache.clear();

        assert!(cache.is_empty());
    }

    #[test]
    fn many_threads_may_ask_at_once() {
        let (cache, keys) = (TokenCache::default(), keys_of(&key(), KeyStatus::InUse));
        let token = keys.sign(&json!({ "sub": "u1" })).unwrap();

        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        assert_eq!(cache.verify(&keys, &token).unwrap().sub(), Some("u1"));
                    }
                });
            }
        });

        assert_eq!(cache.len(), 1);
    }
}
