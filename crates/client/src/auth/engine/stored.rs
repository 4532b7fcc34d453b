//! Reading and writing the stored session (client contract S3, S7–S9, S33).

use std::sync::atomic::Ordering;

use super::{AuthEvent, Engine, SignOutReason};
use crate::auth::{AuthError, Decoded};
use crate::json::{self, Members};
use crate::session::{InvalidSession, Session};
use crate::user::User;

/// Content of the store.
pub(super) enum Stored {
    Absent,
    /// JSON, but not a session.
    Malformed,
    Session(Session),
}

impl Engine {
    /// The session, if there is one. Invalid content is removed.
    pub(crate) async fn read(&self) -> Result<Option<Session>, AuthError> {
        match self.stored().await? {
            Stored::Session(session) => Ok(Some(session)),
            Stored::Absent => Ok(None),
            Stored::Malformed => {
                self.remove(SignOutReason::Invalid).await?;
                Ok(None)
            }
        }
    }

    /// The same without side effects.
    pub(super) async fn peek(&self) -> Result<Option<Session>, AuthError> {
        match self.stored().await? {
            Stored::Session(session) => Ok(Some(session)),
            Stored::Absent | Stored::Malformed => Ok(None),
        }
    }

    pub(super) async fn stored(&self) -> Result<Stored, AuthError> {
        let settings = &self.settings;
        let Some(text) = settings.store.get(&settings.storage_key).await? else {
            return Ok(Stored::Absent);
        };
        if text.trim() == "null" {
            return Ok(Stored::Absent);
        }
        match Session::from_json(&text) {
            Ok(session) => Ok(Stored::Session(self.with_stored_user(session).await?)),
            Err(InvalidSession::NotJson) => Ok(Stored::Absent),
            Err(InvalidSession::Malformed) => Ok(Stored::Malformed),
        }
    }

    /// Adds the user from the user store (S9).
    async fn with_stored_user(&self, session: Session) -> Result<Session, AuthError> {
        let settings = &self.settings;
        let from = settings.user_store.as_ref();
        if from.is_none() && session.user().is_some() {
            return Ok(session);
        }
        let from = from.unwrap_or(&settings.store);
        let text = from.get(&self.user_key()).await?;
        let user = text.as_deref().and_then(|text| {
            let member = Members::parse(text)?.get("user")?;
            User::from_json(member)
        });
        Ok(match user {
            Some(user) => session.with_user(&user),
            None => session,
        })
    }

    /// Moves a user from the user store back into the session (S9).
    pub(super) async fn take_user_back(&self) -> Result<(), AuthError> {
        let (settings, key) = (&self.settings, self.user_key());
        if settings.user_store.is_some() || settings.store.get(&key).await?.is_none() {
            return Ok(());
        }
        let _alone = self.commits.lock().await;
        if let Some(session) = self.peek().await? {
            self.save(&session).await?;
        }
        Ok(settings.store.remove(&key).await?)
    }

    /// Stores a new session and emits its event.
    pub(crate) async fn begin_session(
        &self,
        session: &Session,
        event: AuthEvent,
    ) -> Result<(), AuthError> {
        let _alone = self.commits.lock().await;
        self.save(session).await?;
        self.emit(event, Some(session));
        Ok(())
    }

    /// Updates the user of the currently stored session, which may have been refreshed since the request was
    /// sent. Does nothing if it was removed or belongs to another user.
    pub(crate) async fn replace_user(&self, user: &User) -> Result<(), AuthError> {
        let _alone = self.commits.lock().await;
        let removals = self.removals.load(Ordering::SeqCst);
        let Some(session) = self.peek().await? else {
            return Ok(());
        };
        if !is_session_of(&session, user) {
            return Ok(());
        }
        let session = session.with_user(user);
        if self.save_unless_removed(&session, removals).await? {
            self.emit(AuthEvent::UserUpdated, Some(&session));
        }
        Ok(())
    }

    /// Saves a session derived from the stored one; returns whether it did. A concurrent removal, counted in
    /// `removals`, takes precedence (S28).
    pub(super) async fn save_unless_removed(
        &self,
        session: &Session,
        removals: u64,
    ) -> Result<bool, AuthError> {
        self.save(session).await?;
        if self.removals.load(Ordering::SeqCst) == removals {
            return Ok(true);
        }
        self.erase().await?;
        Ok(false)
    }

    /// Saves a session, and its user in the other store if there is one.
    pub(super) async fn save(&self, session: &Session) -> Result<(), AuthError> {
        let settings = &self.settings;
        let text = match &settings.user_store {
            None => session.to_json(),
            Some(user_store) => {
                if let Some(user) = session.member("user").filter(|user| *user != "null") {
                    let text = json::object([("user", user)]);
                    user_store.set(&self.user_key(), text).await?;
                }
                session.without_user().to_json()
            }
        };
        Ok(settings.store.set(&settings.storage_key, text).await?)
    }

    /// Removes the session and all pending sign-ins, and emits the event.
    pub(crate) async fn remove(&self, reason: SignOutReason) -> Result<(), AuthError> {
        self.removals.fetch_add(1, Ordering::SeqCst);
        self.clear_cool_down();
        self.erase().await?;
        self.flows.clear().await?;
        self.emit(AuthEvent::SignedOut { reason }, None);
        Ok(())
    }

    /// Deletes the session's keys.
    async fn erase(&self) -> Result<(), AuthError> {
        let (settings, user_key) = (&self.settings, self.user_key());
        settings.store.remove(&settings.storage_key).await?;
        settings.store.remove(&user_key).await?;
        if let Some(user_store) = &settings.user_store {
            user_store.remove(&user_key).await?;
        }
        Ok(())
    }

    fn user_key(&self) -> String {
        format!("{}-user", self.settings.storage_key)
    }
}

/// Whether a session belongs to this user, according to the stored user or its token. True if neither says.
fn is_session_of(session: &Session, user: &User) -> bool {
    let stored = session.user().map(|stored| stored.id().to_owned());
    let claimed = || {
        let decoded = Decoded::parse(session.access_token()).ok()?;
        decoded.unverified().sub().map(str::to_owned)
    };
    stored
        .or_else(claimed)
        .is_none_or(|owner| owner == user.id())
}
