//! Refreshing: one at a time, never overwriting a newer session, with a cool-down after a failure
//! (client contract S25, S28–S32, K5).

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::Shared;
use zeroize::Zeroizing;

use super::{AuthEvent, Engine, SignOutReason};
use crate::auth::{AuthApi, AuthError};
use crate::runtime::{self, BoxFuture, MaybeSend, MaybeSync};
use crate::session::Session;

/// K5: cool-down after a failed refresh.
pub const REFRESH_COOL_DOWN_MS: i64 = 60_000;

type Outcome = Result<Session, AuthError>;

/// Exchanges refresh tokens for sessions on behalf of clients. A server that gets the same session in several
/// concurrent requests shares one, so that no token is used twice.
pub trait SessionRefresher: MaybeSend + MaybeSync + 'static {
    /// Refreshes, retrying temporary failures. The client stores the result.
    fn refresh<'a>(&'a self, refresh_token: &'a str) -> BoxFuture<'a, Result<Session, AuthError>>;
}

impl SessionRefresher for AuthApi {
    fn refresh<'a>(&'a self, refresh_token: &'a str) -> BoxFuture<'a, Result<Session, AuthError>> {
        Box::pin(AuthApi::refresh(self, refresh_token))
    }
}

/// The refresh in flight, and the last failed one.
#[derive(Default)]
pub(super) struct RefreshState {
    current: Option<Shared<BoxFuture<'static, Outcome>>>,
    failed: Option<Failed>,
}

struct Failed {
    refresh_token: Zeroizing<String>,
    until_ms: i64,
    error: AuthError,
}

impl Engine {
    /// Refreshes with this token. If a refresh is in flight, returns its result, whatever its token. The work
    /// continues when the caller is cancelled: the server may already have consumed the old token.
    pub(crate) async fn refresh(self: &Arc<Self>, refresh_token: &str) -> Outcome {
        if refresh_token.is_empty() {
            return Err(AuthError::SessionMissing);
        }
        let shared = {
            let mut refresh_state = self.refresh_state();
            match (&refresh_state.current, &refresh_state.failed) {
                (Some(current), _) => current.clone(),
                (None, Some(failed)) if failed.is_about(refresh_token, self.now_ms()) => {
                    return Err(failed.error.clone());
                }
                _ => {
                    let begun = self.begin(refresh_token);
                    refresh_state.current = Some(begun.clone());
                    begun
                }
            }
        };
        shared.await
    }

    /// Whether a refresh is in flight.
    pub(super) fn is_refreshing(&self) -> bool {
        self.refresh_state().current.is_some()
    }

    pub(super) fn clear_cool_down(&self) {
        self.refresh_state().failed = None;
    }

    fn begin(self: &Arc<Self>, refresh_token: &str) -> Shared<BoxFuture<'static, Outcome>> {
        let (engine, token) = (self.clone(), Zeroizing::new(refresh_token.to_owned()));
        let work: BoxFuture<'static, Outcome> = Box::pin(async move {
            let outcome = engine.refresh_and_save(&token).await;
            // The outcome only, never the error text (S35).
            match &outcome {
                Ok(_) => tracing::debug!("the session was refreshed"),
                Err(error) => tracing::debug!(status = error.status(), "the refresh failed"),
            }
            let mut refresh_state = engine.refresh_state();
            refresh_state.current = None;
            let failure = outcome.as_ref().err();
            refresh_state.failed = failure.filter(is_of_the_server).map(|error| Failed {
                refresh_token: token,
                until_ms: engine.now_ms() + REFRESH_COOL_DOWN_MS,
                error: error.clone(),
            });
            drop(refresh_state);
            outcome
        });
        let shared = work.shared();
        runtime::finish(shared.clone().map(drop));
        shared
    }

    async fn refresh_and_save(&self, refresh_token: &str) -> Outcome {
        let removals = self.removals.load(Ordering::SeqCst);
        let before = self.peek().await?;
        let fresh = match self.settings.refresher.refresh(refresh_token).await {
            Ok(fresh) => fresh,
            Err(error) => {
                if error.ends_session() {
                    self.drop_ended().await?;
                }
                return Err(error);
            }
        };

        // A session stored meanwhile takes precedence (S28).
        let _alone = self.commits.lock().await;
        let after = self.peek().await?;
        if let Some(before) = before
            && after.is_none_or(|after| after.refresh_token() != before.refresh_token())
        {
            return Err(AuthError::RefreshDiscarded);
        }
        if !self.save_unless_removed(&fresh, removals).await? {
            return Err(AuthError::RefreshDiscarded);
        }
        self.emit(AuthEvent::TokenRefreshed, Some(&fresh));
        Ok(fresh)
    }

    /// The server has ended the session. It is removed unless its access token is still valid (S30).
    async fn drop_ended(&self) -> Result<(), AuthError> {
        match self.peek().await? {
            Some(session) if session.is_still_valid(self.now_ms()) => Ok(()),
            _ => self.remove(SignOutReason::Expired).await,
        }
    }

    fn refresh_state(&self) -> MutexGuard<'_, RefreshState> {
        self.refresh_state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the cool-down applies: the server rejected the token. Local errors may be resolved at once, for example
/// a replaced session or an unreadable store.
fn is_of_the_server(error: &&AuthError) -> bool {
    !matches!(error, AuthError::RefreshDiscarded | AuthError::Store(_))
}

impl Failed {
    fn is_about(&self, refresh_token: &str, now_ms: i64) -> bool {
        self.refresh_token.as_str() == refresh_token && now_ms < self.until_ms
    }
}
