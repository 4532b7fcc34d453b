//! What the numbers are called, and what they mean. `docs/metrics.md` says it at more length.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(super) const CONNECTED: &str = "realtime_connections_connected";
pub(super) const CONNECTED_CLUSTER: &str = "realtime_connections_connected_cluster";
pub(super) const JOINS: &str = "realtime_channel_joins";
pub(super) const EVENTS: &str = "realtime_channel_events";
pub(super) const PRESENCE_EVENTS: &str = "realtime_channel_presence_events";
pub(super) const DB_EVENTS: &str = "realtime_channel_db_events";
pub(super) const INPUT_BYTES: &str = "realtime_channel_input_bytes";
pub(super) const OUTPUT_BYTES: &str = "realtime_channel_output_bytes";
pub(super) const ERRORS: &str = "realtime_channel_error";
pub(super) const PRESENCE_ENTRIES: &str = "realtime_presence_entries";
pub(super) const SOCKETS_CLOSED: &str = "realtime_sockets_closed";
pub(super) const QUEUE_BYTES: &str = "realtime_outbound_queue_bytes";
pub(super) const QUEUE_DROPPED: &str = "realtime_outbound_dropped";
pub(super) const FRAMES_ENCODED: &str = "realtime_frames_encoded";
pub(super) const FRAMES_SHARED: &str = "realtime_frames_shared";
pub(super) const SUBSCRIBERS: &str = "realtime_subscriptions_manager_subscribers";
pub(super) const CHANGES_DISPATCH: &str = "realtime_replication_poller_changes_dispatch";
pub(super) const CHANGES_SKIP: &str = "realtime_replication_poller_changes_skip";
pub(super) const CHANGES_DECIDING: &str = "realtime_replication_poller_query_duration";
pub(super) const CHANGES_GROUPS: &str = "realtime_changes_groups";
pub(super) const LAG_BYTES: &str = "realtime_replication_lag_bytes";
pub(super) const LAG_SECONDS: &str = "realtime_replication_lag_seconds";
pub(super) const PAYLOAD_SIZE: &str = "realtime_tenants_payload_size";
pub(super) const READ_CHECK: &str = "realtime_tenants_read_authorization_check";
pub(super) const WRITE_CHECK: &str = "realtime_tenants_write_authorization_check";
pub(super) const REPLAY: &str = "realtime_tenants_replay";
pub(super) const SINCE_COMMIT: &str =
    "realtime_tenants_broadcast_from_database_latency_committed_at";
pub(super) const SINCE_INSERT: &str =
    "realtime_tenants_broadcast_from_database_latency_inserted_at";
pub(super) const CLUSTER_PUBLISHED: &str = "realtime_cluster_published";
pub(super) const CLUSTER_RECEIVED: &str = "realtime_cluster_received";
pub(super) const CLUSTER_DROPPED: &str = "realtime_cluster_dropped";

/// Says what the numbers mean. Once per process, after its recorder is there.
pub fn describe_metrics() {
    describe_levels();
    describe_totals();
    describe_spreads();
}

fn describe_levels() {
    describe_gauge!(CONNECTED, "Sockets that have a channel.");
    describe_gauge!(CONNECTED_CLUSTER, "The same, on all nodes.");
    describe_gauge!(PRESENCE_ENTRIES, "Channels that are tracked.");
    let what = "Waits for clients that do not take it at once.";
    describe_gauge!(QUEUE_BYTES, Unit::Bytes, what);
    describe_gauge!(SUBSCRIBERS, "Row changes that are listened to.");
    let what = "Log of the database that is not delivered.";
    describe_gauge!(LAG_BYTES, Unit::Bytes, what);
    let what = "Age of the oldest commit that is read and not delivered.";
    describe_gauge!(LAG_SECONDS, Unit::Seconds, what);
}

fn describe_totals() {
    describe_counter!(JOINS, "Joins that were not refused for the rate.");
    describe_counter!(EVENTS, "Broadcasts, taken and delivered.");
    describe_counter!(PRESENCE_EVENTS, "Presence messages, taken and delivered.");
    describe_counter!(DB_EVENTS, "Row changes delivered.");
    describe_counter!(INPUT_BYTES, Unit::Bytes, "Payload of clients' frames.");
    describe_counter!(OUTPUT_BYTES, Unit::Bytes, "Payload of frames to clients.");
    describe_counter!(ERRORS, "Refused joins and channels closed, by reason.");
    describe_counter!(SOCKETS_CLOSED, "Sockets closed by the server, by reason.");
    let what = "Messages that clients were not sent before their socket ended, by reason.";
    describe_counter!(QUEUE_DROPPED, what);
    describe_counter!(FRAMES_ENCODED, "Frames that were made for several to hear.");
    describe_counter!(FRAMES_SHARED, "Frames that were made already for others.");
    describe_counter!(CHANGES_DISPATCH, "Row changes of the log decided.");
    describe_counter!(CHANGES_SKIP, "Row changes that nobody was told of.");
    describe_counter!(CLUSTER_PUBLISHED, "Messages to other nodes.");
    describe_counter!(CLUSTER_RECEIVED, "Messages of other nodes.");
    let what = "Messages to other nodes that the broker was away or too slow for.";
    describe_counter!(CLUSTER_DROPPED, what);
}

fn describe_spreads() {
    let what = "Time that a batch of row changes takes to be decided with the database.";
    describe_histogram!(CHANGES_DECIDING, Unit::Milliseconds, what);
    let what = "Groups of subscribers for whom policies are asked about a row change.";
    describe_histogram!(CHANGES_GROUPS, what);
    describe_histogram!(PAYLOAD_SIZE, Unit::Bytes, "Payload of messages.");
    let what = "Time that policies take to say what may be heard.";
    describe_histogram!(READ_CHECK, Unit::Milliseconds, what);
    let what = "Time that policies take to say what may be said.";
    describe_histogram!(WRITE_CHECK, Unit::Milliseconds, what);
    let what = "Time that it takes to find what is to be replayed.";
    describe_histogram!(REPLAY, Unit::Milliseconds, what);
    let what = "Time from the commit of a message of the database to its delivery.";
    describe_histogram!(SINCE_COMMIT, Unit::Milliseconds, what);
    let what = "Time from the insertion of a message of the database to its delivery.";
    describe_histogram!(SINCE_INSERT, Unit::Milliseconds, what);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Words that begin like a number of ours.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("realtime_") && !word.starts_with("realtime_global_"))
            .collect()
    }

    #[test]
    fn every_number_is_explained() {
        let (code, _) = include_str!("names.rs")
            .split_once("#[cfg(test)]")
            .expect("code before tests");
        let page = include_str!("../../../../docs/metrics.md");
        assert_eq!(names(code), names(page));
    }
}
