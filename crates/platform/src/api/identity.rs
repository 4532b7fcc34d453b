//! Who one is, for the official tools' first questions.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::Operator;
use crate::{Platform, PlatformError};

/// `GET /v1/profile`.
pub(super) async fn profile(operator: Operator) -> Json<Value> {
    Json(json!({
        "gotrue_id": uuid::Uuid::nil(),
        "primary_email": "owner@localhost",
        "username": operator.name(),
    }))
}

/// `GET /v1/organizations`.
pub(super) async fn organizations(
    _operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let rows = platform
        .tables()
        .await?
        .query("select slug, name from platform.organizations order by slug", &[])
        .await?;
    let bodies = rows.iter().map(|row| {
        let slug: String = row.get(0);
        json!({ "id": slug, "slug": slug, "name": row.get::<_, String>(1) })
    });
    Ok(Json(bodies.collect()))
}
