//! Branches (console contract §2.4.6).

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments},
};
use crate::{Branch, BranchRequest, CopyMethod, Platform, PlatformError, ProjectRow};

/// The branch in the words of the Management API; `copy` is ours.
fn branch_body(branch: &Branch) -> Value {
    let (state, project) = match (&branch.failure, branch.status) {
        (Some(_), _) => ("MIGRATIONS_FAILED", "INIT_FAILED"),
        (None, status @ ProjectStatus::ComingUp) => ("CREATING_PROJECT", status.as_str()),
        (None, status) => ("FUNCTIONS_DEPLOYED", status.as_str()),
    };
    json!({
        "id": branch.id,
        "name": branch.name,
        "project_ref": branch.reference.as_str(),
        "parent_project_ref": branch.parent.as_str(),
        "is_default": false,
        "git_branch": branch.git_branch,
        "persistent": branch.persistent,
        "with_data": branch.with_data,
        "status": state,
        "preview_project_status": project,
        "created_at": rfc3339(branch.created_at),
        "updated_at": rfc3339(branch.updated_at),
        "copy": {
            "method": branch.copy_method.map(CopyMethod::as_str),
            "reason": branch.copy_reason,
            "job_id": branch.job,
            "error": branch.failure,
        },
    })
}

/// The parent itself is listed as the default branch `main`.
fn main_body(parent: &ProjectRow) -> Value {
    json!({
        "id": uuid::Uuid::nil(),
        "name": "main",
        "project_ref": parent.reference.as_str(),
        "parent_project_ref": parent.reference.as_str(),
        "is_default": true,
        "persistent": true,
        "with_data": true,
        "status": "FUNCTIONS_DEPLOYED",
        "preview_project_status": parent.status.as_str(),
        "created_at": rfc3339(parent.created_at),
        "updated_at": rfc3339(parent.created_at),
    })
}

/// `GET …/branches`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.reference(&platform, &text)?;
    let parent = platform.load_project(&project).await?;
    let mut bodies = vec![main_body(&parent)];
    bodies.extend(
        platform
            .list_branches(&project)
            .await?
            .iter()
            .map(branch_body),
    );
    Ok(Json(bodies))
}

#[derive(Deserialize)]
pub(super) struct CreateBody {
    branch_name: String,
    #[serde(default)]
    git_branch: Option<String>,
    #[serde(default)]
    persistent: bool,
    #[serde(default)]
    end_sessions: bool,
}

/// `POST …/branches`: ready, or COMING_UP with the job that makes it.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.reference(&platform, &text)?;
    let request = BranchRequest {
        name: body.branch_name,
        git_branch: body.git_branch,
        persistent: body.persistent,
        end_sessions: body.end_sessions,
        asked_by: Some(operator.name().to_owned()),
    };
    let branch = platform.create_branch(&project, &request).await?;
    let details = json!({
        "branch": branch.name,
        "ref": branch.reference.as_str(),
        "copy": branch.copy_method.map(CopyMethod::as_str),
    });
    platform
        .note(&operator, Some(&branch.parent), "branch.create", details)
        .await;
    Ok((StatusCode::CREATED, Json(branch_body(&branch))))
}

/// `GET …/branches/{name}`.
pub(super) async fn show_by_name(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, branch)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let branches = platform
        .list_branches(&operator.reference(&platform, &text)?)
        .await?;
    branches
        .iter()
        .rfind(|found| found.name == branch)
        .map(|found| Json(branch_body(found)))
        .ok_or_else(|| PlatformError::NotFound(format!("There is no branch {branch}")))
}

/// `GET /v1/branches/{id or ref}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let branch = platform.load_branch(&id).await?;
    operator.must_reach(&branch.reference)?;
    let version = platform.cluster().version_num;
    let endpoints = platform.endpoints();
    let (host, port) = endpoints.database.clone().unwrap_or_default();
    Ok(Json(json!({
        "ref": branch.reference.as_str(),
        "status": branch.status.as_str(),
        "postgres_version": format!("{}.{}", version / 10_000, version % 10_000),
        "postgres_engine": (version / 10_000).to_string(),
        "release_channel": "ga",
        "db_host": host,
        "db_port": port,
        "db_user": format!("postgres.{}", branch.reference),
    })))
}

/// `DELETE /v1/branches/{id or ref}`: a branch is a copy, so it goes at once.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let branch = platform.load_branch(&id).await?;
    operator.must_reach(&branch.reference)?;
    let project = plinth_project::ProjectName::Ref(branch.reference.clone());
    platform.delete_project(&project, true).await?;
    let details = json!({ "branch": branch.name });
    platform
        .note(&operator, Some(&branch.parent), "branch.delete", details)
        .await;
    Ok(Json(json!({ "message": "ok" })))
}
