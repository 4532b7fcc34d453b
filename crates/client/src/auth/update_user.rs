//! `PUT /user` (client contract S61).

use serde::Serialize;

use super::body::{Body, to_value};
use super::pkce::RedirectType;
use super::{Auth, AuthError};
use crate::call_options::{CallOptions, with_call_options};
use crate::user::User;

impl Auth {
    /// Changes the signed-in user.
    ///
    /// ```no_run
    /// # async fn example(client: plinth_client::Client) -> Result<(), plinth_client::AuthError> {
    /// use serde_json::json;
    ///
    /// let user = client.auth().update_user().data(&json!({ "name": "Ada" })).send().await?;
    /// assert_eq!(user.user_metadata().unwrap()["name"], "Ada");
    /// # Ok(())
    /// # }
    /// ```
    pub fn update_user(&self) -> UpdateUserRequest {
        UpdateUserRequest {
            auth: self.clone(),
            body: Ok(Body::default()),
            redirect_to: None,
            options: CallOptions::default(),
        }
    }
}

/// Changing the user; see [`Auth::update_user`].
#[must_use = "nothing is sent before `send`"]
pub struct UpdateUserRequest {
    auth: Auth,
    body: Result<Body, AuthError>,
    redirect_to: Option<String>,
    options: CallOptions,
}

with_call_options!(UpdateUserRequest);

impl UpdateUserRequest {
    /// A new e-mail address. It becomes effective once confirmed.
    pub fn email(self, email: impl Into<String>) -> Self {
        self.with("email", email.into())
    }

    /// A new phone number. It becomes effective once confirmed.
    pub fn phone(self, phone: impl Into<String>) -> Self {
        self.with("phone", phone.into())
    }

    /// A new password.
    pub fn password(self, password: impl Into<String>) -> Self {
        self.with("password", password.into())
    }

    /// The code that [`Auth::reauthenticate`] sent.
    pub fn nonce(self, nonce: impl Into<String>) -> Self {
        self.with("nonce", nonce.into())
    }

    /// The current password, if the project requires it.
    pub fn current_password(self, password: impl Into<String>) -> Self {
        self.with("current_password", password.into())
    }

    /// User metadata, an object. Members are merged; null removes.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        let data = to_value(data);
        self.body = self.body.and_then(|body| Ok(body.with("data", data?)));
        self
    }

    /// The redirect URL of the confirmation link.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    fn with(mut self, name: &str, value: String) -> Self {
        self.body = self.body.map(|body| body.with(name, value));
        self
    }

    /// Updates the user, in the stored session too.
    pub async fn send(self) -> Result<User, AuthError> {
        let (auth, body) = (self.auth.with_options(&self.options), self.body?);
        let session = auth.signed_in().await?;
        let api = auth.api().for_call(&self.options)?;
        let flow = auth
            .begin_flow(body.has("email"), RedirectType::SignIn)
            .await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), flow.as_ref());
        let body = body.flow(flow.as_ref()).finish();
        let sent = api
            .update_user(session.access_token(), body, redirect.as_deref())
            .await;
        let user = auth.settle_flow(flow.as_ref(), sent).await?;
        auth.engine.replace_user(&user).await?;
        Ok(user)
    }
}
