//! Changes of roles that all projects share, made behind Plinth's back: they are undone, and
//! `plinth doctor` reports them.

use std::{collections::VecDeque, sync::PoisonError, time::Duration};

use plinth_project::{ROLE_CHECK_OPTIONS, undo_role_changes};
use tokio_postgres::Client;

use crate::{Check, Platform, PlatformError};

/// How long the check of one project may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(15);

/// How many changes are remembered.
const MAX_HISTORY: usize = 20;

/// The roles whose settings and passwords must not be changed.
const FIND_SHARED_SETTINGS: &str = "
    select r.rolname || ' (' || entry || ')'
    from pg_catalog.pg_db_role_setting s
    join pg_catalog.pg_roles r on r.oid = s.setrole
    cross join lateral unnest(s.setconfig) entry
    where s.setdatabase = 0
      and r.rolname in ('anon', 'authenticated', 'service_role', 'authenticator', 'postgres')
    order by 1";

/// Changes that were undone, the newest last.
pub(crate) type UndoneChanges = std::sync::Mutex<VecDeque<String>>;

impl Platform {
    /// Undoes changes of shared roles, and restores the logins of open projects. Called periodically: a
    /// setting such as `default_transaction_read_only` locks Plinth out of a project without a rejected
    /// login.
    pub async fn check_roles(&self) -> Result<(), PlatformError> {
        let undone = self.undo_role_changes().await;
        for project in self.registry().open_projects() {
            // One project must not keep the others from being checked.
            let checked = tokio::time::timeout(CHECK_TIMEOUT, project.db.recheck_roles()).await;
            let error = match checked {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "timeout".to_owned(),
            };
            let project = project.reference();
            tracing::warn!(%project, "checking the roles failed: {error}");
        }
        undone
    }

    /// Undoes changes of shared roles on a managed server. The entries have no effect meanwhile.
    async fn undo_role_changes(&self) -> Result<(), PlatformError> {
        if !self.0.cluster.is_managed {
            return Ok(());
        }
        let admin = self.0.admin.options(ROLE_CHECK_OPTIONS).connect().await?;
        let undone = undo_role_changes(&admin).await?;
        if undone.is_empty() {
            return Ok(());
        }
        tracing::warn!("undid changes of shared roles: {}", undone.join(", "));
        let mut history = self.0.undone.lock().unwrap_or_else(PoisonError::into_inner);
        history.extend(undone);
        while history.len() > MAX_HISTORY {
            history.pop_front();
        }
        Ok(())
    }

    /// For `plinth doctor`: what was undone since the start, what was restored in open projects, and
    /// what an external server has.
    pub(crate) async fn role_checks(&self, admin: &Client) -> Result<Vec<Check>, PlatformError> {
        if !self.0.cluster.is_managed {
            return Ok(external_settings(admin).await?.into_iter().collect());
        }
        self.check_roles().await?;
        let mut changes: Vec<String> = {
            let undone = self.0.undone.lock().unwrap_or_else(PoisonError::into_inner);
            undone.iter().cloned().collect()
        };
        changes.extend(self.registry().repairs());
        Ok(vec![if changes.is_empty() {
            Check::ok("roles", "logins and shared roles are unchanged")
        } else {
            Check::warning(
                "roles",
                format!(
                    "changed behind Plinth's back and restored: {}",
                    changes.join(", ")
                ),
                "find the SQL that does it: `alter role` in functions and triggers of the projects",
            )
        }])
    }
}

/// Not undone there, because others may use that server.
async fn external_settings(admin: &Client) -> Result<Option<Check>, PlatformError> {
    let rows = admin.query(FIND_SHARED_SETTINGS, &[]).await?;
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok((!found.is_empty()).then(|| {
        Check::warning(
            "roles",
            format!(
                "these settings hold in all databases of the server: {}",
                found.join(", ")
            ),
            "make them for one database: alter role … in database … set …",
        )
    }))
}
