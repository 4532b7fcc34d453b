//! Asking the server about a token that cannot be checked here (A15), or whose session may have
//! been ended (A19).

use std::sync::Arc;
use std::time::Duration;

use plinth_client::Session as StoredSession;
use plinth_client::auth::AuthError;
use plinth_token::{Secret, credential_hash};

use crate::config::Config;
use crate::verify::Proven;

/// How long the server's word about a token is good for, at most.
const KEEP: Duration = Duration::from_secs(30);

/// The server's word about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is good.
    Alive,
    /// Its session has been ended.
    Ended,
    /// It is not one of the server's.
    Refused,
    /// Nobody can tell at the moment.
    Unavailable,
}

impl Config {
    /// What the server says, or said within the last 30 s and before the token ended.
    pub(crate) async fn ask_server(&self, token: &str, proven: &Proven) -> Checked {
        let key = self.check_key(token);
        let left = proven.remaining_ms(self.clock.now_ms());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        let call = {
            let (backend, token) = (Arc::clone(&self.backend), Secret::new(token));
            async move {
                let checked = read(backend.user(token.expose()).await.err());
                let keep = match checked {
                    Checked::Unavailable => Duration::ZERO,
                    _ => KEEP.min(left),
                };
                (checked, keep)
            }
        };
        let checks = self.runtime.checks();
        let joined = checks
            .join(&key, &self.clock, self.refresh_wait, call)
            .await;
        joined.unwrap_or(Checked::Unavailable)
    }

    /// Whether the server has called this token good within the last 30 s. Asks nobody.
    pub(crate) fn server_has_vouched_for(&self, session: &StoredSession) -> bool {
        let key = self.check_key(session.access_token());
        let checks = self.runtime.checks();
        checks.kept(&key, self.clock.now_ms()) == Some(Checked::Alive)
    }

    fn check_key(&self, token: &str) -> String {
        format!("{}\n{}", self.project(), credential_hash(token))
    }

    /// What the server says right now.
    pub(crate) async fn ask_server_again(&self, token: &str) -> Checked {
        let asked = tokio::time::timeout(self.refresh_wait, self.backend.user(token)).await;
        asked.map_or(Checked::Unavailable, |answer| read(answer.err()))
    }
}

fn read(error: Option<AuthError>) -> Checked {
    match error {
        None => Checked::Alive,
        Some(AuthError::SessionMissing) => Checked::Ended,
        Some(error) if error.is_retryable() || error.status() == Some(429) => Checked::Unavailable,
        Some(_) => Checked::Refused,
    }
}
