//! Links and codes that are sent: `POST /otp`, `POST /verify` (client contract S63).

use serde::Serialize;
use serde_json::Value;

use super::super::body::{Body, to_value};
use super::super::engine::AuthEvent;
use super::super::pkce::RedirectType;
use super::super::{Auth, AuthError};
use super::Contact;
use crate::call_options::{CallOptions, with_call_options};
use crate::session::Session;
use crate::user::User;

/// The channel for a phone's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A text message.
    Sms,
    /// A WhatsApp message.
    Whatsapp,
}

impl Channel {
    /// The value in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::Whatsapp => "whatsapp",
        }
    }
}

/// Purpose of a code or link by e-mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum EmailOtp {
    Signup,
    Invite,
    Magiclink,
    Recovery,
    EmailChange,
    /// Signing in or up.
    Email,
}

impl EmailOtp {
    /// The value in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signup => "signup",
            Self::Invite => "invite",
            Self::Magiclink => "magiclink",
            Self::Recovery => "recovery",
            Self::EmailChange => "email_change",
            Self::Email => "email",
        }
    }
}

/// Purpose of a code by phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhoneOtp {
    /// Signing in.
    Sms,
    /// A new number.
    PhoneChange,
}

impl PhoneOtp {
    /// The value in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::PhoneChange => "phone_change",
        }
    }
}

/// A one-time code or token hash.
#[derive(Clone)]
pub enum Otp {
    /// A code from an e-mail.
    Email {
        /// Where it was sent.
        email: String,
        /// The code.
        token: String,
        /// Its purpose.
        kind: EmailOtp,
    },
    /// A code from a phone.
    Phone {
        /// Where it was sent.
        phone: String,
        /// The code.
        token: String,
        /// Its purpose.
        kind: PhoneOtp,
    },
    /// The token hash of a link.
    TokenHash {
        /// The hash.
        token_hash: String,
        /// Its purpose.
        kind: EmailOtp,
    },
}

impl Otp {
    fn is_recovery(&self) -> bool {
        match self {
            Self::Email { kind, .. } | Self::TokenHash { kind, .. } => *kind == EmailOtp::Recovery,
            Self::Phone { .. } => false,
        }
    }

    fn body(self) -> Body {
        match self {
            Self::Email { email, token, kind } => Body::default()
                .with("email", email)
                .with("token", token)
                .with("type", kind.name()),
            Self::Phone { phone, token, kind } => Body::default()
                .with("phone", phone)
                .with("token", token)
                .with("type", kind.name()),
            Self::TokenHash { token_hash, kind } => Body::default()
                .with("token_hash", token_hash)
                .with("type", kind.name()),
        }
    }
}

impl Auth {
    /// Sends a sign-in link and code; see [`Auth::verify_otp`].
    pub fn sign_in_with_otp(&self) -> OtpRequest {
        OtpRequest {
            auth: self.clone(),
            contact: Contact::default(),
            data: Ok(None),
            create_user: true,
            channel: None,
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }

    /// Signs in with a code or the token hash of a link.
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
    /// use plinth_client::auth::{EmailOtp, Otp};
    ///
    /// let otp = Otp::Email {
    ///     email: "ada@example.com".to_owned(),
    ///     token: "123456".to_owned(),
    ///     kind: EmailOtp::Email,
    /// };
    /// let verified = client.auth().verify_otp(otp).send().await?;
    /// assert!(verified.session.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_otp(&self, otp: Otp) -> VerifyOtpRequest {
        VerifyOtpRequest {
            auth: self.clone(),
            otp,
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }
}

/// Sending a link and a code; see [`Auth::sign_in_with_otp`].
#[must_use = "nothing is sent before `send`"]
pub struct OtpRequest {
    auth: Auth,
    contact: Contact,
    data: Result<Option<Value>, AuthError>,
    create_user: bool,
    channel: Option<Channel>,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

with_call_options!(OtpRequest, VerifyOtpRequest);

impl OtpRequest {
    /// To this address.
    pub fn email(mut self, email: impl Into<String>) -> Self {
        self.contact.email = Some(email.into());
        self
    }

    /// To this phone.
    pub fn phone(mut self, phone: impl Into<String>) -> Self {
        self.contact.phone = Some(phone.into());
        self
    }

    /// Metadata of a new user, an object.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        self.data = to_value(data).map(Some);
        self
    }

    /// Whether a user is created if there is none. Default true.
    pub fn create_user(mut self, create: bool) -> Self {
        self.create_user = create;
        self
    }

    /// The channel for a phone's code.
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

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
        self.contact.check()?;
        let (auth, is_email) = (self.auth, self.contact.is_email());
        let api = auth.api().for_call(&self.options)?;
        let channel = self.channel.unwrap_or(Channel::Sms).name();
        let body = Body::default()
            .with_some("email", self.contact.email)
            .with_some("phone", self.contact.phone.filter(|_| !is_email))
            .with_some("data", self.data?)
            .with("create_user", self.create_user)
            .with_some("channel", (!is_email).then_some(channel))
            .captcha(self.captcha.as_deref());
        let flow = auth.begin_flow(is_email, RedirectType::SignIn).await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), flow.as_ref());
        let body = body.flow(flow.as_ref()).finish();
        let sent = api
            .otp(body, redirect.as_deref().filter(|_| is_email))
            .await;
        let response = auth.settle_flow(flow.as_ref(), sent).await?;
        Ok(message_id(&response))
    }
}

/// The id of a text message that was sent.
pub(crate) fn message_id(response: &Value) -> Option<String> {
    response.get("message_id")?.as_str().map(str::to_owned)
}

/// Result of verifying a code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// The new session, already stored. `None` after the first of two confirmations of an e-mail
    /// change.
    pub session: Option<Session>,
    /// The user, from the server.
    pub user: Option<User>,
}

/// Signing in by a code; see [`Auth::verify_otp`].
#[must_use = "nothing is sent before `send`"]
pub struct VerifyOtpRequest {
    auth: Auth,
    otp: Otp,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

impl VerifyOtpRequest {
    /// The redirect URL of the server's page.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Verifies the code.
    pub async fn send(self) -> Result<Verified, AuthError> {
        self.auth.ready().await;
        let api = self.auth.api().for_call(&self.options)?;
        let event = if self.otp.is_recovery() {
            AuthEvent::PasswordRecovery
        } else {
            AuthEvent::SignedIn
        };
        let body = self.otp.body().captcha(self.captcha.as_deref());
        let tokens = api
            .verify_otp(body.finish(), self.redirect_to.as_deref())
            .await?;
        if let Some(session) = &tokens.session {
            self.auth.engine.begin_session(session, event).await?;
        }
        Ok(Verified {
            session: tokens.session,
            user: tokens.user,
        })
    }
}
