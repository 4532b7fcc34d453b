//! Reading the audit log, newest first, by pages.

use plinth_project::ProjectRef;
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// What an operator may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditVisibility {
    /// Everything.
    Everything,
    /// What concerns these projects and organizations, and the operator's own actions.
    Only {
        /// Projects.
        projects: Vec<ProjectRef>,
        /// Organizations.
        organizations: Vec<String>,
        /// The operator.
        user: Option<Uuid>,
    },
}

/// A filter of the list; an absent one does not filter.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Of one project.
    pub project: Option<ProjectRef>,
    /// Of one organization.
    pub organization: Option<String>,
    /// By one user.
    pub user: Option<Uuid>,
    /// The beginning of the action, such as `member.`.
    pub action: Option<String>,
    /// With this target.
    pub target: Option<String>,
    /// Refused attempts only, or none of them.
    pub is_denied: Option<bool>,
    /// At this time or later.
    pub since: Option<OffsetDateTime>,
    /// Before this time.
    pub until: Option<OffsetDateTime>,
    /// Ids below this one.
    pub before: Option<i64>,
    /// How many.
    pub limit: i64,
}

/// One action.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    /// Its number; later ones have larger numbers.
    pub id: i64,
    /// When.
    pub at: OffsetDateTime,
    /// By whom, as a text.
    pub actor: String,
    /// By which user.
    pub user_id: Option<Uuid>,
    /// With which access token.
    pub token: Option<String>,
    /// On which project.
    pub project: Option<String>,
    /// In which organization.
    pub organization: Option<String>,
    /// What.
    pub action: String,
    /// What was changed.
    pub target: Option<String>,
    /// How it was.
    pub before: Option<Value>,
    /// How it is.
    pub after: Option<Value>,
    /// The client.
    pub ip: Option<String>,
    /// The request.
    pub request_id: Option<String>,
    /// Whether it was refused.
    pub is_denied: bool,
}

impl AuditEntry {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            at: row.get("at"),
            actor: row.get("actor"),
            user_id: row.get("user_id"),
            token: row.get("token"),
            project: row.get("project"),
            organization: row.get("organization"),
            action: row.get("action"),
            target: row.get("target"),
            before: row.get("before"),
            after: row.get("after"),
            ip: row.get("ip"),
            request_id: row.get("request_id"),
            is_denied: row.get("is_denied"),
        }
    }
}

const LIST: &str = "
    select id, at, actor, user_id, token, project, organization, action, target, before,
           coalesce(after, details) as after, ip, request_id, is_denied
    from platform.audit
    where ($1::text is null or project = $1)
      and ($2::text is null or organization = $2)
      and ($3::uuid is null or user_id = $3)
      and ($4::text is null or starts_with(action, $4))
      and ($5::text is null or target = $5)
      and ($6::boolean is null or is_denied = $6)
      and ($7::timestamptz is null or at >= $7)
      and ($8::timestamptz is null or at < $8)
      and ($9::bigint is null or id < $9)
      and ($10 or project = any($11) or (project is null and organization = any($12))
           or user_id = $13)
    order by id desc
    limit $14";

impl Platform {
    /// One page of the audit log, newest first.
    pub async fn list_audit(
        &self,
        query: &AuditQuery,
        visible: &AuditVisibility,
    ) -> Result<Vec<AuditEntry>, PlatformError> {
        let project = query.project.as_ref().map(ProjectRef::as_str);
        let (all, projects, organizations, user) = match visible {
            AuditVisibility::Everything => (true, Vec::new(), Vec::new(), None),
            AuditVisibility::Only {
                projects,
                organizations,
                user,
            } => {
                let projects = projects.iter().map(ProjectRef::as_str).collect();
                (false, projects, organizations.clone(), *user)
            }
        };
        let params: plinth_db::Params<'_> = &[
            &project,
            &query.organization,
            &query.user,
            &query.action,
            &query.target,
            &query.is_denied,
            &query.since,
            &query.until,
            &query.before,
            &all,
            &projects,
            &organizations,
            &user,
            &query.limit,
        ];
        let rows = self.tables().await?.query(LIST, params).await?;
        Ok(rows.iter().map(AuditEntry::from_row).collect())
    }
}
