//! All projects at a glance (console contract N30): one statement, and numbers that are known already.
//! No project is opened, and no database is connected to.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use plinth_log::DailyTraffic;

use super::ProjectRow;
use crate::{Platform, PlatformError};

/// Sizes of databases older than this are read again, while the old ones are shown.
const SIZES_MAX_AGE: Duration = Duration::from_secs(60);

/// A project in the list.
#[derive(Debug, Clone)]
pub(crate) struct ProjectSummary {
    pub(crate) row: ProjectRow,
    pub(crate) branches: i64,
    /// Unknown until sizes were read for the first time, and for servers that are not running.
    pub(crate) database_bytes: Option<i64>,
    /// Absent without a request.
    pub(crate) traffic: Option<DailyTraffic>,
}

/// Sizes of the databases of the shared server.
#[derive(Default)]
pub(crate) struct DatabaseSizes {
    known: Mutex<Option<Known>>,
    is_reading: AtomicBool,
}

#[derive(Clone)]
struct Known {
    at: Instant,
    bytes: Arc<HashMap<String, i64>>,
}

impl DatabaseSizes {
    fn known(&self) -> Option<Known> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

impl Platform {
    /// All projects that are not in the trash, oldest first; project zero only when asked for.
    pub(crate) async fn summarize_projects(
        &self,
        with_platform: bool,
    ) -> Result<Vec<ProjectSummary>, PlatformError> {
        let rows = self.list_projects(with_platform).await?;
        let branches = self.count_branches().await?;
        let sizes = self.database_sizes();
        let traffic = self.0.logs.daily_traffic();
        let summaries = rows.into_iter().map(|row| {
            let reference = row.reference.as_str();
            ProjectSummary {
                branches: branches.get(reference).copied().unwrap_or(0),
                database_bytes: sizes.get(&row.database).copied(),
                traffic: traffic.get(reference).cloned(),
                row,
            }
        });
        Ok(summaries.collect())
    }

    async fn count_branches(&self) -> Result<HashMap<String, i64>, PlatformError> {
        let sql = "select parent_ref, count(*) from platform.branches where is_live group by 1";
        let rows = self.tables().await?.query(sql, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// What is known, by the names of the databases. Reading them takes a moment per database, so
    /// nobody waits for it.
    fn database_sizes(&self) -> Arc<HashMap<String, i64>> {
        let known = self.0.sizes.known();
        let is_old = known
            .as_ref()
            .is_none_or(|known| known.at.elapsed() > SIZES_MAX_AGE);
        if is_old && !self.0.sizes.is_reading.swap(true, Ordering::AcqRel) {
            let platform = self.clone();
            self.0.tasks.spawn(async move {
                if let Err(error) = platform.read_sizes().await {
                    tracing::warn!("reading the sizes of databases failed: {error}");
                }
                platform.0.sizes.is_reading.store(false, Ordering::Release);
            });
        }
        known.map(|known| known.bytes).unwrap_or_default()
    }

    async fn read_sizes(&self) -> Result<(), PlatformError> {
        let sql = "select datname::text, pg_database_size(oid) from pg_database where datallowconn";
        let rows = self.tables().await?.query(sql, &[]).await?;
        let bytes = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let known = Known {
            at: Instant::now(),
            bytes: Arc::new(bytes),
        };
        let mut sizes = self
            .0
            .sizes
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *sizes = Some(known);
        Ok(())
    }
}
