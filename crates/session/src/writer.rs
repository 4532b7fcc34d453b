//! Changing the session of a request.

use std::sync::Arc;

use plinth_client::auth::{
    AuthError, Decoded, Flow, PendingFlows, RedirectType, Scope, TakenVerifier,
};
use plinth_client::{Client, Session as StoredSession};
use uuid::Uuid;

use crate::cookie;
use crate::refresh::SharedRefresher;
use crate::request_context::RequestContext;
use crate::server_check::ServerCheck;
use crate::session::{Session, SessionState};
use crate::store::CookieStore;
use crate::verify::Verification;

/// Signs users in and out, as an extractor. Changes are sent with the response.
///
/// Only available to requests from allowed origins, so that no other page can sign a user in or out.
#[derive(Clone)]
pub struct SessionWriter(RequestContext);

/// Result of a sign-in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SignedIn {
    /// The new session.
    pub session: Session,
    /// Whether another user was signed in before. Clear what your application stores about them.
    pub is_other_user: bool,
}

/// Why a session was not accepted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The token is not one of this project's, has expired, or lacks claims.
    #[error("the session's access token is not acceptable here")]
    Rejected,
    /// The token can only be verified by the auth service, which is unavailable. The session is stored
    /// nevertheless: it could not be obtained again, and a later request verifies it.
    #[error("the session cannot be checked at the moment")]
    Unavailable,
}

impl SessionWriter {
    pub(crate) fn new(context: RequestContext) -> Self {
        Self(context)
    }

    /// Stores a session from the auth service, replacing any other. Its token is verified like every
    /// other.
    pub async fn sign_in(&self, stored: &StoredSession) -> Result<SignedIn, SignInError> {
        let config = self.0.config();
        let now = &config.clock;
        let token = stored.access_token();
        let (claims, said) = match config.tokens.check(token, now.now_s()).await {
            Verification::Rejected => return Err(SignInError::Rejected),
            Verification::Verified(claims) => (claims, ServerCheck::Alive),
            // Signed with a shared secret, or by a key too new to be known here yet.
            Verification::AskServer(claims)
            | Verification::UnknownKey(claims)
            | Verification::NoKeys(claims) => {
                let said = config.check_with_server(token, &claims).await;
                (claims, said)
            }
        };
        let is_over = claims.remaining_ms(now.now_ms()) <= 0;
        if is_over || matches!(said, ServerCheck::Ended | ServerCheck::Rejected) {
            return Err(SignInError::Rejected);
        }
        let before = self.user_id_now();
        config.store_session(&mut self.0.cookie_jar(), stored);
        if said == ServerCheck::Unavailable {
            return Err(SignInError::Unavailable);
        }
        let session = Session::from_cookies(claims, stored.clone());
        let is_other_user = before.is_some_and(|before| before != session.user_id());
        Ok(SignedIn {
            session,
            is_other_user,
        })
    }

    /// Stores a changed session of the same user: after a second factor, or a change of the user. Like
    /// [`sign_in`](Self::sign_in), but rejects another user's session.
    pub async fn replace(&self, stored: &StoredSession) -> Result<Session, SignInError> {
        let before = self.user_id_now();
        if before.is_some() && before != user_in(stored) {
            return Err(SignInError::Rejected);
        }
        Ok(self.sign_in(stored).await?.session)
    }

    /// Ends sessions on the server and, except for [`Scope::Others`], in this browser.
    ///
    /// A local sign-out always clears this browser. A global one clears it only if the server revoked the
    /// sessions or had already, so that a failure is not mistaken for success (S66).
    pub async fn sign_out(&self, scope: Scope) -> Result<(), AuthError> {
        let stored = self.0.config().stored_session(&self.0.cookie_jar());
        if scope == Scope::Local {
            self.clear();
        }
        // The access token has expired. The server would reject it, which says nothing about the session:
        // its refresh token is still valid.
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

    /// Removes the session in this browser without telling the server: all chunks, and pending sign-in
    /// flows.
    pub fn clear(&self) {
        let config = self.0.config();
        let mut cookie_jar = self.0.cookie_jar();
        let in_cookies = config.stored_session(&cookie_jar);
        let sessions = [in_cookies, self.stored_at_first()];
        for session in sessions.iter().flatten() {
            config.invalidate_refreshes_of(session);
        }
        cookie_jar.remove_session(&config.key);
    }

    /// Removes the session's cookies also at scopes that an earlier version of the application used, for a
    /// move to another domain or path (C26). Fails, and removes nothing, if a scope is invalid.
    pub fn clear_at_scopes(
        &self,
        scopes: &[cookie::Scope],
    ) -> Result<(), cookie::CookieOptionsError> {
        let config = self.0.config();
        self.0
            .cookie_jar()
            .remove_at_scopes(&config.key, scopes, &config.cookie_options)
    }

    /// Begins a sign-in that leaves for another page: generates its PKCE verifier and stores it in cookies. Its
    /// challenge goes to the auth service; its id may be added to the redirect as `sb_flow_id`, so that
    /// several sign-ins can be pending.
    pub async fn begin_flow(&self, redirect_type: RedirectType) -> Result<Flow, AuthError> {
        self.flows().begin(redirect_type).await
    }

    /// Takes the verifier of a sign-in: that of this flow, or the latest. It is removed in any case. A flow that
    /// began here more than ten minutes ago is rejected.
    pub async fn take_verifier(&self, flow_id: Option<&str>) -> Result<TakenVerifier, AuthError> {
        self.flows().take(flow_id).await
    }

    fn flows(&self) -> PendingFlows {
        PendingFlows::new(Arc::new(self.store()), &self.0.config().key)
    }

    /// The cookies as a store for the SDK; its changes are sent with the response.
    pub fn store(&self) -> CookieStore {
        CookieStore::new(self.0.clone())
    }

    /// An SDK client whose session is the one in the cookies; its changes are sent with the response. Refreshes
    /// are shared with all other requests of the session.
    pub fn client(&self) -> Result<Client, AuthError> {
        let config = self.0.config();
        config
            .client()
            .session_store(self.store())
            .refresher(SharedRefresher(Arc::clone(config)))
            .build()
    }

    /// The session as the request came.
    pub fn session(&self) -> Option<&Session> {
        self.0.read_state().session()
    }

    /// Whether the cookies now belong to another user than at the start of the request: clear what your
    /// application stores about the previous one. Includes changes by the SDK.
    pub fn has_changed_user(&self) -> bool {
        let config = self.0.config();
        let cookie_jar = self.0.cookie_jar();
        let before = cookie_jar.request().item(&config.key, &config.limits);
        let before = before.and_then(|item| user_in(&StoredSession::from_json(&item).ok()?));
        let now = config
            .stored_session(&cookie_jar)
            .and_then(|session| user_in(&session));
        before.is_some() && now.is_some() && before != now
    }

    /// The user id in the current cookies.
    fn user_id_now(&self) -> Option<Uuid> {
        let config = self.0.config();
        user_in(&config.stored_session(&self.0.cookie_jar())?)
    }

    fn stored_at_first(&self) -> Option<StoredSession> {
        match self.0.read_state() {
            SessionState::SignedIn(session) => session.stored().cloned(),
            SessionState::Anonymous | SessionState::Unavailable => None,
        }
    }
}

/// The user id that a session claims, verified or not: a change is worth reporting either way.
fn user_in(session: &StoredSession) -> Option<Uuid> {
    let decoded = Decoded::parse(session.access_token()).ok()?;
    Uuid::parse_str(decoded.unverified().sub()?).ok()
}
