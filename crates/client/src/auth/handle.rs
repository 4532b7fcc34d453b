//! The signed-in user's session: reading, replacing and ending it (client contract §1.3, §1.8,
//! §1.10, §1.11).

use std::sync::Arc;

use super::engine::{AuthEvent, AuthEvents, AutoRefresh, Engine, SignOutReason};
use super::jwks::{KeySet, VerifyOptions, verify};
use super::{AuthApi, AuthError, Claims, Decoded, JwksCache, Scope};
use crate::call_options::{CallOptions, with_call_options, with_handle_options};
use crate::session::Session;
use crate::user::User;

/// The auth module of a client. Cheap to clone.
///
/// Every call waits until a stored session has been loaded.
#[derive(Clone, Debug)]
pub struct Auth {
    pub(crate) engine: Arc<Engine>,
    /// The engine's API with the options of this handle.
    api: AuthApi,
}

with_handle_options!(Auth);

impl Auth {
    pub(crate) fn new(engine: Engine) -> Self {
        let api = engine.api.clone();
        let engine = Arc::new(engine);
        Self { engine, api }
    }

    pub(crate) fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            api: self.api.with_options(options),
        }
    }

    /// The session, or an error if not signed in.
    pub(super) async fn signed_in(&self) -> Result<Session, AuthError> {
        self.api.within(self.engine.signed_in()).await
    }

    /// Waits until a stored session has been loaded. Every other call does so too.
    pub async fn ready(&self) {
        self.engine.ready().await;
    }

    /// The session, refreshed first if less than 90 s are left. `None` if not signed in.
    ///
    /// Nothing about it is verified: it comes from the store. Servers that have to authenticate the user
    /// use [`Auth::claims`] or [`Auth::user`].
    pub async fn session(&self) -> Result<Option<Session>, AuthError> {
        let load = async {
            self.engine.ready().await;
            self.engine.load().await
        };
        self.api.within(load).await
    }

    /// Refreshes the session now, regardless of the remaining time.
    pub async fn refresh(&self) -> Result<Session, AuthError> {
        let session = self.signed_in().await?;
        let refresh = self.engine.refresh(session.refresh_token());
        self.api.within(refresh).await
    }

    /// Refreshes with this refresh token; the result becomes the session.
    pub async fn refresh_with(&self, refresh_token: &str) -> Result<Session, AuthError> {
        self.engine.ready().await;
        self.api.within(self.engine.refresh(refresh_token)).await
    }

    /// Makes two given tokens the session, after asking the server for their user. An expired access token is
    /// refreshed first.
    pub async fn set_session(
        &self,
        access_token: &str,
        refresh_token: &str,
    ) -> Result<Session, AuthError> {
        self.engine.ready().await;
        if access_token.is_empty() || refresh_token.is_empty() {
            return Err(AuthError::SessionMissing);
        }
        let now_ms = self.api().clock().now_ms();
        let exp = Decoded::parse(access_token)?.exp();
        let is_ended = |exp: i64| exp.saturating_mul(1000) <= now_ms;
        let Some(exp) = exp.filter(|exp| !is_ended(*exp)) else {
            return self.refresh_with(refresh_token).await;
        };
        let user = self.user_for(access_token).await?;
        let now_s = now_ms.div_euclid(1000);
        let session = Session::from_tokens(access_token, refresh_token, &user, exp, now_s);
        self.engine
            .begin_session(&session, AuthEvent::SignedIn)
            .await?;
        Ok(session)
    }

    /// The signed-in user, from the server.
    pub async fn user(&self) -> Result<User, AuthError> {
        match self.session().await? {
            Some(session) => self.user_for(session.access_token()).await,
            None if self.api().has_own_authorization() => self.api().user_by_header().await,
            None => Err(AuthError::SessionMissing),
        }
    }

    /// The user of a token, from the server. The stored session is not read, but it is removed if the server says
    /// that it has ended.
    pub async fn user_for(&self, token: &str) -> Result<User, AuthError> {
        self.engine.ready().await;
        let user = self.api().user(token).await;
        if matches!(user, Err(AuthError::SessionMissing)) {
            self.engine.remove(SignOutReason::Revoked).await?;
        }
        user
    }

    /// The verified claims of the session's token. `None` if not signed in.
    ///
    /// Usually no request is made: the project's keys are fetched once in ten minutes. Tokens that are signed
    /// with a shared secret are checked with the server.
    pub async fn claims(&self) -> Result<Option<Claims>, AuthError> {
        match self.session().await? {
            None => Ok(None),
            Some(session) => {
                let claims = self.claims_for(session.access_token()).send().await?;
                Ok(Some(claims))
            }
        }
    }

    /// The verified claims of any token.
    pub fn claims_for(&self, token: &str) -> ClaimsRequest {
        ClaimsRequest {
            api: self.api().clone(),
            cache: self.engine.keys.clone(),
            token: token.to_owned(),
            verify: VerifyOptions::default(),
            options: CallOptions::default(),
        }
    }

    /// Session events from now on.
    ///
    /// ```no_run
    /// use futures_util::StreamExt;
    ///
    /// # async fn example(client: plinth_client::Client) {
    /// let mut events = client.auth().events();
    /// while let Some((event, session)) = events.next().await {
    ///     println!("{}: signed in: {}", event.name(), session.is_some());
    /// }
    /// # }
    /// ```
    pub fn events(&self) -> AuthEvents {
        self.engine.events()
    }

    /// Refreshes the session in the background until the guard is dropped, even if the client was built without.
    /// From now on the application controls it.
    pub fn start_auto_refresh(&self) -> AutoRefresh {
        self.engine.start_auto_refresh()
    }

    /// Stops refreshing in the background. The session is still refreshed when it is used.
    pub fn stop_auto_refresh(&self) {
        self.engine.stop_auto_refresh();
    }

    /// Ends sessions of the user on the server.
    ///
    /// [`Scope::Local`] removes the stored session first and then notifies the server;
    /// [`Scope::Global`] keeps it if the server cannot be reached; [`Scope::Others`] never touches
    /// it.
    pub async fn sign_out(&self, scope: Scope) -> Result<(), AuthError> {
        let session = match self.session().await {
            Ok(session) => session,
            Err(error) => {
                // Errors that end a session have already removed it and emitted the event.
                if scope == Scope::Local && !error.ends_session() {
                    self.remove_session().await?;
                }
                return Err(error);
            }
        };
        let Some(session) = session else {
            return match scope {
                Scope::Others => Ok(()),
                Scope::Global | Scope::Local => self.remove_session().await,
            };
        };
        if scope == Scope::Local {
            self.remove_session().await?;
        }
        match self.api().sign_out(session.access_token(), scope).await {
            Err(error) if !error.means_signed_out() => return Err(error),
            _ => {}
        }
        match scope {
            Scope::Global => self.remove_session().await,
            Scope::Local | Scope::Others => Ok(()),
        }
    }

    /// How far the server's clock is ahead of ours, in milliseconds, according to its last response.
    pub fn clock_skew_ms(&self) -> Option<i64> {
        self.api().clock_skew_ms()
    }

    /// The stateless API.
    pub fn api(&self) -> &AuthApi {
        &self.api
    }

    async fn remove_session(&self) -> Result<(), AuthError> {
        self.engine.remove(SignOutReason::User).await
    }
}

/// Verifying a token; see [`Auth::claims_for`].
#[must_use = "nothing is sent before `send`"]
pub struct ClaimsRequest {
    api: AuthApi,
    cache: Arc<JwksCache>,
    token: String,
    verify: VerifyOptions,
    options: CallOptions,
}

with_call_options!(ClaimsRequest);

impl ClaimsRequest {
    /// Accepts an expired token.
    pub fn allow_expired(mut self) -> Self {
        self.verify.allow_expired = true;
        self
    }

    /// Uses these keys before fetching any.
    pub fn jwks(mut self, keys: KeySet) -> Self {
        self.verify.keys = Some(keys);
        self
    }

    /// Verifies.
    pub async fn send(self) -> Result<Claims, AuthError> {
        let api = self.api.for_call(&self.options)?;
        verify(&self.token, &api, &self.cache, &self.verify).await
    }
}
