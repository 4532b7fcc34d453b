//! Broadcasts and their encodings (§6.2).

use axum::extract::ws::Message;
use bytes::{BufMut, Bytes, BytesMut};

use super::{
    Frame, Version,
    binary::{ENCODING_BYTES, ENCODING_JSON, USER_BROADCAST},
    outgoing::push_json_string,
};

/// A message to all members of a topic.
#[derive(Debug, Clone)]
pub(crate) enum Broadcast {
    /// The payload of a text frame, forwarded verbatim.
    Verbatim(Box<str>),
    /// An event with its own payload.
    User(UserBroadcast),
}

/// An event that the application names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserBroadcast {
    pub(crate) event: Box<str>,
    pub(crate) body: Body,
    /// A JSON object about the message, as text.
    pub(crate) meta: Option<Box<str>>,
}

/// The payload of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// Valid JSON.
    Json(Bytes),
    Bytes(Bytes),
}

impl Body {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(bytes) | Self::Bytes(bytes) => bytes.len(),
        }
    }
}

impl Broadcast {
    /// Payload bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Verbatim(payload) => payload.len(),
            Self::User(user) => user.body.len(),
        }
    }

    /// The frame for sockets of that version; `None` if it cannot be represented there.
    pub(crate) fn encode(&self, version: Version, topic: &str) -> Option<Message> {
        match self {
            Self::Verbatim(payload) => Some(text_frame(version, topic, payload)),
            Self::User(user) => match version {
                Version::V2 => user.encode_binary(topic).or_else(|| {
                    // The binary form has one byte for the length of a name.
                    Some(text_frame(version, topic, &user.as_payload()?))
                }),
                Version::V1 => Some(text_frame(version, topic, &user.as_payload()?)),
            },
        }
    }
}

impl UserBroadcast {
    fn encode_binary(&self, topic: &str) -> Option<Message> {
        let meta = self.meta.as_deref().unwrap_or_default();
        let size = |text: &str| u8::try_from(text.len()).ok();
        let (encoding, body) = match &self.body {
            Body::Bytes(bytes) => (ENCODING_BYTES, bytes),
            Body::Json(bytes) => (ENCODING_JSON, bytes),
        };
        let header = [
            USER_BROADCAST,
            size(topic)?,
            size(&self.event)?,
            size(meta)?,
            encoding,
        ];
        let length = header.len() + topic.len() + self.event.len() + meta.len() + body.len();
        let mut frame = BytesMut::with_capacity(length);
        frame.put_slice(&header);
        frame.put_slice(topic.as_bytes());
        frame.put_slice(self.event.as_bytes());
        frame.put_slice(meta.as_bytes());
        frame.put_slice(body);
        Some(Message::Binary(frame.freeze()))
    }

    /// As a JSON payload; `None` for bytes.
    pub(crate) fn as_payload(&self) -> Option<String> {
        let Body::Json(body) = &self.body else {
            return None;
        };
        let body = str::from_utf8(body).ok()?;
        let mut payload = String::with_capacity(body.len() + self.event.len() + 64);
        payload.push_str("{\"event\":");
        push_json_string(&mut payload, &self.event);
        payload.push_str(",\"payload\":");
        payload.push_str(body);
        payload.push_str(",\"type\":\"broadcast\"");
        if let Some(meta) = &self.meta {
            payload.push_str(",\"meta\":");
            payload.push_str(meta);
        }
        payload.push('}');
        Some(payload)
    }
}

fn text_frame(version: Version, topic: &str, payload: &str) -> Message {
    let frame = Frame {
        join_ref: None,
        reference: None,
        topic,
        event: "broadcast",
        payload,
    };
    frame.encode(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(body: Body, meta: Option<&str>) -> Broadcast {
        Broadcast::User(UserBroadcast {
            event: "cursor".into(),
            body,
            meta: meta.map(Into::into),
        })
    }

    fn text(message: Option<Message>) -> String {
        match message {
            Some(Message::Text(text)) => text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_payload_is_forwarded_verbatim() {
        let broadcast = Broadcast::Verbatim(r#"{ "n": 1.0 }"#.into());

        assert_eq!(
            text(broadcast.encode(Version::V2, "realtime:r")),
            r#"[null,null,"realtime:r","broadcast",{ "n": 1.0 }]"#
        );
        assert_eq!(
            text(broadcast.encode(Version::V1, "realtime:r")),
            r#"{"topic":"realtime:r","event":"broadcast","payload":{ "n": 1.0 },"ref":null}"#
        );
    }

    #[test]
    fn json_of_a_binary_frame_is_binary_in_version_2_and_an_object_in_version_1() {
        let broadcast = user(Body::Json(r#"{"x":1}"#.into()), Some(r#"{"id":"1"}"#));

        let Some(Message::Binary(frame)) = broadcast.encode(Version::V2, "realtime:r") else {
            panic!("a binary frame");
        };
        let expected = b"\x04\x0a\x06\x0a\x01realtime:rcursor{\"id\":\"1\"}{\"x\":1}";
        assert_eq!(&frame[..], expected);
        assert_eq!(
            text(broadcast.encode(Version::V1, "realtime:r")),
            "{\"topic\":\"realtime:r\",\"event\":\"broadcast\",\"payload\":{\"event\":\"cursor\",\
             \"payload\":{\"x\":1},\"type\":\"broadcast\",\"meta\":{\"id\":\"1\"}},\"ref\":null}"
        );
    }

    #[test]
    fn bytes_are_not_sent_to_version_1() {
        let broadcast = user(Body::Bytes(Bytes::from_static(&[0, 1])), None);

        assert!(broadcast.encode(Version::V1, "realtime:r").is_none());
        let Some(Message::Binary(frame)) = broadcast.encode(Version::V2, "realtime:r") else {
            panic!("a binary frame");
        };
        assert_eq!(&frame[..], b"\x04\x0a\x06\x00\x00realtime:rcursor\x00\x01");
    }

    #[test]
    fn a_name_that_is_too_long_for_the_binary_form_is_sent_as_text() {
        let topic = format!("realtime:{}", "r".repeat(250));
        let json = user(Body::Json("1".into()), None);
        assert!(text(json.encode(Version::V2, &topic)).contains(r#""payload":1"#));

        let bytes = user(Body::Bytes(Bytes::new()), None);
        assert!(bytes.encode(Version::V2, &topic).is_none());
    }
}
