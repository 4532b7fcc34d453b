//! Profile and organizations, which the official tools request first.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{Organization, Platform, PlatformError};

/// The owner has no user account.
const OWNER_ID: Uuid = Uuid::nil();
const OWNER_EMAIL: &str = "owner@localhost";

/// `GET /v1/profile`.
pub(super) async fn profile(operator: Operator) -> Json<Value> {
    Json(json!({
        "gotrue_id": OWNER_ID,
        "primary_email": OWNER_EMAIL,
        "username": operator.name(),
    }))
}

/// `GET /v1/organizations`.
pub(super) async fn organizations(
    _operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let organizations = platform.list_organizations().await?;
    Ok(Json(organizations.iter().map(organization_body).collect()))
}

#[derive(Deserialize)]
pub(super) struct OrganizationRequest {
    name: String,
}

/// `POST /v1/organizations`.
pub(super) async fn create_organization(
    operator: Operator,
    State(platform): State<Platform>,
    Body(body): Body<OrganizationRequest>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let created = platform.create_organization(&body.name).await?;
    let response = organization_body(&created);
    platform
        .audit(&operator, None, "organization.create", response.clone())
        .await;
    Ok((StatusCode::CREATED, Json(response)))
}

fn organization_body(organization: &Organization) -> Value {
    let Organization { slug, name } = organization;
    json!({ "id": slug, "slug": slug, "name": name })
}

/// `GET /v1/organizations/{slug}`: with a free plan the tools do not ask about costs.
pub(super) async fn organization(
    _operator: Operator,
    State(platform): State<Platform>,
    Segments(slug): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let Organization { slug, name } = platform.load_organization(&slug).await?;
    Ok(Json(json!({
        "id": slug,
        "name": name,
        "plan": "free",
        "opt_in_tags": [],
        "allowed_release_channels": ["ga"],
    })))
}

/// `GET /v1/organizations/{slug}/members`: the owner.
pub(super) async fn members(
    _operator: Operator,
    State(platform): State<Platform>,
    Segments(slug): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    platform.load_organization(&slug).await?;
    Ok(Json(json!([{
        "user_id": OWNER_ID,
        "user_name": "owner",
        "email": OWNER_EMAIL,
        "role_name": "Owner",
        "mfa_enabled": false,
    }])))
}

/// `GET /v1/projects/{ref}/billing/addons` (F21).
pub(super) async fn addons(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    platform.load_project(&project).await?;
    Ok(Json(
        json!({ "selected_addons": [], "available_addons": [] }),
    ))
}

/// `POST /v1/projects/{ref}/network-bans/retrieve` (F21).
pub(super) async fn network_bans(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    platform.load_project(&project).await?;
    Ok((
        StatusCode::CREATED,
        Json(json!({ "banned_ipv4_addresses": [] })),
    ))
}
