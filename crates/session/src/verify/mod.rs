//! Verification of access tokens (client contract §4.3).
//!
//! Algorithm and key come from the configuration and the project's key set; a token only selects among them.
//! Verified tokens are cached, so that a warm request costs a lookup and no cryptography.

mod rules;
mod token_cache;

use std::sync::Arc;

use plinth_client::auth::{Claims, Decoded, Verdict};
use plinth_token::{KeySet, Secret, credential_hash};
use uuid::Uuid;

use crate::backend::AuthBackend;
use crate::metrics;
pub(crate) use rules::ClaimRules;
pub(crate) use token_cache::TokenCache;

/// A token's accepted claims. Expiry is checked on every request.
#[derive(Debug)]
pub(crate) struct VerifiedClaims {
    pub(crate) claims: Claims,
    pub(crate) user_id: Uuid,
    pub(crate) exp: i64,
    nbf: Option<i64>,
}

impl VerifiedClaims {
    /// Milliseconds until the token expires, negative afterwards.
    pub(crate) fn remaining_ms(&self, now_ms: i64) -> i64 {
        self.exp.saturating_mul(1000).saturating_sub(now_ms)
    }
}

/// Result of verifying a token.
#[derive(Clone, Debug)]
pub(crate) enum Verification {
    /// Valid signature and acceptable claims. It may have expired.
    Verified(Arc<VerifiedClaims>),
    /// Signed by a key that is not published (yet, or any more). The claims are acceptable.
    UnknownKey(Arc<VerifiedClaims>),
    /// The keys could not be fetched. The claims are acceptable.
    NoKeys(Arc<VerifiedClaims>),
    /// Signed with a secret that is not configured: only the server can verify it. The claims are acceptable.
    AskServer(Arc<VerifiedClaims>),
    /// Forged, malformed, or not meant for this application.
    Rejected,
}

/// Verifies tokens of one project.
pub(crate) struct TokenVerifier {
    pub(crate) backend: Arc<dyn AuthBackend>,
    pub(crate) token_cache: TokenCache,
    /// Identifies the project in shared caches.
    pub(crate) project: String,
    /// Identifies rules and secret: layers that differ in them share no cached tokens.
    scope: String,
    pub(crate) rules: ClaimRules,
    pub(crate) max_token_bytes: usize,
    secret: Option<KeySet>,
}

impl TokenVerifier {
    pub(crate) fn new(
        backend: Arc<dyn AuthBackend>,
        token_cache: TokenCache,
        project: String,
        rules: ClaimRules,
        max_token_bytes: usize,
        hs256_secret: Option<&Secret>,
    ) -> Result<Self, plinth_token::KeyError> {
        let secret = hs256_secret
            .map(|secret| KeySet::builder().legacy_secret(secret.expose()).build())
            .transpose()?;
        let secret_id = hs256_secret.map(|secret| credential_hash(secret.expose()));
        Ok(Self {
            backend,
            token_cache,
            scope: format!("{project}\n{rules:?}\n{secret_id:?}"),
            project,
            rules,
            max_token_bytes,
            secret,
        })
    }

    pub(crate) async fn check(&self, token: &str, now_s: i64) -> Verification {
        if token.len() > self.max_token_bytes {
            return Verification::Rejected;
        }
        let verification = match self.cached(token).await {
            Some(claims) => Verification::Verified(claims),
            None => self.verify_uncached(token).await,
        };
        match &verification {
            Verification::Verified(claims)
            | Verification::AskServer(claims)
            | Verification::UnknownKey(claims)
            | Verification::NoKeys(claims)
                if !claims.has_begun(now_s) =>
            {
                Verification::Rejected
            }
            _ => verification,
        }
    }

    /// A cached token is valid only while its key is published.
    async fn cached(&self, token: &str) -> Option<Arc<VerifiedClaims>> {
        let (claims, kid) = self.token_cache.find(&self.scope, token)?;
        match kid {
            None => Some(claims),
            Some(kid) => self.backend.keys(None).await.has(&kid).then_some(claims),
        }
    }

    async fn verify_uncached(&self, token: &str) -> Verification {
        let Ok(decoded) = Decoded::parse(token) else {
            return Verification::Rejected;
        };
        match (decoded.alg(), decoded.kid()) {
            (Some("HS256"), _) => self.verify_shared(token, &decoded),
            (Some("ES256" | "RS256"), Some(kid)) => self.verify_published(token, kid).await,
            // `none`, unknown algorithms, and tokens without a key id.
            _ => Verification::Rejected,
        }
    }

    async fn verify_published(&self, token: &str, kid: &str) -> Verification {
        let keys = self.backend.keys(Some(kid)).await;
        metrics::keys(&self.project, self.backend.key_health());
        match keys.verify(token) {
            Ok(Verdict::Verified(claims)) => self.cache_verified(token, Some(kid), &claims),
            Ok(Verdict::Undecided(decoded)) if self.backend.has_key_set() => {
                self.if_claims_accepted(&decoded, Verification::UnknownKey)
            }
            Ok(Verdict::Undecided(decoded)) => {
                self.if_claims_accepted(&decoded, Verification::NoKeys)
            }
            Err(_) => Verification::Rejected,
        }
    }

    fn verify_shared(&self, token: &str, decoded: &Decoded) -> Verification {
        match &self.secret {
            None => self.if_claims_accepted(decoded, Verification::AskServer),
            Some(keys) if keys.verify(token).is_ok() => {
                self.cache_verified(token, None, decoded.unverified())
            }
            Some(_) => Verification::Rejected,
        }
    }

    fn cache_verified(&self, token: &str, kid: Option<&str>, claims: &Claims) -> Verification {
        match self.rules.accept(claims) {
            Some(claims) => {
                let claims = Arc::new(claims);
                self.token_cache
                    .insert(&self.scope, token, Arc::clone(&claims), kid);
                Verification::Verified(claims)
            }
            None => Verification::Rejected,
        }
    }

    /// Checks the claims first, to save a request.
    fn if_claims_accepted(
        &self,
        decoded: &Decoded,
        verification: fn(Arc<VerifiedClaims>) -> Verification,
    ) -> Verification {
        let accepted = self.rules.accept(decoded.unverified());
        accepted.map_or(Verification::Rejected, |claims| {
            verification(Arc::new(claims))
        })
    }
}
