//! Frames about a channel itself: `system` messages (§8) and `phx_close`.

use axum::extract::ws::Message;
use serde_json::json;

use super::{Frame, Ref, Version, sub_topic};

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

/// `phx_close` for the channel of that join. Both refs are the join's: clients drop a close that
/// belongs to an older join.
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
