//! `POST /token`: the grants (auth contract §2.3).

mod password;
mod pkce;

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    AuthError, AuthService,
    caller::SignedIn,
    oauth::id_token::{self, IdTokenParams},
    rate_limit::{self, Bucket},
    request::{Input, Query, RequestContext},
    sessions, system,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct RefreshParams {
    refresh_token: String,
}

/// `POST /token?grant_type=…`
pub(crate) async fn token(
    axum::extract::State(service): axum::extract::State<AuthService>,
    request: Request,
) -> Result<Response, AuthError> {
    let (mut parts, body) = request.into_parts();
    let context = RequestContext::from_request_parts(&mut parts, &service).await?;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let request = Request::from_parts(parts, body);
    match query.get("grant_type") {
        "password" => {
            rate_limit::check_shared(&context, Bucket::Token).await?;
            let params = input(request).await?;
            Ok(password::grant(&context, params).await?.into_response())
        }
        // Rate limited by session, once that is known.
        "refresh_token" => {
            let params: RefreshParams = input(request).await?;
            let body = sessions::refresh(&context, &params.refresh_token, None).await?;
            Ok(body.into_response())
        }
        "pkce" => {
            rate_limit::check_shared(&context, Bucket::Token).await?;
            let params = input(request).await?;
            Ok(pkce::grant(&context, params).await?.into_response())
        }
        "id_token" => {
            rate_limit::check_shared(&context, Bucket::Token).await?;
            let (mut parts, body) = request.into_parts();
            let params: IdTokenParams = input(Request::from_parts(parts.clone(), body)).await?;
            let caller = if params.link_identity {
                Some(SignedIn::from_request_parts(&mut parts, &service).await?)
            } else {
                None
            };
            let body = id_token::grant(&context, params, caller).await?;
            Ok(body.into_response())
        }
        "web3" => Err(system::web3()),
        _ => Err(AuthError::unsupported_grant_type()),
    }
}

async fn input<T: DeserializeOwned>(request: Request<Body>) -> Result<T, AuthError> {
    let Input(params) = Input::from_request(request, &()).await?;
    Ok(params)
}
