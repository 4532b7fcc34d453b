//! Prometheus metrics of one project (§12). The names are those that the reference server's
//! dashboards know; the label is the project.

mod gauge_share;
mod names;

use std::time::Instant;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use plinth_project::ProjectRef;
use time::OffsetDateTime;

pub(crate) use self::gauge_share::GaugeShare;
pub use self::names::describe_metrics;
use self::names::*;
use crate::rate::Rate;

/// The metrics of one project. Those on hot paths are looked up once, here.
#[derive(Debug)]
pub(crate) struct RealtimeMetrics {
    project: String,
    /// Sockets that have a channel, here and on all nodes.
    pub(crate) connected: Gauge,
    pub(crate) connected_cluster: Gauge,
    /// Channels of this node that track presence.
    pub(crate) presence_entries: Gauge,
    pub(crate) subscribers: Gauge,
    pub(crate) input_bytes: Counter,
    pub(crate) output_bytes: Counter,
    pub(crate) queue_bytes: Gauge,
    frames_encoded: Counter,
    frames_shared: Counter,
    pub(crate) changes_dispatched: Counter,
    /// Groups of subscribers for whom policies were checked, per row change.
    pub(crate) policy_groups: Histogram,
    pub(crate) lag_bytes: Gauge,
    pub(crate) lag_seconds: Gauge,
    pub(crate) broadcast_bytes: Histogram,
    pub(crate) presence_bytes: Histogram,
    batch_duration: Histogram,
    read_check: Histogram,
    write_check: Histogram,
    replay: Histogram,
    since_commit: Histogram,
    since_insert: Histogram,
    pub(crate) broker: BrokerMetrics,
}

/// Messages between nodes, of one project.
#[derive(Debug, Clone)]
pub(crate) struct BrokerMetrics {
    pub(crate) published: Counter,
    pub(crate) received: Counter,
    pub(crate) dropped: Counter,
    pub(crate) connected: Gauge,
}

impl BrokerMetrics {
    /// Counts nothing: the connection itself belongs to no project.
    pub(crate) fn noop() -> Self {
        Self {
            published: Counter::noop(),
            received: Counter::noop(),
            dropped: Counter::noop(),
            connected: Gauge::noop(),
        }
    }
}

impl RealtimeMetrics {
    pub(crate) fn for_project(project: &ProjectRef) -> Self {
        let project = project.to_string();
        let counter = |name: &'static str| counter!(name, "project" => project.clone());
        let gauge = |name: &'static str| gauge!(name, "project" => project.clone());
        let histogram = |name: &'static str| histogram!(name, "project" => project.clone());
        let payload_size = |kind: &'static str| histogram!(PAYLOAD_SIZE, "project" => project.clone(), "message_type" => kind);
        Self {
            connected: gauge(CONNECTED),
            connected_cluster: gauge(CONNECTED_CLUSTER),
            presence_entries: gauge(PRESENCE_ENTRIES),
            subscribers: gauge(SUBSCRIBERS),
            input_bytes: counter(INPUT_BYTES),
            output_bytes: counter(OUTPUT_BYTES),
            queue_bytes: gauge(QUEUE_BYTES),
            frames_encoded: counter(FRAMES_ENCODED),
            frames_shared: counter(FRAMES_SHARED),
            changes_dispatched: counter(CHANGES_DISPATCHED),
            policy_groups: histogram(POLICY_GROUPS),
            lag_bytes: gauge(LAG_BYTES),
            lag_seconds: gauge(LAG_SECONDS),
            broadcast_bytes: payload_size("broadcast"),
            presence_bytes: payload_size("presence"),
            batch_duration: histogram(BATCH_DURATION),
            read_check: histogram(READ_CHECK),
            write_check: histogram(WRITE_CHECK),
            replay: histogram(REPLAY),
            since_commit: histogram(SINCE_COMMIT),
            since_insert: histogram(SINCE_INSERT),
            broker: BrokerMetrics {
                published: counter(CLUSTER_PUBLISHED),
                received: counter(CLUSTER_RECEIVED),
                dropped: counter(CLUSTER_DROPPED),
                connected: gauge(CLUSTER_CONNECTED),
            },
            project,
        }
    }

    /// Rates that are held against limits, each with its counter.
    pub(crate) fn joins(&self) -> Rate {
        self.rate(JOINS)
    }

    pub(crate) fn events(&self) -> Rate {
        self.rate(EVENTS)
    }

    pub(crate) fn presence_events(&self) -> Rate {
        self.rate(PRESENCE_EVENTS)
    }

    pub(crate) fn change_events(&self) -> Rate {
        self.rate(DB_EVENTS)
    }

    fn rate(&self, name: &'static str) -> Rate {
        Rate::new(counter!(name, "project" => self.project.clone()))
    }

    /// A join was rejected or a channel closed for a limit. `code` is one of the contract's.
    pub(crate) fn count_error(&self, code: &str) {
        let (project, code) = (self.project.clone(), code.to_owned());
        counter!(ERRORS, "project" => project, "code" => code).increment(1);
    }

    /// The server closed a socket.
    pub(crate) fn count_closed_socket(&self, reason: &'static str) {
        let project = self.project.clone();
        counter!(SOCKETS_CLOSED, "project" => project, "reason" => reason).increment(1);
    }

    /// Row changes were dropped.
    pub(crate) fn count_skipped_changes(&self, reason: &'static str, changes: usize) {
        let project = self.project.clone();
        counter!(CHANGES_SKIPPED, "project" => project, "reason" => reason)
            .increment(changes as u64);
    }

    /// Messages were still queued for a client when its socket closed.
    pub(crate) fn count_dropped_messages(&self, reason: &'static str, messages: usize) {
        if messages > 0 {
            let project = self.project.clone();
            counter!(QUEUE_DROPPED, "project" => project, "reason" => reason)
                .increment(messages as u64);
        }
    }

    /// One message was delivered to so many channels, for which so many frames were encoded.
    pub(crate) fn count_frames(&self, delivered: usize, encoded: usize) {
        self.frames_encoded.increment(encoded as u64);
        if delivered > encoded {
            self.frames_shared.increment((delivered - encoded) as u64);
        }
    }

    /// A row of `realtime.messages` is about to be delivered.
    pub(crate) fn record_message_latency(
        &self,
        committed_at: OffsetDateTime,
        inserted_at: Option<OffsetDateTime>,
    ) {
        let now = OffsetDateTime::now_utc();
        let since = |then: OffsetDateTime| (now - then).as_seconds_f64().max(0.0) * 1e3;
        self.since_commit.record(since(committed_at));
        if let Some(inserted_at) = inserted_at {
            self.since_insert.record(since(inserted_at));
        }
    }

    /// Times the delivery of a batch of row changes.
    pub(crate) async fn time_batch<T>(&self, work: impl Future<Output = T>) -> T {
        timed(&self.batch_duration, work).await
    }

    /// Times the query for messages to replay.
    pub(crate) async fn time_replay<T>(&self, query: impl Future<Output = T>) -> T {
        timed(&self.replay, query).await
    }

    /// Times a check of read permissions on a private topic.
    pub(crate) async fn time_read_check<T>(&self, check: impl Future<Output = T>) -> T {
        timed(&self.read_check, check).await
    }

    /// Times a check of write permissions on a private topic.
    pub(crate) async fn time_write_check<T>(&self, check: impl Future<Output = T>) -> T {
        timed(&self.write_check, check).await
    }
}

/// Records milliseconds.
async fn timed<T>(histogram: &Histogram, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let output = work.await;
    histogram.record(started.elapsed().as_secs_f64() * 1e3);
    output
}
