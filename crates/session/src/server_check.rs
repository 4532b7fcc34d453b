//! Checks a token with the auth service: one that cannot be verified locally (A15), or whose session may have
//! been revoked (A19).

use std::sync::Arc;
use std::time::Duration;

use plinth_client::Session as StoredSession;
use plinth_client::auth::AuthError;
use plinth_token::{Secret, credential_hash};

use crate::config::Config;
use crate::verify::VerifiedClaims;

/// Maximum cache time of a result.
const MAX_CACHE_TIME: Duration = Duration::from_secs(30);

/// Result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerCheck {
    /// Valid.
    Alive,
    /// Its session was revoked.
    Ended,
    /// Not issued by the server.
    Rejected,
    /// The server is unavailable.
    Unavailable,
}

impl Config {
    /// Checks the token; results are cached for 30 s or until it expires.
    pub(crate) async fn check_with_server(
        &self,
        token: &str,
        claims: &VerifiedClaims,
    ) -> ServerCheck {
        let key = self.check_key(token);
        let left = claims.remaining_ms(self.clock.now_ms());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        let call = {
            let (backend, token) = (Arc::clone(&self.backend), Secret::new(token));
            async move {
                let checked = read(backend.user(token.expose()).await.err());
                let keep = match checked {
                    ServerCheck::Unavailable => Duration::ZERO,
                    _ => MAX_CACHE_TIME.min(left),
                };
                (checked, keep)
            }
        };
        let checks = self.runtime.checks();
        let joined = checks
            .join(&key, &self.clock, self.refresh_wait, call)
            .await;
        joined.unwrap_or(ServerCheck::Unavailable)
    }

    /// Whether the server has confirmed this token within the last 30 s, from the cache only.
    pub(crate) fn is_confirmed_by_server(&self, session: &StoredSession) -> bool {
        let key = self.check_key(session.access_token());
        let checks = self.runtime.checks();
        checks.cached(&key, self.clock.now_ms()) == Some(ServerCheck::Alive)
    }

    fn check_key(&self, token: &str) -> String {
        format!("{}\n{}", self.project(), credential_hash(token))
    }

    /// Checks the token without the cache.
    pub(crate) async fn check_with_server_now(&self, token: &str) -> ServerCheck {
        let asked = tokio::time::timeout(self.refresh_wait, self.backend.user(token)).await;
        asked.map_or(ServerCheck::Unavailable, |response| read(response.err()))
    }
}

fn read(error: Option<AuthError>) -> ServerCheck {
    match error {
        None => ServerCheck::Alive,
        Some(AuthError::SessionMissing) => ServerCheck::Ended,
        Some(error) if error.is_retryable() || error.status() == Some(429) => {
            ServerCheck::Unavailable
        }
        Some(_) => ServerCheck::Rejected,
    }
}
