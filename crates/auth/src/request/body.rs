//! JSON bodies, parsed as leniently as clients expect (auth contract §1.2).

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::request::Parts,
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use plinth_project::BodyLimit;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::AuthError;

const MAX_BODY_BYTES: usize = 1024 * 1024;

/// A JSON body. `null` counts as absent, unknown fields are ignored, and no body is an empty
/// object; so `T` gives every field a default.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = AuthError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, AuthError> {
        let (_, bytes) = read_body(request).await?;
        parse_json(&bytes).map(Input)
    }
}

/// As [`Input`], but a missing body is rejected: it would mean something that was not requested.
pub(crate) struct RequiredInput<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for RequiredInput<T> {
    type Rejection = AuthError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, AuthError> {
        let (_, bytes) = read_body(request).await?;
        if bytes.trim_ascii().is_empty() {
            return Err(AuthError::bad_json("the body is empty"));
        }
        parse_json(&bytes).map(RequiredInput)
    }
}

/// Reads the whole body.
pub(crate) async fn read_body(request: Request) -> Result<(Parts, bytes::Bytes), AuthError> {
    let (parts, body) = request.into_parts();
    if let Some(limit) = parts.extensions.get::<BodyLimit>() {
        limit.set(MAX_BODY_BYTES as u64);
    }
    let bytes = read(body).await?;
    Ok((parts, bytes))
}

async fn read(body: Body) -> Result<bytes::Bytes, AuthError> {
    match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if is_too_large(&*error) => Err(AuthError::body_too_large()),
        Err(_) => Err(AuthError::bad_json("the body ended early")),
    }
}

/// The gateway's limit, which [`Input`] sets, produces the same error type.
fn is_too_large(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Parses as [`Input`] does.
pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, AuthError> {
    let value = match bytes.trim_ascii() {
        b"" => Value::Object(Default::default()),
        bytes => serde_json::from_slice(bytes).map_err(AuthError::bad_json)?,
    };
    if contains_nul(&value) {
        return Err(AuthError::bad_json("the character U+0000 cannot be stored"));
    }
    let Value::Object(mut fields) = value else {
        return Err(AuthError::bad_json("an object was expected"));
    };
    fields.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(fields)).map_err(AuthError::bad_json)
}

/// PostgreSQL stores NUL neither in text nor in JSON.
fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(contains_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || contains_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The optional member `gotrue_meta_security`.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MetaSecurity {
    pub(crate) captcha_token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Sample {
        email: String,
        data: serde_json::Map<String, Value>,
    }

    #[test]
    fn nulls_empty_bodies_and_unknown_fields_are_fine() {
        let empty = Sample::default();
        for text in ["", "  ", "{}", r#"{"email":null,"options":{"x":1}}"#] {
            assert_eq!(parse_json::<Sample>(text.as_bytes()).expect(text), empty);
        }
    }

    #[test]
    fn a_null_inside_an_object_is_kept() {
        let sample: Sample = parse_json(br#"{"data":{"nick":null}}"#).expect("good JSON");

        assert_eq!(sample.data.get("nick"), Some(&Value::Null));
    }

    #[test]
    fn anything_else_is_rejected() {
        for text in [
            "[]",
            "1",
            "{",
            r#"{"email":1}"#,
            "\u{1}",
            r#"{"email":"a\u0000"}"#,
            r#"{"data":{"a":[{"b\u0000":1}]}}"#,
        ] {
            let error = parse_json::<Sample>(text.as_bytes()).expect_err(text);
            assert_eq!(error.code(), Code::BadJson);
        }
    }
}
