//! `[realtime]`: broadcast, presence and row changes.

use super::AT_LEAST_ONE;
use crate::key::Key;

keys! {
    /// Serve the realtime API.
    pub const ENABLED: Key<bool> = flag("realtime.enabled", true);

    /// Address family to bind.
    pub const IP_VERSION: Key<String> =
        choice("realtime.ip_version", &["IPv4", "IPv6"], "IPv4").inert();

    /// Maximum size of an HTTP header of a WebSocket request, in bytes.
    pub const MAX_HEADER_LENGTH: Key<u64> =
        integer("realtime.max_header_length", AT_LEAST_ONE, 4096).inert();
}
