//! `/platform/projects/{ref}/snippets`: SQL that operators keep (console contract N75).

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use plinth_project::{DatabaseAccess, ProjectRef};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Params, Segments},
};
use crate::{
    Platform, PlatformError,
    snippets::{Snippet, SnippetContent, SnippetFilter, Visibility, no_snippet},
};

const MAX_LIMIT: i64 = 200;

/// A snippet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SnippetBody {
    id: Uuid,
    name: String,
    description: String,
    /// Where it is shown; parts of the path are separated by `/`.
    folder: String,
    visibility: Visibility,
    /// Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<String>,
    /// Whether the operator has marked it.
    favorite: bool,
    /// To be sent with a change.
    version: i64,
    owner: String,
    created_at: String,
    updated_at: String,
    updated_by: String,
}

impl SnippetBody {
    fn new(snippet: Snippet, with_sql: bool) -> Self {
        Self {
            id: snippet.id,
            name: snippet.name,
            description: snippet.description,
            folder: snippet.folder,
            visibility: snippet.visibility,
            sql: with_sql.then_some(snippet.sql),
            favorite: snippet.is_favorite,
            version: snippet.version,
            owner: snippet.owner,
            created_at: rfc3339(snippet.created_at),
            updated_at: rfc3339(snippet.updated_at),
            updated_by: snippet.updated_by,
        }
    }
}

/// Which snippets are listed.
#[derive(Debug, Deserialize)]
pub(super) struct ListParams {
    /// Words of their names, descriptions and SQL.
    #[serde(default)]
    q: Option<String>,
    /// Their folder.
    #[serde(default)]
    folder: Option<String>,
    /// Whether they are marked.
    #[serde(default)]
    favorite: Option<bool>,
    /// Who sees them.
    #[serde(default)]
    visibility: Option<Visibility>,
    /// `next` of the page before.
    #[serde(default)]
    cursor: Option<String>,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Option<i64>,
}

/// Snippets of a project.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SnippetList {
    /// By name, without their SQL.
    snippets: Vec<SnippetBody>,
    /// Cursor of the next page.
    next: Option<String>,
}

/// A new snippet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CreateBody {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    visibility: Visibility,
    sql: String,
    #[serde(default)]
    favorite: bool,
}

/// A change; what is absent stays.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChangeBody {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    folder: Option<String>,
    #[serde(default)]
    visibility: Option<Visibility>,
    #[serde(default)]
    sql: Option<String>,
    #[serde(default)]
    favorite: Option<bool>,
    /// The version that was changed, unless `If-Match` has it.
    #[serde(default)]
    version: Option<i64>,
}

impl ChangeBody {
    fn changes_content(&self) -> bool {
        self.name.is_some()
            || self.description.is_some()
            || self.folder.is_some()
            || self.visibility.is_some()
            || self.sql.is_some()
    }

    fn apply_to(self, content: &mut SnippetContent) {
        let Self {
            name,
            description,
            folder,
            visibility,
            sql,
            ..
        } = self;
        let texts = [
            (&mut content.name, name),
            (&mut content.description, description),
            (&mut content.folder, folder),
            (&mut content.sql, sql),
        ];
        for (old, new) in texts {
            if let Some(new) = new {
                *old = new;
            }
        }
        content.visibility = visibility.unwrap_or(content.visibility);
    }
}

/// `GET …/snippets`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<ListParams>,
) -> Result<Json<SnippetList>, PlatformError> {
    let project = project(&platform, &operator, &text).await?;
    let limit = limit(params.limit)?;
    let offset = offset(params.cursor.as_deref())?;
    let filter = SnippetFilter {
        projects: vec![project.to_string()],
        words: searched(params.q)?,
        folder: params.folder,
        is_favorite: params.favorite,
        visibility: params.visibility,
        by_name: true,
        descending: false,
        limit: limit + 1,
        offset,
    };
    let mut snippets = platform.list_snippets(operator.name(), &filter).await?;
    let next = next_cursor(&mut snippets, limit, offset);
    let snippets = snippets.into_iter();
    Ok(Json(SnippetList {
        snippets: snippets.map(|item| SnippetBody::new(item, false)).collect(),
        next,
    }))
}

/// `POST …/snippets`.
pub(super) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CreateBody>,
) -> Result<Response, PlatformError> {
    let project = project(&platform, &operator, &text).await?;
    let content = SnippetContent {
        name: body.name,
        description: body.description,
        folder: body.folder,
        visibility: body.visibility,
        sql: body.sql,
    };
    require_shared_access(&operator, &project, body.visibility)?;
    let name = operator.name();
    let id = platform
        .insert_snippet(name, project.as_str(), &content)
        .await?;
    if body.favorite {
        platform.mark_snippet(name, id, true).await?;
    }
    audit(&platform, &operator, &project, "snippet.create", id).await;
    let snippet = load(&platform, &operator, &project, &id.to_string()).await?;
    Ok(respond(StatusCode::CREATED, snippet))
}

/// `GET …/snippets/{id}`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Response, PlatformError> {
    let project = project(&platform, &operator, &text).await?;
    let snippet = load(&platform, &operator, &project, &id).await?;
    Ok(respond(StatusCode::OK, snippet))
}

/// `PATCH …/snippets/{id}`: 412 if somebody else has saved it since.
pub(super) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<ChangeBody>,
) -> Result<Response, PlatformError> {
    let project = project(&platform, &operator, &text).await?;
    let snippet = load(&platform, &operator, &project, &id).await?;
    if let Some(is_favorite) = body.favorite {
        platform
            .mark_snippet(operator.name(), snippet.id, is_favorite)
            .await?;
    }
    if body.changes_content() {
        require_change(&operator, &project, &snippet)?;
        let version = body.version.or_else(|| matched_version(&headers));
        let version = version.ok_or_else(|| {
            PlatformError::Invalid("`version` says which version was changed".to_owned())
        })?;
        let visibility = body.visibility.unwrap_or(snippet.visibility);
        if visibility != snippet.visibility {
            require_shared_access(&operator, &project, Visibility::Project)?;
            if snippet.owner != operator.name() {
                return Err(PlatformError::Forbidden(
                    "Only its owner may make a snippet private".to_owned(),
                ));
            }
        }
        let mut content = snippet.content();
        body.apply_to(&mut content);
        platform
            .update_snippet(operator.name(), snippet.id, version, &content)
            .await?;
        audit(&platform, &operator, &project, "snippet.update", snippet.id).await;
    }
    let snippet = load(&platform, &operator, &project, &id).await?;
    Ok(respond(StatusCode::OK, snippet))
}

/// `DELETE …/snippets/{id}`; the response has it, so that it can be saved again.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Response, PlatformError> {
    let project = project(&platform, &operator, &text).await?;
    let snippet = load(&platform, &operator, &project, &id).await?;
    require_change(&operator, &project, &snippet)?;
    platform.delete_snippet(snippet.id).await?;
    audit(&platform, &operator, &project, "snippet.delete", snippet.id).await;
    Ok(respond(StatusCode::OK, snippet))
}

fn respond(status: StatusCode, snippet: Snippet) -> Response {
    let etag = format!("\"{}\"", snippet.version);
    let body = SnippetBody::new(snippet, true);
    (status, [(header::ETAG, etag)], Json(body)).into_response()
}

fn matched_version(headers: &HeaderMap) -> Option<i64> {
    let value = headers.get(header::IF_MATCH)?.to_str().ok()?;
    value.trim().trim_matches('"').parse().ok()
}

async fn project(
    platform: &Platform,
    operator: &Operator,
    text: &str,
) -> Result<ProjectRef, PlatformError> {
    let name = operator.project_by_name(platform, text)?;
    Ok(platform.load_project(&name).await?.reference)
}

async fn load(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectRef,
    id: &str,
) -> Result<Snippet, PlatformError> {
    let uuid = id.parse().map_err(|_| no_snippet(id))?;
    let found = platform.find_snippet(operator.name(), uuid).await?;
    found
        .filter(|snippet| snippet.project == project.as_str())
        .ok_or_else(|| no_snippet(id))
}

/// What all see is changed by those who may change the project.
fn require_shared_access(
    operator: &Operator,
    project: &ProjectRef,
    visibility: Visibility,
) -> Result<(), PlatformError> {
    let may_share = operator.database_access(project) == DatabaseAccess::Owner;
    if visibility == Visibility::Private || may_share {
        return Ok(());
    }
    Err(PlatformError::Forbidden(
        "Your role keeps snippets for itself only".to_owned(),
    ))
}

fn require_change(
    operator: &Operator,
    project: &ProjectRef,
    snippet: &Snippet,
) -> Result<(), PlatformError> {
    if snippet.owner == operator.name() {
        return Ok(());
    }
    require_shared_access(operator, project, snippet.visibility)
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &ProjectRef,
    action: &str,
    id: Uuid,
) {
    let details = json!({ "snippet": id });
    platform
        .audit(operator, Some(project), action, details)
        .await;
}

pub(super) fn limit(limit: Option<i64>) -> Result<i64, PlatformError> {
    let limit = limit.unwrap_or(100);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(PlatformError::Invalid(format!(
            "`limit` is between 1 and {MAX_LIMIT}"
        )))
    }
}

pub(super) fn offset(cursor: Option<&str>) -> Result<i64, PlatformError> {
    let offset = cursor.map_or(Ok(0), str::parse);
    match offset {
        Ok(offset) if offset >= 0 => Ok(offset),
        _ => Err(PlatformError::Invalid("This is no cursor".to_owned())),
    }
}

pub(super) fn next_cursor(snippets: &mut Vec<Snippet>, limit: i64, offset: i64) -> Option<String> {
    let has_more = snippets.len() as i64 > limit;
    snippets.truncate(limit as usize);
    has_more.then(|| (offset + limit).to_string())
}

fn searched(words: Option<String>) -> Result<Option<String>, PlatformError> {
    match words {
        Some(words) if words.contains('\0') => Err(PlatformError::Invalid(
            "`q` contains a NUL character".to_owned(),
        )),
        words => Ok(words.filter(|words| !words.trim().is_empty())),
    }
}
