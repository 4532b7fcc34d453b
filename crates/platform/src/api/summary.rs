//! `GET /platform/projects/summary` (console contract N30).

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Operator, api_keys::rfc3339};
use crate::{Platform, PlatformError, projects::ProjectSummary};

/// A project in the list.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectSummaryBody {
    r#ref: String,
    name: String,
    organization_slug: String,
    region: String,
    status: &'static str,
    created_at: String,
    /// Whether it has a PostgreSQL server of its own.
    is_isolated: bool,
    /// The project that it is a branch of.
    parent_project_ref: Option<String>,
    branches: i64,
    /// As of a minute ago or so; null while it is not known.
    database_bytes: Option<i64>,
    /// Requests of the last 24 hours, by hour, the current one last.
    requests_24h: Vec<u64>,
    /// Of these, those that ended with a status of 500 or more.
    errors: u64,
    /// The latest request, within what the log knows.
    last_activity: Option<String>,
}

impl From<ProjectSummary> for ProjectSummaryBody {
    fn from(summary: ProjectSummary) -> Self {
        let traffic = summary.traffic.as_ref();
        let row = summary.row;
        Self {
            r#ref: row.reference.to_string(),
            name: row.name,
            organization_slug: row.organization,
            region: row.region_label,
            status: row.status.as_str(),
            created_at: rfc3339(row.created_at),
            is_isolated: row.server.is_isolated(),
            parent_project_ref: row.parent.map(|parent| parent.to_string()),
            branches: summary.branches,
            database_bytes: summary.database_bytes,
            requests_24h: traffic.map_or_else(|| vec![0; 24], |traffic| traffic.requests.to_vec()),
            errors: traffic.map_or(0, |traffic| traffic.errors),
            last_activity: traffic.map(|traffic| traffic.latest.to_string()),
        }
    }
}

/// All projects that the operator may see, in one answer.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Vec<ProjectSummaryBody>>, PlatformError> {
    let summaries = platform.summarize_projects(operator.is_owner()).await?;
    let visible = summaries
        .into_iter()
        .filter(|summary| operator.can_access(&summary.row.reference));
    Ok(Json(visible.map(ProjectSummaryBody::from).collect()))
}
