//! `POST /oauth/token`: an application exchanges a code, or a refresh token, for tokens.

use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use plinth_project::ServiceTransaction;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{credentials::Credentials, enabled::Enabled, profile, scopes};
use crate::{
    AuthError, AuthService,
    audit::{self, Action},
    model::{
        User,
        oauth_authorizations::{self, Authorization},
        oauth_clients::Client,
        users,
    },
    request::{RequestContext, read_body},
    sessions::{self, SignIn, TokenBody},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenParams {
    grant_type: String,
    code: String,
    refresh_token: String,
    redirect_uri: String,
    client_id: String,
    client_secret: String,
    code_verifier: String,
    resource: String,
}

/// The body is a form, or JSON by its content type.
pub(crate) struct TokenRequest {
    headers: HeaderMap,
    params: TokenParams,
}

impl FromRequest<AuthService> for TokenRequest {
    type Rejection = AuthError;

    async fn from_request(request: Request, _service: &AuthService) -> Result<Self, AuthError> {
        let (parts, body) = read_body(request).await?;
        let kind = parts.headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let params = if kind.contains("application/json") {
            crate::request::parse_json(&body)
                .map_err(|_| AuthError::oauth_invalid_request("Invalid JSON body"))?
        } else {
            TokenParams::from_form(&body)
        };
        Ok(Self {
            headers: parts.headers,
            params,
        })
    }
}

impl TokenParams {
    fn from_form(body: &[u8]) -> Self {
        let mut params = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            let field = match &*name {
                "grant_type" => &mut params.grant_type,
                "code" => &mut params.code,
                "refresh_token" => &mut params.refresh_token,
                "redirect_uri" => &mut params.redirect_uri,
                "client_id" => &mut params.client_id,
                "client_secret" => &mut params.client_secret,
                "code_verifier" => &mut params.code_verifier,
                "resource" => &mut params.resource,
                _ => continue,
            };
            // The first of several values is used.
            if field.is_empty() {
                *field = value.into_owned();
            }
        }
        params
    }
}

/// The tokens for an application, without the user.
#[derive(Serialize)]
pub(crate) struct OAuthTokenBody {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
}

impl OAuthTokenBody {
    fn new(tokens: TokenBody, id_token: Option<String>) -> Self {
        Self {
            access_token: tokens.access_token,
            token_type: tokens.token_type,
            expires_in: tokens.expires_in,
            refresh_token: tokens.refresh_token,
            id_token,
        }
    }
}

impl IntoResponse for OAuthTokenBody {
    fn into_response(self) -> Response {
        let no_store = [
            (header::CACHE_CONTROL, "no-store"),
            (header::PRAGMA, "no-cache"),
        ];
        (no_store, axum::Json(self)).into_response()
    }
}

/// `POST /oauth/token`
pub(crate) async fn token(
    Enabled(context): Enabled,
    request: TokenRequest,
) -> Result<OAuthTokenBody, AuthError> {
    let params = &request.params;
    let shown = Credentials::read(&request.headers, &params.client_id, &params.client_secret)?;
    let client = {
        let mut db = context.db().await?;
        shown.authenticate(&mut db).await?
    };
    if params.grant_type.is_empty() {
        return Err(AuthError::oauth_invalid_request("grant_type is required"));
    }
    let is_allowed = client.grant_types.contains(&params.grant_type);
    match params.grant_type.as_str() {
        "authorization_code" if is_allowed => exchange_code(&context, &client, params).await,
        "refresh_token" if is_allowed => refresh(&context, &client, params).await,
        grant => Err(AuthError::oauth_unsupported_grant_type(grant)),
    }
}

async fn refresh(
    context: &RequestContext,
    client: &Client,
    params: &TokenParams,
) -> Result<OAuthTokenBody, AuthError> {
    if params.refresh_token.is_empty() {
        return Err(AuthError::oauth_invalid_request(
            "refresh_token is required for refresh_token grant",
        ));
    }
    let tokens = sessions::refresh(context, &params.refresh_token, Some(client.id)).await;
    let tokens = tokens.map_err(as_invalid_grant)?;
    Ok(OAuthTokenBody::new(tokens, None))
}

/// Token errors become OAuth's `invalid_grant`; others are unchanged.
fn as_invalid_grant(error: AuthError) -> AuthError {
    if error.status() == StatusCode::BAD_REQUEST && !error.is_oauth() {
        AuthError::oauth_invalid_grant(error.to_string())
    } else {
        error
    }
}

async fn exchange_code(
    context: &RequestContext,
    client: &Client,
    params: &TokenParams,
) -> Result<OAuthTokenBody, AuthError> {
    if params.code.is_empty() {
        return Err(AuthError::oauth_invalid_request(
            "code is required for authorization_code grant",
        ));
    }
    let mut db = context.begin().await?;
    let authorization = oauth_authorizations::lock_by_code(&mut db, &params.code).await?;
    let authorization = authorization
        .ok_or_else(|| AuthError::oauth_invalid_grant("Invalid authorization code"))?;
    check_exchange(context, client, params, &authorization)?;
    let user = user_of(context, &mut db, &authorization).await?;
    let id_token = if scopes::has(&authorization.scope, "openid") {
        Some(profile::id_token(
            context,
            &user,
            client.id,
            &authorization,
        )?)
    } else {
        None
    };
    let traits = json!({
        "provider_type": "oauth_provider_authorization_code", "client_id": client.id,
    });
    audit::write(context, &mut db, &user, Action::Login, traits).await?;
    let sign_in = SignIn {
        oauth_client_id: Some(client.id),
        scopes: Some(authorization.scope.clone()),
        ..SignIn::by("oauth_provider/authorization_code")
    };
    let tokens = sessions::sign_in(context, &mut db, user, sign_in).await?;
    oauth_authorizations::delete(&mut db, authorization.id).await?;
    db.commit().await?;
    Ok(OAuthTokenBody::new(tokens, id_token))
}

/// Checks that the exchange matches the authorization request.
fn check_exchange(
    context: &RequestContext,
    client: &Client,
    params: &TokenParams,
    authorization: &Authorization,
) -> Result<(), AuthError> {
    if authorization.is_expired(context.now) {
        return Err(AuthError::oauth_invalid_grant(
            "Authorization code has expired",
        ));
    }
    if authorization.client_id != client.id {
        return Err(AuthError::oauth_invalid_grant(
            "Authorization code was not issued for this client",
        ));
    }
    if !params.resource.is_empty() && params.resource != authorization.resource {
        return Err(AuthError::oauth_invalid_grant(
            "Authorization code resource does not match the resource parameter",
        ));
    }
    if !params.redirect_uri.is_empty() && params.redirect_uri != authorization.redirect_uri {
        return Err(AuthError::oauth_invalid_grant("Invalid redirect_uri"));
    }
    let challenge = authorization.challenge.as_ref();
    if challenge.is_some_and(|challenge| challenge.matches(&params.code_verifier)) {
        Ok(())
    } else {
        Err(AuthError::oauth_invalid_grant(
            "PKCE verification failed: code challenge does not match the code_verifier",
        ))
    }
}

async fn user_of(
    context: &RequestContext,
    db: &mut ServiceTransaction,
    authorization: &Authorization,
) -> Result<User, AuthError> {
    let user = match authorization.user_id {
        Some(id) => users::find(db, id).await?,
        None => None,
    };
    let user = user
        .ok_or_else(|| AuthError::oauth_invalid_grant("User not found for authorization code"))?;
    if user.is_banned(context.now) {
        Err(AuthError::oauth_user_banned())
    } else {
        Ok(user)
    }
}
