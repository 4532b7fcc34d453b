//! `[realtime]`: broadcast, presence and row changes.

use super::AT_LEAST_ONE;
use crate::key::{Key, choice, flag, integer};

pub(super) const KEYS: &[Key] = &[
    flag("realtime.enabled", true, "Serve realtime channels."),
    choice(
        "realtime.ip_version",
        &["IPv4", "IPv6"],
        "IPv4",
        "Address family to bind.",
    )
    .inert(),
    integer(
        "realtime.max_header_length",
        AT_LEAST_ONE,
        4096,
        "Longest HTTP header of a socket request in bytes.",
    )
    .inert(),
];
