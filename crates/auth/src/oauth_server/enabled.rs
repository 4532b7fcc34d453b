//! Whether the project's OAuth server is enabled.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{AuthError, AuthService, request::RequestContext};

/// The context of a request, rejected if the OAuth server is disabled. Its position among a
/// handler's extractors decides whether that is checked before or after the caller.
pub(crate) struct Enabled(pub(crate) RequestContext);

impl FromRequestParts<AuthService> for Enabled {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = RequestContext::from_request_parts(parts, service).await?;
        if context.config.oauth_server.is_enabled {
            Ok(Self(context))
        } else {
            Err(AuthError::oauth_server_disabled())
        }
    }
}
