//! Extractors whose rejections are platform errors.

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::PlatformError;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = PlatformError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PlatformError> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(PlatformError::TooLarge(rejection.body_text()))
            }
            Err(rejection) => Err(PlatformError::Invalid(rejection.body_text())),
        }
    }
}

/// A JSON body that may be missing.
pub(super) struct OptionalBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = PlatformError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PlatformError> {
        let bytes =
            Bytes::from_request(request, state)
                .await
                .map_err(|rejection| match rejection.status() {
                    StatusCode::PAYLOAD_TOO_LARGE => PlatformError::TooLarge(rejection.body_text()),
                    _ => PlatformError::Invalid(rejection.body_text()),
                })?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        match serde_json::from_slice(&bytes) {
            Ok(body) => Ok(Self(body)),
            Err(error) => Err(PlatformError::Invalid(format!(
                "The body is not what is expected: {error}"
            ))),
        }
    }
}

/// A query string.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = PlatformError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PlatformError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(PlatformError::Invalid(rejection.body_text())),
        }
    }
}

/// Parts of the path.
pub(super) struct Segments<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = PlatformError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PlatformError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(rejection) => Err(PlatformError::Invalid(rejection.body_text())),
        }
    }
}

/// Leaves out members that are null, also of objects within: programs of the Management API declare what
/// may be absent as optional, and reject null.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name, without_nulls(member)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_is_left_out() {
        let body = json!({ "a": null, "b": { "c": null, "d": 1 }, "e": [null, { "f": null }] });
        let expected = json!({ "b": { "d": 1 }, "e": [null, { "f": null }] });
        assert_eq!(without_nulls(body), expected);
    }
}
