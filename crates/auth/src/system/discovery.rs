//! What the project can do as an OpenID provider, for programs to read.

use axum::{Json, http::header, response::IntoResponse};
use serde_json::{Value, json};

use crate::{AuthError, error::Code, oauth_server, request::Context};

/// `GET /.well-known/openid-configuration`
pub(crate) async fn openid_configuration(context: Context) -> impl IntoResponse {
    let cache = [(header::CACHE_CONTROL, "public, max-age=600")];
    (cache, Json(document(&context)))
}

/// `GET /.well-known/oauth-authorization-server`: the same, where there is such a server.
pub(crate) async fn authorization_server(context: Context) -> Result<impl IntoResponse, AuthError> {
    match context.config.oauth_server.is_enabled {
        true => Ok(openid_configuration(context).await),
        false => Err(AuthError::new(
            404,
            Code::FeatureDisabled,
            "OAuth server is disabled",
        )),
    }
}

fn document(context: &Context) -> Value {
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
