//! Branches (console contract §2.4.6).

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::ProjectStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Segments, without_nulls},
};
use crate::{
    Branch, BranchChanges, BranchRequest, CopyMethod, Platform, PlatformError, ProjectRow,
    audit::Change, projects::MAIN_BRANCH,
};

/// The branch in the form of the Management API; `copy` is an addition.
fn branch_body(branch: &Branch) -> Value {
    let (state, project) = match (&branch.failure, branch.status) {
        (Some(_), _) => ("MIGRATIONS_FAILED", "INIT_FAILED"),
        (None, status @ ProjectStatus::ComingUp) => ("CREATING_PROJECT", status.as_str()),
        (None, status) => ("FUNCTIONS_DEPLOYED", status.as_str()),
    };
    without_nulls(json!({
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
    }))
}

/// The parent itself is listed as the default branch `main`.
fn main_body(parent: &ProjectRow) -> Value {
    json!({
        "id": uuid::Uuid::nil(),
        "name": MAIN_BRANCH,
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
    let project = operator.project_by_ref(&platform, &text)?;
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

/// `POST …/branches`: ready, or COMING_UP with the job that creates it.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let request = BranchRequest {
        name: body.branch_name,
        git_branch: body.git_branch,
        persistent: body.persistent,
        end_sessions: body.end_sessions,
        requested_by: Some(operator.name().to_owned()),
    };
    let branch = platform.create_branch(&project, &request).await?;
    let details = json!({
        "branch": branch.name,
        "ref": branch.reference.as_str(),
        "copy": branch.copy_method.map(CopyMethod::as_str),
    });
    platform
        .audit(&operator, Some(&branch.parent), "branch.create", details)
        .await;
    Ok((StatusCode::CREATED, Json(branch_body(&branch))))
}

/// `GET …/branches/{name}`.
pub(super) async fn show_by_name(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, branch)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let branches = platform.list_branches(&project).await?;
    match branches.iter().rfind(|found| found.name == branch) {
        Some(found) => Ok(Json(branch_body(found))),
        None if branch == MAIN_BRANCH => {
            Ok(Json(main_body(&platform.load_project(&project).await?)))
        }
        None => Err(PlatformError::NotFound(format!(
            "There is no branch {branch}"
        ))),
    }
}

/// `GET /v1/branches/{id or ref}`; the ref of a project that is no branch is that of its main branch.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let (reference, status) = match platform.load_branch(&id).await {
        Ok(branch) => {
            operator.require_access(&branch.reference)?;
            (branch.reference, branch.status)
        }
        Err(PlatformError::NotFound(_)) => {
            let project = operator.project_by_ref(&platform, &id)?;
            let main = platform.load_project(&project).await?;
            (main.reference, main.status)
        }
        Err(error) => return Err(error),
    };
    let version = platform.cluster().version_num;
    let endpoints = platform.endpoints();
    let (host, port) = endpoints.database.clone().unwrap_or_default();
    Ok(Json(json!({
        "ref": reference.as_str(),
        "status": status.as_str(),
        "postgres_version": format!("{}.{}", version / 10_000, version % 10_000),
        "postgres_engine": (version / 10_000).to_string(),
        "release_channel": "ga",
        "db_host": host,
        "db_port": port,
        "db_user": format!("postgres.{reference}"),
    })))
}

#[derive(Deserialize)]
pub(super) struct UpdateBody {
    #[serde(default)]
    branch_name: Option<String>,
    #[serde(default)]
    git_branch: Option<String>,
    #[serde(default)]
    persistent: Option<bool>,
}

/// `PATCH /v1/branches/{id or ref}`. A state or an address to notify, which the Management API takes as
/// well, have no meaning here.
pub(super) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
    Body(body): Body<UpdateBody>,
) -> Result<Json<Value>, PlatformError> {
    let before = platform.load_branch(&id).await?;
    operator.require_access(&before.reference)?;
    let changes = BranchChanges {
        name: body.branch_name,
        git_branch: body.git_branch,
        persistent: body.persistent,
    };
    let branch = platform.update_branch(&id, &changes).await?;
    let summary = |branch: &Branch| {
        json!({
            "name": branch.name,
            "git_branch": branch.git_branch,
            "persistent": branch.persistent,
        })
    };
    let change = Change::new("branch.update")
        .project(&branch.parent)
        .target(branch.id)
        .before(summary(&before))
        .after(summary(&branch));
    platform.audit_change(&operator, change).await;
    Ok(Json(branch_body(&branch)))
}

/// `DELETE /v1/branches/{id or ref}`: a branch is a copy, so it does not go into the trash.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let branch = platform.load_branch(&id).await?;
    operator.require_access(&branch.reference)?;
    let project = plinth_project::ProjectName::Ref(branch.reference.clone());
    platform.delete_project(&project, true).await?;
    let details = json!({ "branch": branch.name });
    platform
        .audit(&operator, Some(&branch.parent), "branch.delete", details)
        .await;
    Ok(Json(json!({ "message": "ok" })))
}
