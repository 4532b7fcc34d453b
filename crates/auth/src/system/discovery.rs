//! OpenID Connect discovery documents.

use axum::{Json, http::header, response::IntoResponse};
use serde_json::{Value, json};

use crate::{AuthError, oauth_server, request::RequestContext};

/// `GET /.well-known/openid-configuration`
pub(crate) async fn openid_configuration(context: RequestContext) -> impl IntoResponse {
    let cache = [(header::CACHE_CONTROL, "public, max-age=600")];
    (cache, Json(document(&context)))
}

/// `GET /.well-known/oauth-authorization-server`: the same document, if the OAuth server is
/// enabled.
pub(crate) async fn authorization_server(
    context: RequestContext,
) -> Result<impl IntoResponse, AuthError> {
    if context.config.oauth_server.is_enabled {
        Ok(openid_configuration(context).await)
    } else {
        Err(AuthError::oauth_server_disabled())
    }
}

fn document(context: &RequestContext) -> Value {
    let issuer = context.issuer().trim_end_matches('/');
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "userinfo_endpoint": format!("{issuer}/oauth/userinfo"),
        "scopes_supported": oauth_server::SUPPORTED_SCOPES,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "HS256", "ES256"],
        "token_endpoint_auth_methods_supported":
            ["client_secret_basic", "client_secret_post", "none"],
        "claims_supported": [
            "sub", "aud", "iss", "exp", "iat", "auth_time", "nonce", "email", "email_verified",
            "phone_number", "phone_number_verified", "name", "picture", "preferred_username",
            "updated_at",
        ],
        "code_challenge_methods_supported": ["S256", "plain"],
    });
    let server = &context.config.oauth_server;
    if server.is_enabled && server.allows_dynamic_registration {
        document["registration_endpoint"] = format!("{issuer}/oauth/clients/register").into();
    }
    document
}
