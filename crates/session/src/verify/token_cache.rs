//! Cache of tokens with a valid signature.
//!
//! Only the claims are cached, not their validity at this time. Rejected tokens are not cached: an attacker
//! could fill the cache with them.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

use super::VerifiedClaims;

const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Parsed claims take several times the memory of their text; a flat part covers the entry itself.
const BYTES_PER_TOKEN_BYTE: usize = 4;
const BYTES_PER_ENTRY: usize = 512;
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Verified tokens. Clones share one cache.
#[derive(Clone)]
pub(crate) struct TokenCache {
    tokens: Cache<[u64; 2], Entry>,
    /// Hashes under random keys, so that no token can be crafted to collide with another, and credentials stay
    /// out of memory.
    secrets: [RandomState; 2],
}

#[derive(Clone)]
struct Entry {
    claims: Arc<VerifiedClaims>,
    kid: Option<Arc<str>>,
    bytes: u32,
}

impl TokenCache {
    pub(crate) fn new() -> Self {
        Self {
            tokens: Cache::builder()
                .max_capacity(MAX_BYTES)
                .weigher(|_, entry: &Entry| entry.bytes)
                .time_to_idle(IDLE_TIMEOUT)
                .build(),
            secrets: [RandomState::new(), RandomState::new()],
        }
    }

    /// The claims of a token, and the key that verified it.
    pub(super) fn find(
        &self,
        scope: &str,
        token: &str,
    ) -> Option<(Arc<VerifiedClaims>, Option<Arc<str>>)> {
        let entry = self.tokens.get(&self.key(scope, token))?;
        Some((entry.claims, entry.kid))
    }

    pub(super) fn insert(
        &self,
        scope: &str,
        token: &str,
        claims: Arc<VerifiedClaims>,
        kid: Option<&str>,
    ) {
        let bytes = token.len().saturating_mul(BYTES_PER_TOKEN_BYTE) + BYTES_PER_ENTRY;
        let entry = Entry {
            claims,
            kid: kid.map(Arc::from),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        };
        self.tokens.insert(self.key(scope, token), entry);
    }

    fn key(&self, scope: &str, token: &str) -> [u64; 2] {
        self.secrets
            .each_ref()
            .map(|secret| secret.hash_one((scope, token)))
    }
}
