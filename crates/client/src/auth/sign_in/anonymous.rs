//! `POST /signup` without an address.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::body::{Body, to_value};
use super::super::engine::AuthEvent;
use super::super::{Auth, AuthError};
use super::SignedIn;
use crate::call_options::{CallOptions, with_call_options};

impl Auth {
    /// Signs in anonymously. Add an e-mail address later with [`Auth::update_user`].
    pub fn sign_in_anonymously(&self) -> AnonymousRequest {
        AnonymousRequest {
            auth: self.clone(),
            data: Ok(json!({})),
            captcha: None,
            options: CallOptions::default(),
        }
    }
}

/// Signing in anonymously; see [`Auth::sign_in_anonymously`].
#[must_use = "nothing is sent before `send`"]
pub struct AnonymousRequest {
    auth: Auth,
    data: Result<Value, AuthError>,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(AnonymousRequest);

impl AnonymousRequest {
    /// User metadata, an object.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        self.data = to_value(data);
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Signs in.
    pub async fn send(self) -> Result<SignedIn, AuthError> {
        self.auth.ready().await;
        let body = Body::default()
            .with("data", self.data?)
            .captcha(self.captcha.as_deref());
        let api = self.auth.api().for_call(&self.options)?;
        let tokens = api.sign_up(body.finish(), None).await?;
        self.auth.adopt(tokens, AuthEvent::SignedIn).await
    }
}
