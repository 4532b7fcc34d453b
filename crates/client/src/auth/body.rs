//! Request bodies, member by member.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::AuthError;
use super::pkce::Flow;

/// A JSON object without absent members.
#[derive(Clone, Default)]
pub(crate) struct Body(Map<String, Value>);

impl Body {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The captcha token.
    pub(crate) fn captcha(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.with("gotrue_meta_security", json!({ "captcha_token": token })),
            None => self,
        }
    }

    /// The PKCE challenge of a flow.
    pub(crate) fn flow(self, flow: Option<&Flow>) -> Self {
        match flow {
            Some(flow) => self
                .with("code_challenge", flow.challenge())
                .with("code_challenge_method", "s256"),
            None => self,
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

/// Member names only: values may be passwords and codes.
impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Serializes a caller's value.
pub(crate) fn to_value(value: &impl Serialize) -> Result<Value, AuthError> {
    serde_json::to_value(value)
        .map_err(|_| AuthError::InvalidInput("The data cannot be written as JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_values() {
        let body = Body::default().with("password", "s3cret!pass");

        assert_eq!(format!("{body:?}"), r#"{"password"}"#);
    }
}
