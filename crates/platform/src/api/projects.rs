//! `/v1/projects` (console contract §2.4.1).

use axum::{Json, extract::State, http::StatusCode};
use plinth_token::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Operator,
    body::{Body, Params, Segments},
};
use crate::{Platform, PlatformError, ProjectRequest, ProjectRow};

/// A project, as in the Management API.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectBody {
    id: String,
    r#ref: String,
    organization_id: String,
    organization_slug: String,
    name: String,
    region: String,
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String")]
    created_at: time::OffsetDateTime,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<DatabaseBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_project_ref: Option<String>,
    /// Ours: whether it has a PostgreSQL server of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    isolated: bool,
}

#[derive(Serialize, JsonSchema)]
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
            isolated: row.server.is_isolated(),
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
    list_accessible(&operator, &platform, include_platform).await
}

/// `GET /platform/projects`: project zero included, for the owner.
pub(super) async fn list_with_platform(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<ProjectBody>>, PlatformError> {
    list_accessible(&operator, &platform, operator.is_owner()).await
}

async fn list_accessible(
    operator: &Operator,
    platform: &Platform,
    include_platform: bool,
) -> Result<Json<Vec<ProjectBody>>, PlatformError> {
    let rows = platform.list_projects(include_platform).await?;
    let rows = rows.into_iter();
    let accessible = rows.filter(|row| operator.can_access(&row.reference));
    let bodies = accessible.map(|row| ProjectBody::new(platform, row));
    Ok(Json(bodies.collect()))
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
    /// Ours: a PostgreSQL server of its own; as the settings say when absent.
    #[serde(default)]
    isolated: Option<bool>,
}

/// `POST /v1/projects`.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<CreateBody>,
) -> Result<(StatusCode, Json<ProjectBody>), PlatformError> {
    let request = ProjectRequest {
        name: body.name,
        database_password: body.db_pass.map(Secret::new),
        region_label: body.region,
        organization: body.organization_slug.or(body.organization_id),
        isolated: body.isolated,
    };
    let row = platform.create_project(&request).await?;
    let details = json!({ "name": row.name });
    platform
        .audit(&operator, Some(&row.reference), "project.create", details)
        .await;
    let mut body = ProjectBody::new(&platform, row);
    body.database = None;
    Ok((StatusCode::CREATED, Json(body)))
}

/// `GET /v1/projects/{ref}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .load_project(&operator.project_by_ref(&platform, &text)?)
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
        .load_project(&operator.project_by_name(&platform, &text)?)
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
        .rename_project(&operator.project_by_ref(&platform, &text)?, &body.name)
        .await?;
    let details = json!({ "name": row.name });
    platform
        .audit(&operator, Some(&row.reference), "project.rename", details)
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
        .delete_project(&operator.project_by_ref(&platform, &text)?, params.purge)
        .await?;
    let action = if params.purge {
        "project.purge"
    } else {
        "project.delete"
    };
    platform
        .audit(
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
        .pause_project(&operator.project_by_ref(&platform, &text)?)
        .await?;
    platform
        .audit(
            &operator,
            Some(&row.reference),
            "project.pause",
            Value::Null,
        )
        .await;
    Ok(Json(ProjectBody::new(&platform, row)))
}

/// `POST /v1/projects/{ref}/restore`: resumes a paused project, or restores one from the trash.
pub(super) async fn resume(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<ProjectBody>, PlatformError> {
    let row = platform
        .resume_project(&operator.project_by_ref(&platform, &text)?)
        .await?;
    platform
        .audit(
            &operator,
            Some(&row.reference),
            "project.resume",
            Value::Null,
        )
        .await;
    Ok(Json(ProjectBody::new(&platform, row)))
}

/// The Management API has numeric ids; this is a stable hash of the ref.
fn short(row: &ProjectRow) -> Value {
    let id = row.reference.as_str().bytes().fold(0_u32, |id, letter| {
        id.wrapping_mul(31).wrapping_add(u32::from(letter)) & 0x7fff_ffff
    });
    json!({ "id": id, "ref": row.reference.as_str(), "name": row.name })
}
