//! A project's database: how to reach it, its migrations, its reset.

use axum::{Json, extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::{OffsetDateTime, macros::format_description};

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{
    MigrationFile, Platform, PlatformError, SeedFile, SeedOutcome,
    database_password::PASSWORD_PLACEHOLDER,
};

#[derive(Serialize, JsonSchema)]
pub(super) struct DatabaseUrlBody {
    url: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DoneBody {
    message: &'static str,
}

/// `GET /platform/projects/{ref}/database`: the connection string, password included.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<DatabaseUrlBody>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let url = platform.database_url(&project).await?;
    let reference = platform.reference_of(&project);
    platform
        .audit(&operator, Some(&reference), "database.reveal", Value::Null)
        .await;
    let url = url.expose().to_owned();
    Ok(Json(DatabaseUrlBody { url }))
}

/// `GET /v1/projects/{ref}/config/database/pooler`: the database port, which gives each client a session
/// of its own. Programs of the Management API
/// need the two sizes, which no setting of the project decides here: null.
pub(super) async fn pooler(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let reference = platform.load_project(&project).await?.reference;
    let endpoints = platform.endpoints();
    let Some((host, port)) = &endpoints.database else {
        // Tools connect to an external server, of whose pooler we know nothing.
        return Ok(Json(json!([])));
    };
    let user = format!("postgres.{reference}");
    let url = format!("postgresql://{user}:{PASSWORD_PLACEHOLDER}@{host}:{port}/postgres");
    Ok(Json(json!([{
        "identifier": reference.as_str(),
        "database_type": "PRIMARY",
        "is_using_scram_auth": true,
        "db_user": user,
        "db_host": host,
        "db_port": port,
        "db_name": "postgres",
        "connection_string": url,
        "connectionString": url,
        "default_pool_size": null,
        "max_client_conn": null,
        "pool_mode": "session",
    }])))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "DatabasePasswordRequest")]
pub(super) struct PasswordBody {
    /// Generated when absent, which the Management API does not know.
    #[serde(default)]
    password: Option<String>,
}

/// `PATCH /v1/projects/{ref}/database/password`.
pub(super) async fn set_password(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<PasswordBody>,
) -> Result<Json<DoneBody>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    platform
        .set_database_password(&project, body.password.as_deref())
        .await?;
    let reference = platform.reference_of(&project);
    platform
        .audit(
            &operator,
            Some(&reference),
            "database.password",
            Value::Null,
        )
        .await;
    Ok(Json(DoneBody {
        message: "Successfully updated password",
    }))
}

/// `POST /platform/projects/{ref}/database/reset`.
pub(super) async fn reset(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<DoneBody>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    platform.reset_database(&project).await?;
    let reference = platform.reference_of(&project);
    platform
        .audit(&operator, Some(&reference), "database.reset", Value::Null)
        .await;
    Ok(Json(DoneBody { message: "ok" }))
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MigrationBody {
    version: String,
    name: Option<String>,
}

/// `GET /v1/projects/{ref}/database/migrations`, `GET /platform/projects/{ref}/migrations`.
pub(super) async fn history(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<MigrationBody>>, PlatformError> {
    let applied = platform
        .applied_migrations(&operator.project_by_name(&platform, &text)?)
        .await?;
    let bodies = applied.into_iter().map(|migration| MigrationBody {
        version: migration.version,
        name: migration.name,
    });
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
    let project = operator.project_by_name(&platform, &text)?;
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
    audit_migration(&platform, &operator, &project, &file).await;
    // An empty chunked body makes the MCP client fail (F24).
    Ok(Json(Vec::new()))
}

fn stamp(at: OffsetDateTime) -> Result<String, PlatformError> {
    at.format(format_description!(
        "[year][month][day][hour][minute][second]"
    ))
    .map_err(PlatformError::caused_by)
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MigrationRequest")]
pub(super) struct FileBody {
    file_name: String,
    sql: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AppliedBody {
    version: String,
    notices: Vec<String>,
}

/// `POST /platform/projects/{ref}/migrations`: one file of `supabase/migrations/`.
pub(super) async fn apply_file(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<FileBody>,
) -> Result<(StatusCode, Json<AppliedBody>), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let file = MigrationFile::new(&body.file_name, body.sql)
        .map_err(|error| PlatformError::Invalid(error.to_string()))?;
    let notices = platform.apply_migration(&project, &file).await?;
    audit_migration(&platform, &operator, &project, &file).await;
    Ok((
        StatusCode::CREATED,
        Json(AppliedBody {
            version: file.version,
            notices,
        }),
    ))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SeedRequest")]
pub(super) struct SeedBody {
    path: String,
    sql: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SeedBody")]
pub(super) struct SeededBody {
    /// `ran`, `known` or `changed`.
    outcome: &'static str,
}

/// `POST /platform/projects/{ref}/seed`: one file of `db.seed.sql_paths`.
pub(super) async fn seed(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<SeedBody>,
) -> Result<Json<SeededBody>, PlatformError> {
    let seed = SeedFile {
        path: body.path,
        sql: body.sql,
    };
    let outcome = match platform
        .run_seed(&operator.project_by_name(&platform, &text)?, &seed)
        .await?
    {
        SeedOutcome::Ran => "ran",
        SeedOutcome::Known => "known",
        SeedOutcome::Changed => "changed",
    };
    Ok(Json(SeededBody { outcome }))
}

async fn audit_migration(
    platform: &Platform,
    operator: &Operator,
    project: &plinth_project::ProjectName,
    file: &MigrationFile,
) {
    let target = platform.reference_of(project);
    let details = json!({ "file": file.to_string() });
    platform
        .audit(operator, Some(&target), "migration.apply", details)
        .await;
}
