//! `/platform/status`: the values that `plinth status` and the start banner show;
//! `/platform/doctor`: the checks that need the running server.

use axum::{Json, extract::State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Operator, body::Params};
use crate::{Platform, PlatformError, audit::Change, members::Capability, tokens::READ_SECRETS};

#[derive(Deserialize)]
pub(super) struct StatusParams {
    #[serde(default)]
    project: Option<String>,
}

/// `GET /platform/status?project=`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<StatusParams>,
) -> Result<Json<Value>, PlatformError> {
    let project =
        operator.project_by_name(&platform, params.project.as_deref().unwrap_or("default"))?;
    let mut status = platform.status(&project).await?;
    let reference = platform.reference_of(&project);
    let sees_secrets = operator
        .require_sensitive(Capability::Admin, &reference)
        .is_ok();
    for (name, scope) in VALUE_SCOPES {
        if !sees_secrets || !operator.has_scope(scope) {
            status.remove(name);
        }
    }
    let revealed: Vec<&str> = VALUE_SCOPES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| status.get(name).is_some())
        .collect();
    if !revealed.is_empty() {
        let change = Change::new("key.reveal")
            .project(&reference)
            .after(json!({ "names": revealed }));
        platform.audit_change(&operator, change).await;
    }
    Ok(Json(status.to_json()))
}

/// Values that need a scope of their own.
const VALUE_SCOPES: [(&str, &str); 6] = [
    ("DB_URL", "database_write"),
    ("SECRET_KEY", READ_SECRETS),
    ("SERVICE_ROLE_KEY", READ_SECRETS),
    ("JWT_SECRET", "auth_signing_keys_write"),
    ("S3_PROTOCOL_ACCESS_KEY_ID", READ_SECRETS),
    ("S3_PROTOCOL_ACCESS_KEY_SECRET", READ_SECRETS),
];

/// `GET /platform/doctor`.
pub(super) async fn doctor(
    _operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Value>, PlatformError> {
    let checks = platform.run_checks().await?;
    Ok(Json(json!(
        checks
            .iter()
            .map(|check| check.to_json())
            .collect::<Vec<_>>()
    )))
}
