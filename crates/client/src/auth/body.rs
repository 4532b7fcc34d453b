//! Request bodies, member by member.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::AuthError;
use super::pkce::Flow;

/// A JSON object that leaves out what was not given.
#[derive(Clone, Debug, Default)]
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

    /// The answer to a captcha.
    pub(crate) fn captcha(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.with("gotrue_meta_security", json!({ "captcha_token": token })),
            None => self,
        }
    }

    /// What the server is told when a sign-in begins that will come back.
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

/// A caller's own value as JSON.
pub(crate) fn to_value(value: &impl Serialize) -> Result<Value, AuthError> {
    serde_json::to_value(value)
        .map_err(|_| AuthError::InvalidInput("The data cannot be written as JSON"))
}
