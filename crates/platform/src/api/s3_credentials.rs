//! `/platform/projects/{ref}/storage/credentials` (console contract §2.8, storage contract §6.1).

use axum::{Json, extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError, S3CredentialRequest, tokens::READ_SECRETS};

/// A pair of keys for the S3 protocol, without its secret.
#[derive(Serialize, JsonSchema)]
pub(super) struct S3CredentialBody {
    id: Uuid,
    description: String,
    access_key: String,
    created_at: String,
}

/// `GET …/storage/credentials`: without their secrets.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<S3CredentialBody>>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let credentials = platform.list_s3_credentials(&project).await?;
    let bodies = credentials.into_iter().map(|credential| S3CredentialBody {
        id: credential.id,
        description: credential.description,
        access_key: credential.access_key,
        created_at: rfc3339(credential.created_at),
    });
    Ok(Json(bodies.collect()))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "S3CredentialRequest")]
pub(super) struct CreateBody {
    description: String,
    #[serde(default)]
    claims: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct NewS3CredentialBody {
    id: Uuid,
    access_key: String,
    secret_key: String,
    description: String,
}

/// `POST …/storage/credentials`: the only response that contains the secret key.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<NewS3CredentialBody>), PlatformError> {
    operator.require_scope(READ_SECRETS)?;
    let project = operator.project_by_name(&platform, &text)?;
    let request = S3CredentialRequest {
        description: body.description,
        claims: body.claims,
    };
    let created = platform.create_s3_credential(&project, &request).await?;
    let target = platform.reference_of(&project);
    let details = json!({ "id": created.id, "description": created.description });
    platform
        .audit(&operator, Some(&target), "s3_credential.create", details)
        .await;
    let body = NewS3CredentialBody {
        id: created.id,
        access_key: created.access_key,
        secret_key: created.secret_key.expose().to_owned(),
        description: created.description,
    };
    Ok((StatusCode::CREATED, Json(body)))
}

/// `DELETE …/storage/credentials/{id}`: effective at once.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, Uuid)>,
) -> Result<StatusCode, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    platform.delete_s3_credential(&project, id).await?;
    let target = platform.reference_of(&project);
    platform
        .audit(
            &operator,
            Some(&target),
            "s3_credential.delete",
            json!({ "id": id }),
        )
        .await;
    Ok(StatusCode::NO_CONTENT)
}
