//! `POST /platform/projects/{ref}/bearer-jwt`: a token signed with the project's own key, for
//! testing policies and for servers that act as a user.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError};

/// For a longer time there are API keys.
const MAX_VALID_SECONDS: i64 = 366 * 86_400;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "BearerJwtRequest")]
pub(super) struct TokenBody {
    role: String,
    #[serde(default)]
    sub: Option<String>,
    valid_for_seconds: i64,
    /// Additional claims, which override the others.
    #[serde(default)]
    payload: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BearerJwtBody {
    token: String,
}

/// Owner only: such a token can have any role and user.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<TokenBody>,
) -> Result<Json<BearerJwtBody>, PlatformError> {
    operator.require_owner()?;
    if !(1..=MAX_VALID_SECONDS).contains(&body.valid_for_seconds) {
        return Err(PlatformError::Invalid(
            "A token is valid for a second to a year".to_owned(),
        ));
    }
    let project = platform
        .open(&operator.project_by_name(&platform, &text)?)
        .await?;
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let mut claims = json!({
        "iss": format!("{}/auth/v1", platform.endpoints().api_url),
        "aud": "authenticated",
        "role": body.role,
        "iat": now,
        "exp": now + body.valid_for_seconds,
    });
    if let Some(sub) = body.sub {
        claims["sub"] = sub.into();
    }
    for (claim, value) in body.payload {
        claims[claim] = value;
    }
    let token = project.keys().keyset.sign(&claims);
    let token = token.map_err(PlatformError::caused_by)?;
    let details = json!({ "role": claims["role"], "sub": claims["sub"] });
    platform
        .audit(&operator, Some(project.reference()), "token.sign", details)
        .await;
    Ok(Json(BearerJwtBody { token }))
}
