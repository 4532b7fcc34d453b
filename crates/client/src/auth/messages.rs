//! Messages to the user: recovery, resending, reauthentication codes.

use super::body::Body;
use super::pkce::RedirectType;
use super::sign_in::message_id;
use super::{Auth, AuthError};
use crate::call_options::{CallOptions, with_call_options};

/// Which message to send again.
#[derive(Clone, Debug)]
pub enum Resend {
    /// The confirmation of a new account.
    Signup {
        /// To this address.
        email: String,
    },
    /// The confirmation of a new address.
    EmailChange {
        /// To this address.
        email: String,
    },
    /// The code to sign in by phone.
    Sms {
        /// To this phone.
        phone: String,
    },
    /// The confirmation of a new number.
    PhoneChange {
        /// To this phone.
        phone: String,
    },
}

impl Resend {
    fn is_email(&self) -> bool {
        matches!(self, Self::Signup { .. } | Self::EmailChange { .. })
    }

    fn body(self) -> Body {
        let body = Body::default();
        match self {
            Self::Signup { email } => body.with("type", "signup").with("email", email),
            Self::EmailChange { email } => body.with("type", "email_change").with("email", email),
            Self::Sms { phone } => body.with("type", "sms").with("phone", phone),
            Self::PhoneChange { phone } => body.with("type", "phone_change").with("phone", phone),
        }
    }
}

impl Auth {
    /// Sends a password recovery link. The result is the same whether or not the address has an account.
    pub fn reset_password_for_email(&self, email: impl Into<String>) -> RecoverRequest {
        RecoverRequest {
            auth: self.clone(),
            email: email.into(),
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }

    /// Sends a message again.
    pub fn resend(&self, message: Resend) -> ResendRequest {
        ResendRequest {
            auth: self.clone(),
            message,
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }

    /// Sends the signed-in user a code that a password change may require; it goes to
    /// [`UpdateUserRequest::nonce`](super::UpdateUserRequest::nonce).
    pub async fn reauthenticate(&self) -> Result<(), AuthError> {
        let session = self.signed_in().await?;
        self.api().reauthenticate(session.access_token()).await
    }
}

/// Sending a recovery link; see [`Auth::reset_password_for_email`].
#[must_use = "nothing is sent before `send`"]
pub struct RecoverRequest {
    auth: Auth,
    email: String,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

/// Sending a message again; see [`Auth::resend`].
#[must_use = "nothing is sent before `send`"]
pub struct ResendRequest {
    auth: Auth,
    message: Resend,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(RecoverRequest, ResendRequest);

impl RecoverRequest {
    /// The redirect URL of the link.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Sends the link.
    pub async fn send(self) -> Result<(), AuthError> {
        let auth = self.auth;
        let api = auth.api().for_call(&self.options)?;
        let flow = auth.begin_flow(true, RedirectType::Recovery).await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), flow.as_ref());
        let body = Body::default()
            .with("email", self.email)
            .captcha(self.captcha.as_deref())
            .flow(flow.as_ref());
        let sent = api.recover(body.finish(), redirect.as_deref()).await;
        auth.settle_flow(flow.as_ref(), sent).await
    }
}

impl ResendRequest {
    /// The redirect URL of the link.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Sends the message. Returns the id of a text message, if the server has one.
    pub async fn send(self) -> Result<Option<String>, AuthError> {
        let (auth, is_email) = (self.auth, self.message.is_email());
        let api = auth.api().for_call(&self.options)?;
        let flow = auth.begin_flow(is_email, RedirectType::SignIn).await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), flow.as_ref());
        let body = self
            .message
            .body()
            .captcha(self.captcha.as_deref())
            .flow(flow.as_ref());
        let sent = api
            .resend(body.finish(), redirect.as_deref().filter(|_| is_email))
            .await;
        let response = auth.settle_flow(flow.as_ref(), sent).await?;
        Ok(message_id(&response))
    }
}
