//! `/v1/projects/{ref}/postgrest`, `…/config/auth`, `…/config/storage`: the settings of a service, as the
//! Management API writes them (console contract §2.4.5).

use axum::{Json, extract::State};
use plinth_settings::{Settings, keys};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Operator,
    body::{Body, Segments},
    config::audit,
};
use crate::{
    Platform, PlatformError,
    config::{ChangeRequest, ProjectConfig, hosted},
};

async fn load(
    operator: &Operator,
    platform: &Platform,
    text: &str,
) -> Result<ProjectConfig, PlatformError> {
    let project = operator.project_by_ref(platform, text)?;
    platform.load_config(&project).await
}

async fn store(
    operator: &Operator,
    platform: &Platform,
    text: &str,
    values: Map<String, Value>,
) -> Result<ProjectConfig, PlatformError> {
    let project = operator.project_by_ref(platform, text)?;
    let request = ChangeRequest {
        values,
        version: None,
        may_change_limits: operator.is_owner(),
    };
    let (config, changes) = platform.change_config(&project, &request).await?;
    audit(platform, operator, &config, &changes).await;
    Ok(config)
}

/// `GET …/postgrest`.
pub(super) async fn show_rest(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let config = load(&operator, &platform, &text).await?;
    Ok(Json(rest_body(&config.settings)))
}

/// The pool has the same size for all projects.
fn rest_body(settings: &Settings) -> Value {
    json!({
        "db_schema": settings.get(keys::api::SCHEMAS).join(","),
        "db_extra_search_path": settings.get(keys::api::EXTRA_SEARCH_PATH).join(","),
        "max_rows": settings.get(keys::api::MAX_ROWS),
        "db_pool": null,
    })
}

#[derive(Deserialize)]
pub(super) struct RestRequest {
    #[serde(default)]
    db_schema: Option<String>,
    #[serde(default)]
    db_extra_search_path: Option<String>,
    #[serde(default)]
    max_rows: Option<i64>,
}

/// `PATCH …/postgrest`.
pub(super) async fn change_rest(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<RestRequest>,
) -> Result<Json<Value>, PlatformError> {
    let list = |text: String| -> Value {
        let items = text.split(',').map(str::trim);
        items.filter(|item| !item.is_empty()).collect()
    };
    let values = [
        ("api.schemas", body.db_schema.map(list)),
        ("api.extra_search_path", body.db_extra_search_path.map(list)),
        ("api.max_rows", body.max_rows.map(Value::from)),
    ];
    let values = given(values);
    let config = store(&operator, &platform, &text, values).await?;
    Ok(Json(rest_body(&config.settings)))
}

fn given<const N: usize>(values: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let values = values.into_iter();
    values
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// `GET …/config/storage`.
pub(super) async fn show_storage(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let config = load(&operator, &platform, &text).await?;
    Ok(Json(storage_body(&config.settings)))
}

fn storage_body(settings: &Settings) -> Value {
    json!({
        "fileSizeLimit": settings.get(keys::storage::FILE_SIZE_LIMIT),
        "features": {
            "imageTransformation": {
                "enabled": settings.get(keys::storage::IMAGE_TRANSFORMATION_ENABLED),
            },
            "s3Protocol": { "enabled": settings.get(keys::storage::S3_PROTOCOL_ENABLED) },
        },
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StorageRequest {
    #[serde(default)]
    file_size_limit: Option<u64>,
    #[serde(default)]
    features: Option<StorageFeatures>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StorageFeatures {
    #[serde(default)]
    image_transformation: Option<Feature>,
    #[serde(default)]
    s3_protocol: Option<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    enabled: bool,
}

/// `PATCH …/config/storage`.
pub(super) async fn change_storage(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<StorageRequest>,
) -> Result<Json<Value>, PlatformError> {
    let (images, s3) = match body.features {
        Some(features) => (features.image_transformation, features.s3_protocol),
        None => (None, None),
    };
    let enabled = |feature: Option<Feature>| feature.map(|feature| feature.enabled.into());
    let values = given([
        // Sizes are stored as texts with units; a number is one in bytes.
        (
            "storage.file_size_limit",
            body.file_size_limit.map(Value::from),
        ),
        ("storage.image_transformation.enabled", enabled(images)),
        ("storage.s3_protocol.enabled", enabled(s3)),
    ]);
    let config = store(&operator, &platform, &text, values).await?;
    Ok(Json(storage_body(&config.settings)))
}

/// `GET …/config/auth`: secrets masked.
pub(super) async fn show_auth(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Map<String, Value>>, PlatformError> {
    let config = load(&operator, &platform, &text).await?;
    Ok(Json(hosted::render(&config.settings)))
}

/// `PATCH …/config/auth`: a masked secret stays as it is.
pub(super) async fn change_auth(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<Map<String, Value>>,
) -> Result<Json<Map<String, Value>>, PlatformError> {
    operator.project_by_ref(&platform, &text)?;
    let values = hosted::parse(&body)?;
    let config = store(&operator, &platform, &text, values).await?;
    Ok(Json(hosted::render(&config.settings)))
}
