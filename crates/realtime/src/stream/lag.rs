//! How far delivery is behind the database (§12), and whether the slot is in danger (§14.1).
//!
//! Looked at by a task of its own: whoever reads the log waits while too much of it waits, which is
//! just when somebody wants to know.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plinth_db::{DbError, Queries as _, replication::Lsn};
use plinth_project::{Project, Service};
use time::OffsetDateTime;
use tokio::{sync::watch, time::interval};
use tokio_util::task::AbortOnDropHandle;

use crate::numbers::Numbers;

const INTERVAL: Duration = Duration::from_secs(5);

/// What the server keeps for the slot, and what it may write before it gives the slot up, if there
/// is such a bound.
const SLOT: &str = "select pg_catalog.pg_wal_lsn_diff(
        pg_catalog.pg_current_wal_lsn(), confirmed_flush_lsn)::bigint, safe_wal_size::bigint
    from pg_catalog.pg_replication_slots where slot_name = $1::text::name";

/// The lag of a stream that is followed, measured as long as this lives.
pub(super) struct Lag {
    oldest: Arc<Mutex<Option<Commit>>>,
    _task: AbortOnDropHandle<()>,
}

/// A transaction that was read and is not delivered.
#[derive(Debug, Clone, Copy)]
struct Commit {
    position: Lsn,
    committed_at: OffsetDateTime,
}

impl Lag {
    /// `done` tells how far everything has been delivered.
    pub(super) fn measure(
        project: &Project,
        slot: &str,
        numbers: &Arc<Numbers>,
        done: watch::Receiver<Lsn>,
    ) -> Self {
        let oldest = Arc::new(Mutex::new(None));
        let task = Task {
            project: project.clone(),
            slot: slot.to_owned(),
            levels: Levels(numbers.clone()),
            oldest: oldest.clone(),
            done,
            is_in_danger: false,
        };
        Self {
            oldest,
            _task: AbortOnDropHandle::new(tokio::spawn(task.run())),
        }
    }

    /// A transaction was read. To be told before it can have been delivered.
    pub(super) fn read(&self, position: Lsn, committed_at: OffsetDateTime) {
        lock(&self.oldest).get_or_insert(Commit {
            position,
            committed_at,
        });
    }
}

struct Task {
    project: Project,
    slot: String,
    levels: Levels,
    oldest: Arc<Mutex<Option<Commit>>>,
    done: watch::Receiver<Lsn>,
    /// That was said already.
    is_in_danger: bool,
}

impl Task {
    async fn run(mut self) {
        let mut ticks = interval(INTERVAL);
        loop {
            tokio::select! {
                Ok(()) = self.done.changed() => {
                    let done = *self.done.borrow_and_update();
                    lock(&self.oldest).take_if(|commit| commit.position <= done);
                }
                _ = ticks.tick() => self.look().await,
            }
        }
    }

    async fn look(&mut self) {
        let oldest = *lock(&self.oldest);
        let age = oldest.map(|commit| OffsetDateTime::now_utc() - commit.committed_at);
        let seconds = age.map_or(0.0, |age| age.as_seconds_f64().max(0.0));
        self.levels.0.lag_seconds.set(seconds);
        match self.kept().await {
            Ok(Some((kept, safe))) => {
                self.levels.0.lag_bytes.set(kept as f64);
                self.warn(kept, safe);
            }
            Ok(None) => {}
            Err(error) => tracing::debug!("the slot could not be looked at: {error}"),
        }
    }

    /// Beyond half of what the server keeps at most.
    fn warn(&mut self, kept: i64, safe: Option<i64>) {
        let was_in_danger = self.is_in_danger;
        self.is_in_danger = safe.is_some_and(|safe| kept > safe);
        if self.is_in_danger && !was_in_danger {
            let project = self.project.reference();
            tracing::warn!(code = "ReplicationSlotLagTooHigh", %project,
                "delivery is {kept} bytes behind the database");
        }
    }

    async fn kept(&self) -> Result<Option<(i64, Option<i64>)>, DbError> {
        let mut connection = self.project.db.as_service(Service::Realtime).await?;
        let rows = connection.query(SLOT, &[&self.slot]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let kept: Option<i64> = row.try_get(0)?;
        Ok(Some((kept.unwrap_or_default().max(0), row.try_get(1)?)))
    }
}

/// Nothing is behind where nothing is followed.
struct Levels(Arc<Numbers>);

impl Drop for Levels {
    fn drop(&mut self) {
        self.0.lag_bytes.set(0.0);
        self.0.lag_seconds.set(0.0);
    }
}

fn lock(oldest: &Mutex<Option<Commit>>) -> MutexGuard<'_, Option<Commit>> {
    oldest.lock().unwrap_or_else(PoisonError::into_inner)
}
