//! Extractors whose rejections are platform errors.

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

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
