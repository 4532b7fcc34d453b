//! `/v1/projects/{ref}/api-keys` (console contract §2.4.2) and rotation.

use std::time::Duration;

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectName;
use plinth_token::ApiKeyKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use uuid::Uuid;

use super::{
    Operator,
    body::{Body, Params, Segments, without_nulls},
};
use crate::{ApiKeyRequest, Platform, PlatformError, StoredApiKey, tokens::READ_SECRETS};

#[derive(Deserialize)]
pub(super) struct RevealParams {
    #[serde(default)]
    reveal: bool,
}

impl RevealParams {
    fn check(&self, operator: &Operator) -> Result<(), PlatformError> {
        if self.reveal {
            operator.require_scope(READ_SECRETS)
        } else {
            Ok(())
        }
    }
}

#[derive(Deserialize, Serialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum KindName {
    Publishable,
    Secret,
}

impl From<KindName> for ApiKeyKind {
    fn from(kind: KindName) -> Self {
        match kind {
            KindName::Publishable => ApiKeyKind::Publishable,
            KindName::Secret => ApiKeyKind::Secret,
        }
    }
}

fn key_body(key: &StoredApiKey, reveal: bool) -> Value {
    let is_public = key.kind == ApiKeyKind::Publishable;
    let shown = if reveal || is_public {
        key.value.expose().to_owned()
    } else {
        key.masked()
    };
    without_nulls(json!({
        "id": key.id,
        "name": key.name,
        "type": match key.kind {
            ApiKeyKind::Publishable => "publishable",
            ApiKeyKind::Secret => "secret",
        },
        "api_key": shown,
        "prefix": key.prefix,
        "hash": key.hash,
        "description": key.description,
        "secret_jwt_template": (!is_public).then(|| json!({ "role": "service_role" })),
        "inserted_at": rfc3339(key.created_at),
        "updated_at": rfc3339(key.updated_at),
        "revoked_at": key.revoked_at.map(rfc3339),
    }))
}

fn legacy_body(role: &str, key: &str, reveal: bool) -> Value {
    let is_public = role == "anon";
    let shown = match key.split_once('.') {
        _ if reveal || is_public => key.to_owned(),
        Some((header, rest)) => format!("{header}.{}", "·".repeat(rest.len())),
        None => "·".repeat(key.len()),
    };
    json!({
        "id": role, "name": role, "type": "legacy", "api_key": shown,
        "hash": plinth_token::credential_hash(key),
    })
}

pub(super) fn rfc3339(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap_or_default()
}

/// `GET …/api-keys`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<RevealParams>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    params.check(&operator)?;
    let legacy = platform.legacy_keys(&project).await?;
    let mut bodies = Vec::new();
    if legacy.enabled {
        bodies.push(legacy_body("anon", legacy.anon.expose(), params.reveal));
        bodies.push(legacy_body(
            "service_role",
            legacy.service_role.expose(),
            params.reveal,
        ));
    }
    let keys = platform.list_api_keys(&project).await?;
    bodies.extend(keys.iter().map(|key| key_body(key, params.reveal)));
    if params.reveal {
        let reference = platform.reference_of(&project);
        platform
            .audit(&operator, Some(&reference), "key.reveal", Value::Null)
            .await;
    }
    Ok(Json(bodies))
}

#[derive(Deserialize)]
pub(super) struct CreateBody {
    r#type: KindName,
    name: String,
    #[serde(default)]
    description: Option<String>,
}

/// `POST …/api-keys`: the response contains the whole key if the operator may read secrets.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let request = ApiKeyRequest {
        kind: body.r#type.into(),
        name: body.name,
        description: body.description,
    };
    let key = platform.create_api_key(&project, &request).await?;
    audit(&platform, &operator, &project, "key.create", &key).await;
    let reveal = operator.has_scope(READ_SECRETS);
    Ok((StatusCode::CREATED, Json(key_body(&key, reveal))))
}

/// `GET …/api-keys/{id}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
    Params(params): Params<RevealParams>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    params.check(&operator)?;
    let key = platform.load_api_key(&project, &id).await?;
    if params.reveal {
        audit(&platform, &operator, &project, "key.reveal", &key).await;
    }
    Ok(Json(key_body(&key, params.reveal)))
}

#[derive(Deserialize)]
pub(super) struct UpdateBody {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

/// `PATCH …/api-keys/{id}`.
pub(super) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, Uuid)>,
    Body(body): Body<UpdateBody>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let UpdateBody { name, description } = body;
    let key = platform
        .update_api_key(&project, id, name.as_deref(), description.as_deref())
        .await?;
    audit(&platform, &operator, &project, "key.update", &key).await;
    Ok(Json(key_body(&key, false)))
}

/// `DELETE …/api-keys/{id}`: effective at once.
pub(super) async fn revoke(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let key = platform
        .revoke_api_key(&project, &id, Duration::ZERO)
        .await?;
    audit(&platform, &operator, &project, "key.revoke", &key).await;
    let mut body = key_body(&key, false);
    if key.kind == ApiKeyKind::Publishable {
        let left = platform
            .publishable_key(&platform.reference_of(&project))
            .await?;
        if left.is_none() {
            tracing::warn!(
                project = %platform.reference_of(&project),
                "the last publishable key was revoked"
            );
            body["warning"] = LAST_KEY_WARNING.into();
        }
    }
    Ok(Json(body))
}

/// In the response to the revocation of the last publishable key.
const LAST_KEY_WARNING: &str = "This was the last publishable key: requests with it are rejected, and \
    the project's account pages are not available. Create another one to open the project again.";

/// `GET …/api-keys/legacy`.
pub(super) async fn legacy(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let legacy = platform
        .legacy_keys(&operator.project_by_ref(&platform, &text)?)
        .await?;
    Ok(Json(json!({ "enabled": legacy.enabled })))
}

#[derive(Deserialize)]
pub(super) struct EnabledParams {
    enabled: bool,
}

/// `PUT …/api-keys/legacy?enabled=`.
pub(super) async fn set_legacy(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<EnabledParams>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    platform
        .set_legacy_enabled(&project, params.enabled)
        .await?;
    let target = platform.reference_of(&project);
    let details = json!({ "enabled": params.enabled });
    platform
        .audit(&operator, Some(&target), "key.legacy", details)
        .await;
    Ok(Json(json!({ "enabled": params.enabled })))
}

const MAX_GRACE_SECONDS: u64 = 366 * 86_400;

#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RotateRequest")]
#[serde(tag = "what", rename_all = "lowercase")]
pub(super) enum RotateBody {
    Signing,
    Legacy,
    Api {
        key: String,
        #[serde(default)]
        grace_seconds: u64,
    },
}

/// `POST /platform/projects/{ref}/keys/rotate`.
pub(super) async fn rotate(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<RotateBody>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let (action, response) = match body {
        RotateBody::Signing => {
            operator.require_scope("auth_signing_keys_write")?;
            let key = platform.rotate_signing_key(&project).await?;
            ("key.rotate.signing", super::signing_keys::key_body(&key))
        }
        RotateBody::Legacy => {
            let keys = platform.rotate_legacy(&project).await?;
            let service_role = operator
                .has_scope(READ_SECRETS)
                .then(|| keys.service_role.expose().to_owned());
            let response = json!({ "anon": keys.anon.expose(), "service_role": service_role });
            ("key.rotate.legacy", response)
        }
        RotateBody::Api { key, grace_seconds } => {
            if grace_seconds > MAX_GRACE_SECONDS {
                return Err(PlatformError::Invalid(
                    "A grace of at most a year".to_owned(),
                ));
            }
            let grace = Duration::from_secs(grace_seconds);
            let key = platform.rotate_api_key(&project, &key, grace).await?;
            (
                "key.rotate.api",
                key_body(&key, operator.has_scope(READ_SECRETS)),
            )
        }
    };
    let target = platform.reference_of(&project);
    platform
        .audit(&operator, Some(&target), action, Value::Null)
        .await;
    Ok(Json(response))
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectName,
    action: &str,
    key: &StoredApiKey,
) {
    let target = platform.reference_of(project);
    let details = json!({ "id": key.id, "name": key.name });
    platform
        .audit(operator, Some(&target), action, details)
        .await;
}
