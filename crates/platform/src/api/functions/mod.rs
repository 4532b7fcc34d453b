//! `/v1/projects/{ref}/functions` (console contract §2.4.3), and going back to older versions.

mod download;
mod form;
mod keep_alive;
mod write;

use axum::{Json, extract::State};
use plinth_project::{FunctionSource, ProjectName, ProjectRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use url::Url;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError, StoredFunction};

pub(super) use download::download;
pub(super) use write::{activate, create, delete, deploy, update};

/// In the form of the Management API: times are Unix milliseconds (F23), and paths are file URLs of
/// the hosted service, because the MCP server parses them as such and strips the folder. The CLI
/// does not accept `null` as import map. `url` is an addition.
fn function_body(platform: &Platform, project: &ProjectRef, function: &StoredFunction) -> Value {
    let FunctionSource {
        entrypoint,
        import_map,
        ..
    } = &function.source;
    let mut body = json!({
        "id": function.id,
        "slug": function.slug,
        "name": function.name,
        "status": "ACTIVE",
        "version": function.version,
        "created_at": milliseconds(function.created_at),
        "updated_at": milliseconds(function.updated_at),
        "verify_jwt": function.verify_jwt,
        "import_map": import_map.is_some(),
        "entrypoint_path": file_url(project, function, entrypoint),
        "ezbr_sha256": function.digest,
        "url": format!("{}/functions/v1/{}", platform.base_url(project), function.slug),
    });
    if let Some(path) = import_map {
        body["import_map_path"] = file_url(project, function, path).into();
    }
    body
}

fn file_url(project: &ProjectRef, function: &StoredFunction, path: &str) -> String {
    let StoredFunction { id, version, .. } = function;
    let file = format!("/tmp/user_fn_{project}_{id}_{version}/{path}");
    match Url::from_file_path(&file) {
        Ok(url) => url.into(),
        Err(()) => file,
    }
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
    let project = operator.project_by_ref(&platform, &text)?;
    let functions = platform.list_functions(&project).await?;
    let reference = platform.reference_of(&project);
    let bodies = functions
        .iter()
        .map(|function| function_body(&platform, &reference, function));
    Ok(Json(bodies.collect()))
}

/// `GET …/functions/{slug}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let function = platform.load_function(&project, &slug).await?;
    Ok(Json(function_body(
        &platform,
        &platform.reference_of(&project),
        &function,
    )))
}

/// A deployed version of a function.
#[derive(Serialize, JsonSchema)]
pub(super) struct FunctionVersionBody {
    version: i32,
    is_active: bool,
    ezbr_sha256: String,
    created_at: String,
    activated_at: Option<String>,
}

/// `GET /platform/projects/{ref}/functions/{slug}/versions`: newest first.
pub(super) async fn versions(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
) -> Result<Json<Vec<FunctionVersionBody>>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let versions = platform.list_function_versions(&project, &slug).await?;
    let bodies = versions.into_iter().map(|version| FunctionVersionBody {
        version: version.version,
        is_active: version.is_active,
        ezbr_sha256: version.digest,
        created_at: rfc3339(version.created_at),
        activated_at: version.activated_at.map(rfc3339),
    });
    Ok(Json(bodies.collect()))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "RollbackRequest")]
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
    let project = operator.project_by_name(&platform, &text)?;
    let function = platform
        .roll_back_function(&project, &slug, body.version)
        .await?;
    audit(
        &platform,
        &operator,
        &project,
        "function.rollback",
        &function,
    )
    .await;
    Ok(Json(function_body(
        &platform,
        &platform.reference_of(&project),
        &function,
    )))
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectName,
    action: &str,
    function: &StoredFunction,
) {
    let target = platform.reference_of(project);
    let details = json!({ "slug": function.slug, "version": function.version });
    platform
        .audit(operator, Some(&target), action, details)
        .await;
}
