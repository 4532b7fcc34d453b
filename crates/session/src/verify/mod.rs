//! Whether an access token may be believed (client contract §4.3).
//!
//! The algorithm and the key come from the configuration and the project's key set; a token only
//! says which of them to try. What is found genuine is remembered, so that a warm request costs a
//! look-up and no cryptography.

mod known;
mod rules;

use std::sync::Arc;

use plinth_client::auth::{Claims, Decoded, Verdict};
use plinth_token::{KeySet, Secret, credential_hash};
use uuid::Uuid;

use crate::backend::AuthBackend;
use crate::metrics;
pub(crate) use known::KnownTokens;
pub(crate) use rules::ClaimRules;

/// A token's claims, fit for use but for the time, which is asked again on every request.
#[derive(Debug)]
pub(crate) struct Proven {
    pub(crate) claims: Claims,
    pub(crate) user_id: Uuid,
    pub(crate) exp: i64,
    nbf: Option<i64>,
}

impl Proven {
    /// Milliseconds until the token ends, negative afterwards.
    pub(crate) fn remaining_ms(&self, now_ms: i64) -> i64 {
        self.exp.saturating_mul(1000).saturating_sub(now_ms)
    }
}

/// What is known of a token.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// The signature is right and the claims fit. It may have ended.
    Genuine(Arc<Proven>),
    /// Signed by a key that is not published, or not yet, or no longer. The claims would fit.
    UnknownKey(Arc<Proven>),
    /// There are no keys to check it by, because they cannot be fetched. The claims would fit.
    NoKeys(Arc<Proven>),
    /// Only the server can tell: signed with a secret that is not here. The claims fit so far.
    AskServer(Arc<Proven>),
    /// Forged, broken, or not meant for this application.
    Refused,
}

/// Checks tokens of one project.
pub(crate) struct TokenChecker {
    pub(crate) backend: Arc<dyn AuthBackend>,
    pub(crate) known: KnownTokens,
    /// Tells projects apart where memories are shared.
    pub(crate) project: String,
    /// Tells apart who accepts what: layers with other rules or another secret share no acceptance.
    scope: String,
    pub(crate) rules: ClaimRules,
    pub(crate) max_token_bytes: usize,
    secret: Option<KeySet>,
}

impl TokenChecker {
    pub(crate) fn new(
        backend: Arc<dyn AuthBackend>,
        known: KnownTokens,
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
            known,
            scope: format!("{project}\n{rules:?}\n{secret_id:?}"),
            project,
            rules,
            max_token_bytes,
            secret,
        })
    }

    pub(crate) async fn check(&self, token: &str, now_s: i64) -> Trust {
        if token.len() > self.max_token_bytes {
            return Trust::Refused;
        }
        let trust = match self.remembered(token).await {
            Some(proven) => Trust::Genuine(proven),
            None => self.examine(token).await,
        };
        match &trust {
            Trust::Genuine(proven)
            | Trust::AskServer(proven)
            | Trust::UnknownKey(proven)
            | Trust::NoKeys(proven)
                if !proven.has_begun(now_s) =>
            {
                Trust::Refused
            }
            _ => trust,
        }
    }

    /// A token that was found genuine counts on only while its key is published.
    async fn remembered(&self, token: &str) -> Option<Arc<Proven>> {
        let (proven, kid) = self.known.find(&self.scope, token)?;
        match kid {
            None => Some(proven),
            Some(kid) => self.backend.keys(None).await.has(&kid).then_some(proven),
        }
    }

    async fn examine(&self, token: &str) -> Trust {
        let Ok(decoded) = Decoded::parse(token) else {
            return Trust::Refused;
        };
        match (decoded.alg(), decoded.kid()) {
            (Some("HS256"), _) => self.examine_shared(token, &decoded),
            (Some("ES256" | "RS256"), Some(kid)) => self.examine_published(token, kid).await,
            // `none`, unknown algorithms, and keys that nobody names.
            _ => Trust::Refused,
        }
    }

    async fn examine_published(&self, token: &str, kid: &str) -> Trust {
        let keys = self.backend.keys(Some(kid)).await;
        metrics::keys(&self.project, self.backend.key_health());
        match keys.verify(token) {
            Ok(Verdict::Genuine(claims)) => self.remember(token, Some(kid), &claims),
            Ok(Verdict::Undecided(decoded)) if self.backend.has_key_set() => {
                self.unless_refused(&decoded, Trust::UnknownKey)
            }
            Ok(Verdict::Undecided(decoded)) => self.unless_refused(&decoded, Trust::NoKeys),
            Err(_) => Trust::Refused,
        }
    }

    fn examine_shared(&self, token: &str, decoded: &Decoded) -> Trust {
        match &self.secret {
            None => self.unless_refused(decoded, Trust::AskServer),
            Some(keys) if keys.verify(token).is_ok() => {
                self.remember(token, None, decoded.unverified())
            }
            Some(_) => Trust::Refused,
        }
    }

    fn remember(&self, token: &str, kid: Option<&str>, claims: &Claims) -> Trust {
        match self.rules.accept(claims) {
            Some(proven) => {
                let proven = Arc::new(proven);
                self.known
                    .insert(&self.scope, token, Arc::clone(&proven), kid);
                Trust::Genuine(proven)
            }
            None => Trust::Refused,
        }
    }

    /// Claims that would be refused anyway cost no request.
    fn unless_refused(&self, decoded: &Decoded, trust: fn(Arc<Proven>) -> Trust) -> Trust {
        let accepted = self.rules.accept(decoded.unverified());
        accepted.map_or(Trust::Refused, |proven| trust(Arc::new(proven)))
    }
}
