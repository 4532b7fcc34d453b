//! Refreshing a session once for all concurrent requests (client contract §4.4).

use std::sync::Arc;
use std::time::Duration;

use plinth_client::auth::{AuthError, SessionRefresher};
use plinth_client::{BoxFuture, Session as StoredSession};
use plinth_token::{Secret, credential_hash};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::metrics;

/// A page sends several requests with its old cookies; all of them get the new session.
const RENEWED_TTL: Duration = Duration::from_secs(10);
/// K5: a failed refresh token is not retried for this long.
const FAILED_TTL: Duration = Duration::from_secs(60);

/// A lock among several server processes, so that no two of them use one refresh token at the same time.
/// Without one the auth service tolerates it: it also accepts the token before the current one (A22).
pub trait RefreshCoordinator: Send + Sync + 'static {
    /// Waits for the lock of this key, which ends when the returned value is dropped. Lock and refresh
    /// together have a timeout of a minute.
    ///
    /// The key is a hash and reveals nothing.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Box<dyn Send>>;
}

/// Result of a refresh.
#[derive(Clone, Debug)]
pub(crate) enum Refreshed {
    Renewed(StoredSession),
    /// Rejected for good.
    Rejected(AuthError),
    /// Failed temporarily.
    Unavailable(AuthError),
}

/// The key of a refresh token in caches and locks.
fn key_of(project: &str, refresh_token: &str) -> String {
    let text = Zeroizing::new(format!("{project} {refresh_token}"));
    credential_hash(&text)
}

impl Config {
    /// The next session after this one. Waits no longer than the configuration says.
    pub(crate) async fn refresh(&self, refresh_token: &str) -> Refreshed {
        let key = key_of(self.project(), refresh_token);
        let call = {
            let (backend, coordinator) = (Arc::clone(&self.backend), self.coordinator.clone());
            let (token, key) = (Secret::new(refresh_token), key.clone());
            async move {
                let _lock = match &coordinator {
                    Some(coordinator) => Some(coordinator.lock(&key).await),
                    None => None,
                };
                let refreshed = match backend.refresh(token.expose()).await {
                    Ok(session) => Refreshed::Renewed(session),
                    Err(error) if error.ends_session() => Refreshed::Rejected(error),
                    Err(error) => Refreshed::Unavailable(error),
                };
                metrics::refreshed(&refreshed);
                let keep = match refreshed {
                    Refreshed::Renewed(_) => RENEWED_TTL,
                    Refreshed::Rejected(_) | Refreshed::Unavailable(_) => FAILED_TTL,
                };
                (refreshed, keep)
            }
        };
        let refreshes = self.runtime.refreshes();
        let joined = refreshes
            .join(&key, &self.clock, self.refresh_wait, call)
            .await;
        joined.unwrap_or_else(|| Refreshed::Unavailable(refresh_timed_out()))
    }

    /// No request gets this session any more, whichever refresh token leads to it.
    pub(crate) fn invalidate_refreshes_of(&self, session: &StoredSession) {
        let key = key_of(self.project(), session.refresh_token());
        let refreshes = self.runtime.refreshes();
        refreshes.invalidate(&key, |refreshed| match refreshed {
            Refreshed::Renewed(renewed) => renewed.refresh_token() == session.refresh_token(),
            Refreshed::Rejected(_) | Refreshed::Unavailable(_) => false,
        });
    }
}

/// SDK clients of handlers refresh as the layer itself does, so that no two requests of one session
/// use its token up.
pub(crate) struct SharedRefresher(pub(crate) Arc<Config>);

impl SessionRefresher for SharedRefresher {
    fn refresh<'a>(
        &'a self,
        refresh_token: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>> {
        Box::pin(async move {
            match self.0.refresh(refresh_token).await {
                Refreshed::Renewed(session) => Ok(session),
                Refreshed::Rejected(error) | Refreshed::Unavailable(error) => Err(error),
            }
        })
    }
}

fn refresh_timed_out() -> AuthError {
    AuthError::Retryable {
        status: 0,
        message: "The session could not be refreshed in time".to_owned(),
        retry_after: None,
    }
}
