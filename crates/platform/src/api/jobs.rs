//! Background jobs (console contract §2.13).

use axum::{Json, extract::State};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Operator, api_keys::rfc3339, body::Segments};
use crate::{Job, Platform, PlatformError};

fn job_body(job: &Job) -> Value {
    json!({
        "id": job.id,
        "kind": job.kind,
        "project": job.project,
        "state": job.state.as_str(),
        "progress": {
            "done": job.progress.done,
            "total": job.progress.total,
            "unit": job.progress.unit,
        },
        "message": job.progress.message,
        "error": job.error,
        "created_by": job.created_by,
        "created_at": rfc3339(job.created_at),
        "started_at": rfc3339(job.created_at),
        "finished_at": job.finished_at.map(rfc3339),
    })
}

/// `GET /platform/jobs`: the latest ones, newest first.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let jobs = platform.list_jobs().await?;
    let visible = jobs.iter().filter(|job| may_see(&operator, &platform, job));
    Ok(Json(visible.map(job_body).collect()))
}

/// `GET /platform/jobs/{id}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let none = || PlatformError::NotFound(format!("There is no job {text}"));
    let id: Uuid = text.parse().map_err(|_| none())?;
    let job = platform.load_job(id).await?;
    if may_see(&operator, &platform, &job) {
        Ok(Json(job_body(&job)))
    } else {
        Err(none())
    }
}

/// Jobs of no project are visible to members of the whole instance.
fn may_see(operator: &Operator, platform: &Platform, job: &Job) -> bool {
    match &job.project {
        Some(project) => operator.can_see(platform, project),
        None => operator.sees_instance(),
    }
}
