//! Background jobs (console contract §2.13).

use axum::{Json, extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Params, Segments},
    openapi::Page,
};
use crate::{Job, JobFilter, JobState, Platform, PlatformError};

const DEFAULT_LIMIT: i64 = 100;
const MAX_LIMIT: i64 = 200;

/// A job.
#[derive(Serialize, JsonSchema)]
pub(super) struct JobBody {
    id: Uuid,
    kind: String,
    project: Option<String>,
    /// `queued`, `running`, `succeeded`, `failed` or `cancelled`.
    state: &'static str,
    progress: ProgressBody,
    /// The current step.
    message: String,
    /// Whether it was asked to end.
    cancel_requested: bool,
    /// What it achieved; depends on its kind.
    result: Option<Value>,
    error: Option<String>,
    created_by: Option<String>,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ProgressBody {
    done: i64,
    total: i64,
    unit: String,
}

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            kind: job.kind,
            project: job.project,
            state: job.state.as_str(),
            progress: ProgressBody {
                done: job.progress.done,
                total: job.progress.total,
                unit: job.progress.unit,
            },
            message: job.progress.message,
            cancel_requested: job.cancel_requested,
            result: job.result,
            error: job.error,
            created_by: job.created_by,
            created_at: rfc3339(job.created_at),
            started_at: job.started_at.map(rfc3339),
            finished_at: job.finished_at.map(rfc3339),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct JobParams {
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    /// Comma list.
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<i64>,
}

impl JobParams {
    async fn into_filter(
        self,
        operator: &Operator,
        platform: &Platform,
    ) -> Result<JobFilter, PlatformError> {
        let project = match self.project.as_deref() {
            Some(name) => {
                let name = operator.project_by_name(platform, name)?;
                Some(platform.reference_of(&name).to_string())
            }
            None => None,
        };
        let states = self.state.as_deref().filter(|text| !text.is_empty());
        let states = states.map(|text| text.split(',').map(parse_state).collect());
        let after = self.cursor.as_deref().map(str::parse);
        Ok(JobFilter {
            visible: operator.visible_projects(platform).await?,
            project,
            kind: self.kind,
            states: states.transpose()?,
            after: after.transpose().map_err(PlatformError::Invalid)?,
            limit: self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        })
    }
}

fn parse_state(text: &str) -> Result<JobState, PlatformError> {
    JobState::find(text.trim()).ok_or_else(|| {
        PlatformError::Invalid(format!(
            "state: {text:?} is no state of a job; use queued, running, succeeded, failed, cancelled"
        ))
    })
}

/// `GET /platform/jobs`: newest first. The cursor of the next page is in `x-next-cursor`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<JobParams>,
) -> Result<Page<JobBody>, PlatformError> {
    let mut filter = params.into_filter(&operator, &platform).await?;
    let limit = filter.limit;
    // One more shows whether there is a next page.
    filter.limit += 1;
    let mut jobs = platform.list_jobs(&filter).await?;
    let has_more = jobs.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    if has_more {
        jobs.pop();
    }
    let cursor = jobs.last().filter(|_| has_more);
    let cursor = cursor.map(|job| job.position().to_string());
    let bodies = jobs.into_iter().map(JobBody::from).collect();
    Ok(Page(cursor, bodies))
}

/// `GET /platform/jobs/{id}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<JobBody>, PlatformError> {
    let job = load_visible(&operator, &platform, &text).await?;
    Ok(Json(job.into()))
}

/// `POST /platform/jobs/{id}/cancel`: 202, because work in progress ends a moment later.
pub(super) async fn cancel(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<(StatusCode, Json<JobBody>), PlatformError> {
    let job = load_visible(&operator, &platform, &text).await?;
    let is_own = job.created_by.as_deref() == Some(operator.name());
    if job.project.is_none() && !is_own {
        operator.require_owner()?;
    }
    let job = platform.cancel_job(job.id).await?;
    let project = job.project.as_deref().and_then(|text| text.parse().ok());
    let details = serde_json::json!({ "id": job.id, "kind": job.kind });
    platform
        .audit(&operator, project.as_ref(), "job.cancel", details)
        .await;
    Ok((StatusCode::ACCEPTED, Json(job.into())))
}

/// A job that must not be seen looks as if there were none.
async fn load_visible(
    operator: &Operator,
    platform: &Platform,
    text: &str,
) -> Result<Job, PlatformError> {
    let none = || PlatformError::NotFound(format!("There is no job {text}"));
    let id: Uuid = text.parse().map_err(|_| none())?;
    let job = platform.load_job(id).await?;
    let is_visible = match &job.project {
        Some(project) => operator.can_see(platform, project),
        None => operator.sees_instance() || job.created_by.as_deref() == Some(operator.name()),
    };
    if is_visible { Ok(job) } else { Err(none()) }
}
