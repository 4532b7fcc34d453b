//! What the gateway put into a request, as axum extractors.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use crate::{Caller, CallerError, Credentials, Project};

/// A router that is mounted anywhere but behind the gateway has no project: our own mistake.
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

/// Whoever calls, or why nobody does. The route decides whether it needs one.
#[derive(Debug, Clone)]
pub struct MaybeCaller(pub Result<Caller, CallerError>);

impl<S: Send + Sync> FromRequestParts<S> for MaybeCaller {
    type Rejection = Unmounted;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Unmounted> {
        let credentials = Credentials::from_request_parts(parts, state).await?;
        Ok(Self(credentials.caller()))
    }
}
