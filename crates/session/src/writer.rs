//! Changing the session of a request.

use std::sync::Arc;

use plinth_client::auth::{
    AuthError, Decoded, Flow, PendingFlows, RedirectType, Scope, TakenVerifier,
};
use plinth_client::{Client, Session as StoredSession};
use uuid::Uuid;

use crate::context::Context;
use crate::cookie;
use crate::refresh::SharedRefresher;
use crate::server_check::Checked;
use crate::session::{Session, SessionState};
use crate::store::CookieStore;
use crate::verify::Trust;

/// Signs people in and out, as an extractor. What it changes goes out with the response.
///
/// It is given only to requests that come from our own pages, so that nobody can be signed in or
/// out by another's.
#[derive(Clone)]
pub struct SessionWriter(Context);

/// What a sign-in changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SignedIn {
    /// The new session.
    pub session: Session,
    /// Whether somebody else was signed in before. Clear what your application keeps about them.
    pub is_other_user: bool,
}

/// Why a session was not kept.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The token is not one of this project's, has ended, or lacks claims.
    #[error("the session's access token is not acceptable here")]
    Refused,
    /// The token can only be checked by the auth service, which cannot be reached. The session is
    /// kept all the same: it could not be had again, and a later request will check it.
    #[error("the session cannot be checked at the moment")]
    Unavailable,
}

impl SessionWriter {
    pub(crate) fn new(context: Context) -> Self {
        Self(context)
    }

    /// Keeps a session that the auth service has given, in place of any other. Its token is
    /// verified like every other.
    pub async fn sign_in(&self, stored: &StoredSession) -> Result<SignedIn, SignInError> {
        let config = self.0.config();
        let now = &config.clock;
        let token = stored.access_token();
        let (proven, said) = match config.tokens.check(token, now.now_s()).await {
            Trust::Refused => return Err(SignInError::Refused),
            Trust::Genuine(proven) => (proven, Checked::Alive),
            // Signed with a secret, or by a key that is too new to be known here yet.
            Trust::AskServer(proven) | Trust::UnknownKey(proven) | Trust::NoKeys(proven) => {
                let said = config.ask_server(token, &proven).await;
                (proven, said)
            }
        };
        let is_over = proven.remaining_ms(now.now_ms()) <= 0;
        if is_over || matches!(said, Checked::Ended | Checked::Refused) {
            return Err(SignInError::Refused);
        }
        let before = self.user_id_now();
        config.keep(&mut self.0.jar(), stored);
        if said == Checked::Unavailable {
            return Err(SignInError::Unavailable);
        }
        let session = Session::from_cookies(proven, stored.clone());
        let is_other_user = before.is_some_and(|before| before != session.user_id());
        Ok(SignedIn {
            session,
            is_other_user,
        })
    }

    /// Keeps a changed session of the same user: after a second factor, or a change of the user.
    /// The same as [`sign_in`](Self::sign_in), and refused if it is somebody else's.
    pub async fn replace(&self, stored: &StoredSession) -> Result<Session, SignInError> {
        let before = self.user_id_now();
        if before.is_some() && before != user_in(stored) {
            return Err(SignInError::Refused);
        }
        Ok(self.sign_in(stored).await?.session)
    }

    /// Ends sessions on the server and, except for [`Scope::Others`], in this browser.
    ///
    /// A local sign-out always clears this browser. A global one clears it only if the server
    /// ended the sessions or had already, so that nobody believes to be safe who is not (S66).
    pub async fn sign_out(&self, scope: Scope) -> Result<(), AuthError> {
        let stored = self.0.config().stored_session(&self.0.jar());
        if scope == Scope::Local {
            self.clear();
        }
        // The token at hand has ended. The server would refuse it, which tells nothing about the
        // session: that lives on in its refresh token.
        if matches!(self.0.read_state(), SessionState::Unavailable) && stored.is_some() {
            return Err(AuthError::Retryable {
                status: 0,
                message: "The session could not be refreshed, so it cannot be ended now".to_owned(),
                retry_after: None,
            });
        }
        if let Some(stored) = stored {
            let ended = self
                .0
                .config()
                .backend
                .sign_out(stored.access_token(), scope)
                .await;
            match ended {
                Err(error) if !error.means_signed_out() => return Err(error),
                _ => {}
            }
        }
        if scope == Scope::Global {
            self.clear();
        }
        Ok(())
    }

    /// Forgets the session in this browser without telling the server: all chunks, and sign-ins
    /// under way.
    pub fn clear(&self) {
        let config = self.0.config();
        let mut jar = self.0.jar();
        let in_cookies = config.stored_session(&jar);
        let sessions = [in_cookies, self.stored_at_first()];
        for session in sessions.iter().flatten() {
            config.forget_refreshes_of(session);
        }
        jar.forget_session(&config.key);
    }

    /// Removes the session's cookies also at places where an earlier version of the application
    /// wrote them, for a move to another domain or path (C26). Fails, and removes nothing, where a
    /// scope cannot be written into a header.
    pub fn clear_at_scopes(
        &self,
        scopes: &[cookie::Scope],
    ) -> Result<(), cookie::CookieOptionsError> {
        let config = self.0.config();
        self.0
            .jar()
            .remove_at_scopes(&config.key, scopes, &config.cookie_options)
    }

    /// Begins a sign-in that leaves for another page: makes its secret and keeps it in cookies.
    /// Its challenge goes to the auth service; its id may travel in the redirect as `sb_flow_id`,
    /// so that several sign-ins can be under way.
    pub async fn begin_flow(&self, redirect_type: RedirectType) -> Result<Flow, AuthError> {
        self.flows().begin(redirect_type).await
    }

    /// Takes the secret of a sign-in that ends: that of this flow, or the latest. It is gone then,
    /// whatever comes of it. One that began here more than ten minutes ago is not given any more.
    pub async fn take_verifier(&self, flow_id: Option<&str>) -> Result<TakenVerifier, AuthError> {
        self.flows().take(flow_id).await
    }

    fn flows(&self) -> PendingFlows {
        PendingFlows::new(Arc::new(self.store()), &self.0.config().key)
    }

    /// The cookies as a store for the SDK, whose changes go out with the response too.
    pub fn store(&self) -> CookieStore {
        CookieStore::new(self.0.clone())
    }

    /// An SDK client whose session is the one in the cookies: what it signs in, changes or signs
    /// out goes out with the response. Refreshes are shared with all other requests of the session.
    pub fn client(&self) -> Result<Client, AuthError> {
        let config = self.0.config();
        config
            .client()
            .session_store(self.store())
            .refresher(SharedRefresher(Arc::clone(config)))
            .build()
    }

    /// Who is signed in as the request came.
    pub fn session(&self) -> Option<&Session> {
        self.0.read_state().session()
    }

    /// Whether the cookies are now somebody else's than they were when the request came: clear
    /// what your application keeps about the person before. Also when the SDK made the change.
    pub fn has_changed_user(&self) -> bool {
        let config = self.0.config();
        let jar = self.0.jar();
        let before = jar.request().item(&config.key, &config.limits);
        let before = before.and_then(|item| user_in(&StoredSession::from_json(&item).ok()?));
        let now = config
            .stored_session(&jar)
            .and_then(|session| user_in(&session));
        before.is_some() && now.is_some() && before != now
    }

    /// Who the cookies say is signed in now.
    fn user_id_now(&self) -> Option<Uuid> {
        let config = self.0.config();
        user_in(&config.stored_session(&self.0.jar())?)
    }

    fn stored_at_first(&self) -> Option<StoredSession> {
        match self.0.read_state() {
            SessionState::SignedIn(session) => session.stored().cloned(),
            SessionState::Anonymous | SessionState::Unavailable => None,
        }
    }
}

/// Whom a session claims to be of. Proven or not: a change is worth reporting either way.
fn user_in(session: &StoredSession) -> Option<Uuid> {
    let decoded = Decoded::parse(session.access_token()).ok()?;
    Uuid::parse_str(decoded.unverified().sub()?).ok()
}
