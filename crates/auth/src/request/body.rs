//! JSON bodies, read as leniently as clients expect (auth contract §1.2).

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::request::Parts,
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use plinth_project::BodyLimit;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{AuthError, error::Code};

const MAX_BYTES: usize = 1024 * 1024;

/// A JSON body. `null` counts as absent, unknown fields are ignored, and no body is an empty
/// object; so `T` gives every field a default.
#[derive(Debug)]
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = AuthError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, AuthError> {
        let (_, bytes) = body_of(request).await?;
        parse_json(&bytes).map(Input)
    }
}

/// A whole body of any kind, and what came before it.
pub(crate) async fn body_of(request: Request) -> Result<(Parts, bytes::Bytes), AuthError> {
    let (parts, body) = request.into_parts();
    if let Some(limit) = parts.extensions.get::<BodyLimit>() {
        limit.set(MAX_BYTES as u64);
    }
    let bytes = read(body).await?;
    Ok((parts, bytes))
}

async fn read(body: Body) -> Result<bytes::Bytes, AuthError> {
    match Limited::new(body, MAX_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if is_too_large(&*error) => Err(AuthError::new(
            413,
            Code::RequestEntityTooLarge,
            "Request body is larger than 1 MiB",
        )),
        Err(_) => Err(bad_json("the body ended early")),
    }
}

/// The gateway's limit, which [`Input`] sets, speaks the same type.
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

/// As [`Input`] reads it.
pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, AuthError> {
    let value = match bytes.trim_ascii() {
        b"" => Value::Object(Default::default()),
        bytes => serde_json::from_slice(bytes).map_err(bad_json)?,
    };
    if has_nul(&value) {
        return Err(bad_json("the character U+0000 cannot be stored"));
    }
    let Value::Object(mut fields) = value else {
        return Err(bad_json("an object was expected"));
    };
    fields.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(fields)).map_err(bad_json)
}

/// Postgres keeps it in no text and no JSON.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn bad_json(reason: impl std::fmt::Display) -> AuthError {
    AuthError::new(
        400,
        Code::BadJson,
        format!("Could not parse request body as JSON: {reason}"),
    )
}

/// `gotrue_meta_security`, which some requests carry.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MetaSecurity {
    pub(crate) captcha_token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn anything_else_is_refused() {
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
