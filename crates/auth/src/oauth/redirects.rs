//! Answers that send the browser elsewhere.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use url::{Url, form_urlencoded::Serializer};

use crate::{AuthError, error::Code, sessions::TokenBody};

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
pub(super) fn lost(site: &Url, refusal: &Refusal) -> Result<Response, AuthError> {
    let mut url = site.clone();
    set_query(&mut url, &refusal.pairs());
    redirect(StatusCode::SEE_OTHER, url.as_str())
}

/// A flow that failed: in query and fragment, for clients read either.
pub(super) fn failed(target: Url, refusal: &Refusal) -> Result<Response, AuthError> {
    let mut url = target;
    let pairs = refusal.pairs();
    set_query(&mut url, &pairs);
    set_fragment(&mut url, &pairs);
    found(url.as_str())
}

/// A flow whose tokens wait to be fetched with a code.
pub(super) fn with_code(target: Url, code: &str) -> Result<Response, AuthError> {
    let mut url = target;
    set_query(&mut url, &[("code", code)]);
    found(url.as_str())
}

/// A flow that is over: the tokens in the fragment.
pub(super) fn with_tokens(target: Url, tokens: &TokenBody) -> Result<Response, AuthError> {
    let mut url = target;
    let (expires_at, expires_in) = (tokens.expires_at.to_string(), tokens.expires_in.to_string());
    let mut pairs = vec![
        ("access_token", tokens.access_token.as_str()),
        ("expires_at", &expires_at),
        ("expires_in", &expires_in),
    ];
    pairs.extend(tokens.provider_refresh_token.iter().map(|token| {
        let pair: (&str, &str) = ("provider_refresh_token", token);
        pair
    }));
    pairs.push((
        "provider_token",
        tokens.provider_token.as_deref().unwrap_or_default(),
    ));
    pairs.push(("refresh_token", &tokens.refresh_token));
    pairs.push(("token_type", tokens.token_type));
    set_fragment(&mut url, &pairs);
    found(url.as_str())
}

/// Keeps what else the query says; a value of these names that was there could deceive.
fn set_query(url: &mut Url, pairs: &[(&str, &str)]) {
    let is_ours = |name: &str| pairs.iter().any(|(ours, _)| *ours == name);
    if url.query_pairs().any(|(name, _)| is_ours(&name)) {
        let others: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_ours(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.query_pairs_mut().clear().extend_pairs(others);
    }
    url.query_pairs_mut().extend_pairs(pairs);
}

/// `sb` tells clients that the fragment is ours.
fn set_fragment(url: &mut Url, pairs: &[(&str, &str)]) {
    let mut fragment = Serializer::new(String::new());
    fragment.extend_pairs(pairs).append_pair("sb", "");
    url.set_fragment(Some(&fragment.finish()));
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
        let location = response.headers().get(header::LOCATION).expect("a location");
        let location = location.to_str().expect("ASCII").to_owned();
        (response.status().as_u16(), location)
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn failures_stand_in_query_and_fragment() {
        let refusal = AuthError::new(422, Code::SignupDisabled, "Not & now").into();
        let (status, location) = location(failed(url("https://a.test/x?y=1#old"), &refusal));

        let pairs = "error=access_denied&error_code=signup_disabled&error_description=Not+%26+now";
        assert_eq!(status, 302);
        assert_eq!(location, format!("https://a.test/x?y=1&{pairs}#{pairs}&sb="));
    }

    #[test]
    fn a_lost_flow_is_told_to_the_site_alone() {
        let refusal = AuthError::new(400, Code::BadOauthState, "Gone").into();
        let (status, location) = location(lost(&url("https://a.test"), &refusal));

        assert_eq!(status, 303);
        assert_eq!(
            location,
            "https://a.test/?error=invalid_request&error_code=bad_oauth_state&error_description=Gone"
        );
    }

    #[test]
    fn a_providers_own_error_has_no_code_of_ours() {
        let refusal = Refusal::of_provider("access_denied", "No");
        let (_, location) = location(failed(url("myapp://callback"), &refusal));

        assert_eq!(
            location,
            "myapp://callback?error=access_denied&error_description=No\
             #error=access_denied&error_description=No&sb="
        );
    }

    #[test]
    fn a_code_that_was_in_the_address_already_is_replaced() {
        let (_, location) = location(with_code(url("https://a.test/?code=evil&x=1"), "real"));

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
