//! Reviewing, merging, rebasing and resetting branches (console contract §2.4.6, N35).

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use plinth_diff::Scope;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{
    Operator,
    body::{Body, OptionalBody, Params, Segments},
    branch_review_body::ReviewBody,
};
use crate::{
    Branch, Platform, PlatformError,
    branch_review::{MergeRequest, Resolution},
};

#[derive(Debug, Deserialize)]
pub(super) struct DiffParams {
    /// Separated by commas; all of the users' when absent.
    #[serde(default)]
    included_schemas: Option<String>,
}

/// `GET /v1/branches/{id}/diff`: what makes the parent's schema like the branch's, as SQL.
pub(super) async fn diff(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
    Params(params): Params<DiffParams>,
) -> Result<impl IntoResponse, PlatformError> {
    let branch = load(&operator, &platform, &id).await?;
    let schemas = params.included_schemas.unwrap_or_default();
    let schemas: Vec<String> = schemas
        .split(',')
        .map(|schema| schema.trim().to_owned())
        .filter(|schema| !schema.is_empty())
        .collect();
    let scope = if schemas.is_empty() {
        Scope::all()
    } else {
        Scope::only(schemas)
    };
    let changes = platform.branch_diff(&branch, &scope).await?;
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((headers, changes.to_sql()))
}

/// A branch by its id or ref, if the operator may access both sides.
async fn load(operator: &Operator, platform: &Platform, id: &str) -> Result<Branch, PlatformError> {
    let branch = platform.load_branch(id).await?;
    operator.require_access(&branch.reference)?;
    operator.require_access(&branch.parent)?;
    Ok(branch)
}

/// A branch by its name.
async fn load_named(
    operator: &Operator,
    platform: &Platform,
    project: &str,
    name: &str,
) -> Result<Branch, PlatformError> {
    let project = operator.project_by_name(platform, project)?;
    let branches = platform.list_branches(&project).await?;
    let found = branches.into_iter().rfind(|branch| branch.name == name);
    let branch =
        found.ok_or_else(|| PlatformError::NotFound(format!("There is no branch {name}")))?;
    operator.require_access(&branch.reference)?;
    Ok(branch)
}

/// `GET /platform/projects/{ref}/branches/{name}/review`: what a merge would do.
pub(super) async fn review(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((project, name)): Segments<(String, String)>,
) -> Result<Json<ReviewBody>, PlatformError> {
    let branch = load_named(&operator, &platform, &project, &name).await?;
    let review = platform.review_branch(&branch).await?;
    Ok(Json(ReviewBody::new(branch, review)))
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct MergeBody {
    /// Of the review. Without it only what migrations record is merged.
    #[serde(default)]
    review_token: Option<String>,
    /// Whether functions are deployed; yes when absent.
    #[serde(default)]
    functions: Option<bool>,
}

/// The answer to what begins a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobBody {
    job_id: Uuid,
}

/// `POST /platform/projects/{ref}/branches/{name}/merge`: begins the merge as a job.
pub(super) async fn merge(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((project, name)): Segments<(String, String)>,
    Body(body): Body<MergeBody>,
) -> Result<(StatusCode, Json<JobBody>), PlatformError> {
    let branch = load_named(&operator, &platform, &project, &name).await?;
    let request = MergeRequest {
        review_token: body.review_token,
        with_functions: body.functions.unwrap_or(true),
        until_version: None,
    };
    let job = begin_merge(&platform, &operator, &branch, request).await?;
    Ok((StatusCode::ACCEPTED, Json(JobBody { job_id: job })))
}

async fn begin_merge(
    platform: &Platform,
    operator: &Operator,
    branch: &Branch,
    request: MergeRequest,
) -> Result<Uuid, PlatformError> {
    let is_reviewed = request.review_token.is_some();
    let job = platform
        .merge_branch(branch, request, operator.name())
        .await?;
    let details = json!({ "branch": branch.name, "job": job, "reviewed": is_reviewed });
    audit(platform, operator, branch, "branch.merge", details).await;
    Ok(job)
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    branch: &Branch,
    action: &str,
    details: serde_json::Value,
) {
    platform
        .audit(operator, Some(&branch.parent), action, details)
        .await;
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct RebaseBody {
    /// `branch` or `parent`: whose version of what both changed is taken.
    #[serde(default)]
    resolve: Option<Side>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Branch,
    Parent,
}

/// `POST /platform/projects/{ref}/branches/{name}/rebase`: begins, as a job, to bring the parent's
/// changes to the branch.
pub(super) async fn rebase(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((project, name)): Segments<(String, String)>,
    Body(body): Body<RebaseBody>,
) -> Result<(StatusCode, Json<JobBody>), PlatformError> {
    let branch = load_named(&operator, &platform, &project, &name).await?;
    let resolution = body.resolve.map(|side| match side {
        Side::Branch => Resolution::Branch,
        Side::Parent => Resolution::Parent,
    });
    let job = begin_rebase(&platform, &operator, &branch, resolution).await?;
    Ok((StatusCode::ACCEPTED, Json(JobBody { job_id: job })))
}

async fn begin_rebase(
    platform: &Platform,
    operator: &Operator,
    branch: &Branch,
    resolution: Option<Resolution>,
) -> Result<Uuid, PlatformError> {
    let job = platform
        .rebase_branch(branch, resolution, operator.name())
        .await?;
    let details = json!({ "branch": branch.name, "job": job });
    audit(platform, operator, branch, "branch.rebase", details).await;
    Ok(job)
}

/// The body of the Management API's actions.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ActionBody {
    #[serde(default)]
    migration_version: Option<String>,
}

/// The answer of the Management API's actions.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ActionAnswer {
    workflow_run_id: Uuid,
    message: String,
}

fn begun(job: Uuid) -> (StatusCode, Json<ActionAnswer>) {
    let answer = ActionAnswer {
        workflow_run_id: job,
        message: "ok".to_owned(),
    };
    (StatusCode::CREATED, Json(answer))
}

/// `POST /v1/branches/{id}/merge`: what migrations record, up to a version.
pub(super) async fn merge_by_id(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
    OptionalBody(body): OptionalBody<ActionBody>,
) -> Result<(StatusCode, Json<ActionAnswer>), PlatformError> {
    let branch = load(&operator, &platform, &id).await?;
    let request = MergeRequest {
        review_token: None,
        with_functions: true,
        until_version: version(body),
    };
    begin_merge(&platform, &operator, &branch, request)
        .await
        .map(begun)
}

/// `POST /v1/branches/{id}/push`: the parent's newer migrations to the branch.
pub(super) async fn push(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
    _body: OptionalBody<ActionBody>,
) -> Result<(StatusCode, Json<ActionAnswer>), PlatformError> {
    let branch = load(&operator, &platform, &id).await?;
    begin_rebase(&platform, &operator, &branch, None)
        .await
        .map(begun)
}

/// `POST /v1/branches/{id}/reset`: an empty database with the branch's migrations, up to a version.
pub(super) async fn reset(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
    OptionalBody(body): OptionalBody<ActionBody>,
) -> Result<(StatusCode, Json<ActionAnswer>), PlatformError> {
    let branch = load(&operator, &platform, &id).await?;
    let version = version(body);
    let job = platform
        .reset_branch(&branch, version.as_deref(), operator.name())
        .await?;
    let details = json!({ "branch": branch.name, "job": job, "version": version });
    audit(&platform, &operator, &branch, "branch.reset", details).await;
    Ok(begun(job))
}

/// Clients send the version of "all of them" as an empty text, or no body at all.
fn version(body: ActionBody) -> Option<String> {
    body.migration_version.filter(|version| !version.is_empty())
}
