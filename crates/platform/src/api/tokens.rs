//! `/platform/tokens`: personal access tokens.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError, StoredToken};

fn token_body(token: &StoredToken) -> Value {
    json!({
        "id": token.id,
        "name": token.name,
        "prefix": token.prefix,
        "created_at": rfc3339(token.created_at),
        "expires_at": token.expires_at.map(rfc3339),
        "last_used_at": token.last_used_at.map(rfc3339),
    })
}

/// `GET /platform/tokens`: all of them, or whichever asks.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let tokens = platform.list_tokens().await?;
    let own = tokens.iter().filter(|token| operator.may_manage(token));
    Ok(Json(own.map(token_body).collect()))
}

#[derive(Deserialize)]
pub(super) struct CreateBody {
    name: String,
    #[serde(default, with = "time::serde::rfc3339::option")]
    expires_at: Option<OffsetDateTime>,
}

/// `POST /platform/tokens`: the only answer that shows the token. A token makes no tokens.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    operator.must_be_owner()?;
    let (token, text) = platform.create_token(&body.name, body.expires_at).await?;
    platform
        .note(
            &operator,
            None,
            "token.create",
            json!({ "name": token.name }),
        )
        .await;
    let mut answer = token_body(&token);
    answer["token"] = text.expose().into();
    Ok((StatusCode::CREATED, Json(answer)))
}

/// `DELETE /platform/tokens/{id or name}`. A token revokes nobody but itself.
pub(super) async fn revoke(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    if !operator.may_manage(&platform.token_named(&id).await?) {
        operator.must_be_owner()?;
    }
    let token = platform.revoke_token(&id).await?;
    platform
        .note(
            &operator,
            None,
            "token.revoke",
            json!({ "name": token.name }),
        )
        .await;
    Ok(Json(token_body(&token)))
}
