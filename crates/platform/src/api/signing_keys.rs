//! `/v1/projects/{ref}/config/auth/signing-keys` (console contract §2.4.2).

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectName;
use plinth_token::{Algorithm, KeyStatus};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments, without_nulls},
};
use crate::{Platform, PlatformError, StoredSigningKey, audit::Change};

pub(super) fn key_body(key: &StoredSigningKey) -> Value {
    without_nulls(json!({
        "id": key.id,
        "algorithm": key.algorithm,
        "status": key.status.name(),
        "public_jwk": key.public_jwk,
        "created_at": rfc3339(key.created_at),
        "updated_at": rfc3339(key.updated_at),
    }))
}

/// `GET …/signing-keys`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let keys = platform
        .list_signing_keys(&operator.project_by_ref(&platform, &text)?)
        .await?;
    Ok(Json(
        json!({ "keys": keys.iter().map(key_body).collect::<Vec<_>>() }),
    ))
}

#[derive(Deserialize)]
pub(super) struct CreateBody {
    algorithm: String,
    #[serde(default)]
    private_jwk: Option<Value>,
}

/// `POST …/signing-keys`: a key on standby.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let algorithm = Algorithm::from_name(&body.algorithm).ok_or_else(|| {
        PlatformError::Invalid(format!(
            "{:?} is not one of ES256, RS256, HS256, EdDSA",
            body.algorithm
        ))
    })?;
    let key = platform
        .create_signing_key(&project, algorithm, body.private_jwk.as_ref())
        .await?;
    audit(
        &platform,
        &operator,
        &project,
        "signing_key.create",
        (None, &key),
    )
    .await;
    Ok((StatusCode::CREATED, Json(key_body(&key))))
}

/// `GET …/signing-keys/{id}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, Uuid)>,
) -> Result<Json<Value>, PlatformError> {
    let key = platform
        .load_signing_key(&operator.project_by_ref(&platform, &text)?, id)
        .await?;
    Ok(Json(key_body(&key)))
}

#[derive(Deserialize)]
pub(super) struct UpdateBody {
    status: String,
}

/// `PATCH …/signing-keys/{id}`.
pub(super) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, Uuid)>,
    Body(body): Body<UpdateBody>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let status = KeyStatus::from_name(&body.status).ok_or_else(|| {
        PlatformError::Invalid(format!(
            "{:?} is not one of standby, in_use, previously_used, revoked",
            body.status
        ))
    })?;
    let before = platform.load_signing_key(&project, id).await?;
    let key = platform
        .set_signing_key_status(&project, id, status)
        .await?;
    audit(
        &platform,
        &operator,
        &project,
        "signing_key.update",
        (Some(&before), &key),
    )
    .await;
    Ok(Json(key_body(&key)))
}

/// `DELETE …/signing-keys/{id}`: revokes it.
pub(super) async fn revoke(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, Uuid)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let before = platform.load_signing_key(&project, id).await?;
    let key = platform
        .set_signing_key_status(&project, id, KeyStatus::Revoked)
        .await?;
    audit(
        &platform,
        &operator,
        &project,
        "signing_key.revoke",
        (Some(&before), &key),
    )
    .await;
    Ok(Json(key_body(&key)))
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectName,
    action: &str,
    (before, key): (Option<&StoredSigningKey>, &StoredSigningKey),
) {
    let status = |key: &StoredSigningKey| json!({ "status": key.status.name() });
    let change = Change::new(action)
        .project(&platform.reference_of(project))
        .target(key.id)
        .before(before.map_or(Value::Null, status))
        .after(status(key));
    platform.audit_change(operator, change).await;
}
