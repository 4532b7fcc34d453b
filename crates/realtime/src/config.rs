//! What can be chosen about the realtime service for one project (realtime contract §11).

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::Settings;

/// A project's settings of the realtime service.
#[derive(Debug, Clone)]
pub struct RealtimeConfig {
    /// Whether the service is switched on.
    pub(crate) is_enabled: bool,
    /// Whether public channels are refused.
    pub(crate) is_private_only: bool,
    /// Whether every channel gets presence.
    pub(crate) has_presence: bool,
    /// Most sockets that have a channel.
    pub(crate) max_sockets: usize,
    /// Most channels of one socket.
    pub(crate) max_channels: usize,
    /// Averages per second.
    pub(crate) max_events: u64,
    pub(crate) max_joins: u64,
    pub(crate) max_presence_events: u64,
    /// Presence calls of one channel, and the time in which they are counted.
    pub(crate) presence_calls: usize,
    pub(crate) presence_window: Duration,
    /// Largest payload.
    pub(crate) max_payload_bytes: usize,
    /// Most bytes that may wait for a client, and how long.
    pub(crate) max_queue_bytes: usize,
    pub(crate) max_queue_age: Duration,
    /// After how long a silent socket is closed.
    pub(crate) socket_idle: Duration,
    /// How often sockets without a channel are closed.
    pub(crate) no_channel_timeout: Duration,
    /// How long refusals are held back, so that clients which try again at once do not storm.
    pub(crate) connect_error_backoff: Duration,
    pub(crate) channel_error_backoff: Duration,
    /// How long a channel waits for messages of the database.
    pub(crate) replication_ready_timeout: Duration,
    /// How long the database is followed after the last channel has gone.
    pub(crate) replication_idle: Duration,
    /// Where the service says that it is.
    pub(crate) region: String,
}

impl FromSettings for RealtimeConfig {
    fn from_settings(settings: &Settings) -> Self {
        let own = |name: &str| format!("plinth.realtime.{name}");
        let count = |name| u64::try_from(settings.integer(&own(name))).unwrap_or_default();
        let size = |name| usize::try_from(count(name)).unwrap_or(usize::MAX);
        let duration = |name| settings.duration(&own(name));
        Self {
            is_enabled: settings.bool("realtime.enabled"),
            is_private_only: settings.bool(&own("private_only")),
            has_presence: settings.bool(&own("presence_enabled")),
            max_sockets: size("max_concurrent_users"),
            max_channels: size("max_channels_per_client"),
            max_events: count("max_events_per_second"),
            max_joins: count("max_joins_per_second"),
            max_presence_events: count("max_presence_events_per_second"),
            presence_calls: size("client_presence_calls"),
            presence_window: duration("client_presence_window"),
            // What surrounds a payload of the permitted size does not make it too large.
            max_payload_bytes: size("max_payload_size_in_kb")
                .saturating_mul(1000)
                .saturating_add(500),
            max_queue_bytes: usize::try_from(settings.bytes(&own("max_queue_bytes")))
                .unwrap_or(usize::MAX),
            max_queue_age: duration("max_queue_age"),
            socket_idle: duration("socket_idle"),
            no_channel_timeout: duration("no_channel_timeout"),
            connect_error_backoff: duration("connect_error_backoff"),
            channel_error_backoff: duration("channel_error_backoff"),
            replication_ready_timeout: duration("replication_ready_timeout"),
            replication_idle: duration("replication_idle"),
            region: settings.text(&own("region")).to_owned(),
        }
    }
}
