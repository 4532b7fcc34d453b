//! Starting, and loading the session (client contract S15–S17).

use std::sync::Arc;

use super::stored::Stored;
use super::{AuthEvent, Engine, SignOutReason};
use crate::auth::{ATTEMPT_TIMEOUT, AuthError};
use crate::session::Session;

impl Engine {
    /// Starts once; concurrent callers wait.
    pub(crate) async fn ready(self: &Arc<Self>) {
        self.started
            .get_or_init(|| async {
                if let Err(error) = self.recover().await {
                    tracing::warn!(
                        error = error.for_logs(),
                        "the stored session cannot be recovered"
                    );
                }
                self.subscribers.start_delivery();
                self.listen();
                self.start_watching();
            })
            .await;
    }

    /// Loads the session of an earlier run, or resumes after the application was hidden.
    pub(super) async fn recover(self: &Arc<Self>) -> Result<(), AuthError> {
        self.take_user_back().await?;
        let session = match self.stored().await? {
            Stored::Absent => return Ok(()),
            Stored::Malformed => return self.remove(SignOutReason::Invalid).await,
            Stored::Session(session) => session,
        };
        if session.is_due_at_start(self.now_ms()) {
            if self.settings.auto_refresh && !session.refresh_token().is_empty() {
                self.refresh(session.refresh_token()).await?;
            }
            return Ok(());
        }
        let session = match session.user() {
            Some(_) => session,
            None => {
                // All calls wait for the start.
                let api = self.api.or_timeout(ATTEMPT_TIMEOUT);
                let user = api.user(session.access_token()).await?;
                let session = session.with_user(&user);
                self.save(&session).await?;
                session
            }
        };
        self.emit(AuthEvent::SignedIn, Some(&session));
        Ok(())
    }

    /// The session, refreshed if less than 90 s are left.
    pub(crate) async fn load(self: &Arc<Self>) -> Result<Option<Session>, AuthError> {
        let Some(session) = self.read().await? else {
            return Ok(None);
        };
        if !session.is_within_margin(self.now_ms()) {
            return Ok(Some(session));
        }
        let error = match self.refresh(session.refresh_token()).await {
            Ok(session) => return Ok(Some(session)),
            Err(error) => error,
        };
        // The refresh was early, or another process has stored a new session.
        match self.peek().await? {
            Some(session) if session.is_still_valid(self.now_ms()) => Ok(Some(session)),
            _ => Err(error),
        }
    }

    /// The session, or an error if not signed in.
    pub(crate) async fn signed_in(self: &Arc<Self>) -> Result<Session, AuthError> {
        self.ready().await;
        self.load().await?.ok_or(AuthError::SessionMissing)
    }
}
