//! `/v1/projects` (console contract §2.4.1).

use axum::{Json, extract::State, http::StatusCode};
use plinth_project::{ProjectName, ProjectStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Operator,
    body::{Body, Params, Segments},
};
use crate::{Platform, PlatformError, ProjectRequest, ProjectRow};

#[derive(Serialize)]
pub(super) struct ProjectBody {
    id: String,
    r#ref: String,
    organization_id: String,
    organization_slug: String,
    name: String,
    region: String,
    #[serde(with = "time::serde::rfc3339")]
    created_at: time::OffsetDateTime,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<DatabaseBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_project_ref: Option<String>,
}

#[derive(Serialize)]
struct DatabaseBody {
    host: String,
    version: String,
    postgres_engine: String,
    release_channel: &'static str,
}

impl ProjectBody {
    fn new(platform: &Platform, row: ProjectRow) -> Self {
        let reference = row.reference.to_string();
        let version = platform.cluster().version_num;
        let (major, minor) = (version / 10_000, version % 10_000);
        let endpoints = platform.endpoints();
        let host = match (&endpoints.domain, &endpoints.database) {
            (Some(domain), _) => format!("db.{reference}.{domain}"),
            (None, Some((host, _))) => host.clone(),
            (None, None) => String::new(),
        };
        Self {
            id: reference.clone(),
            r#ref: reference,
            organization_id: row.organization.clone(),
            organization_slug: row.organization,
            name: row.name,
            region: row.region_label,
            created_at: row.created_at,
            status: row.status.as_str(),
            database: Some(DatabaseBody {
                host,
                version: format!("{major}.{minor}"),
                postgres_engine: major.to_string(),
                release_channel: "ga",
            }),
            parent_project_ref: row.parent.map(|parent| parent.to_string()),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct ListParams {
    #[serde(default)]
    include_platform: bool,
}

/// `GET /v1/projects`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<ListParams>,
) -> Result<Json<Vec<ProjectBody>>, PlatformError> {
    let include_platform = params.include_platform && operator.is_owner();
    within_reach(&operator, &platform, include_platform).await
}

/// `GET /platform/projects`: project zero included, for whoever may reach it.
pub(super) async fn list_with_platform(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<ProjectBody>>, PlatformError> {
    within_reach(&operator, &platform, operator.is_owner()).await
}

async fn within_reach(
    operator: &Operator,
    platform: &Platform,
    include_platform: bool,
) -> Result<Json<Vec<ProjectBody>>, PlatformError> {
    let rows = platform.list_projects(include_platform).await?;
    let rows = rows.into_iter();
    let within = rows.filter(|row| operator.reaches(&row.reference));
    Ok(Json(
        within.map(|row| ProjectBody::new(platform, row)).collect(),
    ))
}

#[derive(Deserialize)]
pub(super) struct CreateBody {
    name: String,
    #[serde(default)]
    db_pass: Option<String>,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    organization_slug: Option<String>,
    /// The older name of the slug.
    #[serde(default)]
    organization_id: Option<String>,
}

/// `POST /v1/projects`.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<ProjectBody>), PlatformError> {
    let request = ProjectRequest {
        name: body.name,
        database_password: body.db_pass,
        region_label: body.region,
        organization: body.organization_slug.or(body.organization_id),
    };
    let row = platform.create_project(&request).await?;
    let details = json!({ "name": row.name });
    platform
        .note(&operator, Some(&row.reference), "project.create", details)
        .await;
    let mut answer = ProjectBody::new(&platform, row);
    answer.database = None;
    Ok((StatusCode::CREATED, Json(answer)))
}

/// `GET /v1/projects/{ref}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .load_project(&operator.reference(&platform, &text)?)
        .await?;
    Ok(Json(ProjectBody::new(&platform, row)))
}

/// `GET /platform/projects/{ref}`.
pub(super) async fn show_named(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .load_project(&operator.named(&platform, &text)?)
        .await?;
    Ok(Json(ProjectBody::new(&platform, row)))
}

#[derive(Deserialize)]
pub(super) struct RenameBody {
    name: String,
}

/// `PATCH /v1/projects/{ref}`.
pub(super) async fn rename(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<RenameBody>,
) -> Result<Json<Value>, PlatformError> {
    let row = platform
        .rename_project(&operator.reference(&platform, &text)?, &body.name)
        .await?;
    let details = json!({ "name": row.name });
    platform
        .note(&operator, Some(&row.reference), "project.rename", details)
        .await;
    Ok(Json(short(&row)))
}

#[derive(Deserialize)]
pub(super) struct DeleteParams {
    #[serde(default)]
    purge: bool,
}

/// `DELETE /v1/projects/{ref}`: into the trash; `?purge=true` for good.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<DeleteParams>,
) -> Result<Json<Value>, PlatformError> {
    let row = platform
        .delete_project(&operator.reference(&platform, &text)?, params.purge)
        .await?;
    let action = if params.purge {
        "project.purge"
    } else {
        "project.delete"
    };
    platform
        .note(
            &operator,
            Some(&row.reference),
            action,
            json!({ "name": row.name }),
        )
        .await;
    Ok(Json(short(&row)))
}

/// `POST /v1/projects/{ref}/pause`.
pub(super) async fn pause(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .pause_project(&operator.reference(&platform, &text)?)
        .await?;
    platform
        .note(
            &operator,
            Some(&row.reference),
            "project.pause",
            Value::Null,
        )
        .await;
    Ok(Json(ProjectBody::new(&platform, row)))
}

/// `POST /v1/projects/{ref}/restore`: out of the pause, or out of the trash.
pub(super) async fn resume(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .resume_project(&operator.reference(&platform, &text)?)
        .await?;
    platform
        .note(
            &operator,
            Some(&row.reference),
            "project.resume",
            Value::Null,
        )
        .await;
    Ok(Json(ProjectBody::new(&platform, row)))
}

/// `GET /v1/projects/{ref}/health`: what is asked for, else the parts there are.
pub(super) async fn health(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.reference(&platform, &text)?;
    let row = platform.load_project(&project).await?;
    let database = database_health(&platform, &project, row.status).await;
    let (status, error) = match &database {
        Ok(()) => ("ACTIVE_HEALTHY", None),
        Err(reason) => ("UNHEALTHY", Some(reason)),
    };
    let parts = ["auth", "db"].map(|part| {
        json!({ "name": part, "healthy": database.is_ok(), "status": status, "error": error })
    });
    Ok(Json(json!(parts)))
}

async fn database_health(
    platform: &Platform,
    project: &ProjectName,
    status: ProjectStatus,
) -> Result<(), String> {
    if status != ProjectStatus::ActiveHealthy {
        return Err(format!("the project is {status}"));
    }
    let project = platform
        .open(project)
        .await
        .map_err(|error| error.to_string())?;
    let client = project.db.as_service(plinth_project::Service::Auth).await;
    let mut client = client.map_err(|error| error.to_string())?;
    client
        .batch_execute("select 1")
        .await
        .map_err(|error| error.to_string())
}

/// The Management API numbers projects; a stable number of ours stands in.
fn short(row: &ProjectRow) -> Value {
    let id = row.reference.as_str().bytes().fold(0_u32, |id, letter| {
        id.wrapping_mul(31).wrapping_add(u32::from(letter)) & 0x7fff_ffff
    });
    json!({ "id": id, "ref": row.reference.as_str(), "name": row.name })
}
