//! What the server says about a channel itself (§8).

use axum::extract::ws::Message;
use serde_json::json;

use super::sub_topic;
use crate::protocol::{Frame, Ref, Version};

/// A `system` message for one channel.
pub(crate) fn system_frame(
    version: Version,
    join_ref: Option<&Ref>,
    topic: &str,
    extension: &str,
    is_ok: bool,
    message: &str,
) -> Message {
    let payload = json!({
        "extension": extension,
        "status": if is_ok { "ok" } else { "error" },
        "message": message,
        "channel": sub_topic(topic),
    });
    let frame = Frame {
        join_ref,
        reference: None,
        topic,
        event: "system",
        payload: &payload.to_string(),
    };
    frame.encode(version)
}

/// The channel of that join has ended. Both refs are the join's, by which clients tell whether it
/// is the channel that they have now.
pub(crate) fn close_frame(version: Version, join_ref: Option<&Ref>, topic: &str) -> Message {
    let frame = Frame {
        join_ref,
        reference: join_ref,
        topic,
        event: "phx_close",
        payload: "{}",
    };
    frame.encode(version)
}
