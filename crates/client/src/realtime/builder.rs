//! Configuring a channel.

use serde::Serialize;

use super::protocol::ChannelConfig;
use super::{Channel, Realtime, RealtimeError, Subscription};

/// Which earlier messages a private channel receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replay {
    since: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
}

impl Replay {
    /// Messages since this time, in milliseconds since 1970.
    pub fn since(ms: i64) -> Self {
        Self {
            since: ms,
            limit: None,
        }
    }

    /// At most this many messages, the newest; the server's own limit is 25.
    pub fn limit(mut self, messages: u32) -> Self {
        self.limit = Some(messages);
        self
    }
}

/// Configures a channel; see [`Realtime::channel`].
#[derive(Clone, Debug)]
#[must_use = "there is no channel before `build` or `subscribe`"]
pub struct ChannelBuilder {
    realtime: Realtime,
    name: String,
    config: ChannelConfig,
}

impl ChannelBuilder {
    pub(super) fn new(realtime: Realtime, name: &str) -> Self {
        Self {
            realtime,
            name: name.to_owned(),
            config: ChannelConfig::default(),
        }
    }

    /// Requires the permission of policies on `realtime.messages`. A private channel and a public one of
    /// the same name are independent.
    pub fn private(mut self) -> Self {
        self.config.is_private = true;
        self
    }

    /// Whether the channel receives its own broadcasts.
    pub fn broadcast_self(mut self, is_on: bool) -> Self {
        self.config.receives_own = is_on;
        self
    }

    /// Whether sending waits for the server's acknowledgement.
    pub fn ack(mut self, is_on: bool) -> Self {
        self.config.wants_ack = is_on;
        self
    }

    /// Also delivers earlier messages. Only messages sent by the database are stored, and only private
    /// channels can replay them.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.config.replay = Some(replay);
        self
    }

    /// The presence key. The server generates one otherwise.
    pub fn presence_key(mut self, key: impl Into<String>) -> Self {
        self.config.presence_key = key.into();
        self
    }

    /// Whether the channel receives presence. [`Channel::on_presence`] enables it, too.
    pub fn presence(mut self, is_on: bool) -> Self {
        self.config.has_presence = is_on;
        self
    }

    /// Creates the channel. It receives nothing before it is [subscribed](Channel::subscribe).
    ///
    /// If this client already has a channel of that name with the same configuration, that one is
    /// returned; a server knows one channel of a name per connection.
    pub fn build(self) -> Result<Channel, RealtimeError> {
        if self.name.is_empty() {
            return Err(RealtimeError::InvalidInput("a channel needs a name"));
        }
        if self.config.replay.is_some() && !self.config.is_private {
            return Err(RealtimeError::InvalidInput(
                "only private channels can be replayed",
            ));
        }
        self.realtime.open_channel(&self.name, self.config)
    }

    /// Creates the channel and subscribes it.
    pub async fn subscribe(self) -> Result<Subscription, RealtimeError> {
        self.build()?.subscribe().await
    }
}
