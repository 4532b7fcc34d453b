//! Choosing what a channel is like.

use serde::Serialize;

use super::conversation::ChannelConfig;
use super::{Channel, Realtime, RealtimeError, Subscription};

/// Which earlier messages a private channel wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replay {
    since: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
}

impl Replay {
    /// Those since then, in milliseconds since 1970.
    pub fn since(ms: i64) -> Self {
        Self {
            since: ms,
            limit: None,
        }
    }

    /// So many of them at most, the newest; the server has a limit of its own, 25.
    pub fn limit(mut self, messages: u32) -> Self {
        self.limit = Some(messages);
        self
    }
}

/// Chooses what a channel is like; see [`Realtime::channel`].
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

    /// Only for those whom policies on `realtime.messages` let in. A private channel and a public
    /// one of the same name have nothing to do with each other.
    pub fn private(mut self) -> Self {
        self.config.is_private = true;
        self
    }

    /// Whether what is sent over the channel also comes back over it.
    pub fn broadcast_self(mut self, is_on: bool) -> Self {
        self.config.hears_itself = is_on;
        self
    }

    /// Whether sending waits until the server has taken the message.
    pub fn ack(mut self, is_on: bool) -> Self {
        self.config.wants_ack = is_on;
        self
    }

    /// Also tells what was said before. Only messages that the database sent are kept, and only
    /// private channels may ask for them.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.config.replay = Some(replay);
        self
    }

    /// Under which key you are present. The server makes one up otherwise.
    pub fn presence_key(mut self, key: impl Into<String>) -> Self {
        self.config.presence_key = key.into();
        self
    }

    /// Whether the channel knows who is there. Listening to presence switches it on, too.
    pub fn presence(mut self, is_on: bool) -> Self {
        self.config.has_presence = is_on;
        self
    }

    /// Makes the channel. It hears nothing before it is [subscribed](Channel::subscribe).
    ///
    /// If there is one of that name in this client, and nothing else was chosen for it, it is that
    /// one; a server knows one channel of a name per connection.
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

    /// Makes the channel and subscribes it.
    pub async fn subscribe(self) -> Result<Subscription, RealtimeError> {
        self.build()?.subscribe().await
    }
}
