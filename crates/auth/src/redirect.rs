//! Redirects that end a flow: what they carry, and where in the URL (auth contract §2.5).

use std::fmt;

use url::form_urlencoded;

use crate::{AuthError, sessions::TokenBody};

/// A URL that grows. Its own query is kept; its own fragment gives way to ours.
pub(crate) struct Target {
    base: String,
    query: Vec<(String, String)>,
    fragment: Vec<(String, String)>,
}

impl Target {
    pub(crate) fn new(url: &str) -> Self {
        let base = url.split_once('#').map_or(url, |(base, _)| base);
        Self {
            base: base.to_owned(),
            query: Vec::new(),
            fragment: Vec::new(),
        }
    }

    /// A value of this name that stood in the URL before could be taken for ours, and goes.
    pub(crate) fn query(&mut self, name: &str, value: &str) {
        self.base = without(&self.base, name);
        self.query.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn fragment(&mut self, name: &str, value: &str) {
        self.fragment.push((name.to_owned(), value.to_owned()));
    }

    /// The tokens, where only the page itself can read them.
    pub(crate) fn session(&mut self, body: &TokenBody) {
        self.fragment("access_token", &body.access_token);
        self.fragment("expires_at", &body.expires_at.to_string());
        self.fragment("expires_in", &body.expires_in.to_string());
        self.fragment("refresh_token", &body.refresh_token);
        self.fragment("token_type", body.token_type);
        for (name, token) in [
            ("provider_token", &body.provider_token),
            ("provider_refresh_token", &body.provider_refresh_token),
        ] {
            if let Some(token) = token {
                self.fragment(name, token);
            }
        }
    }

    /// What went wrong: in the fragment, and in the query too where servers read it.
    pub(crate) fn error(&mut self, error: &AuthError, in_query: bool) {
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
                self.query(name, &value);
            }
            self.fragment(name, &value);
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if !self.query.is_empty() {
            let sign = match self.base.contains('?') {
                true => '&',
                false => '?',
            };
            write!(f, "{sign}{}", encode(&self.query))?;
        }
        if !self.fragment.is_empty() {
            // The empty `sb` tells clients that the fragment is ours.
            let mut pairs = self.fragment.clone();
            pairs.push(("sb".to_owned(), String::new()));
            write!(f, "#{}", encode(&pairs))?;
        }
        Ok(())
    }
}

/// The URL without this parameter.
fn without(url: &str, name: &str) -> String {
    let Some((path, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let names = |pair: &str| {
        let mut parsed = form_urlencoded::parse(pair.as_bytes());
        parsed.next().is_some_and(|(known, _)| known == name)
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !names(pair)).collect();
    match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
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
    fn the_targets_own_query_is_kept_and_its_fragment_is_not() {
        let mut target = Target::new("https://site.test/page?x=1#old");
        target.query("code", "a b");
        target.fragment("type", "signup");

        assert_eq!(
            target.to_string(),
            "https://site.test/page?x=1&code=a+b#type=signup&sb="
        );
    }

    #[test]
    fn what_the_url_says_under_our_name_is_replaced() {
        let mut target = Target::new("https://site.test/?c%6Fde=evil&x=1");
        target.query("code", "real");
        assert_eq!(target.to_string(), "https://site.test/?x=1&code=real");

        let mut target = Target::new("https://site.test/?code=evil");
        target.query("code", "real");
        assert_eq!(target.to_string(), "https://site.test/?code=real");
    }

    #[test]
    fn nothing_is_added_that_was_not_asked_for() {
        assert_eq!(Target::new("myapp://x").to_string(), "myapp://x");
    }
}
