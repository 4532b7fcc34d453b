//! Whom the layer asks about sessions.

use std::sync::Arc;

use plinth_client::auth::{AuthApi, AuthError, JwksCache, KeySet, STALE_LIFETIME_MS, Scope};
use plinth_client::{BoxFuture, Session as StoredSession, User};
use serde_json::json;

/// The auth service, as far as the layer needs it.
///
/// [`OverHttp`] asks a project over the network and is what the builder uses. A server that hosts
/// the auth service itself can answer from its own memory instead, without a detour.
pub trait AuthBackend: Send + Sync + 'static {
    /// The project's published keys. Asked on every request, so it should be a clone of what is at
    /// hand. Where a key of this id is missing from what is at hand, it is
    /// worth looking for newer ones; at most once in 30 s, because strangers choose the id (A16).
    fn keys<'a>(&'a self, kid: Option<&'a str>) -> BoxFuture<'a, KeySet>;

    /// Exchanges a refresh token for the next session, trying again while that makes sense.
    fn refresh<'a>(
        &'a self,
        refresh_token: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>>;

    /// Whom an access token belongs to. Fails with [`AuthError::SessionMissing`] if the session
    /// has been ended.
    fn user<'a>(&'a self, access_token: &'a str) -> BoxFuture<'a, Result<User, AuthError>>;

    /// Exchanges the code of a redirect, and the secret that the sign-in began with, for a session.
    fn exchange_code<'a>(
        &'a self,
        code: &'a str,
        verifier: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>>;

    /// Uses up the secret of a mailed link. The first half of a change of address that both
    /// mailboxes confirm gives no session.
    fn verify_token_hash<'a>(
        &'a self,
        kind: &'a str,
        token_hash: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, AuthError>>;

    /// Ends sessions on the server.
    fn sign_out<'a>(
        &'a self,
        access_token: &'a str,
        scope: Scope,
    ) -> BoxFuture<'a, Result<(), AuthError>>;

    /// Whether what [`keys`](Self::keys) gives is all there is. Not so while keys have never been
    /// fetched, or not for a day: then a token by an unknown key may be anybody's.
    fn has_key_set(&self) -> bool {
        true
    }

    /// How old the keys at hand are, in milliseconds, and how often fetching them has failed.
    fn key_health(&self) -> KeyHealth {
        KeyHealth::default()
    }
}

/// What metrics tell about the key set (A17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyHealth {
    /// The age of the keys; nothing while there are none, or where they never grow old.
    pub age_ms: Option<i64>,
    /// Failed fetches since the start.
    pub failures: u64,
}

/// Asks a project's auth service over HTTP.
pub struct OverHttp {
    api: AuthApi,
    keys: Arc<JwksCache>,
}

impl OverHttp {
    /// With a key cache that may be shared with other clients of the same project.
    pub fn new(api: AuthApi, keys: Arc<JwksCache>) -> Self {
        Self { api, keys }
    }
}

impl AuthBackend for OverHttp {
    fn keys<'a>(&'a self, kid: Option<&'a str>) -> BoxFuture<'a, KeySet> {
        Box::pin(async move {
            match kid {
                Some(kid) => self.keys.keys_for(&self.api, kid).await,
                None => self.keys.keys(&self.api).await,
            }
        })
    }

    fn refresh<'a>(
        &'a self,
        refresh_token: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>> {
        Box::pin(self.api.refresh(refresh_token))
    }

    fn user<'a>(&'a self, access_token: &'a str) -> BoxFuture<'a, Result<User, AuthError>> {
        Box::pin(self.api.user(access_token))
    }

    fn exchange_code<'a>(
        &'a self,
        code: &'a str,
        verifier: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>> {
        Box::pin(async move {
            let answer = self.api.exchange_code(code, verifier).await?;
            answer.session.ok_or(AuthError::InvalidTokenResponse)
        })
    }

    fn verify_token_hash<'a>(
        &'a self,
        kind: &'a str,
        token_hash: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, AuthError>> {
        Box::pin(async move {
            let body = json!({ "type": kind, "token_hash": token_hash });
            let answer = self.api.verify_otp(body, None).await?;
            Ok(answer.session)
        })
    }

    fn sign_out<'a>(
        &'a self,
        access_token: &'a str,
        scope: Scope,
    ) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(self.api.sign_out(access_token, scope))
    }

    fn has_key_set(&self) -> bool {
        let age = self.keys.age_ms(self.api.clock().now_ms());
        age.is_some_and(|age| age < STALE_LIFETIME_MS)
    }

    fn key_health(&self) -> KeyHealth {
        KeyHealth {
            age_ms: self.keys.age_ms(self.api.clock().now_ms()),
            failures: self.keys.failures(),
        }
    }
}
