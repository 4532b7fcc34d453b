//! `/platform/status`: the values that `plinth status` and the start banner show;
//! `/platform/doctor`: the checks that need the running server.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operator, body::Params};
use crate::{Platform, PlatformError, tokens::READ_SECRETS};

#[derive(Deserialize, JsonSchema)]
pub(super) struct StatusParams {
    #[serde(default)]
    project: Option<String>,
}

/// `GET /platform/status?project=`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<StatusParams>,
) -> Result<Json<BTreeMap<String, String>>, PlatformError> {
    let project =
        operator.project_by_name(&platform, params.project.as_deref().unwrap_or("default"))?;
    let mut status = platform.status(&project).await?;
    for (name, scope) in VALUE_SCOPES {
        if !operator.has_scope(scope) {
            status.remove(name);
        }
    }
    Ok(Json(status.into_values()))
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

/// A check of `plinth doctor`.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckBody {
    name: String,
    /// `ok`, `warning` or `error`.
    status: &'static str,
    message: String,
    fix: Option<String>,
}

/// `GET /platform/doctor`.
pub(super) async fn doctor(
    _operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<CheckBody>>, PlatformError> {
    let checks = platform.run_checks().await?;
    let bodies = checks.into_iter().map(|check| CheckBody {
        name: check.name.to_string(),
        status: check.severity.as_str(),
        message: check.message,
        fix: check.fix,
    });
    Ok(Json(bodies.collect()))
}
