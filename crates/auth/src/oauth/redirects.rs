//! Redirect responses of the flow.

use axum::response::Response;
use http::StatusCode;

use crate::{
    AuthError,
    error::Code,
    redirect::{RedirectTarget, redirect},
    sessions::TokenBody,
};

/// An error as parameters of the redirect URL.
#[derive(Debug)]
pub(super) struct RedirectError {
    error: String,
    code: Option<&'static str>,
    description: String,
}

impl RedirectError {
    /// The provider's own error.
    pub(super) fn from_provider(error: &str, description: &str) -> Self {
        Self {
            error: error.to_owned(),
            code: None,
            description: description.to_owned(),
        }
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs = vec![("error", self.error.as_str())];
        pairs.extend(self.code.map(|code| ("error_code", code)));
        pairs.push(("error_description", &self.description));
        pairs
    }
}

impl From<AuthError> for RedirectError {
    fn from(error: AuthError) -> Self {
        error.log();
        let is_denial = matches!(
            error.code(),
            Code::SignupDisabled | Code::UserBanned | Code::ProviderEmailNeedsVerification
        );
        let word = match error.status().as_u16() {
            _ if is_denial => "access_denied",
            400 => "invalid_request",
            401 => "unauthorized_client",
            403 => "access_denied",
            503 => "temporarily_unavailable",
            _ => "server_error",
        };
        Self {
            error: word.to_owned(),
            code: Some(error.code().as_str()),
            description: error.to_string(),
        }
    }
}

/// 302 Found.
pub(super) fn found_redirect(url: &str) -> Result<Response, AuthError> {
    redirect(StatusCode::FOUND, url)
}

/// For an unknown flow: 303 to the site, with the error in the query.
pub(super) fn to_site_with_error(site: &str, error: &RedirectError) -> Result<Response, AuthError> {
    let mut target = RedirectTarget::new(site);
    for (name, value) in error.pairs() {
        target.set_query(name, value);
    }
    redirect(StatusCode::SEE_OTHER, &target.to_string())
}

/// For a failed flow: the error in query and fragment, since clients read either.
pub(super) fn with_error(url: &str, error: &RedirectError) -> Result<Response, AuthError> {
    let mut target = RedirectTarget::new(url);
    for (name, value) in error.pairs() {
        target.set_query(name, value);
        target.add_fragment(name, value);
    }
    found_redirect(&target.to_string())
}

/// For PKCE: the code for the tokens in the query.
pub(super) fn with_code(url: &str, code: &str) -> Result<Response, AuthError> {
    let mut target = RedirectTarget::new(url);
    target.set_query("code", code);
    found_redirect(&target.to_string())
}

/// Without PKCE: the tokens in the fragment.
pub(super) fn with_tokens(url: &str, tokens: &TokenBody) -> Result<Response, AuthError> {
    let mut target = RedirectTarget::new(url);
    target.add_session(tokens);
    found_redirect(&target.to_string())
}

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    fn location(response: Result<Response, AuthError>) -> (u16, String) {
        let response = response.expect("a redirect");
        let location = response
            .headers()
            .get(header::LOCATION)
            .expect("a location");
        let location = location.to_str().expect("ASCII").to_owned();
        (response.status().as_u16(), location)
    }

    #[test]
    fn failures_stand_in_query_and_fragment() {
        let error = AuthError::for_test(422, Code::SignupDisabled, "Not & now").into();
        let (status, location) = location(with_error("https://a.test/x?y=1#old", &error));

        let pairs = "error=access_denied&error_code=signup_disabled&error_description=Not+%26+now";
        assert_eq!(status, 302);
        assert_eq!(
            location,
            format!("https://a.test/x?y=1&{pairs}#{pairs}&sb=")
        );
    }

    #[test]
    fn an_unknown_flow_is_reported_to_the_site_only() {
        let error = AuthError::for_test(400, Code::BadOauthState, "Gone").into();
        let (status, location) = location(to_site_with_error("https://a.test/", &error));

        assert_eq!(status, 303);
        assert_eq!(
            location,
            "https://a.test/?error=invalid_request&error_code=bad_oauth_state&error_description=Gone"
        );
    }

    #[test]
    fn a_providers_own_error_has_no_code_of_ours() {
        let error = RedirectError::from_provider("access_denied", "No");
        let (_, location) = location(with_error("myapp://callback", &error));

        assert_eq!(
            location,
            "myapp://callback?error=access_denied&error_description=No\
             #error=access_denied&error_description=No&sb="
        );
    }

    #[test]
    fn a_code_that_was_in_the_address_already_is_replaced() {
        let (_, location) = location(with_code("https://a.test/?code=evil&x=1", "real"));

        assert_eq!(location, "https://a.test/?x=1&code=real");
    }

    #[test]
    fn statuses_become_the_words_of_oauth() {
        let word =
            |status| RedirectError::from(AuthError::for_test(status, Code::Unknown, "x")).error;
        assert_eq!(word(400), "invalid_request");
        assert_eq!(word(401), "unauthorized_client");
        assert_eq!(word(403), "access_denied");
        assert_eq!(word(404), "server_error");
        assert_eq!(word(422), "server_error");
        assert_eq!(word(500), "server_error");
        assert_eq!(word(503), "temporarily_unavailable");
    }
}
