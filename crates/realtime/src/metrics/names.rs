//! Names and help texts. `docs/metrics.md` explains them at more length.

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
pub(super) const CHANGES_DISPATCHED: &str = "realtime_replication_poller_changes_dispatch";
pub(super) const CHANGES_SKIPPED: &str = "realtime_replication_poller_changes_skip";
pub(super) const BATCH_DURATION: &str = "realtime_replication_poller_query_duration";
pub(super) const POLICY_GROUPS: &str = "realtime_changes_groups";
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
pub(super) const CLUSTER_CONNECTED: &str = "realtime_cluster_connected";

/// Registers the help texts. To be called once per process, after its recorder is installed.
pub fn describe_metrics() {
    describe_gauges();
    describe_counters();
    describe_histograms();
}

fn describe_gauges() {
    let help = "Sockets with at least one joined channel on this node.";
    describe_gauge!(CONNECTED, help);
    let help = "Sockets with at least one joined channel on all nodes.";
    describe_gauge!(CONNECTED_CLUSTER, help);
    let help = "Channels of this node that track presence.";
    describe_gauge!(PRESENCE_ENTRIES, help);
    let help = "Bytes queued for clients that read more slowly than they are sent to.";
    describe_gauge!(QUEUE_BYTES, Unit::Bytes, help);
    describe_gauge!(SUBSCRIBERS, "Subscriptions to row changes.");
    let help = "WAL bytes not yet delivered to subscribers.";
    describe_gauge!(LAG_BYTES, Unit::Bytes, help);
    let help = "Age of the oldest commit read from the WAL and not yet delivered.";
    describe_gauge!(LAG_SECONDS, Unit::Seconds, help);
    let help = "Whether the broker to other nodes is connected: 1 or 0.";
    describe_gauge!(CLUSTER_CONNECTED, help);
}

fn describe_counters() {
    describe_counter!(JOINS, "Joins within the join rate limit.");
    let help = "Broadcasts: one when accepted, one per delivery to a channel.";
    describe_counter!(EVENTS, help);
    let help = "Presence messages: one when accepted, one per delivery to a channel.";
    describe_counter!(PRESENCE_EVENTS, help);
    describe_counter!(DB_EVENTS, "Row changes delivered to channels.");
    let help = "Payload bytes of frames received from clients.";
    describe_counter!(INPUT_BYTES, Unit::Bytes, help);
    let help = "Payload bytes of frames sent to clients.";
    describe_counter!(OUTPUT_BYTES, Unit::Bytes, help);
    let help = "Rejected joins, and channels closed for exceeding a limit, by code.";
    describe_counter!(ERRORS, help);
    describe_counter!(SOCKETS_CLOSED, "Sockets closed by the server, by reason.");
    let help = "Messages still queued for a client when its socket closed, by reason.";
    describe_counter!(QUEUE_DROPPED, help);
    describe_counter!(FRAMES_ENCODED, "Frames encoded for fan-out.");
    let help = "Deliveries that reused a frame already encoded for another channel.";
    describe_counter!(FRAMES_SHARED, help);
    let help = "Row changes whose filters and policies were evaluated.";
    describe_counter!(CHANGES_DISPATCHED, help);
    let help = "Row changes dropped before they reached any subscriber, by reason.";
    describe_counter!(CHANGES_SKIPPED, help);
    let help = "Messages queued for the broker to other nodes.";
    describe_counter!(CLUSTER_PUBLISHED, help);
    let help = "Messages received from other nodes through the broker.";
    describe_counter!(CLUSTER_RECEIVED, help);
    let help = "Messages to other nodes dropped: broker disconnected or publish queue full.";
    describe_counter!(CLUSTER_DROPPED, help);
}

fn describe_histograms() {
    let help = "Time to evaluate filters and policies for one batch of row changes.";
    describe_histogram!(BATCH_DURATION, Unit::Milliseconds, help);
    let help = "Subscriber groups whose policies were checked, per row change.";
    describe_histogram!(POLICY_GROUPS, help);
    let help = "Payload bytes per message, by message_type.";
    describe_histogram!(PAYLOAD_SIZE, Unit::Bytes, help);
    let help = "Time of a policy check for reading a private topic.";
    describe_histogram!(READ_CHECK, Unit::Milliseconds, help);
    let help = "Time of a policy check for writing to a private topic.";
    describe_histogram!(WRITE_CHECK, Unit::Milliseconds, help);
    describe_histogram!(REPLAY, Unit::Milliseconds, "Time of a replay query.");
    let help = "Latency from the commit of a realtime.messages row to its broadcast.";
    describe_histogram!(SINCE_COMMIT, Unit::Milliseconds, help);
    let help = "Latency from the insert of a realtime.messages row to its broadcast.";
    describe_histogram!(SINCE_INSERT, Unit::Milliseconds, help);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Words that look like one of our metric names.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("realtime_") && !word.starts_with("realtime_global_"))
            .collect()
    }

    #[test]
    fn every_metric_is_documented() {
        let (code, _) = include_str!("names.rs")
            .split_once("#[cfg(test)]")
            .expect("code before tests");
        let page = include_str!("../../../../docs/metrics.md");
        assert_eq!(names(code), names(page));
    }
}
