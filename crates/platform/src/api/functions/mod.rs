//! `/v1/projects/{ref}/functions` (console contract §2.4.3), and going back to older versions.

mod at_work;
mod download;
mod form;
mod write;

use axum::{Json, extract::State};
use plinth_project::ProjectName;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError, StoredFunction};

pub(super) use download::download;
pub(super) use write::{activate, create, delete, deploy, update};

/// In the words of the Management API: times are Unix milliseconds (F23). The CLI takes no `null`
/// for the path of an import map that is not there.
fn function_body(function: &StoredFunction) -> Value {
    let mut body = json!({
        "id": function.id,
        "slug": function.slug,
        "name": function.name,
        "status": "ACTIVE",
        "version": function.version,
        "created_at": milliseconds(function.created_at),
        "updated_at": milliseconds(function.updated_at),
        "verify_jwt": function.verify_jwt,
        "import_map": function.source.import_map.is_some(),
        "entrypoint_path": function.source.entrypoint,
        "ezbr_sha256": function.digest,
    });
    if let Some(path) = &function.source.import_map {
        body["import_map_path"] = path.as_str().into();
    }
    body
}

fn milliseconds(at: OffsetDateTime) -> i64 {
    at.unix_timestamp() * 1000 + i64::from(at.millisecond())
}

/// `GET …/functions`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.reference(&platform, &text)?;
    let functions = platform.list_functions(&project).await?;
    Ok(Json(functions.iter().map(function_body).collect()))
}

/// `GET …/functions/{slug}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.reference(&platform, &text)?;
    let function = platform.load_function(&project, &slug).await?;
    Ok(Json(function_body(&function)))
}

/// `GET /platform/projects/{ref}/functions/{slug}/versions`: newest first.
pub(super) async fn versions(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.named(&platform, &text)?;
    let versions = platform.list_function_versions(&project, &slug).await?;
    let bodies = versions.iter().map(|version| {
        json!({
            "version": version.version,
            "is_active": version.is_active,
            "ezbr_sha256": version.digest,
            "created_at": rfc3339(version.created_at),
            "activated_at": version.activated_at.map(rfc3339),
        })
    });
    Ok(Json(bodies.collect()))
}

#[derive(Deserialize)]
pub(super) struct RollbackBody {
    #[serde(default)]
    version: Option<i32>,
}

/// `POST /platform/projects/{ref}/functions/{slug}/rollback`: `{version?}`.
pub(super) async fn roll_back(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
    Body(body): Body<RollbackBody>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.named(&platform, &text)?;
    let function = platform
        .roll_back_function(&project, &slug, body.version)
        .await?;
    note(
        &platform,
        &operator,
        &project,
        "function.rollback",
        &function,
    )
    .await;
    Ok(Json(function_body(&function)))
}

async fn note(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectName,
    action: &str,
    function: &StoredFunction,
) {
    let target = platform.reference_of(project);
    let details = json!({ "slug": function.slug, "version": function.version });
    platform
        .note(operator, Some(&target), action, details)
        .await;
}
