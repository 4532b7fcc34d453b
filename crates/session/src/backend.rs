//! The auth service behind the layer.

use std::sync::Arc;

use plinth_client::auth::{AuthApi, AuthError, JwksCache, KeySet, STALE_LIFETIME_MS, Scope};
use plinth_client::{BoxFuture, Session as StoredSession, User};
use serde_json::json;

/// The auth service, as far as the layer needs it.
///
/// [`HttpBackend`] calls a project over the network and is the builder's default. A server that hosts the
/// auth service itself can implement this trait without a network round trip.
pub trait AuthBackend: Send + Sync + 'static {
    /// The project's published keys. Called on every request, so it should return a cached clone. If the
    /// cached set lacks the key of this id, refetching is worthwhile; at most once in 30 s, because
    /// any client can choose the id (A16).
    fn keys<'a>(&'a self, kid: Option<&'a str>) -> BoxFuture<'a, KeySet>;

    /// Exchanges a refresh token for the next session, retrying temporary failures.
    fn refresh<'a>(
        &'a self,
        refresh_token: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>>;

    /// The user of an access token. Fails with [`AuthError::SessionMissing`] if the session was
    /// revoked.
    fn user<'a>(&'a self, access_token: &'a str) -> BoxFuture<'a, Result<User, AuthError>>;

    /// Exchanges the code of a redirect and the PKCE verifier of the sign-in for a session.
    fn exchange_code<'a>(
        &'a self,
        code: &'a str,
        verifier: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>>;

    /// Verifies the token hash of a mailed link. The first half of an e-mail change that both mailboxes
    /// confirm returns no session.
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

    /// Whether [`keys`](Self::keys) is complete. It is not while keys have never been fetched, or not for a
    /// day: then a token with an unknown key cannot be judged.
    fn has_key_set(&self) -> bool {
        true
    }

    /// The age of the cached keys in milliseconds, and how often fetching them has failed.
    fn key_health(&self) -> KeyHealth {
        KeyHealth::default()
    }
}

/// Health of the key set, for metrics (A17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyHealth {
    /// The age of the keys; `None` while there are none, or where they do not expire.
    pub age_ms: Option<i64>,
    /// Failed fetches since the start.
    pub failures: u64,
}

/// Calls a project's auth service over HTTP.
pub struct HttpBackend {
    api: AuthApi,
    keys: Arc<JwksCache>,
}

impl HttpBackend {
    /// With a key cache that may be shared with other clients of the same project.
    pub fn new(api: AuthApi, keys: Arc<JwksCache>) -> Self {
        Self { api, keys }
    }
}

impl AuthBackend for HttpBackend {
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
            let response = self.api.exchange_code(code, verifier).await?;
            response.session.ok_or(AuthError::InvalidTokenResponse)
        })
    }

    fn verify_token_hash<'a>(
        &'a self,
        kind: &'a str,
        token_hash: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, AuthError>> {
        Box::pin(async move {
            let body = json!({ "type": kind, "token_hash": token_hash });
            let response = self.api.verify_otp(body, None).await?;
            Ok(response.session)
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
