//! `POST /token?grant_type=password`.

use super::super::body::Body;
use super::super::engine::AuthEvent;
use super::super::{Auth, AuthError};
use super::{Contact, SignedIn};
use crate::call_options::{CallOptions, with_call_options};

impl Auth {
    /// Signs in with an e-mail address or phone number and a password.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), plinth_client::AuthError> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let response = r#"{
    /// #     "access_token": "a", "refresh_token": "r", "expires_in": 3600, "user": {"id": "u"}
    /// # }"#;
    /// # let server = axum::Router::new().fallback(move || async move { response });
    /// # let client = client.http_service(server).build()?;
    /// let sign_in = client.auth().sign_in_with_password();
    /// let signed_in = sign_in.email("ada@example.com").password("s3cret!pass").send().await?;
    /// println!("hello {}", signed_in.user.id());
    /// # Ok(())
    /// # }
    /// ```
    pub fn sign_in_with_password(&self) -> PasswordRequest {
        PasswordRequest {
            auth: self.clone(),
            contact: Contact::default(),
            password: String::new(),
            captcha: None,
            options: CallOptions::default(),
        }
    }
}

/// Signing in with a password; see [`Auth::sign_in_with_password`].
#[must_use = "nothing is sent before `send`"]
pub struct PasswordRequest {
    auth: Auth,
    contact: Contact,
    password: String,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(PasswordRequest);

impl PasswordRequest {
    /// The account's address.
    pub fn email(mut self, email: impl Into<String>) -> Self {
        self.contact.email = Some(email.into());
        self
    }

    /// The account's phone number.
    pub fn phone(mut self, phone: impl Into<String>) -> Self {
        self.contact.phone = Some(phone.into());
        self
    }

    /// The password.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = password.into();
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Signs in.
    pub async fn send(self) -> Result<SignedIn, AuthError> {
        self.contact.check()?;
        self.auth.ready().await;
        let is_email = self.contact.is_email();
        let body = Body::default()
            .with_some("email", self.contact.email)
            .with_some("phone", self.contact.phone.filter(|_| !is_email))
            .with("password", self.password)
            .captcha(self.captcha.as_deref());
        let api = self.auth.api().for_call(&self.options)?;
        let tokens = api.token("password", body.finish()).await?;
        self.auth.adopt(tokens, AuthEvent::SignedIn).await
    }
}
