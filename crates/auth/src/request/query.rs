//! Query parameters. Empty ones count as missing; the first of several is used.

use std::convert::Infallible;

use axum::{extract::FromRequestParts, http::request::Parts};

/// The decoded query string.
#[derive(Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The value of a parameter, `""` if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}
