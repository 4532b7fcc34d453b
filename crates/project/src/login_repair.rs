//! Restores a project's logins when it opens, once a minute while it is open, and when PostgreSQL rejects
//! one of them, and remembers what was restored.

use std::{
    collections::VecDeque,
    sync::{Mutex as SyncMutex, PoisonError},
    time::{Duration, Instant},
};

use plinth_db::DbError;
use tokio::sync::Mutex;
use tokio_postgres::Client;

use crate::{ProjectRef, database::Targets, logins, undo_role_changes};

/// How long a repair counts for connections that were rejected before it.
const REPAIR_INTERVAL: Duration = Duration::from_secs(1);

/// How many repairs are remembered.
const MAX_HISTORY: usize = 20;

/// Repairs one project's logins, one attempt at a time.
#[derive(Default)]
pub(crate) struct LoginRepair {
    last: Mutex<Option<Instant>>,
    history: SyncMutex<VecDeque<String>>,
}

impl LoginRepair {
    /// When the project opens and once a minute while it is open, with the administrating role on its
    /// database. Whether logins were restored: sessions that began before have what was changed.
    pub(crate) async fn check_logins(
        &self,
        targets: &Targets,
        admin: &mut Client,
    ) -> Result<bool, DbError> {
        let Targets::Platform { reference, .. } = targets else {
            return Ok(false);
        };
        let restored = targets.restore_logins(admin, false).await?;
        let has_restored = !restored.is_empty();
        self.report(
            reference,
            "restored the project's database logins",
            restored,
        );
        Ok(has_restored)
    }

    /// The same for shared roles, as far as they concern its database.
    pub(crate) async fn check_shared_roles(
        &self,
        targets: &Targets,
        admin: &Client,
    ) -> Result<(), DbError> {
        let Targets::Platform {
            reference, cluster, ..
        } = targets
        else {
            return Ok(());
        };
        if cluster.is_managed {
            let undone = undo_role_changes(admin).await?;
            self.report(reference, "undid changes of shared roles", undone);
        }
        Ok(())
    }

    /// What was repaired since the project was opened.
    pub(crate) fn history(&self) -> Vec<String> {
        let history = self.history.lock();
        let history = history.unwrap_or_else(PoisonError::into_inner);
        history.iter().cloned().collect()
    }

    fn report(&self, reference: &ProjectRef, done: &str, what: Vec<String>) {
        if what.is_empty() {
            return;
        }
        tracing::warn!(project = %reference, "{done}: {}", what.join(", "));
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.extend(what);
        while history.len() > MAX_HISTORY {
            history.pop_front();
        }
    }

    /// Ok if another attempt to connect is worthwhile.
    pub(crate) async fn run(&self, targets: &Targets, reason: String) -> Result<(), DbError> {
        let Targets::Platform { reference, .. } = targets else {
            return Err(DbError::LoginRejected(reason));
        };
        let mut last = self.last.lock().await;
        if last.is_some_and(|at| at.elapsed() < REPAIR_INTERVAL) {
            return Ok(());
        }
        tracing::warn!(project = %reference, "the database rejects a login of the project: {reason}");
        let mut admin = targets.admin().connect().await?;
        let restored = targets.restore_logins(&mut admin, true).await?;
        *last = Some(Instant::now());
        if restored.is_empty() {
            return Err(DbError::LoginRejected(reason));
        }
        self.report(
            reference,
            "restored the project's database logins",
            restored,
        );
        Ok(())
    }
}

impl Targets {
    async fn restore_logins(
        &self,
        admin: &mut Client,
        is_rejected: bool,
    ) -> Result<Vec<String>, DbError> {
        let Self::Platform {
            reference,
            admin: target,
            logins,
            cluster,
        } = self
        else {
            return Ok(Vec::new());
        };
        let database = target.database_name();
        logins::restore(admin, cluster, reference, database, logins, is_rejected).await
    }
}
