//! `/platform/tokens`: personal access tokens.

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectRef;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{
    Platform, PlatformError, StoredToken, TokenLimits, TokenRequest, tokens::MAX_LIMIT_ENTRIES,
};

fn token_body(token: &StoredToken) -> Value {
    let projects = token.limits.projects.as_ref();
    let projects = projects.map(|refs| refs.iter().map(ProjectRef::as_str).collect::<Vec<_>>());
    json!({
        "id": token.id,
        "name": token.name,
        "prefix": token.prefix,
        "created_at": rfc3339(token.created_at),
        "expires_at": token.expires_at.map(rfc3339),
        "last_used_at": token.last_used_at.map(rfc3339),
        "scopes": token.limits.scopes,
        "projects": projects,
        "read_only": token.limits.read_only,
    })
}

/// `GET /platform/tokens`: all of them for the owner; for a token, itself and those that it created.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let tokens = platform.list_tokens().await?;
    let own = tokens.iter().filter(|token| operator.may_manage(token));
    Ok(Json(own.map(token_body).collect()))
}

#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(rename = "TokenRequest")]
pub(super) struct CreateBody {
    name: String,
    #[serde(default)]
    expires_at: Option<String>,
    #[serde(default)]
    scopes: Option<Vec<String>>,
    #[serde(default)]
    projects: Option<Vec<String>>,
    #[serde(default)]
    read_only: bool,
}

impl CreateBody {
    async fn into_request(
        self,
        operator: &Operator,
        platform: &Platform,
    ) -> Result<TokenRequest, PlatformError> {
        let expires_at = self.expires_at.as_deref().map(parse_expiry).transpose()?;
        let projects = match self.projects {
            Some(names) => Some(references(operator, platform, deduplicated(names)).await?),
            None => None,
        };
        Ok(TokenRequest {
            name: self.name,
            expires_at,
            limits: TokenLimits {
                scopes: self.scopes.map(deduplicated),
                projects,
                read_only: self.read_only,
            },
            parent: operator.token().map(|token| token.id),
        })
    }
}

fn deduplicated(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

/// A time in the future.
fn parse_expiry(text: &str) -> Result<OffsetDateTime, PlatformError> {
    let now = OffsetDateTime::now_utc();
    let at = plinth_db::parse_time(text).filter(|at| *at > now);
    at.ok_or_else(|| {
        PlatformError::Invalid(format!(
            "expires_at: {text:?} is no time to come, as in 2030-01-31T12:00:00Z"
        ))
    })
}

async fn references(
    operator: &Operator,
    platform: &Platform,
    names: Vec<String>,
) -> Result<Vec<ProjectRef>, PlatformError> {
    let mut references = Vec::new();
    // One more than the maximum is enough for a rejection.
    for name in names.iter().take(MAX_LIMIT_ENTRIES + 1) {
        let name = operator.project_by_name(platform, name)?;
        let reference = platform.load_project(&name).await?.reference;
        if reference == platform.references().platform {
            return Err(PlatformError::Invalid(
                "No token can access the platform's own project".to_owned(),
            ));
        }
        references.push(reference);
    }
    Ok(references)
}

/// `POST /platform/tokens`: the only response that contains the token.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let request = body.into_request(&operator, &platform).await?;
    if let Some(own) = operator.token() {
        own.check_delegation(&request)?;
    }
    let (token, text) = platform.create_token(&request).await?;
    platform
        .audit(&operator, None, "token.create", token_body(&token))
        .await;
    let mut body = token_body(&token);
    body["token"] = text.expose().into();
    Ok((StatusCode::CREATED, Json(body)))
}

/// `DELETE /platform/tokens/{id or name}`: revokes a token and those that it created. A token may
/// revoke itself and those.
pub(super) async fn revoke(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let token = platform
        .load_token(&id, |token| operator.may_manage(token))
        .await?;
    platform.revoke_token(&token).await?;
    platform
        .audit(
            &operator,
            None,
            "token.revoke",
            json!({ "id": token.id, "name": token.name }),
        )
        .await;
    Ok(Json(token_body(&token)))
}
