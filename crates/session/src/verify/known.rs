//! Remembers tokens whose signature was right.
//!
//! What is remembered is what a token says, never that it may be used now. Refused tokens are not
//! remembered: strangers could fill the memory with them.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

use super::Proven;

const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Parsed claims take several times the memory of their text; a flat part covers the entry.
const BYTES_PER_TOKEN_BYTE: usize = 4;
const BYTES_PER_ENTRY: usize = 512;
const IDLE_LIFETIME: Duration = Duration::from_secs(600);

/// Genuine tokens. Clones share one memory.
#[derive(Clone)]
pub(crate) struct KnownTokens {
    tokens: Cache<[u64; 2], Entry>,
    /// Keyed hashes under keys that nobody knows, so that no token can be made to look like
    /// another; and credentials stay out of memory.
    secrets: [RandomState; 2],
}

#[derive(Clone)]
struct Entry {
    proven: Arc<Proven>,
    kid: Option<Arc<str>>,
    bytes: u32,
}

impl KnownTokens {
    pub(crate) fn new() -> Self {
        Self {
            tokens: Cache::builder()
                .max_capacity(MAX_BYTES)
                .weigher(|_, entry: &Entry| entry.bytes)
                .time_to_idle(IDLE_LIFETIME)
                .build(),
            secrets: [RandomState::new(), RandomState::new()],
        }
    }

    /// What a token says, and which key proves it.
    pub(super) fn find(&self, scope: &str, token: &str) -> Option<(Arc<Proven>, Option<Arc<str>>)> {
        let entry = self.tokens.get(&self.key(scope, token))?;
        Some((entry.proven, entry.kid))
    }

    pub(super) fn insert(&self, scope: &str, token: &str, proven: Arc<Proven>, kid: Option<&str>) {
        let bytes = token.len().saturating_mul(BYTES_PER_TOKEN_BYTE) + BYTES_PER_ENTRY;
        let entry = Entry {
            proven,
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
