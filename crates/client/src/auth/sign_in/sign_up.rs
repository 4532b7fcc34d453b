//! `POST /signup`.

use serde::Serialize;
use serde_json::Value;

use super::super::body::{Body, to_value};
use super::super::engine::AuthEvent;
use super::super::pkce::RedirectType;
use super::super::{Auth, AuthError};
use super::{Channel, Contact, SignedIn};
use crate::call_options::{CallOptions, with_call_options};
use crate::user::User;

/// Result of a sign-up.
#[derive(Clone, Debug)]
pub enum SignUp {
    /// The user is signed in.
    Session(Box<SignedIn>),
    /// A confirmation message was sent. The user looks the same whether or not the address already had an
    /// account.
    ConfirmationSent(User),
}

impl Auth {
    /// Creates an account.
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
    /// use plinth_client::auth::SignUp;
    ///
    /// let signed_up = client.auth().sign_up().email("ada@example.com").password("s3cret!pass");
    /// match signed_up.send().await? {
    ///     SignUp::Session(signed_in) => println!("hello {}", signed_in.user.id()),
    ///     SignUp::ConfirmationSent(_) => println!("look into your mailbox"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn sign_up(&self) -> SignUpRequest {
        SignUpRequest {
            auth: self.clone(),
            contact: Contact::default(),
            password: None,
            data: Ok(None),
            channel: None,
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }
}

/// Signing up; see [`Auth::sign_up`].
#[must_use = "nothing is sent before `send`"]
pub struct SignUpRequest {
    auth: Auth,
    contact: Contact,
    password: Option<String>,
    data: Result<Option<Value>, AuthError>,
    channel: Option<Channel>,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(SignUpRequest);

impl SignUpRequest {
    /// With this address.
    pub fn email(mut self, email: impl Into<String>) -> Self {
        self.contact.email = Some(email.into());
        self
    }

    /// With this phone number.
    pub fn phone(mut self, phone: impl Into<String>) -> Self {
        self.contact.phone = Some(phone.into());
        self
    }

    /// With this password.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// User metadata, an object.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        self.data = to_value(data).map(Some);
        self
    }

    /// The channel for a phone's code.
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

    /// The redirect URL of the confirmation link.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Signs up.
    pub async fn send(self) -> Result<SignUp, AuthError> {
        self.contact.check()?;
        let (auth, is_email) = (self.auth, self.contact.is_email());
        let api = auth.api().for_call(&self.options)?;
        let body = Body::default()
            .with_some("email", self.contact.email)
            .with_some("phone", self.contact.phone.filter(|_| !is_email))
            .with_some("password", self.password)
            .with_some("data", self.data?)
            .with_some(
                "channel",
                self.channel.filter(|_| !is_email).map(Channel::name),
            )
            .captcha(self.captcha.as_deref());
        let flow = auth.begin_flow(is_email, RedirectType::SignIn).await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), flow.as_ref());
        let body = body.flow(flow.as_ref()).finish();
        let sent = api
            .sign_up(body, redirect.as_deref().filter(|_| is_email))
            .await;
        let tokens = auth.settle_flow(flow.as_ref(), sent).await?;
        if tokens.session.is_some() {
            // No link is sent, so no redirect will follow.
            if let Some(flow) = &flow {
                auth.engine.flows.abandon(flow).await?;
            }
            let signed_in = auth.adopt(tokens, AuthEvent::SignedIn).await?;
            return Ok(SignUp::Session(Box::new(signed_in)));
        }
        let user = tokens.user.ok_or(AuthError::InvalidTokenResponse)?;
        Ok(SignUp::ConfirmationSent(user))
    }
}
