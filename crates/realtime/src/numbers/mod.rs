//! What happens on a project's channels, counted for Prometheus (§12). The names are those that
//! dashboards know; the label is the project.

mod names;
mod share;

use std::time::Instant;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use plinth_project::ProjectRef;
use time::OffsetDateTime;

pub use self::names::describe_metrics;
use self::names::*;
pub(crate) use self::share::Share;
use crate::rate::Rate;

/// The numbers of one project. What is counted often is looked up once.
#[derive(Debug)]
pub(crate) struct Numbers {
    project: String,
    /// Sockets that have a channel, here and on all nodes.
    pub(crate) connected: Gauge,
    pub(crate) connected_cluster: Gauge,
    /// Channels of this node that are tracked.
    pub(crate) present: Gauge,
    pub(crate) subscribers: Gauge,
    pub(crate) input_bytes: Counter,
    pub(crate) output_bytes: Counter,
    /// Waits for clients that do not take it at once.
    pub(crate) queue_bytes: Gauge,
    frames_encoded: Counter,
    frames_shared: Counter,
    /// Row changes that were decided.
    pub(crate) changes: Counter,
    /// Groups that policies were asked about, per change.
    pub(crate) groups: Histogram,
    pub(crate) lag_bytes: Gauge,
    pub(crate) lag_seconds: Gauge,
    pub(crate) broadcast_bytes: Histogram,
    pub(crate) presence_bytes: Histogram,
    deciding: Histogram,
    read_check: Histogram,
    write_check: Histogram,
    replay: Histogram,
    since_commit: Histogram,
    since_insert: Histogram,
    pub(crate) broker: BrokerNumbers,
}

/// What nodes tell each other about one project.
#[derive(Debug, Clone)]
pub(crate) struct BrokerNumbers {
    pub(crate) published: Counter,
    pub(crate) received: Counter,
    pub(crate) dropped: Counter,
}

impl BrokerNumbers {
    /// Which nobody reads.
    pub(crate) fn of_nobody() -> Self {
        Self {
            published: Counter::noop(),
            received: Counter::noop(),
            dropped: Counter::noop(),
        }
    }
}

impl Numbers {
    pub(crate) fn of(project: &ProjectRef) -> Self {
        let project = project.to_string();
        let total = |name: &'static str| counter!(name, "project" => project.clone());
        let level = |name: &'static str| gauge!(name, "project" => project.clone());
        let spread = |name: &'static str| histogram!(name, "project" => project.clone());
        let bytes_of = |kind: &'static str| histogram!(PAYLOAD_SIZE, "project" => project.clone(), "message_type" => kind);
        Self {
            connected: level(CONNECTED),
            connected_cluster: level(CONNECTED_CLUSTER),
            present: level(PRESENCE_ENTRIES),
            subscribers: level(SUBSCRIBERS),
            input_bytes: total(INPUT_BYTES),
            output_bytes: total(OUTPUT_BYTES),
            queue_bytes: level(QUEUE_BYTES),
            frames_encoded: total(FRAMES_ENCODED),
            frames_shared: total(FRAMES_SHARED),
            changes: total(CHANGES_DISPATCH),
            groups: spread(CHANGES_GROUPS),
            lag_bytes: level(LAG_BYTES),
            lag_seconds: level(LAG_SECONDS),
            broadcast_bytes: bytes_of("broadcast"),
            presence_bytes: bytes_of("presence"),
            deciding: spread(CHANGES_DECIDING),
            read_check: spread(READ_CHECK),
            write_check: spread(WRITE_CHECK),
            replay: spread(REPLAY),
            since_commit: spread(SINCE_COMMIT),
            since_insert: spread(SINCE_INSERT),
            broker: BrokerNumbers {
                published: total(CLUSTER_PUBLISHED),
                received: total(CLUSTER_RECEIVED),
                dropped: total(CLUSTER_DROPPED),
            },
            project,
        }
    }

    /// Rates that are held against limits, and are numbers as well.
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
        Rate::counted_by(counter!(name, "project" => self.project.clone()))
    }

    /// A join was refused or a channel closed. `code` is one of the contract's.
    pub(crate) fn error(&self, code: &str) {
        let (project, code) = (self.project.clone(), code.to_owned());
        counter!(ERRORS, "project" => project, "code" => code).increment(1);
    }

    /// A socket was closed from this side.
    pub(crate) fn closed(&self, reason: &'static str) {
        let project = self.project.clone();
        counter!(SOCKETS_CLOSED, "project" => project, "reason" => reason).increment(1);
    }

    /// Nobody was told of so many changes.
    pub(crate) fn skipped(&self, reason: &'static str, changes: usize) {
        let project = self.project.clone();
        counter!(CHANGES_SKIP, "project" => project, "reason" => reason).increment(changes as u64);
    }

    /// So many messages were not sent to a client before its socket ended.
    pub(crate) fn dropped(&self, reason: &'static str, messages: usize) {
        if messages > 0 {
            let project = self.project.clone();
            counter!(QUEUE_DROPPED, "project" => project, "reason" => reason)
                .increment(messages as u64);
        }
    }

    /// Something was said to so many, for whom so many frames were made.
    pub(crate) fn said(&self, told: usize, encoded: usize) {
        self.frames_encoded.increment(encoded as u64);
        if told > encoded {
            self.frames_shared.increment((told - encoded) as u64);
        }
    }

    /// A message of the database is delivered.
    pub(crate) fn told_from_database(
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

    /// Measures how long a batch of row changes takes.
    pub(crate) async fn deciding<T>(&self, work: impl Future<Output = T>) -> T {
        timed(&self.deciding, work).await
    }

    /// The same of looking for messages that are to be replayed.
    pub(crate) async fn replaying<T>(&self, looking: impl Future<Output = T>) -> T {
        timed(&self.replay, looking).await
    }

    /// Measures a question about what may be heard.
    pub(crate) async fn reading<T>(&self, asking: impl Future<Output = T>) -> T {
        timed(&self.read_check, asking).await
    }

    /// The same about what may be said.
    pub(crate) async fn writing<T>(&self, asking: impl Future<Output = T>) -> T {
        timed(&self.write_check, asking).await
    }
}

async fn timed<T>(spread: &Histogram, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = work.await;
    spread.record(begun.elapsed().as_secs_f64() * 1e3);
    done
}
