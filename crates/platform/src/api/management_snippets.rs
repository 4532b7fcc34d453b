//! `/v1/snippets`: snippets as the Management API has them, to read (console contract §2.4.8).

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Params, Segments},
    snippets::{limit, next_cursor, offset},
};
use crate::{
    Platform, PlatformError,
    snippets::{Snippet, SnippetFilter, Visibility, no_snippet},
};

/// Which snippets the Management API lists.
#[derive(Debug, Deserialize)]
pub(super) struct ManagementParams {
    #[serde(default)]
    project_ref: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<String>,
    /// `name` or `inserted_at`.
    #[serde(default)]
    sort_by: Option<String>,
    /// `asc` or `desc`.
    #[serde(default)]
    sort_order: Option<String>,
}

/// A snippet as the Management API has it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ManagementSnippet {
    id: Uuid,
    inserted_at: String,
    updated_at: String,
    r#type: String,
    visibility: String,
    name: String,
    description: Option<String>,
    project: ManagementProject,
    owner: ManagementUser,
    updated_by: ManagementUser,
    favorite: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ManagementContent>,
}

/// The project of a snippet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ManagementProject {
    /// Its ref.
    id: String,
    name: String,
}

/// An operator.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ManagementUser {
    id: String,
    username: String,
}

/// What a snippet says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ManagementContent {
    schema_version: String,
    sql: String,
}

/// A page of snippets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ManagementList {
    data: Vec<ManagementSnippet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// `GET /v1/snippets`: all that the operator sees, or those of one project.
pub(super) async fn list_all(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<ManagementParams>,
) -> Result<Json<ManagementList>, PlatformError> {
    let projects = match &params.project_ref {
        Some(text) => {
            let name = operator.project_by_ref(&platform, text)?;
            vec![platform.load_project(&name).await?.reference.to_string()]
        }
        None => {
            let rows = platform.list_projects(operator.is_owner()).await?;
            let own = rows.iter().map(|row| &row.reference);
            let own = own.filter(|reference| operator.can_access(reference));
            own.map(ToString::to_string).collect()
        }
    };
    let number = params.limit.as_deref().map(str::parse).transpose();
    let limit =
        limit(number.map_err(|_| PlatformError::Invalid("`limit` is a number".to_owned()))?)?;
    let offset = offset(params.cursor.as_deref())?;
    let filter = SnippetFilter {
        projects,
        by_name: params.sort_by.as_deref() == Some("name"),
        descending: params.sort_order.as_deref() != Some("asc"),
        limit: limit + 1,
        offset,
        ..SnippetFilter::default()
    };
    let mut snippets = platform.list_snippets(operator.name(), &filter).await?;
    let cursor = next_cursor(&mut snippets, limit, offset);
    let data = snippets
        .into_iter()
        .map(|snippet| management_snippet(snippet, false));
    Ok(Json(ManagementList {
        data: data.collect(),
        cursor,
    }))
}

/// `GET /v1/snippets/{id}`.
pub(super) async fn show_any(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(id): Segments<String>,
) -> Result<Json<ManagementSnippet>, PlatformError> {
    let uuid = id.parse().map_err(|_| no_snippet(&id))?;
    let found = platform.find_snippet(operator.name(), uuid).await?;
    let snippet = found.ok_or_else(|| no_snippet(&id))?;
    // Whoever may not see the project learns nothing of the snippet.
    let project = operator.project_by_ref(&platform, &snippet.project);
    project.map_err(|_| no_snippet(&id))?;
    Ok(Json(management_snippet(snippet, true)))
}

fn management_snippet(snippet: Snippet, with_content: bool) -> ManagementSnippet {
    let user = |name: String| ManagementUser {
        id: name.clone(),
        username: name,
    };
    ManagementSnippet {
        id: snippet.id,
        inserted_at: rfc3339(snippet.created_at),
        updated_at: rfc3339(snippet.updated_at),
        r#type: "sql".to_owned(),
        visibility: match snippet.visibility {
            Visibility::Private => "user".to_owned(),
            Visibility::Project => "project".to_owned(),
        },
        name: snippet.name,
        description: Some(snippet.description).filter(|text| !text.is_empty()),
        project: ManagementProject {
            id: snippet.project.clone(),
            name: snippet.project,
        },
        owner: user(snippet.owner),
        updated_by: user(snippet.updated_by),
        favorite: snippet.is_favorite,
        content: with_content.then_some(ManagementContent {
            schema_version: "1.0".to_owned(),
            sql: snippet.sql,
        }),
    }
}
