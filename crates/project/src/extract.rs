//! Request extensions of the gateway as axum extractors.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use crate::{Caller, CallerError, Credentials, Project};

/// Rejection of a router that is not mounted behind the gateway, which is a bug.
type Unmounted = (StatusCode, &'static str);

const UNMOUNTED: Unmounted = (
    StatusCode::INTERNAL_SERVER_ERROR,
    "this service is not mounted behind the gateway",
);

impl<S: Send + Sync> FromRequestParts<S> for Project {
    type Rejection = Unmounted;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Unmounted> {
        parts.extensions.get::<Project>().cloned().ok_or(UNMOUNTED)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Credentials {
    type Rejection = Unmounted;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Unmounted> {
        parts
            .extensions
            .get::<Credentials>()
            .cloned()
            .ok_or(UNMOUNTED)
    }
}

/// The caller, or why there is none. The handler decides whether it needs one.
#[derive(Debug, Clone)]
pub struct MaybeCaller(pub Result<Caller, CallerError>);

impl<S: Send + Sync> FromRequestParts<S> for MaybeCaller {
    type Rejection = Unmounted;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Unmounted> {
        let credentials = Credentials::from_request_parts(parts, state).await?;
        Ok(Self(credentials.caller()))
    }
}
