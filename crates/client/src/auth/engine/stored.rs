//! The session in its store (client contract S3, S7–S9, S33).

use std::sync::atomic::Ordering;

use super::{AuthEvent, Engine, SignOutReason};
use crate::auth::AuthError;
use crate::json::{self, Members};
use crate::session::{NotASession, Session};
use crate::user::User;

/// What the store holds.
pub(super) enum Stored {
    Absent,
    /// JSON, but no session.
    Malformed,
    Session(Session),
}

impl Engine {
    /// The session, if there is one. What is stored but is none is removed.
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

    /// The same without any consequence.
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
            Err(NotASession::NotJson) => Ok(Stored::Absent),
            Err(NotASession::Malformed) => Ok(Stored::Malformed),
        }
    }

    /// Fills in the user where it is kept apart. If it no longer is, moves it back (S9).
    async fn with_stored_user(&self, session: Session) -> Result<Session, AuthError> {
        let (settings, key) = (&self.settings, self.user_key());
        let from = settings.user_store.as_ref();
        if from.is_none() && session.user().is_some() {
            return Ok(session);
        }
        let text = from.unwrap_or(&settings.store).get(&key).await?;
        let user = text.as_deref().and_then(|text| {
            let member = Members::parse(text)?.get("user")?;
            User::from_json(member)
        });
        let Some(user) = user else {
            return Ok(session);
        };
        let session = session.with_user(&user);
        if from.is_none() {
            settings.store.remove(&key).await?;
            settings
                .store
                .set(&settings.storage_key, session.to_json())
                .await?;
        }
        Ok(session)
    }

    /// Keeps a session, its user in the other store where there is one.
    pub(crate) async fn save(&self, session: &Session) -> Result<(), AuthError> {
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

    /// Forgets the session and all that waits beside it, and says so.
    pub(crate) async fn remove(&self, reason: SignOutReason) -> Result<(), AuthError> {
        self.removals.fetch_add(1, Ordering::SeqCst);
        self.clear_cool_down();
        self.erase().await?;
        self.flows.clear().await?;
        self.emit(AuthEvent::SignedOut { reason }, None);
        Ok(())
    }

    /// Deletes the session's own keys.
    pub(super) async fn erase(&self) -> Result<(), AuthError> {
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
