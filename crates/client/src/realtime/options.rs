//! What can be chosen about the connection.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::Connect;
use super::ladder::Ladder;
use super::queue::Bound;
use crate::client::{ThirdParty, TokenSource};
use crate::runtime::{MaybeSend, MaybeSync};

/// K14: how often the connection is tried.
pub const HEARTBEAT_MS: u64 = 25_000;

/// Which form of messages is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vsn {
    /// `1.0.0`: objects of JSON. Bytes cannot be sent, nor do they arrive.
    V1,
    /// `2.0.0`: lists of JSON, and broadcasts in a binary form.
    #[default]
    V2,
}

impl Vsn {
    /// What it is called on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "1.0.0",
            Self::V2 => "2.0.0",
        }
    }
}

/// What can be chosen about the connection; see
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
    pub(super) ladder: Ladder,
    pub(super) vsn: Vsn,
    pub(super) bound: Bound,
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
    /// As JavaScript has it.
    pub fn new() -> Self {
        Self {
            heartbeat: Duration::from_millis(HEARTBEAT_MS),
            timeout: Duration::from_millis(super::TIMEOUT_MS),
            idle: None,
            ladder: Ladder::default(),
            vsn: Vsn::default(),
            bound: Bound::default(),
            transport: None,
            tokens: None,
            params: Vec::new(),
        }
    }

    /// How often the connection is tried; 25 s unless this says otherwise. One that has not
    /// answered when it is tried again is given up and made anew.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = every.max(Duration::from_millis(1));
        self
    }

    /// How long joins and messages wait for their answer; 10 s unless this says otherwise.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How long to wait before a connection, or a channel, is tried again: before the first
    /// attempt (1), the second, and so on. It is 1, 2, 5 and then always 10 s unless this says
    /// otherwise.
    pub fn reconnect<F>(mut self, wait: F) -> Self
    where
        F: Fn(u32) -> Duration + MaybeSend + MaybeSync + 'static,
    {
        self.ladder = Ladder::new(wait);
        self
    }

    /// How long the connection stays after its last channel has gone. Two heartbeats, unless this
    /// says otherwise.
    pub fn disconnect_when_idle(mut self, after: Duration) -> Self {
        self.idle = Some(after);
        self
    }

    /// Speaks another form of messages than `2.0.0`.
    pub fn vsn(mut self, vsn: Vsn) -> Self {
        self.vsn = vsn;
        self
    }

    /// Opens connections another way than over reqwest.
    pub fn transport(mut self, transport: impl Connect) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Takes tokens from this function instead of the client's session. It is asked when the
    /// connection is made, after each join, and with every heartbeat.
    pub fn access_token<F, T>(mut self, give: F) -> Self
    where
        F: Fn() -> T + MaybeSend + MaybeSync + 'static,
        T: Future<Output = Option<String>> + MaybeSend + 'static,
    {
        self.tokens = Some(Arc::new(ThirdParty::new(give)));
        self
    }

    /// How much may wait in each stream until somebody reads it: this many events, and this many
    /// bytes of them (a single event may be larger). What is more pushes out the oldest, and the
    /// stream says [`RealtimeError::Lagged`](super::RealtimeError::Lagged).
    pub fn buffer(mut self, events: usize, bytes: usize) -> Self {
        self.bound = Bound {
            events: events.max(1),
            bytes,
        };
        self
    }

    /// Adds a parameter to the address of the connection, such as `log_level`.
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
