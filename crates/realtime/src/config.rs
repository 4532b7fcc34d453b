//! Settings of the realtime service for one project (realtime contract §11).

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::{
    Settings,
    keys::{plinth_realtime as keys, realtime},
};

/// A project's settings, parsed.
#[derive(Debug, Clone)]
pub struct RealtimeConfig {
    pub(crate) is_enabled: bool,
    /// Whether public channels are rejected.
    pub(crate) is_private_only: bool,
    /// Whether every channel has presence, without asking for it.
    pub(crate) has_presence: bool,
    /// Sockets with at least one channel, on all nodes.
    pub(crate) max_sockets: usize,
    /// Channels per socket.
    pub(crate) max_channels: usize,
    /// Per second, averaged over a minute.
    pub(crate) max_events: u64,
    pub(crate) max_joins: u64,
    pub(crate) max_presence_events: u64,
    /// Presence calls of one channel per window.
    pub(crate) presence_calls: usize,
    pub(crate) presence_window: Duration,
    pub(crate) max_payload_bytes: usize,
    /// Bound of a client's outbound queue, and how long the client may read nothing.
    pub(crate) max_queue_bytes: usize,
    pub(crate) max_queue_age: Duration,
    /// A socket without a frame for this long is closed.
    pub(crate) socket_idle: Duration,
    /// How often sockets are checked for having a channel.
    pub(crate) no_channel_timeout: Duration,
    /// Delay of error responses and error replies, against clients that retry at once.
    pub(crate) connect_error_backoff: Duration,
    pub(crate) channel_error_backoff: Duration,
    /// How long a channel that asked for `replication_ready` waits for the stream.
    pub(crate) replication_ready_timeout: Duration,
    /// How long the stream stays open after the last channel has left.
    pub(crate) replication_idle: Duration,
    /// For the health response.
    pub(crate) region: String,
}

impl FromSettings for RealtimeConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            is_enabled: settings.get(realtime::ENABLED),
            is_private_only: settings.get(keys::PRIVATE_ONLY),
            has_presence: settings.get(keys::PRESENCE_ENABLED),
            max_sockets: settings.get(keys::MAX_CONCURRENT_USERS),
            max_channels: settings.get(keys::MAX_CHANNELS_PER_CLIENT),
            max_events: settings.get(keys::MAX_EVENTS_PER_SECOND),
            max_joins: settings.get(keys::MAX_JOINS_PER_SECOND),
            max_presence_events: settings.get(keys::MAX_PRESENCE_EVENTS_PER_SECOND),
            presence_calls: settings.get(keys::CLIENT_PRESENCE_CALLS),
            presence_window: settings.get(keys::CLIENT_PRESENCE_WINDOW),
            // What surrounds a payload of the permitted size does not make it too large.
            max_payload_bytes: settings
                .get(keys::MAX_PAYLOAD_SIZE_IN_KB)
                .saturating_mul(1000)
                .saturating_add(500),
            max_queue_bytes: usize::try_from(settings.get(keys::MAX_QUEUE_BYTES))
                .unwrap_or(usize::MAX),
            max_queue_age: settings.get(keys::MAX_QUEUE_AGE),
            socket_idle: settings.get(keys::SOCKET_IDLE),
            no_channel_timeout: settings.get(keys::NO_CHANNEL_TIMEOUT),
            connect_error_backoff: settings.get(keys::CONNECT_ERROR_BACKOFF),
            channel_error_backoff: settings.get(keys::CHANNEL_ERROR_BACKOFF),
            replication_ready_timeout: settings.get(keys::REPLICATION_READY_TIMEOUT),
            replication_idle: settings.get(keys::REPLICATION_IDLE),
            region: settings.get(keys::REGION).to_owned(),
        }
    }
}
