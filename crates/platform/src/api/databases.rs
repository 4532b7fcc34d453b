//! A project's database: how to reach it, its migrations, its reset.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use time::{OffsetDateTime, macros::format_description};

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{MigrationFile, Platform, PlatformError, SeedFile, SeedOutcome};

/// `GET /platform/projects/{ref}/database`: the connection string, password included.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.named(&platform, &text)?;
    let url = platform.database_url(&project).await?;
    let reference = platform.reference_of(&project);
    platform
        .note(&operator, Some(&reference), "database.reveal", Value::Null)
        .await;
    Ok(Json(json!({ "url": url.expose() })))
}

/// `POST /platform/projects/{ref}/database/reset`.
pub(super) async fn reset(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.named(&platform, &text)?;
    platform.reset_database(&project).await?;
    let reference = platform.reference_of(&project);
    platform
        .note(&operator, Some(&reference), "database.reset", Value::Null)
        .await;
    Ok(Json(json!({ "message": "ok" })))
}

/// `GET /v1/projects/{ref}/database/migrations`, `GET /platform/projects/{ref}/migrations`.
pub(super) async fn history(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let applied = platform
        .applied_migrations(&operator.named(&platform, &text)?)
        .await?;
    let bodies = applied
        .into_iter()
        .map(|migration| json!({ "version": migration.version, "name": migration.name }));
    Ok(Json(bodies.collect()))
}

#[derive(Deserialize)]
pub(super) struct QueryBody {
    query: String,
    #[serde(default)]
    name: Option<String>,
}

/// `POST /v1/projects/{ref}/database/migrations`: recorded under the present time.
pub(super) async fn apply_query(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<QueryBody>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let project = operator.named(&platform, &text)?;
    let applied = platform.applied_migrations(&project).await?;
    let mut at = OffsetDateTime::now_utc();
    let mut version = stamp(at)?;
    while applied.iter().any(|migration| migration.version == version) {
        at += time::Duration::SECOND;
        version = stamp(at)?;
    }
    let file = MigrationFile {
        version,
        name: body.name.unwrap_or_default(),
        sql: body.query,
    };
    platform.apply_migration(&project, &file).await?;
    note_migration(&platform, &operator, &project, &file).await;
    // An empty chunked body makes the MCP client fail (F24).
    Ok(Json(Vec::new()))
}

fn stamp(at: OffsetDateTime) -> Result<String, PlatformError> {
    at.format(format_description!(
        "[year][month][day][hour][minute][second]"
    ))
    .map_err(PlatformError::caused_by)
}

#[derive(Deserialize)]
pub(super) struct FileBody {
    file_name: String,
    sql: String,
}

/// `POST /platform/projects/{ref}/migrations`: one file of `supabase/migrations/`.
pub(super) async fn apply_file(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<FileBody>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.named(&platform, &text)?;
    let file = MigrationFile::new(&body.file_name, body.sql)
        .map_err(|error| PlatformError::Invalid(error.to_string()))?;
    let notices = platform.apply_migration(&project, &file).await?;
    note_migration(&platform, &operator, &project, &file).await;
    Ok((
        StatusCode::CREATED,
        Json(json!({ "version": file.version, "notices": notices })),
    ))
}

#[derive(Deserialize)]
pub(super) struct SeedBody {
    path: String,
    sql: String,
}

/// `POST /platform/projects/{ref}/seed`: one file of `db.seed.sql_paths`.
pub(super) async fn seed(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<SeedBody>,
) -> Result<Json<Value>, PlatformError> {
    let seed = SeedFile {
        path: body.path,
        sql: body.sql,
    };
    let outcome = match platform
        .run_seed(&operator.named(&platform, &text)?, &seed)
        .await?
    {
        SeedOutcome::Ran => "ran",
        SeedOutcome::Known => "known",
        SeedOutcome::Changed => "changed",
    };
    Ok(Json(json!({ "outcome": outcome })))
}

async fn note_migration(
    platform: &Platform,
    operator: &Operator,
    project: &plinth_project::ProjectName,
    file: &MigrationFile,
) {
    let target = platform.reference_of(project);
    let details = json!({ "file": file.to_string() });
    platform
        .note(operator, Some(&target), "migration.apply", details)
        .await;
}
