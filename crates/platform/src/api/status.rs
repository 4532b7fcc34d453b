//! `/platform/status`: the values that `plinth status` and the start banner show, and
//! `/platform/doctor`: what only the running server can check.

use axum::{Json, extract::State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Operator, body::Params};
use crate::{Platform, PlatformError, tokens::SECRETS};

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
    let project = operator.named(&platform, params.project.as_deref().unwrap_or("default"))?;
    let mut status = platform.status(&project).await?;
    for (name, scope) in GUARDED {
        if !operator.has(scope) {
            status.leave_out(name);
        }
    }
    Ok(Json(status.to_json()))
}

/// Values that are not for everybody who may see the others.
const GUARDED: [(&str, &str); 6] = [
    ("DB_URL", "database_write"),
    ("SECRET_KEY", SECRETS),
    ("SERVICE_ROLE_KEY", SECRETS),
    ("JWT_SECRET", "auth_signing_keys_write"),
    ("S3_PROTOCOL_ACCESS_KEY_ID", SECRETS),
    ("S3_PROTOCOL_ACCESS_KEY_SECRET", SECRETS),
];

/// `GET /platform/doctor`.
pub(super) async fn doctor(
    _operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Value>, PlatformError> {
    let checks = platform.examine().await?;
    Ok(Json(json!(
        checks
            .iter()
            .map(|check| check.to_json())
            .collect::<Vec<_>>()
    )))
}
