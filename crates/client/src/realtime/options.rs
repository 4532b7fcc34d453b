//! Options of the connection.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::Connect;
use super::backoff::Backoff;
use super::queue::QueueLimits;
use crate::client::{ThirdParty, TokenSource};
use crate::runtime::{MaybeSend, MaybeSync};

/// K14: interval of heartbeats.
pub const HEARTBEAT_MS: u64 = 25_000;

/// Version of the message format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vsn {
    /// `1.0.0`: JSON objects. Bytes can neither be sent nor received.
    V1,
    /// `2.0.0`: JSON arrays, and broadcasts in a binary format.
    #[default]
    V2,
}

impl Vsn {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "1.0.0",
            Self::V2 => "2.0.0",
        }
    }
}

/// Options of the connection; see
/// [`ClientBuilder::realtime`](crate::ClientBuilder::realtime).
///
/// ```
/// use std::time::Duration;
/// use plinth_client::Client;
/// use plinth_client::realtime::RealtimeOptions;
///
/// # fn main() -> Result<(), plinth_client::AuthError> {
/// let options = RealtimeOptions::new()
///     .heartbeat(Duration::from_secs(15))
///     .reconnect(|attempt| Duration::from_secs(attempt.min(30).into()));
/// let client = Client::builder("http://localhost:54321", "anon-key").realtime(options).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "they belong into a `ClientBuilder`"]
pub struct RealtimeOptions {
    pub(super) heartbeat: Duration,
    pub(super) timeout: Duration,
    pub(super) idle: Option<Duration>,
    pub(super) backoff: Backoff,
    pub(super) vsn: Vsn,
    pub(super) limits: QueueLimits,
    pub(super) transport: Option<Arc<dyn Connect>>,
    pub(super) tokens: Option<Arc<dyn TokenSource>>,
    pub(super) params: Vec<(String, String)>,
}

impl Default for RealtimeOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RealtimeOptions {
    /// The defaults of the JavaScript client.
    pub fn new() -> Self {
        Self {
            heartbeat: Duration::from_millis(HEARTBEAT_MS),
            timeout: Duration::from_millis(super::TIMEOUT_MS),
            idle: None,
            backoff: Backoff::default(),
            vsn: Vsn::default(),
            limits: QueueLimits::default(),
            transport: None,
            tokens: None,
            params: Vec::new(),
        }
    }

    /// Interval of heartbeats; default 25 s. A connection without a reply by the next heartbeat is closed
    /// and reopened.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = every.max(Duration::from_millis(1));
        self
    }

    /// Timeout of joins and messages; default 10 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Backoff before a connection or a channel is retried, given the number of the attempt from 1. Default
    /// 1, 2, 5 and then always 10 s.
    pub fn reconnect<F>(mut self, wait: F) -> Self
    where
        F: Fn(u32) -> Duration + MaybeSend + MaybeSync + 'static,
    {
        self.backoff = Backoff::new(wait);
        self
    }

    /// How long the connection stays open after its last channel was left. Default: two heartbeats.
    pub fn disconnect_when_idle(mut self, after: Duration) -> Self {
        self.idle = Some(after);
        self
    }

    /// Uses another message format than `2.0.0`.
    pub fn vsn(mut self, vsn: Vsn) -> Self {
        self.vsn = vsn;
        self
    }

    /// Replaces the reqwest-based WebSocket transport.
    pub fn transport(mut self, transport: impl Connect) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Takes tokens from this function instead of the client's session. It is called when the connection is
    /// opened, after each join, and with every heartbeat.
    pub fn access_token<F, T>(mut self, give: F) -> Self
    where
        F: Fn() -> T + MaybeSend + MaybeSync + 'static,
        T: Future<Output = Option<String>> + MaybeSend + 'static,
    {
        self.tokens = Some(Arc::new(ThirdParty::new(give)));
        self
    }

    /// Buffer limits of each stream: this many events, and this many bytes of them (a single event may be
    /// larger). Beyond that the oldest are dropped, and the stream returns
    /// [`RealtimeError::Lagged`](super::RealtimeError::Lagged).
    pub fn buffer(mut self, events: usize, bytes: usize) -> Self {
        self.limits = QueueLimits {
            events: events.max(1),
            bytes,
        };
        self
    }

    /// Adds a query parameter to the connection's URL, such as `log_level`.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    pub(super) fn idle(&self) -> Duration {
        self.idle.unwrap_or(self.heartbeat * 2)
    }
}

impl fmt::Debug for RealtimeOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RealtimeOptions")
            .field("heartbeat", &self.heartbeat)
            .field("timeout", &self.timeout)
            .field("vsn", &self.vsn)
            .finish_non_exhaustive()
    }
}
