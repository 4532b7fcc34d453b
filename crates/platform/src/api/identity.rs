//! Who one is, for the official tools' first questions.

use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Value, json};

use super::{Operator, body::Segments};
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
        .query(
            "select slug, name from platform.organizations order by slug",
            &[],
        )
        .await?;
    let bodies = rows.iter().map(|row| {
        let slug: String = row.get(0);
        json!({ "id": slug, "slug": slug, "name": row.get::<_, String>(1) })
    });
    Ok(Json(bodies.collect()))
}

/// `GET /v1/organizations/{slug}`: a free plan makes the tools ask for no payment.
pub(super) async fn organization(
    _operator: Operator,
    State(platform): State<Platform>,
    Segments(slug): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let sql = "select name from platform.organizations where slug = $1";
    let row = platform.tables().await?.query_opt(sql, &[&slug]).await?;
    let name: String = match row {
        Some(row) => row.get(0),
        None => {
            return Err(PlatformError::NotFound(format!(
                "There is no organization {slug}"
            )));
        }
    };
    Ok(Json(json!({
        "id": slug,
        "name": name,
        "plan": "free",
        "opt_in_tags": [],
        "allowed_release_channels": ["ga"],
    })))
}

/// `GET /v1/organizations/{slug}/entitlements`: nothing is behind a plan here (F21).
pub(super) async fn entitlements(_operator: Operator) -> Json<Value> {
    Json(json!({ "entitlements": [] }))
}

/// `GET /v1/projects/{ref}/billing/addons` (F21).
pub(super) async fn addons(_operator: Operator) -> Json<Value> {
    Json(json!({ "selected_addons": [], "available_addons": [] }))
}

/// `POST /v1/projects/{ref}/network-bans/retrieve` (F21).
pub(super) async fn network_bans(_operator: Operator) -> (StatusCode, Json<Value>) {
    (
        StatusCode::CREATED,
        Json(json!({ "banned_ipv4_addresses": [] })),
    )
}
