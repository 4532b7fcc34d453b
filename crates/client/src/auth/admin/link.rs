//! `POST /invite` and `POST /admin/generate_link`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::AuthError;
use super::super::api::{AuthApi, Call};
use super::super::body::{Body, to_value};
use crate::call_options::{CallOptions, with_call_options};
use crate::user::User;

/// Inviting a user; see [`Users::invite`](super::Users::invite).
#[must_use = "nothing is sent before `send`"]
pub struct InviteRequest {
    api: AuthApi,
    email: String,
    data: Result<Option<Value>, AuthError>,
    redirect_to: Option<String>,
    options: CallOptions,
}

with_call_options!(InviteRequest, GenerateLinkRequest);

impl InviteRequest {
    pub(super) fn new(api: &AuthApi, email: String) -> Self {
        Self {
            api: api.clone(),
            email,
            data: Ok(None),
            redirect_to: None,
            options: CallOptions::default(),
        }
    }

    /// What to keep about the user, an object.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        self.data = to_value(data).map(Some);
        self
    }

    /// Where the link leads back to.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// Makes the account and sends the link.
    pub async fn send(self) -> Result<User, AuthError> {
        let body = Body::default()
            .with("email", self.email)
            .with_some("data", self.data?);
        let call = Call::post("/invite", body.finish()).redirect_to(self.redirect_to.as_deref());
        self.api.for_call(&self.options)?.user_of(call).await
    }
}

/// What a link is for.
#[derive(Clone)]
pub enum LinkType {
    /// To make an account with a password.
    Signup {
        /// The account's address.
        email: String,
        /// Its password.
        password: String,
    },
    /// To accept an invitation.
    Invite {
        /// The account's address.
        email: String,
    },
    /// To sign in.
    Magiclink {
        /// The account's address.
        email: String,
    },
    /// To choose a new password.
    Recovery {
        /// The account's address.
        email: String,
    },
    /// To confirm a change of address at the old one.
    EmailChangeCurrent {
        /// The account's address.
        email: String,
        /// The one it changes to.
        new_email: String,
    },
    /// To confirm a change of address at the new one.
    EmailChangeNew {
        /// The account's address.
        email: String,
        /// The one it changes to.
        new_email: String,
    },
}

impl LinkType {
    /// The word for it on the wire.
    fn name(&self) -> &'static str {
        match self {
            Self::Signup { .. } => "signup",
            Self::Invite { .. } => "invite",
            Self::Magiclink { .. } => "magiclink",
            Self::Recovery { .. } => "recovery",
            Self::EmailChangeCurrent { .. } => "email_change_current",
            Self::EmailChangeNew { .. } => "email_change_new",
        }
    }

    fn body(self) -> Body {
        let body = Body::default().with("type", self.name());
        match self {
            Self::Signup { email, password } => {
                body.with("email", email).with("password", password)
            }
            Self::Invite { email } | Self::Magiclink { email } | Self::Recovery { email } => {
                body.with("email", email)
            }
            Self::EmailChangeCurrent { email, new_email }
            | Self::EmailChangeNew { email, new_email } => {
                body.with("email", email).with("new_email", new_email)
            }
        }
    }
}

/// What for, without the password.
impl std::fmt::Debug for LinkType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("LinkType")
            .field(&self.name())
            .finish()
    }
}

/// Making a link; see [`Users::generate_link`](super::Users::generate_link).
#[must_use = "nothing is sent before `send`"]
pub struct GenerateLinkRequest {
    api: AuthApi,
    link: LinkType,
    data: Result<Option<Value>, AuthError>,
    redirect_to: Option<String>,
    options: CallOptions,
}

/// A link, and the same in parts. All of it is secret.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct GeneratedLink {
    /// The link itself.
    pub action_link: String,
    /// The code that a person could type instead.
    pub email_otp: String,
    /// For [`Otp::TokenHash`](super::super::Otp::TokenHash).
    pub hashed_token: String,
    /// Where the link leads back to.
    pub redirect_to: String,
    /// What it is for.
    pub verification_type: String,
    /// Whose it is.
    #[serde(skip)]
    pub user: Option<User>,
}

impl std::fmt::Debug for GeneratedLink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut link = formatter.debug_struct("GeneratedLink");
        link.field("verification_type", &self.verification_type)
            .finish_non_exhaustive()
    }
}

impl GenerateLinkRequest {
    pub(super) fn new(api: &AuthApi, link: LinkType) -> Self {
        Self {
            api: api.clone(),
            link,
            data: Ok(None),
            redirect_to: None,
            options: CallOptions::default(),
        }
    }

    /// What to keep about a new user, an object.
    pub fn data(mut self, data: &impl Serialize) -> Self {
        self.data = to_value(data).map(Some);
        self
    }

    /// Where the link leads back to.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// Makes the link; nothing is sent to the user.
    pub async fn send(self) -> Result<GeneratedLink, AuthError> {
        let body = self
            .link
            .body()
            .with_some("data", self.data?)
            .with_some("redirect_to", self.redirect_to.clone());
        let call = Call::post("/admin/generate_link", body.finish())
            .redirect_to(self.redirect_to.as_deref());
        let response = self.api.for_call(&self.options)?.response(call).await?;
        let mut link: GeneratedLink =
            serde_json::from_slice(&response.body).map_err(|_| AuthError::unreadable())?;
        link.user = User::from_response(&response.text());
        Ok(link)
    }
}
