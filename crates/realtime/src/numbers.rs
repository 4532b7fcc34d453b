//! What happens on a project's channels, counted for Prometheus (§12). The names are those that
//! dashboards know; the label is the project.

use std::time::Instant;

use metrics::{
    Counter, Gauge, Histogram, Unit, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};
use plinth_project::ProjectRef;
use time::OffsetDateTime;

use crate::rate::Rate;

const CONNECTED: &str = "realtime_connections_connected";
const JOINS: &str = "realtime_channel_joins";
const EVENTS: &str = "realtime_channel_events";
const PRESENCE_EVENTS: &str = "realtime_channel_presence_events";
const DB_EVENTS: &str = "realtime_channel_db_events";
const INPUT_BYTES: &str = "realtime_channel_input_bytes";
const OUTPUT_BYTES: &str = "realtime_channel_output_bytes";
const ERRORS: &str = "realtime_channel_error";
const SOCKETS_CLOSED: &str = "realtime_sockets_closed";
const SUBSCRIBERS: &str = "realtime_subscriptions_manager_subscribers";
const CHANGES_DISPATCH: &str = "realtime_replication_poller_changes_dispatch";
const CHANGES_SKIP: &str = "realtime_replication_poller_changes_skip";
const CHANGES_GROUPS: &str = "realtime_changes_groups";
const PAYLOAD_SIZE: &str = "realtime_tenants_payload_size";
const READ_CHECK: &str = "realtime_tenants_read_authorization_check";
const WRITE_CHECK: &str = "realtime_tenants_write_authorization_check";
const DATABASE_LATENCY: &str = "realtime_tenants_broadcast_from_database_latency_committed_at";

/// Says what the numbers mean. Once per process, after its recorder is there.
pub fn describe_metrics() {
    describe_gauge!(CONNECTED, "Open sockets.");
    describe_counter!(JOINS, "Joins that were not refused for the rate.");
    describe_counter!(EVENTS, "Broadcasts, taken and delivered.");
    describe_counter!(PRESENCE_EVENTS, "Presence messages, taken and delivered.");
    describe_counter!(DB_EVENTS, "Row changes delivered.");
    describe_counter!(INPUT_BYTES, Unit::Bytes, "Payload of clients' frames.");
    describe_counter!(OUTPUT_BYTES, Unit::Bytes, "Payload of frames to clients.");
    describe_counter!(ERRORS, "Refused joins and channels closed, by reason.");
    describe_counter!(SOCKETS_CLOSED, "Sockets closed by the server, by reason.");
    describe_gauge!(SUBSCRIBERS, "Row changes that are listened to.");
    describe_counter!(CHANGES_DISPATCH, "Row changes of the log decided.");
    describe_counter!(CHANGES_SKIP, "Row changes that nobody was told of.");
    describe_histogram!(
        CHANGES_GROUPS,
        "Questions to policies per batch of changes."
    );
    describe_histogram!(PAYLOAD_SIZE, Unit::Bytes, "Payload of messages.");
    let what = "Time that policies take to say what may be heard.";
    describe_histogram!(READ_CHECK, Unit::Milliseconds, what);
    let what = "Time that policies take to say what may be said.";
    describe_histogram!(WRITE_CHECK, Unit::Milliseconds, what);
    let what = "Time from the commit of a message of the database to its delivery.";
    describe_histogram!(DATABASE_LATENCY, Unit::Milliseconds, what);
}

/// The numbers of one project. What is counted often is looked up once.
#[derive(Debug)]
pub(crate) struct Numbers {
    project: String,
    pub(crate) connected: Gauge,
    pub(crate) subscribers: Gauge,
    pub(crate) input_bytes: Counter,
    pub(crate) output_bytes: Counter,
    /// Row changes that were decided.
    pub(crate) changes: Counter,
    /// Questions to policies, per batch.
    pub(crate) groups: Histogram,
    pub(crate) broadcast_bytes: Histogram,
    pub(crate) presence_bytes: Histogram,
    read_check: Histogram,
    write_check: Histogram,
    database_latency: Histogram,
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
            subscribers: level(SUBSCRIBERS),
            input_bytes: total(INPUT_BYTES),
            output_bytes: total(OUTPUT_BYTES),
            changes: total(CHANGES_DISPATCH),
            groups: spread(CHANGES_GROUPS),
            broadcast_bytes: bytes_of("broadcast"),
            presence_bytes: bytes_of("presence"),
            read_check: spread(READ_CHECK),
            write_check: spread(WRITE_CHECK),
            database_latency: spread(DATABASE_LATENCY),
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

    /// A message of the database is delivered.
    pub(crate) fn told_from_database(&self, committed_at: OffsetDateTime) {
        let late = OffsetDateTime::now_utc() - committed_at;
        self.database_latency
            .record(late.as_seconds_f64().max(0.0) * 1e3);
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
