//! The audit log: what operators changed, and what they tried to. A failed write does not fail the action.

mod list;
mod mask;

use plinth_project::ProjectRef;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    Platform,
    api::{Operator, RequestOrigin},
    members::MemberScope,
};

pub use list::{AuditEntry, AuditQuery, AuditVisibility};

/// What an operator did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    action: String,
    project: Option<String>,
    organization: Option<String>,
    target: Option<String>,
    before: Value,
    after: Value,
    is_denied: bool,
}

impl Change {
    /// An action, such as `member.update`.
    pub(crate) fn new(action: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            ..Self::default()
        }
    }

    /// On which project.
    pub(crate) fn project(mut self, project: &ProjectRef) -> Self {
        self.project = Some(project.to_string());
        self
    }

    /// In an organization, on a project, or neither.
    pub(crate) fn scope(mut self, scope: &MemberScope) -> Self {
        self.project = scope.project().map(ToString::to_string);
        self.organization = scope.organization().map(str::to_owned);
        self
    }

    /// What was changed, such as an id or a name.
    pub(crate) fn target(mut self, target: impl ToString) -> Self {
        self.target = Some(target.to_string());
        self
    }

    /// How it was. Values of members that are named like secrets are masked.
    pub(crate) fn before(mut self, before: Value) -> Self {
        self.before = before;
        self
    }

    /// How it is now. Masked in the same way.
    pub(crate) fn after(mut self, after: Value) -> Self {
        self.after = after;
        self
    }

    /// It was refused.
    pub(crate) fn denied(mut self) -> Self {
        self.is_denied = true;
        self
    }
}

const INSERT: &str = "
    insert into platform.audit
        (actor, user_id, token, project, organization, action, target, before, after, ip, request_id,
         is_denied)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

impl Platform {
    /// Writes a completed action to the audit log; `details` is what it led to.
    pub(crate) async fn audit(
        &self,
        operator: &Operator,
        project: Option<&ProjectRef>,
        action: &str,
        details: Value,
    ) {
        let mut change = Change::new(action).after(details);
        change.project = project.map(ToString::to_string);
        self.audit_change(operator, change).await;
    }

    /// The same, with what was there before.
    pub(crate) async fn audit_change(&self, operator: &Operator, change: Change) {
        let token = operator.token().map(|token| token.name.as_str());
        let (name, user) = (operator.name(), operator.user_id());
        self.write_audit(name, user, token, operator.origin(), change)
            .await;
    }

    /// The same for somebody who is no operator yet.
    pub(crate) async fn audit_as(
        &self,
        name: &str,
        user: Option<Uuid>,
        origin: &RequestOrigin,
        change: Change,
    ) {
        self.write_audit(name, user, None, origin, change).await;
    }

    async fn write_audit(
        &self,
        name: &str,
        user: Option<Uuid>,
        token: Option<&str>,
        origin: &RequestOrigin,
        change: Change,
    ) {
        let Change {
            action,
            project,
            organization,
            target,
            before,
            after,
            is_denied,
        } = change;
        let [before, after] = [before, after].map(mask::stored);
        let written = async {
            let tables = self.tables().await?;
            let params: plinth_db::Params<'_> = &[
                &name,
                &user,
                &token,
                &project,
                &organization,
                &action,
                &target,
                &before,
                &after,
                &origin.address.map(|ip| ip.to_string()),
                &origin.request_id,
                &is_denied,
            ];
            Ok::<_, plinth_db::DbError>(tables.execute(INSERT, params).await?)
        };
        if let Err(error) = written.await {
            tracing::error!(action, "writing the audit log failed: {error}");
        }
    }
}
