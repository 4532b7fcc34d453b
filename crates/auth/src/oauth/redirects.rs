//! Answers that send the browser elsewhere.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::{AuthError, error::Code, redirect::Target, sessions::TokenBody};

/// What went wrong, as the browser's address will say it.
#[derive(Debug)]
pub(super) struct Refusal {
    error: String,
    code: Option<&'static str>,
    description: String,
}

impl Refusal {
    /// The provider's own words.
    pub(super) fn of_provider(error: &str, description: &str) -> Self {
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

impl From<AuthError> for Refusal {
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

/// 302
pub(super) fn found(url: &str) -> Result<Response, AuthError> {
    redirect(StatusCode::FOUND, url)
}

/// A flow that cannot be told whose it is: 303 to the site, which learns it from the query.
pub(super) fn lost(site: &str, refusal: &Refusal) -> Result<Response, AuthError> {
    let mut target = Target::new(site);
    for (name, value) in refusal.pairs() {
        target.query(name, value);
    }
    redirect(StatusCode::SEE_OTHER, &target.to_string())
}

/// A flow that failed: in query and fragment, for clients read either.
pub(super) fn failed(url: &str, refusal: &Refusal) -> Result<Response, AuthError> {
    let mut target = Target::new(url);
    for (name, value) in refusal.pairs() {
        target.query(name, value);
        target.fragment(name, value);
    }
    found(&target.to_string())
}

/// A flow whose tokens wait to be fetched with a code.
pub(super) fn with_code(url: &str, code: &str) -> Result<Response, AuthError> {
    let mut target = Target::new(url);
    target.query("code", code);
    found(&target.to_string())
}

/// A flow that is over: the tokens in the fragment.
pub(super) fn with_tokens(url: &str, tokens: &TokenBody) -> Result<Response, AuthError> {
    let mut target = Target::new(url);
    target.session(tokens);
    found(&target.to_string())
}

fn redirect(status: StatusCode, url: &str) -> Result<Response, AuthError> {
    let location = HeaderValue::from_str(url)
        .map_err(|error| AuthError::internal("Unexpected failure", error))?;
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers).into_response())
}

#[cfg(test)]
mod tests {
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
        let refusal = AuthError::new(422, Code::SignupDisabled, "Not & now").into();
        let (status, location) = location(failed("https://a.test/x?y=1#old", &refusal));

        let pairs = "error=access_denied&error_code=signup_disabled&error_description=Not+%26+now";
        assert_eq!(status, 302);
        assert_eq!(
            location,
            format!("https://a.test/x?y=1&{pairs}#{pairs}&sb=")
        );
    }

    #[test]
    fn a_lost_flow_is_told_to_the_site_alone() {
        let refusal = AuthError::new(400, Code::BadOauthState, "Gone").into();
        let (status, location) = location(lost("https://a.test/", &refusal));

        assert_eq!(status, 303);
        assert_eq!(
            location,
            "https://a.test/?error=invalid_request&error_code=bad_oauth_state&error_description=Gone"
        );
    }

    #[test]
    fn a_providers_own_error_has_no_code_of_ours() {
        let refusal = Refusal::of_provider("access_denied", "No");
        let (_, location) = location(failed("myapp://callback", &refusal));

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
        let word = |status| Refusal::from(AuthError::new(status, Code::Unknown, "x")).error;
        assert_eq!(word(400), "invalid_request");
        assert_eq!(word(401), "unauthorized_client");
        assert_eq!(word(403), "access_denied");
        assert_eq!(word(404), "server_error");
        assert_eq!(word(422), "server_error");
        assert_eq!(word(500), "server_error");
        assert_eq!(word(503), "temporarily_unavailable");
    }
}
