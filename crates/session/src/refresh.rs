//! Refreshing a session once for all who need it (client contract §4.4).

use std::sync::Arc;
use std::time::Duration;

use plinth_client::auth::{AuthError, SessionRefresher};
use plinth_client::{BoxFuture, Session as StoredSession};
use plinth_token::{Secret, credential_hash};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::metrics;

/// A page sends several requests with the cookies it began with; all of them get the new session.
const KEEP_RENEWED: Duration = Duration::from_secs(10);
/// K5: a token that failed is not tried again for this long.
const KEEP_FAILED: Duration = Duration::from_secs(60);

/// A lock among several server processes, for those who want no two of them to use one refresh
/// token at the same time. Without one the auth service sorts it out: it accepts the token that
/// came before the current one, too (A22).
pub trait RefreshCoordinator: Send + Sync + 'static {
    /// Waits until nobody else holds this key. The lock ends when what is returned is dropped. Lock
    /// and refresh together are given a minute; after that both are dropped.
    ///
    /// The key is a hash; nothing can be learned from it.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Box<dyn Send>>;
}

/// What became of a refresh.
#[derive(Clone, Debug)]
pub(crate) enum Refreshed {
    Renewed(StoredSession),
    /// The server said no, and always will.
    Refused(AuthError),
    /// Nobody can tell at the moment.
    Unavailable(AuthError),
}

/// The key of a refresh token in maps and locks.
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
                    Err(error) if error.ends_session() => Refreshed::Refused(error),
                    Err(error) => Refreshed::Unavailable(error),
                };
                metrics::refreshed(&refreshed);
                let keep = match refreshed {
                    Refreshed::Renewed(_) => KEEP_RENEWED,
                    Refreshed::Refused(_) | Refreshed::Unavailable(_) => KEEP_FAILED,
                };
                (refreshed, keep)
            }
        };
        let refreshes = self.runtime.refreshes();
        let joined = refreshes
            .join(&key, &self.clock, self.refresh_wait, call)
            .await;
        joined.unwrap_or_else(|| Refreshed::Unavailable(took_too_long()))
    }

    /// Nobody gets this session any more, whichever refresh token leads to it.
    pub(crate) fn forget_refreshes_of(&self, session: &StoredSession) {
        let key = key_of(self.project(), session.refresh_token());
        let refreshes = self.runtime.refreshes();
        refreshes.forget(&key, |refreshed| match refreshed {
            Refreshed::Renewed(renewed) => renewed.refresh_token() == session.refresh_token(),
            Refreshed::Refused(_) | Refreshed::Unavailable(_) => false,
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
                Refreshed::Refused(error) | Refreshed::Unavailable(error) => Err(error),
            }
        })
    }
}

fn took_too_long() -> AuthError {
    AuthError::Retryable {
        status: 0,
        message: "The session could not be refreshed in time".to_owned(),
        retry_after: None,
    }
}
