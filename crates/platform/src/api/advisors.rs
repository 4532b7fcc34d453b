//! The advisors (console contract §2.4.9, N160).

use axum::{Json, extract::State, http::StatusCode};
use plinth_advisor::{Category, Lint};
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    Operator,
    api_keys::rfc3339,
    body::{Body, Params, Segments},
};
use crate::{
    Platform, PlatformError,
    advisors::{FindingRow, Ignore, IgnoreChanges, NewIgnore},
};

/// The answer of the Management API.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LintsBody {
    lints: Vec<Lint>,
}

/// `GET /v1/projects/{ref}/advisors/security`.
pub(super) async fn security(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<LintsBody>, PlatformError> {
    lints(&operator, &platform, &text, Category::Security).await
}

/// `GET /v1/projects/{ref}/advisors/performance`.
pub(super) async fn performance(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<LintsBody>, PlatformError> {
    lints(&operator, &platform, &text, Category::Performance).await
}

/// What operators ignore is left out: programs have no place to show that it is known.
async fn lints(
    operator: &Operator,
    platform: &Platform,
    text: &str,
    category: Category,
) -> Result<Json<LintsBody>, PlatformError> {
    let project = operator.project_by_ref(platform, text)?;
    let report = platform.advise(&project, Some(category)).await?;
    let ignores = platform.list_ignores(&project).await?;
    let now = OffsetDateTime::now_utc();
    let mut lints = report.lints;
    lints.retain(|lint| !ignores.iter().any(|ignore| ignore.covers(lint, now)));
    Ok(Json(LintsBody { lints }))
}

#[derive(Debug, Deserialize)]
pub(super) struct AdvisorParams {
    /// `security` or `performance`; both when absent.
    #[serde(default)]
    category: Option<CategoryName>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CategoryName {
    Security,
    Performance,
}

/// The answer for the console.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AdvisorsBody {
    findings: Vec<FindingBody>,
    not_run: Vec<NotRunBody>,
    ran_at: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct FindingBody {
    #[serde(flatten)]
    lint: Lint,
    first_seen_at: Option<String>,
    /// Why it is ignored, if it is.
    ignored: Option<IgnoreBody>,
}

#[derive(Debug, Serialize, Deserialize)]
struct NotRunBody {
    name: String,
    title: String,
    category: Category,
    reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct IgnoreBody {
    id: Uuid,
    name: String,
    cache_key: Option<String>,
    reason: String,
    expires_at: Option<String>,
    created_by: String,
    created_at: String,
}

impl From<&Ignore> for IgnoreBody {
    fn from(ignore: &Ignore) -> Self {
        Self {
            id: ignore.id,
            name: ignore.name.clone(),
            cache_key: ignore.cache_key.clone(),
            reason: ignore.reason.clone(),
            expires_at: ignore.expires_at.map(rfc3339),
            created_by: ignore.created_by.clone(),
            created_at: rfc3339(ignore.created_at),
        }
    }
}

/// `GET /platform/projects/{ref}/advisors`: findings with what fixes them, those that are ignored
/// included, and the checks that were not run.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<AdvisorParams>,
) -> Result<Json<AdvisorsBody>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let category = params.category.map(|category| match category {
        CategoryName::Security => Category::Security,
        CategoryName::Performance => Category::Performance,
    });
    let report = platform.advise(&project, category).await?;
    let ignores = platform.list_ignores(&project).await?;
    let mut seen = platform.open_findings(&project).await?;
    let now = OffsetDateTime::now_utc();
    let finding = |lint: Lint| FindingBody {
        first_seen_at: seen.remove(&lint.cache_key).map(rfc3339),
        ignored: ignores
            .iter()
            .find(|ignore| ignore.covers(&lint, now))
            .map(IgnoreBody::from),
        lint,
    };
    Ok(Json(AdvisorsBody {
        findings: report.lints.into_iter().map(finding).collect(),
        not_run: report
            .not_run
            .into_iter()
            .map(|not_run| NotRunBody {
                name: not_run.name,
                title: not_run.title,
                category: not_run.category,
                reason: not_run.reason,
            })
            .collect(),
        ran_at: rfc3339(now),
    }))
}

/// A finding of some run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HistoryBody {
    name: String,
    title: String,
    level: String,
    detail: String,
    cache_key: String,
    first_seen_at: String,
    last_seen_at: String,
    resolved_at: Option<String>,
}

impl From<FindingRow> for HistoryBody {
    fn from(row: FindingRow) -> Self {
        Self {
            name: row.name,
            title: row.title,
            level: row.level,
            detail: row.detail,
            cache_key: row.cache_key,
            first_seen_at: rfc3339(row.seen.first_at),
            last_seen_at: rfc3339(row.seen.last_at),
            resolved_at: row.seen.resolved_at.map(rfc3339),
        }
    }
}

/// `GET /platform/projects/{ref}/advisors/history`.
pub(super) async fn history(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<HistoryBody>>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let rows = platform.finding_history(&project).await?;
    Ok(Json(rows.into_iter().map(HistoryBody::from).collect()))
}

/// `GET /platform/projects/{ref}/advisors/ignores`.
pub(super) async fn list_ignores(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<IgnoreBody>>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let ignores = platform.list_ignores(&project).await?;
    Ok(Json(ignores.iter().map(IgnoreBody::from).collect()))
}

#[derive(Debug, Deserialize)]
pub(super) struct NewIgnoreBody {
    /// The check.
    name: String,
    /// One finding of it; all when absent.
    #[serde(default)]
    cache_key: Option<String>,
    reason: String,
    /// RFC 3339; without an end when absent.
    #[serde(default)]
    expires_at: Option<String>,
}

/// `POST /platform/projects/{ref}/advisors/ignores`.
pub(super) async fn create_ignore(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<NewIgnoreBody>,
) -> Result<(StatusCode, Json<IgnoreBody>), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let new = NewIgnore {
        name: body.name,
        cache_key: body.cache_key,
        reason: body.reason,
        expires_at: body.expires_at.as_deref().map(time_of).transpose()?,
    };
    let ignore = platform
        .create_ignore(&project, &new, operator.name())
        .await?;
    audit(&platform, &operator, &project, "advisor.ignore", &ignore).await;
    Ok((StatusCode::CREATED, Json(IgnoreBody::from(&ignore))))
}

#[derive(Debug, Deserialize)]
pub(super) struct IgnoreChangesBody {
    #[serde(default)]
    reason: Option<String>,
    /// RFC 3339, or an empty text for no end.
    #[serde(default)]
    expires_at: Option<String>,
}

/// `PATCH /platform/projects/{ref}/advisors/ignores/{id}`.
pub(super) async fn update_ignore(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
    Body(body): Body<IgnoreChangesBody>,
) -> Result<Json<IgnoreBody>, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let expires_at = match body.expires_at.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(time_of(text)?)),
    };
    let changes = IgnoreChanges {
        reason: body.reason,
        expires_at,
    };
    let ignore = platform
        .update_ignore(&project, parse_id(&id)?, &changes)
        .await?;
    audit(&platform, &operator, &project, "advisor.ignore", &ignore).await;
    Ok(Json(IgnoreBody::from(&ignore)))
}

/// `DELETE /platform/projects/{ref}/advisors/ignores/{id}`.
pub(super) async fn delete_ignore(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<StatusCode, PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let ignore = platform.delete_ignore(&project, parse_id(&id)?).await?;
    audit(&platform, &operator, &project, "advisor.notice", &ignore).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn audit(
    platform: &Platform,
    operator: &Operator,
    project: &plinth_project::ProjectName,
    action: &str,
    ignore: &Ignore,
) {
    let details = json!({
        "name": ignore.name,
        "cache_key": ignore.cache_key,
        "reason": ignore.reason,
    });
    let reference = platform.reference_of(project);
    platform
        .audit(operator, Some(&reference), action, details)
        .await;
}

fn parse_id(text: &str) -> Result<Uuid, PlatformError> {
    text.parse()
        .map_err(|_| PlatformError::NotFound(format!("Nothing is ignored under {text}")))
}

fn time_of(text: &str) -> Result<OffsetDateTime, PlatformError> {
    plinth_db::parse_time(text).ok_or_else(|| {
        PlatformError::Invalid(format!(
            "expires_at: {text:?} is no time, as in 2026-01-31T12:00:00Z"
        ))
    })
}
