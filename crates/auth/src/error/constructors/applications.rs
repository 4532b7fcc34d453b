//! The project as an OAuth server: its clients, and the errors in the form that OAuth prescribes.

use std::borrow::Cow;

use super::{AuthError, Code, errors, internal_errors};
use crate::error::Kind;

errors! {
    oauth_server_disabled() => 404 FeatureDisabled, "OAuth server is disabled";
    dynamic_registration_disabled() => 403 OauthDynamicClientRegistrationDisabled,
        "Dynamic client registration is not enabled";
    oauth_client_not_found() => 404 OauthClientNotFound, "OAuth client not found";
    /// At `/oauth/authorize`.
    invalid_client_id() => 400 OauthClientNotFound, "invalid client_id";
    malformed_client_id() => 400 ValidationFailed, "invalid client_id format";
    authorization_not_found() => 404 OauthAuthorizationNotFound, "authorization not found";
    grant_not_found() => 404 OauthConsentNotFound, "No active grant found for this client";

    client_basic_auth_malformed() => 400 InvalidCredentials,
        "Invalid client credentials: invalid basic auth";
    client_id_missing() => 400 InvalidCredentials,
        "Invalid client credentials: client_id is required";
    client_id_not_uuid() => 400 InvalidCredentials, "Invalid client_id format";
    client_credentials_invalid() => 400 InvalidCredentials, "Invalid client credentials";
    client_auth_method_mismatch() => 400 InvalidCredentials,
        "invalid authentication method: the client is registered for another one";
}

internal_errors! {
    signing_id_token_failed => "Error generating ID token";
}

impl AuthError {
    /// 400 in the form of OAuth (RFC 6749 §5.2), in every API version.
    pub(super) fn oauth(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: Kind::OAuth(error),
            ..Self::new(400, Code::Unknown, description)
        }
    }

    pub(crate) fn oauth_invalid_request(description: impl Into<Cow<'static, str>>) -> Self {
        Self::oauth("invalid_request", description)
    }

    pub(crate) fn oauth_invalid_grant(description: impl Into<Cow<'static, str>>) -> Self {
        Self::oauth("invalid_grant", description)
    }

    pub(crate) fn oauth_unsupported_grant_type(grant_type: &str) -> Self {
        let description = format!("Client is not allowed to use grant type: {grant_type}");
        Self::oauth("unsupported_grant_type", description)
    }

    pub(crate) fn oauth_user_banned() -> Self {
        Self::oauth("access_denied", "User is banned")
    }

    pub(crate) fn oauth_refresh_token_of_another_client() -> Self {
        Self::oauth(
            "invalid_client",
            "The refresh token belongs to another client",
        )
    }
}
