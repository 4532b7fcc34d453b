//! Sign-in methods (client contract §3.2).

mod anonymous;
mod id_token;
mod oauth;
mod one_time;
mod password;
mod redirect;
mod sign_up;

use super::engine::AuthEvent;
use super::pkce::{Flow, RedirectType, with_flow_id};
use super::{Auth, AuthError, TokenResponse, WeakPassword};
use crate::session::Session;
use crate::user::User;
pub use anonymous::AnonymousRequest;
pub use id_token::IdTokenRequest;
pub use oauth::{OAuthRequest, OAuthStart, Provider, Sso, SsoRequest};
pub(super) use one_time::message_id;
pub use one_time::{Channel, EmailOtp, Otp, OtpRequest, PhoneOtp, Verified, VerifyOtpRequest};
pub use password::PasswordRequest;
pub use redirect::{ExchangeRequest, Exchanged, FromRedirect};
pub use sign_up::{SignUp, SignUpRequest};

/// A completed sign-in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SignedIn {
    /// The new session, already stored.
    pub session: Session,
    /// The user, from the server.
    pub user: User,
    /// The password should be changed.
    pub weak_password: Option<WeakPassword>,
}

impl Auth {
    /// Stores the session of a token response.
    pub(super) async fn adopt(
        &self,
        tokens: TokenResponse,
        event: AuthEvent,
    ) -> Result<SignedIn, AuthError> {
        let (Some(session), Some(user)) = (tokens.session, tokens.user) else {
            return Err(AuthError::InvalidTokenResponse);
        };
        self.engine.begin_session(&session, event).await?;
        Ok(SignedIn {
            session,
            user,
            weak_password: tokens.weak_password,
        })
    }

    /// Begins a PKCE flow; `None` where no redirect will follow.
    pub(super) async fn begin_flow(
        &self,
        is_needed: bool,
        redirect_type: RedirectType,
    ) -> Result<Option<Flow>, AuthError> {
        self.engine.ready().await;
        if is_needed {
            self.engine.flows.begin(redirect_type).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// Passes a result on; removes the flow if the sign-in could not be started.
    pub(super) async fn settle_flow<T>(
        &self,
        flow: Option<&Flow>,
        result: Result<T, AuthError>,
    ) -> Result<T, AuthError> {
        if let (Some(flow), Err(_)) = (flow, &result) {
            self.engine.flows.abandon(flow).await?;
        }
        result
    }

    /// The redirect URL, with the flow id if configured.
    pub(super) fn redirect_for(&self, url: Option<&str>, flow: Option<&Flow>) -> Option<String> {
        match (url, flow) {
            (Some(url), Some(flow)) if self.engine.settings.append_flow_id => {
                Some(with_flow_id(url, flow.id()))
            }
            (url, _) => url.map(str::to_owned),
        }
    }
}

/// E-mail address or phone number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contact {
    pub(crate) email: Option<String>,
    pub(crate) phone: Option<String>,
}

impl Contact {
    /// The phone number is used only without an e-mail address, as in other clients.
    pub(crate) fn check(&self) -> Result<(), AuthError> {
        match (&self.email, &self.phone) {
            (None, None) => Err(AuthError::InvalidInput(
                "You must provide either an email or phone number",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_email(&self) -> bool {
        self.email.is_some()
    }
}
