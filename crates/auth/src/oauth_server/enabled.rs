//! Whether the project is an OAuth server at all.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{AuthError, AuthService, error::Code, request::Context};

/// The context of a request to a project that is one. Stands where the switch is to be looked at:
/// before or after the caller.
pub(crate) struct Enabled(pub(crate) Context);

impl FromRequestParts<AuthService> for Enabled {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = Context::from_request_parts(parts, service).await?;
        match context.config.oauth_server.is_enabled {
            true => Ok(Self(context)),
            false => Err(AuthError::new(
                404,
                Code::FeatureDisabled,
                "OAuth server is disabled",
            )),
        }
    }
}
