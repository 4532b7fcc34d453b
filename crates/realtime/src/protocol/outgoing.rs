//! Frames to clients, in either version.

use axum::extract::ws::Message;

use super::{Ref, Version};

/// A frame to be encoded. Its payload is JSON already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) join_ref: Option<&'a Ref>,
    pub(crate) reference: Option<&'a Ref>,
    pub(crate) topic: &'a str,
    pub(crate) event: &'a str,
    pub(crate) payload: &'a str,
}

impl Frame<'_> {
    /// As one text frame.
    pub(crate) fn encode(&self, version: Version) -> Message {
        let capacity = self.topic.len() + self.event.len() + self.payload.len() + 64;
        let mut text = String::with_capacity(capacity);
        match version {
            Version::V1 => {
                text.push_str("{\"topic\":");
                push_json_string(&mut text, self.topic);
                text.push_str(",\"event\":");
                push_json_string(&mut text, self.event);
                text.push_str(",\"payload\":");
                text.push_str(self.payload);
                text.push_str(",\"ref\":");
                push_ref(&mut text, self.reference);
                text.push('}');
            }
            Version::V2 => {
                text.push('[');
                push_ref(&mut text, self.join_ref);
                text.push(',');
                push_ref(&mut text, self.reference);
                text.push(',');
                push_json_string(&mut text, self.topic);
                text.push(',');
                push_json_string(&mut text, self.event);
                text.push(',');
                text.push_str(self.payload);
                text.push(']');
            }
        }
        Message::Text(text.into())
    }
}

/// The reply to a join or a push.
pub(crate) fn reply(
    version: Version,
    (join_ref, reference): (Option<&Ref>, Option<&Ref>),
    topic: &str,
    is_ok: bool,
    response: &str,
) -> Message {
    let status = if is_ok { "ok" } else { "error" };
    let frame = Frame {
        join_ref,
        reference,
        topic,
        event: "phx_reply",
        payload: &format!("{{\"status\":\"{status}\",\"response\":{response}}}"),
    };
    frame.encode(version)
}

fn push_ref(text: &mut String, reference: Option<&Ref>) {
    text.push_str(reference.map_or("null", Ref::as_json));
}

/// Appends a JSON string.
pub(crate) fn push_json_string(out: &mut String, text: &str) {
    let is_plain = |b: u8| b >= 0x20 && b != b'"' && b != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: Message) -> String {
        match message {
            Message::Text(text) => text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_frame_in_both_versions() {
        let (join_ref, reference) = (Ref::from_text("6"), Ref::from_text("7"));
        let frame = Frame {
            join_ref: join_ref.as_ref(),
            reference: reference.as_ref(),
            topic: "realtime:a\"b",
            event: "system",
            payload: "{}",
        };

        assert_eq!(
            text(frame.encode(Version::V1)),
            r#"{"topic":"realtime:a\"b","event":"system","payload":{},"ref":"7"}"#
        );
        assert_eq!(
            text(frame.encode(Version::V2)),
            r#"["6","7","realtime:a\"b","system",{}]"#
        );
    }

    #[test]
    fn the_reply_to_a_heartbeat() {
        let reference = Ref::from_text("26");
        let reply = reply(
            Version::V2,
            (None, reference.as_ref()),
            "phoenix",
            true,
            "{}",
        );
        assert_eq!(
            text(reply),
            r#"[null,"26","phoenix","phx_reply",{"status":"ok","response":{}}]"#
        );
    }
}
