//! `[plinth.realtime]`: limits and times of channels.

use std::time::Duration;

use super::AT_LEAST_ONE;
use crate::key::Key;
use crate::value::ByteSize;

keys! {
    /// Maximum number of sockets that have joined a channel.
    pub const MAX_CONCURRENT_USERS: Key<usize> =
        integer("plinth.realtime.max_concurrent_users", AT_LEAST_ONE, 20_000);

    /// Rate limit of messages sent and delivered per second, averaged over a minute.
    pub const MAX_EVENTS_PER_SECOND: Key<u64> =
        integer("plinth.realtime.max_events_per_second", AT_LEAST_ONE, 100_000);

    /// Rate limit of channel joins per second, averaged over a minute.
    pub const MAX_JOINS_PER_SECOND: Key<u64> =
        integer("plinth.realtime.max_joins_per_second", AT_LEAST_ONE, 2_500);

    /// Maximum number of channels per socket.
    pub const MAX_CHANNELS_PER_CLIENT: Key<usize> =
        integer("plinth.realtime.max_channels_per_client", AT_LEAST_ONE, 100);

    /// Rate limit of presence messages per second, averaged over a minute.
    pub const MAX_PRESENCE_EVENTS_PER_SECOND: Key<u64> =
        integer("plinth.realtime.max_presence_events_per_second", AT_LEAST_ONE, 50_000);

    /// Maximum number of presence calls per channel within `client_presence_window`.
    pub const CLIENT_PRESENCE_CALLS: Key<usize> =
        integer("plinth.realtime.client_presence_calls", AT_LEAST_ONE, 50);

    /// Window in which the presence calls of a channel are counted.
    pub const CLIENT_PRESENCE_WINDOW: Key<Duration> =
        duration("plinth.realtime.client_presence_window", "10s");

    /// Maximum payload size of a message, in kilobytes.
    pub const MAX_PAYLOAD_SIZE_IN_KB: Key<usize> =
        integer("plinth.realtime.max_payload_size_in_kb", AT_LEAST_ONE, 3_000);

    /// Reject public channels.
    pub const PRIVATE_ONLY: Key<bool> = flag("plinth.realtime.private_only", false);

    /// Send presence to every channel, also to those that did not subscribe to it.
    pub const PRESENCE_ENABLED: Key<bool> = flag("plinth.realtime.presence_enabled", false);

    /// Maximum size of a socket's send queue; a slow client's socket is closed beyond it.
    pub const MAX_QUEUE_BYTES: Key<ByteSize> = bytes("plinth.realtime.max_queue_bytes", "4MiB");

    /// Send timeout: a socket is closed if its client reads nothing for this long.
    pub const MAX_QUEUE_AGE: Key<Duration> = duration("plinth.realtime.max_queue_age", "10s");

    /// Heartbeat timeout: a socket is closed if its client sends nothing for this long.
    pub const SOCKET_IDLE: Key<Duration> = duration("plinth.realtime.socket_idle", "60s");

    /// Interval at which sockets without a joined channel are closed.
    pub const NO_CHANNEL_TIMEOUT: Key<Duration> =
        duration("plinth.realtime.no_channel_timeout", "10m");

    /// Delay before a rejected connection gets its error, against retry storms.
    pub const CONNECT_ERROR_BACKOFF: Key<Duration> =
        duration("plinth.realtime.connect_error_backoff", "2s");

    /// Delay before a rejected channel join gets its error, against retry storms.
    pub const CHANNEL_ERROR_BACKOFF: Key<Duration> =
        duration("plinth.realtime.channel_error_backoff", "5s");

    /// Timeout for replication to become ready, for channels that asked to be notified of it.
    pub const REPLICATION_READY_TIMEOUT: Key<Duration> =
        duration("plinth.realtime.replication_ready_timeout", "60s");

    /// Idle timeout of replication: how long it goes on after the last channel has left.
    pub const REPLICATION_IDLE: Key<Duration> = duration("plinth.realtime.replication_idle", "10m");

    /// Region that the health check reports.
    pub const REGION: Key<String> = text("plinth.realtime.region", "local");
}
