//! `[plinth.realtime]`: limits and times of channels.

use super::AT_LEAST_ONE;
use crate::key::{Key, bytes, duration, flag, integer, text};

pub(super) const KEYS: &[Key] = &[
    integer(
        "plinth.realtime.max_concurrent_users",
        AT_LEAST_ONE,
        20_000,
        "Most sockets that have a channel.",
    ),
    integer(
        "plinth.realtime.max_events_per_second",
        AT_LEAST_ONE,
        100_000,
        "Most messages per second, sent and delivered, on the average of a minute.",
    ),
    integer(
        "plinth.realtime.max_joins_per_second",
        AT_LEAST_ONE,
        2_500,
        "Most joins per second, on the average of a minute.",
    ),
    integer(
        "plinth.realtime.max_channels_per_client",
        AT_LEAST_ONE,
        100,
        "Most channels of one socket.",
    ),
    integer(
        "plinth.realtime.max_presence_events_per_second",
        AT_LEAST_ONE,
        50_000,
        "Most presence messages per second, on the average of a minute.",
    ),
    integer(
        "plinth.realtime.client_presence_calls",
        AT_LEAST_ONE,
        50,
        "Most presence calls of one channel within `client_presence_window`.",
    ),
    duration(
        "plinth.realtime.client_presence_window",
        "10s",
        "Time in which a channel's presence calls are counted.",
    ),
    integer(
        "plinth.realtime.max_payload_size_in_kb",
        AT_LEAST_ONE,
        3_000,
        "Largest payload of a message, in kilobytes.",
    ),
    flag(
        "plinth.realtime.private_only",
        false,
        "Refuse public channels.",
    ),
    flag(
        "plinth.realtime.presence_enabled",
        false,
        "Send presence to every channel, also to those that did not ask for it.",
    ),
    bytes(
        "plinth.realtime.max_queue_bytes",
        "4MiB",
        "A socket with more than this waiting for its client is closed.",
    ),
    duration(
        "plinth.realtime.max_queue_age",
        "10s",
        "A socket whose client takes nothing for so long is closed.",
    ),
    duration(
        "plinth.realtime.socket_idle",
        "60s",
        "A socket that says nothing for so long is closed.",
    ),
    duration(
        "plinth.realtime.no_channel_timeout",
        "10m",
        "How often sockets without a channel are closed.",
    ),
    duration(
        "plinth.realtime.connect_error_backoff",
        "2s",
        "How long the refusal of a socket is held back.",
    ),
    duration(
        "plinth.realtime.channel_error_backoff",
        "5s",
        "How long the refusal of a channel is held back.",
    ),
    duration(
        "plinth.realtime.replication_ready_timeout",
        "60s",
        "How long a channel that wants to know when messages of the database arrive waits for them.",
    ),
    duration(
        "plinth.realtime.replication_idle",
        "10m",
        "How long the database's changes are followed after the last channel has gone.",
    ),
    text(
        "plinth.realtime.region",
        "local",
        "What the health of the service says about where it runs.",
    ),
];
