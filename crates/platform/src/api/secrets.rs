//! `/v1/projects/{ref}/secrets` (console contract §2.4.4).

use std::collections::BTreeMap;

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectName;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError};

/// `GET …/secrets`: digests instead of values.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let secrets = platform.list_secrets(&project).await?;
    let bodies = secrets.iter().map(|secret| {
        json!({
            "name": secret.name,
            "value": secret.digest,
            "updated_at": rfc3339(secret.updated_at),
        })
    });
    Ok(Json(bodies.collect()))
}

#[derive(Deserialize)]
pub(super) struct SecretBody {
    name: String,
    value: String,
}

/// `POST …/secrets`: sets all of them in one transaction.
pub(super) async fn set(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(bodies): Body<Vec<SecretBody>>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let mut values = BTreeMap::new();
    for SecretBody { name, value } in bodies {
        if values.insert(name.clone(), value).is_some() {
            let name = name.escape_debug();
            return Err(PlatformError::Invalid(format!(
                "The secret {name} is given twice"
            )));
        }
    }
    platform.set_secrets(&project, &values).await?;
    let names: Vec<&String> = values.keys().collect();
    audit(&platform, &operator, &project, "secret.set", &names).await;
    Ok((StatusCode::CREATED, Json(json!({}))))
}

/// `DELETE …/secrets`: a list of names.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(names): Body<Vec<String>>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    platform.delete_secrets(&project, &names).await?;
    let names: Vec<&String> = names.iter().collect();
    audit(&platform, &operator, &project, "secret.unset", &names).await;
    Ok(Json(json!({})))
}

/// Names only: the audit log contains no values.
async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectName,
    action: &str,
    names: &[&String],
) {
    let target = platform.reference_of(project);
    let details = json!({ "names": names });
    platform
        .audit(operator, Some(&target), action, details)
        .await;
}
