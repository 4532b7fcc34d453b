//! Completing a sign-in after a redirect (client contract S53, S55–S58).

use std::collections::HashMap;

use url::form_urlencoded;

use super::super::engine::AuthEvent;
use super::super::pkce::RedirectType;
use super::super::{Auth, AuthError};
use crate::call_options::{CallOptions, with_call_options};
use crate::session::Session;
use crate::user::User;

/// Result of exchanging a code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchanged {
    /// The new session, already stored.
    pub session: Session,
    /// The user, from the server.
    pub user: User,
    /// Whether it is a password recovery.
    pub redirect_type: RedirectType,
}

/// Result of a redirect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FromRedirect {
    /// A sign-in is complete.
    SignedIn(Box<Exchanged>),
    /// Only a message for the user, such as that the other address must confirm too.
    Message(String),
}

impl Auth {
    /// Exchanges the code of a redirect for a session.
    pub fn exchange_code(&self, code: impl Into<String>) -> ExchangeRequest {
        ExchangeRequest {
            auth: self.clone(),
            code: code.into(),
            flow_id: None,
            options: CallOptions::default(),
        }
    }

    /// Completes a sign-in from the URL that the browser was redirected to.
    ///
    /// Only codes are accepted. Tokens in a URL are rejected: an attacker could have put them there.
    pub async fn session_from_redirect(&self, url: &str) -> Result<FromRedirect, AuthError> {
        let params = params_of(url);
        let param = |name: &str| params.get(name).cloned();
        if ["error", "error_description", "error_code"]
            .iter()
            .any(|name| params.contains_key(*name))
        {
            let description = param("error_description");
            return Err(AuthError::Redirect {
                error: param("error").unwrap_or_else(|| "unspecified_error".to_owned()),
                code: param("error_code").unwrap_or_else(|| "unspecified_code".to_owned()),
                message: description.unwrap_or_else(|| {
                    "Error in URL with unspecified error_description".to_owned()
                }),
            });
        }
        if let Some(code) = param("code").filter(|code| !code.is_empty()) {
            let mut request = self.exchange_code(code);
            request.flow_id = param("sb_flow_id");
            return Ok(FromRedirect::SignedIn(Box::new(request.send().await?)));
        }
        if params.contains_key("access_token") {
            return Err(AuthError::CodeExchange("Not a valid PKCE flow url."));
        }
        match param("message") {
            Some(message) => Ok(FromRedirect::Message(message)),
            None => Err(AuthError::CodeExchange("No code detected.")),
        }
    }
}

/// Fragment and query parameters; the query takes precedence.
fn params_of(url: &str) -> HashMap<String, String> {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (_, query) = rest.split_once('?').unwrap_or((rest, ""));
    let pairs = |text: &str| {
        form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect::<Vec<_>>()
    };
    pairs(fragment).into_iter().chain(pairs(query)).collect()
}

/// Exchanging a code; see [`Auth::exchange_code`].
#[must_use = "nothing is sent before `send`"]
pub struct ExchangeRequest {
    auth: Auth,
    code: String,
    flow_id: Option<String>,
    options: CallOptions,
}

with_call_options!(ExchangeRequest);

impl ExchangeRequest {
    /// The flow id of the sign-in; without it, the latest one.
    pub fn flow_id(mut self, id: impl Into<String>) -> Self {
        self.flow_id = Some(id.into());
        self
    }

    /// Exchanges the code. The PKCE verifier is removed even if that fails.
    pub async fn send(self) -> Result<Exchanged, AuthError> {
        self.auth.ready().await;
        let api = self.auth.api().for_call(&self.options)?;
        let taken = self.auth.engine.flows.take(self.flow_id.as_deref()).await?;
        let tokens = api.exchange_code(&self.code, &taken.verifier).await?;
        let event = match taken.redirect_type {
            RedirectType::SignIn => AuthEvent::SignedIn,
            RedirectType::Recovery => AuthEvent::PasswordRecovery,
        };
        let signed_in = self.auth.adopt(tokens, event).await?;
        Ok(Exchanged {
            session: signed_in.session,
            user: signed_in.user,
            redirect_type: taken.redirect_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_overrides_the_fragment() {
        let params = params_of("app:/cb?code=q&x=a+b%21#code=f&error=e");

        assert_eq!(params["code"], "q");
        assert_eq!(params["x"], "a b!");
        assert_eq!(params["error"], "e");
        assert!(params_of("https://a.test/").is_empty());
    }
}
