//! Profile and organizations, which the official tools request first.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{
    Organization, Platform, PlatformError,
    members::{MemberScope, Role},
};

/// The owner has no user account.
const OWNER_ID: Uuid = Uuid::nil();
const OWNER_EMAIL: &str = "owner@localhost";

/// `GET /v1/profile`.
pub(super) async fn profile(operator: Operator) -> Json<Value> {
    let user = operator.user();
    Json(json!({
        "gotrue_id": user.map_or(OWNER_ID, |user| user.id),
        "primary_email": user.map_or(OWNER_EMAIL, |user| user.email.as_str()),
        "username": user.map_or(operator.name(), |user| {
            user.name.as_deref().unwrap_or(&user.email)
        }),
    }))
}

/// `GET /v1/organizations`.
pub(super) async fn organizations(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<Value>>, PlatformError> {
    let organizations = platform.list_organizations().await?;
    let visible = organizations
        .iter()
        .filter(|organization| operator.roles().sees_organization(&organization.slug));
    Ok(Json(visible.map(organization_body).collect()))
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

/// `GET /v1/organizations/{slug}/members`. Whoever runs the server is the owner while nobody else is.
pub(super) async fn members(
    _operator: Operator,
    State(platform): State<Platform>,
    Segments(slug): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    let slug = platform.load_organization(&slug).await?.slug;
    let members = platform
        .list_members(&MemberScope::Organization(slug))
        .await?;
    let bodies: Vec<Value> = members
        .iter()
        .map(|member| {
            let email = member.email.as_deref().unwrap_or_default();
            json!({
                "user_id": member.user_id,
                "user_name": member.name.as_deref().unwrap_or(email),
                "email": email,
                "role_name": role_name(member.role),
                "mfa_enabled": member.has_second_factor,
            })
        })
        .collect();
    if !bodies.is_empty() {
        return Ok(Json(Value::Array(bodies)));
    }
    Ok(Json(json!([{
        "user_id": OWNER_ID,
        "user_name": "owner",
        "email": OWNER_EMAIL,
        "role_name": "Owner",
        "mfa_enabled": false,
    }])))
}

/// As the Management API spells them.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Owner => "Owner",
        Role::Admin => "Administrator",
        Role::Developer => "Developer",
        Role::Editor => "Editor",
        Role::Reader => "Read-only",
    }
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
