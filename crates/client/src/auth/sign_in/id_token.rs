//! `POST /token?grant_type=id_token`: an ID token of an identity provider.

use super::super::api::Call;
use super::super::body::Body;
use super::super::engine::AuthEvent;
use super::super::{Auth, AuthError};
use super::{Provider, SignedIn};
use crate::call_options::{CallOptions, with_call_options};

impl Auth {
    /// Signs in with an ID token of a provider.
    pub fn sign_in_with_id_token(
        &self,
        provider: Provider,
        token: impl Into<String>,
    ) -> IdTokenRequest {
        IdTokenRequest::new(self, provider, token.into(), false)
    }

    /// Links a provider to the signed-in user, by an ID token.
    pub fn link_id_token(&self, provider: Provider, token: impl Into<String>) -> IdTokenRequest {
        IdTokenRequest::new(self, provider, token.into(), true)
    }
}

/// Signing in or linking by ID token; see [`Auth::sign_in_with_id_token`].
#[must_use = "nothing is sent before `send`"]
pub struct IdTokenRequest {
    auth: Auth,
    provider: Provider,
    token: String,
    is_linking: bool,
    access_token: Option<String>,
    nonce: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(IdTokenRequest);

impl IdTokenRequest {
    fn new(auth: &Auth, provider: Provider, token: String, is_linking: bool) -> Self {
        Self {
            auth: auth.clone(),
            provider,
            token,
            is_linking,
            access_token: None,
            nonce: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }

    /// The provider's access token, if the ID token contains its hash.
    pub fn access_token(mut self, token: impl Into<String>) -> Self {
        self.access_token = Some(token.into());
        self
    }

    /// The nonce whose hash the ID token contains.
    pub fn nonce(mut self, nonce: impl Into<String>) -> Self {
        self.nonce = Some(nonce.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Signs in, or links.
    pub async fn send(self) -> Result<SignedIn, AuthError> {
        self.auth.ready().await;
        let api = self.auth.api().for_call(&self.options)?;
        let body = Body::default()
            .with("provider", self.provider.name())
            .with("id_token", self.token)
            .with_some("access_token", self.access_token)
            .with_some("nonce", self.nonce)
            .captcha(self.captcha.as_deref());
        if !self.is_linking {
            let tokens = api.token("id_token", body.finish()).await?;
            return self.auth.adopt(tokens, AuthEvent::SignedIn).await;
        }
        let session = self.auth.with_options(&self.options).signed_in().await?;
        let body = body.with("link_identity", true).finish();
        let call = Call::post("/token", body).query("grant_type", "id_token");
        let tokens = api.session(call.token(session.access_token())).await?;
        self.auth.adopt(tokens, AuthEvent::UserUpdated).await
    }
}
