//! Imports that run on this node, and the rows that they left out.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use plinth_query::import::Rejects;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Imports that run on this node.
#[derive(Default)]
pub(crate) struct Imports(Mutex<HashMap<Uuid, Running>>);

struct Running {
    project: String,
    operator: String,
    cancel: CancellationToken,
}

impl Imports {
    pub(crate) fn begin(&self, job: Uuid, project: &str, operator: &str) -> CancellationToken {
        let cancel = CancellationToken::new();
        let running = Running {
            project: project.to_owned(),
            operator: operator.to_owned(),
            cancel: cancel.clone(),
        };
        self.lock().insert(job, running);
        cancel
    }

    pub(crate) fn end(&self, job: Uuid) {
        self.lock().remove(&job);
    }

    /// Cancels an import of a project, or only one of an operator; returns whether there is one.
    pub(crate) fn cancel(&self, job: Uuid, project: &str, operator: Option<&str>) -> bool {
        let running = self.lock();
        let Some(found) = running.get(&job) else {
            return false;
        };
        let is_meant =
            found.project == project && operator.is_none_or(|name| found.operator == name);
        if is_meant {
            found.cancel.cancel();
        }
        is_meant
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform {
    /// Stores the list of rows that an import left out. Lists are removed after a week.
    pub(crate) async fn store_rejects(
        &self,
        job: Uuid,
        rejects: &Rejects,
    ) -> Result<(), PlatformError> {
        let tables = self.tables().await?;
        let old =
            "delete from platform.import_rejects where created_at < now() - interval '7 days'";
        tables.execute(old, &[]).await?;
        let mut csv = rejects.csv().to_owned();
        if rejects.is_cut() {
            csv.push_str("0,\"this list is cut: there are more such rows\"\n");
        }
        let count = i64::try_from(rejects.count()).unwrap_or(i64::MAX);
        let sql = "insert into platform.import_rejects (job, rows, csv) values ($1, $2, $3)";
        tables.execute(sql, &[&job, &count, &csv]).await?;
        Ok(())
    }

    /// The list of an import of this project.
    pub(crate) async fn find_rejects(
        &self,
        project: &str,
        job: Uuid,
    ) -> Result<Option<String>, PlatformError> {
        let sql = "select r.csv from platform.import_rejects r
                   join platform.jobs j on j.id = r.job
                   where r.job = $1 and j.project = $2";
        let tables = self.tables().await?;
        let row = tables.query_opt(sql, &[&job, &project]).await?;
        Ok(row.map(|row| row.get(0)))
    }
}
