//! `GET /platform/audit`: what operators did, as far as the operator may see it; and its export.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use plinth_project::ProjectRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Operator, api_keys::rfc3339, body::Params};
use crate::{
    Platform, PlatformError,
    audit::{AuditEntry, AuditQuery, AuditVisibility, Change},
    members::{Capability, MemberScope, Role},
};

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;
/// Entries that an export reads at once.
const EXPORT_PAGE: i64 = 1000;

/// A filter.
#[derive(Debug, Default, Deserialize)]
pub(super) struct AuditParams {
    /// A ref or an alias.
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    organization: Option<String>,
    #[serde(default)]
    user: Option<Uuid>,
    /// The beginning of the action, such as `member.`.
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    denied: Option<bool>,
    /// RFC 3339.
    #[serde(default)]
    since: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    cursor: Option<i64>,
    #[serde(default)]
    limit: Option<i64>,
}

impl AuditParams {
    fn to_query(
        &self,
        operator: &Operator,
        platform: &Platform,
    ) -> Result<AuditQuery, PlatformError> {
        let project = non_empty(&self.project).map(|text| operator.project_by_name(platform, text));
        let project = project
            .transpose()?
            .map(|name| platform.reference_of(&name));
        Ok(AuditQuery {
            project,
            organization: non_empty(&self.organization).map(str::to_owned),
            user: self.user,
            action: non_empty(&self.action).map(str::to_owned),
            target: non_empty(&self.target).map(str::to_owned),
            is_denied: self.denied,
            since: parse_time("since", &self.since)?,
            until: parse_time("until", &self.until)?,
            before: self.cursor,
            limit: self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        })
    }
}

fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn parse_time(name: &str, text: &Option<String>) -> Result<Option<OffsetDateTime>, PlatformError> {
    let parsed = non_empty(text).map(|text| {
        plinth_db::parse_time(text).ok_or_else(|| {
            PlatformError::Invalid(format!(
                "{name}: {text:?} is no time, as in 2026-01-31T12:00:00Z"
            ))
        })
    });
    parsed.transpose()
}

/// One action.
#[derive(Debug, Serialize)]
pub(super) struct AuditBody {
    id: i64,
    at: String,
    actor: String,
    user_id: Option<Uuid>,
    /// The name of the access token.
    token: Option<String>,
    project: Option<String>,
    organization: Option<String>,
    action: String,
    target: Option<String>,
    before: Option<Value>,
    after: Option<Value>,
    ip: Option<String>,
    request_id: Option<String>,
    /// Whether it was refused.
    denied: bool,
}

impl From<AuditEntry> for AuditBody {
    fn from(entry: AuditEntry) -> Self {
        Self {
            id: entry.id,
            at: rfc3339(entry.at),
            actor: entry.actor,
            user_id: entry.user_id,
            token: entry.token,
            project: entry.project,
            organization: entry.organization,
            action: entry.action,
            target: entry.target,
            before: entry.before,
            after: entry.after,
            ip: entry.ip,
            request_id: entry.request_id,
            denied: entry.is_denied,
        }
    }
}

/// One page, newest first.
#[derive(Debug, Serialize)]
pub(super) struct AuditPage {
    entries: Vec<AuditBody>,
    /// The cursor of the next page.
    next: Option<i64>,
}

/// Admins of the instance see everything; admins of organizations and projects what concerns those; everybody
/// his own actions. A token that is bound to projects sees nothing else.
async fn visibility(
    operator: &Operator,
    platform: &Platform,
) -> Result<AuditVisibility, PlatformError> {
    let roles = operator.roles();
    let is_admin = |role: Option<Role>| role.is_some_and(|role| role.can(Capability::Admin));
    if operator.sees_instance() && is_admin(roles.on_instance()) {
        return Ok(AuditVisibility::Everything);
    }
    let mut projects = Vec::new();
    for text in operator
        .visible_projects(platform)
        .await?
        .unwrap_or_default()
    {
        if let Ok(project) = text.parse::<ProjectRef>()
            && operator.can(Capability::Admin, &project)
        {
            projects.push(project);
        }
    }
    let is_bound = operator
        .token()
        .is_some_and(|token| token.limits.projects.is_some());
    let organizations = roles.organizations().iter();
    let organizations = organizations.filter(|(_, role)| !is_bound && is_admin(Some(**role)));
    Ok(AuditVisibility::Only {
        projects,
        organizations: organizations.map(|(slug, _)| slug.clone()).collect(),
        user: operator.user_id().filter(|_| !is_bound),
    })
}

/// `GET /platform/audit`.
pub(super) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<AuditParams>,
) -> Result<Json<AuditPage>, PlatformError> {
    let mut query = params.to_query(&operator, &platform)?;
    let page = usize::try_from(query.limit).unwrap_or_default();
    query.limit += 1;
    let visible = visibility(&operator, &platform).await?;
    let mut entries = platform.list_audit(&query, &visible).await?;
    let has_more = entries.len() > page;
    entries.truncate(page);
    let next = entries.last().filter(|_| has_more).map(|entry| entry.id);
    Ok(Json(AuditPage {
        entries: entries.into_iter().map(AuditBody::from).collect(),
        next,
    }))
}

/// `GET /platform/audit/export`: all entries of the filter as NDJSON, newest first.
pub(super) async fn export(
    operator: Operator,
    State(platform): State<Platform>,
    Params(params): Params<AuditParams>,
) -> Result<Response, PlatformError> {
    let mut query = params.to_query(&operator, &platform)?;
    query.limit = EXPORT_PAGE;
    let visible = visibility(&operator, &platform).await?;
    // An error of the first page is still an error of the request.
    let first = platform.list_audit(&query, &visible).await?;
    let entry = Change::new("audit.export").scope(&MemberScope::Instance);
    platform.audit_change(&operator, entry).await;
    let pages_of = platform.clone();
    let pages = stream::unfold(Some((first, query)), move |state| {
        let (platform, visible) = (pages_of.clone(), visible.clone());
        async move {
            let (page, mut query) = state?;
            let last = page.last()?.id;
            query.before = Some(last);
            let is_full = i64::try_from(page.len()) == Ok(EXPORT_PAGE);
            let lines = lines(page);
            if !is_full {
                return Some((Ok(lines), None));
            }
            match platform.list_audit(&query, &visible).await {
                Ok(next) => Some((Ok(lines), Some((next, query)))),
                // The connection breaks off, so that the client does not take it for complete.
                Err(error) => Some((Err(std::io::Error::other(error.to_string())), None)),
            }
        }
    });
    // Ends with an error when the right to it ends, so that it is not taken for complete.
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = is_cut.clone();
    let ended = async move {
        operator.until_token_ends(platform).await;
        cut.store(true, Ordering::Relaxed);
    };
    let end = stream::once(async move {
        if is_cut.load(Ordering::Relaxed) {
            let ended = "the right to read the audit log has ended";
            Err(std::io::Error::other(ended))
        } else {
            Ok(Bytes::new())
        }
    });
    let pages = pages.take_until(Box::pin(ended)).chain(end);
    let mut response = Body::from_stream(pages).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"audit.ndjson\""),
    );
    Ok(response)
}

fn lines(entries: Vec<AuditEntry>) -> Bytes {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&serde_json::to_string(&AuditBody::from(entry)).unwrap_or_default());
        text.push('\n');
    }
    text.into()
}
