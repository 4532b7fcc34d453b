//! Names of topics: `realtime:room1` on the wire, `room1` (the sub-topic) everywhere else.

/// Every channel's topic starts with this.
pub(crate) const TOPIC_PREFIX: &str = "realtime:";

/// A topic without its prefix.
pub(crate) fn sub_topic(topic: &str) -> &str {
    topic.strip_prefix(TOPIC_PREFIX).unwrap_or(topic)
}
