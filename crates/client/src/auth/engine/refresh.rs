//! Refreshing: one at a time, never over a newer session, not again right after a failure
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

/// K5: how long a failed refresh is remembered.
pub const COOL_DOWN_MS: i64 = 60_000;

type Outcome = Result<Session, AuthError>;

/// Exchanges refresh tokens for sessions in a client's place. A server whose requests bring the same
/// session several times at once has one for all of them, so that no token is used twice.
pub trait SessionRefresher: MaybeSend + MaybeSync + 'static {
    /// The session that follows, trying again while that makes sense. The client keeps it.
    fn refresh<'a>(&'a self, refresh_token: &'a str) -> BoxFuture<'a, Result<Session, AuthError>>;
}

impl SessionRefresher for AuthApi {
    fn refresh<'a>(&'a self, refresh_token: &'a str) -> BoxFuture<'a, Result<Session, AuthError>> {
        Box::pin(AuthApi::refresh(self, refresh_token))
    }
}

/// The refresh that is under way, and the one that failed last.
#[derive(Default)]
pub(super) struct Flight {
    current: Option<Shared<BoxFuture<'static, Outcome>>>,
    failed: Option<Failed>,
}

struct Failed {
    refresh_token: Zeroizing<String>,
    until_ms: i64,
    error: AuthError,
}

impl Engine {
    /// New tokens for this refresh token. If a refresh is under way, its result, whatever token
    /// it is for. The work goes on when the caller leaves: the server may already have taken the
    /// old token.
    pub(crate) async fn refresh(self: &Arc<Self>, refresh_token: &str) -> Outcome {
        if refresh_token.is_empty() {
            return Err(AuthError::SessionMissing);
        }
        let shared = {
            let mut flight = self.flight();
            match (&flight.current, &flight.failed) {
                (Some(current), _) => current.clone(),
                (None, Some(failed)) if failed.is_about(refresh_token, self.now_ms()) => {
                    return Err(failed.error.clone());
                }
                _ => {
                    let begun = self.begin(refresh_token);
                    flight.current = Some(begun.clone());
                    begun
                }
            }
        };
        shared.await
    }

    /// Whether a refresh is under way.
    pub(super) fn is_refreshing(&self) -> bool {
        self.flight().current.is_some()
    }

    pub(super) fn clear_cool_down(&self) {
        self.flight().failed = None;
    }

    fn begin(self: &Arc<Self>, refresh_token: &str) -> Shared<BoxFuture<'static, Outcome>> {
        let (engine, token) = (self.clone(), Zeroizing::new(refresh_token.to_owned()));
        let work: BoxFuture<'static, Outcome> = Box::pin(async move {
            let outcome = engine.refresh_and_save(&token).await;
            // Whether, never what (S35).
            match &outcome {
                Ok(_) => tracing::debug!("the session was refreshed"),
                Err(error) => tracing::debug!(status = error.status(), "the refresh failed"),
            }
            let mut flight = engine.flight();
            flight.current = None;
            let failure = outcome.as_ref().err();
            flight.failed = failure.filter(is_of_the_server).map(|error| Failed {
                refresh_token: token,
                until_ms: engine.now_ms() + COOL_DOWN_MS,
                error: error.clone(),
            });
            drop(flight);
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

        // Whoever changed the store meanwhile knew better (S28).
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

    /// The server will not refresh it. It goes unless its access token still works (S30).
    async fn drop_ended(&self) -> Result<(), AuthError> {
        match self.peek().await? {
            Some(session) if session.is_still_valid(self.now_ms()) => Ok(()),
            _ => self.remove(SignOutReason::Expired).await,
        }
    }

    fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether asking the server again so soon would be in vain. What went wrong on this side may be
/// right the next moment: the session was replaced meanwhile, or its store could not be read.
fn is_of_the_server(error: &&AuthError) -> bool {
    !matches!(error, AuthError::RefreshDiscarded | AuthError::Store(_))
}

impl Failed {
    fn is_about(&self, refresh_token: &str, now_ms: i64) -> bool {
        self.refresh_token.as_str() == refresh_token && now_ms < self.until_ms
    }
}
