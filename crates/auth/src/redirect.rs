//! URLs of redirects that end a flow (auth contract §2.5).

use std::fmt;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::form_urlencoded;

use crate::{AuthError, sessions::TokenBody};

const NOT_IN_HEADERS: &AsciiSet = &CONTROLS.add(b' ');

/// A redirect that must not be cached. What is not ASCII is percent-encoded, since headers have no
/// other encoding.
pub(crate) fn redirect(status: StatusCode, url: &str) -> Result<Response, AuthError> {
    let location = utf8_percent_encode(url, NOT_IN_HEADERS).to_string();
    let location = HeaderValue::from_str(&location).map_err(AuthError::unexpected)?;
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers).into_response())
}

/// A redirect URL to which parameters are added. Its query is kept; its fragment is replaced.
pub(crate) struct RedirectTarget {
    base: String,
    query: Vec<(String, String)>,
    fragment: Vec<(String, String)>,
}

impl RedirectTarget {
    pub(crate) fn new(url: &str) -> Self {
        let base = url.split_once('#').map_or(url, |(base, _)| base);
        Self {
            base: base.to_owned(),
            query: Vec::new(),
            fragment: Vec::new(),
        }
    }

    /// Replaces a parameter of this name that the URL had.
    pub(crate) fn set_query(&mut self, name: &str, value: &str) {
        self.base = remove_parameter(&self.base, name);
        self.query.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn add_fragment(&mut self, name: &str, value: &str) {
        self.fragment.push((name.to_owned(), value.to_owned()));
    }

    /// Adds the tokens to the fragment, which is not sent to servers.
    pub(crate) fn add_session(&mut self, body: &TokenBody) {
        self.add_fragment("access_token", &body.access_token);
        self.add_fragment("expires_at", &body.expires_at.to_string());
        self.add_fragment("expires_in", &body.expires_in.to_string());
        self.add_fragment("refresh_token", &body.refresh_token);
        self.add_fragment("token_type", body.token_type);
        for (name, token) in [
            ("provider_token", &body.provider_token),
            ("provider_refresh_token", &body.provider_refresh_token),
        ] {
            if let Some(token) = token {
                self.add_fragment(name, token);
            }
        }
    }

    /// Adds the error to the fragment, and to the query for clients that read it on a server.
    pub(crate) fn add_error(&mut self, error: &AuthError, in_query: bool) {
        let mut pairs = Vec::new();
        let class = match error.status().as_u16() {
            400 => Some("invalid_request"),
            401 => Some("unauthorized_client"),
            403 => Some("access_denied"),
            500 => Some("server_error"),
            503 => Some("temporarily_unavailable"),
            _ => None,
        };
        pairs.extend(class.map(|class| ("error", class.to_owned())));
        pairs.push(("error_code", error.code().as_str().to_owned()));
        pairs.push(("error_description", error.to_string()));
        for (name, value) in pairs {
            if in_query {
                self.set_query(name, &value);
            }
            self.add_fragment(name, &value);
        }
    }
}

impl fmt::Display for RedirectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if !self.query.is_empty() {
            let sign = if self.base.contains('?') { '&' } else { '?' };
            write!(f, "{sign}{}", encode(&self.query))?;
        }
        if !self.fragment.is_empty() {
            // The empty `sb` marks the fragment as the auth server's.
            let mut pairs = self.fragment.clone();
            pairs.push(("sb".to_owned(), String::new()));
            write!(f, "#{}", encode(&pairs))?;
        }
        Ok(())
    }
}

/// The URL without this parameter.
fn remove_parameter(url: &str, name: &str) -> String {
    let Some((path, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let names = |pair: &str| {
        let mut parsed = form_urlencoded::parse(pair.as_bytes());
        parsed.next().is_some_and(|(known, _)| known == name)
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !names(pair)).collect();
    if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    }
}

fn encode(pairs: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_query_is_preserved_and_its_fragment_is_not() {
        let mut target = RedirectTarget::new("https://site.test/page?x=1#old");
        target.set_query("code", "a b");
        target.add_fragment("type", "signup");

        assert_eq!(
            target.to_string(),
            "https://site.test/page?x=1&code=a+b#type=signup&sb="
        );
    }

    #[test]
    fn what_the_url_says_under_our_name_is_replaced() {
        let mut target = RedirectTarget::new("https://site.test/?c%6Fde=evil&x=1");
        target.set_query("code", "real");
        assert_eq!(target.to_string(), "https://site.test/?x=1&code=real");

        let mut target = RedirectTarget::new("https://site.test/?code=evil");
        target.set_query("code", "real");
        assert_eq!(target.to_string(), "https://site.test/?code=real");
    }

    #[test]
    fn a_location_is_ascii() {
        let sent = |url: &str| {
            let response = redirect(StatusCode::SEE_OTHER, url).expect("a redirect");
            let location = response.headers()[header::LOCATION]
                .to_str()
                .map(str::to_owned);
            location.expect("ASCII")
        };
        assert_eq!(
            sent("myapp://\u{e4}/ x?\u{1f600}\n"),
            "myapp://%C3%A4/%20x?%F0%9F%98%80%0A"
        );
        assert_eq!(
            sent("https://a.test/%C3%A4?b#c"),
            "https://a.test/%C3%A4?b#c"
        );
    }

    #[test]
    fn nothing_else_is_added() {
        assert_eq!(RedirectTarget::new("myapp://x").to_string(), "myapp://x");
    }
}
