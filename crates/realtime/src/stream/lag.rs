//! The lag of delivery behind the database (§12), and a warning before the slot is lost (§14.1).
//!
//! Sampled by a task of its own: the task that reads the stream blocks while the delivery queue is
//! full, which is when the lag matters.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use plinth_db::{DbError, Queries as _, replication::Lsn};
use plinth_project::{Project, Service};
use time::OffsetDateTime;
use tokio::{sync::watch, time::interval};
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::RealtimeMetrics;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// The WAL bytes that the slot retains, and how many more may be written before it is lost (null if
/// there is no limit).
const SLOT_LAG: &str = "select pg_catalog.pg_wal_lsn_diff(
        pg_catalog.pg_current_wal_lsn(), confirmed_flush_lsn)::bigint, safe_wal_size::bigint
    from pg_catalog.pg_replication_slots where slot_name = $1::text::name";

/// Samples the lag of a stream as long as this lives.
pub(super) struct LagMonitor {
    oldest: Arc<Mutex<Option<Commit>>>,
    retains_too_much: Arc<AtomicBool>,
    _task: AbortOnDropHandle<()>,
}

/// A transaction that was read and is not yet delivered.
#[derive(Debug, Clone, Copy)]
struct Commit {
    position: Lsn,
    committed_at: OffsetDateTime,
}

impl LagMonitor {
    /// `delivered` is the position up to which everything has been delivered.
    pub(super) fn start(
        project: &Project,
        slot: &str,
        metrics: &Arc<RealtimeMetrics>,
        delivered: watch::Receiver<Lsn>,
        max_retained: Option<u64>,
    ) -> Self {
        let oldest = Arc::new(Mutex::new(None));
        let retains_too_much = Arc::new(AtomicBool::new(false));
        let task = Task {
            project: project.clone(),
            slot: slot.to_owned(),
            gauges: LagGauges(metrics.clone()),
            oldest: oldest.clone(),
            delivered,
            is_at_risk: false,
            max_retained,
            retains_too_much: retains_too_much.clone(),
        };
        Self {
            oldest,
            retains_too_much,
            _task: AbortOnDropHandle::new(tokio::spawn(task.run())),
        }
    }

    /// Whether the slot retains more than half of what PostgreSQL keeps at most, or more than it may
    /// for other nodes.
    pub(super) fn retains_too_much(&self) -> bool {
        self.retains_too_much.load(Relaxed)
    }

    /// A transaction was read. To be called before it can have been delivered.
    pub(super) fn record_commit(&self, position: Lsn, committed_at: OffsetDateTime) {
        lock(&self.oldest).get_or_insert(Commit {
            position,
            committed_at,
        });
    }
}

struct Task {
    project: Project,
    slot: String,
    gauges: LagGauges,
    oldest: Arc<Mutex<Option<Commit>>>,
    delivered: watch::Receiver<Lsn>,
    /// Whether the last sample was above the warning threshold.
    is_at_risk: bool,
    max_retained: Option<u64>,
    retains_too_much: Arc<AtomicBool>,
}

impl Task {
    async fn run(mut self) {
        let mut ticks = interval(SAMPLE_INTERVAL);
        loop {
            tokio::select! {
                Ok(()) = self.delivered.changed() => {
                    let delivered = *self.delivered.borrow_and_update();
                    lock(&self.oldest).take_if(|commit| commit.position <= delivered);
                }
                _ = ticks.tick() => self.sample().await,
            }
        }
    }

    async fn sample(&mut self) {
        let oldest = *lock(&self.oldest);
        let age = oldest.map(|commit| OffsetDateTime::now_utc() - commit.committed_at);
        let seconds = age.map_or(0.0, |age| age.as_seconds_f64().max(0.0));
        self.gauges.0.lag_seconds.set(seconds);
        match self.slot_lag().await {
            Ok(Some((retained, left))) => {
                self.gauges.0.lag_bytes.set(retained as f64);
                self.warn_if_at_risk(retained, left);
                let max_retained = self.max_retained.unwrap_or(u64::MAX);
                let is_over = u64::try_from(retained).is_ok_and(|retained| retained > max_retained);
                self.retains_too_much
                    .store(is_over || self.is_at_risk, Relaxed);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!("could not read the lag of the replication slot: {error}");
            }
        }
    }

    /// Warns once when the slot retains more than half of what PostgreSQL keeps at most.
    fn warn_if_at_risk(&mut self, retained: i64, left: Option<i64>) {
        let was_at_risk = self.is_at_risk;
        self.is_at_risk = left.is_some_and(|left| retained > left);
        if self.is_at_risk && !was_at_risk {
            let project = self.project.reference();
            tracing::warn!(code = "ReplicationSlotLagTooHigh", %project,
                "{retained} bytes of WAL are not delivered: more than half of max_slot_wal_keep_size");
        }
    }

    async fn slot_lag(&self) -> Result<Option<(i64, Option<i64>)>, DbError> {
        let mut connection = self.project.db.as_service(Service::Realtime).await?;
        let rows = connection.query(SLOT_LAG, &[&self.slot]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let retained: Option<i64> = row.try_get(0)?;
        let retained = retained.unwrap_or_default().max(0);
        Ok(Some((retained, row.try_get(1)?)))
    }
}

/// Sets both gauges to zero when the node stops reading the slot.
struct LagGauges(Arc<RealtimeMetrics>);

impl Drop for LagGauges {
    fn drop(&mut self) {
        self.0.lag_bytes.set(0.0);
        self.0.lag_seconds.set(0.0);
    }
}

fn lock(oldest: &Mutex<Option<Commit>>) -> MutexGuard<'_, Option<Commit>> {
    oldest.lock().unwrap_or_else(PoisonError::into_inner)
}
