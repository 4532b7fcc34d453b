//! Binary broadcasts: kind 3 to the server, kind 4 from it (realtime contract §3.4).

use bytes::{BufMut, Bytes, BytesMut};

use super::{Content, Incoming, MAX_NAME_BYTES, Outgoing};
use crate::realtime::SocketMessage;
use crate::realtime::event::{Broadcast, BroadcastMeta, Payload};

const PUSH: u8 = 3;
const BROADCAST: u8 = 4;
const AS_BYTES: u8 = 0;
const AS_JSON: u8 = 1;

/// `None` if a name is too long for the format.
pub(super) fn encode(message: &Outgoing, event: &str, payload: &Payload) -> Option<SocketMessage> {
    let (encoding, payload) = match payload {
        Payload::Bytes(bytes) => (AS_BYTES, bytes),
        Payload::Json(json) => (AS_JSON, json),
    };
    let names = [
        message.join_ref.as_deref().unwrap_or_default(),
        &message.reference,
        &message.topic,
        event,
        // No metadata.
        "",
    ];
    let length: usize = names.iter().map(|name| name.len()).sum();
    let mut frame = BytesMut::with_capacity(7 + length + payload.len());
    frame.put_u8(PUSH);
    for name in names {
        let length = u8::try_from(name.len()).ok();
        frame.put_u8(length.filter(|length| usize::from(*length) <= MAX_NAME_BYTES)?);
    }
    frame.put_u8(encoding);
    for name in names {
        frame.put_slice(name.as_bytes());
    }
    frame.put_slice(payload);
    Some(SocketMessage::Binary(frame.freeze()))
}

pub(super) fn decode(frame: &Bytes) -> Option<Incoming> {
    let [BROADCAST, topic, event, meta, encoding] = *frame.first_chunk()? else {
        return None;
    };
    let mut rest = frame.slice(5..);
    let mut name = |length: u8| {
        let length = usize::from(length);
        (length <= rest.len()).then(|| rest.split_to(length))
    };
    let (topic, event, meta) = (name(topic)?, name(event)?, name(meta)?);
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(Incoming {
        join_ref: None,
        reference: None,
        topic: text(&topic),
        content: Content::Broadcast(Broadcast {
            event: text(&event),
            payload: match encoding {
                AS_JSON => Payload::Json(rest),
                _ => Payload::Bytes(rest),
            },
            meta: read_meta(&meta),
        }),
        bytes: frame.len(),
    })
}

fn read_meta(meta: &[u8]) -> Option<BroadcastMeta> {
    if meta.is_empty() {
        None
    } else {
        serde_json::from_slice(meta).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::Body;
    use super::*;
    use crate::realtime::Vsn;

    fn cursor(event: &str, payload: Payload) -> Outgoing {
        Outgoing {
            join_ref: Some("6".to_owned()),
            reference: "7".to_owned(),
            topic: "realtime:room1".to_owned(),
            event: "broadcast",
            payload: Body::Broadcast {
                event: event.to_owned(),
                payload,
            },
        }
    }

    fn json_payload(text: &'static str) -> Payload {
        Payload::Json(Bytes::from(text))
    }

    #[test]
    fn a_push_is_what_the_javascript_client_sends() {
        let push = cursor("cursor", json_payload(r#"{"x":1}"#)).encode(Vsn::V2);

        let mut expected = vec![3, 1, 1, 14, 6, 0, 1];
        expected.extend_from_slice(br#"67realtime:room1cursor{"x":1}"#);
        assert_eq!(push, Some(SocketMessage::Binary(expected.into())));
    }

    #[test]
    fn bytes_have_no_other_form() {
        let bytes = || Payload::Bytes(Bytes::from_static(&[0, 255]));

        assert!(cursor("e", bytes()).encode(Vsn::V2).is_some());
        assert_eq!(cursor("e", bytes()).encode(Vsn::V1), None);
        assert_eq!(cursor(&"e".repeat(256), bytes()).encode(Vsn::V2), None);
    }

    #[test]
    fn json_under_a_long_name_goes_in_text() {
        let long = "e".repeat(256);
        let Some(SocketMessage::Text(text)) = cursor(&long, json_payload("[1]")).encode(Vsn::V2)
        else {
            panic!("no text");
        };

        let frame: serde_json::Value = serde_json::from_str(&text).unwrap();
        let payload = json!({ "type": "broadcast", "event": long, "payload": [1] });
        assert_eq!(
            frame,
            json!(["6", "7", "realtime:room1", "broadcast", payload])
        );
    }

    #[test]
    fn metadata_is_read_and_nonsense_is_not() {
        let frame = |meta: &str| {
            let mut frame = vec![4, 1, 1, u8::try_from(meta.len()).unwrap(), 1];
            frame.extend_from_slice(format!("te{meta}7").as_bytes());
            let incoming = decode(&frame.into()).unwrap();
            match incoming.content {
                Content::Broadcast(broadcast) => broadcast,
                other => panic!("{other:?}"),
            }
        };

        let known = frame(r#"{"id":"a","replayed":true}"#);
        assert_eq!(known.meta.as_ref().unwrap().id.as_deref(), Some("a"));
        assert!(known.is_replayed());
        assert_eq!(known.json::<u8>().unwrap(), 7);
        assert_eq!(frame("").meta, None);
        assert_eq!(frame("{").meta, None);
    }

    #[test]
    fn other_kinds_and_short_frames_are_skipped() {
        for frame in [
            &[][..],
            &[4],
            &[4, 1, 0, 0, 0],
            &[4, 0, 255, 0, 0, 1, 2],
            &[0, 1, 1, 1, b'a', b'b', b'c'],
            &[1, 0, 0, 0, 0],
            &[2, 0, 0, 0, 0],
        ] {
            assert_eq!(decode(&Bytes::copy_from_slice(frame)), None, "{frame:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_end_in_a_panic(frame in proptest::collection::vec(any::<u8>(), 0..40)) {
            _ = decode(&frame.into());
        }

        /// As a server would reply: kind 3 without its references is kind 4.
        #[test]
        fn any_broadcast_comes_back(
            event in ".{0,30}",
            payload in proptest::collection::vec(any::<u8>(), 0..50),
            is_json in any::<bool>(),
        ) {
            let payload = Bytes::from(payload);
            let payload = if is_json { Payload::Json(payload) } else { Payload::Bytes(payload) };
            let push = cursor(&event, payload.clone());
            let Some(SocketMessage::Binary(push)) = encode(&push, &event, &payload) else {
                panic!("no frame");
            };
            prop_assert_eq!((push[1], push[2]), (1, 1));
            let mut frame = vec![BROADCAST, push[3], push[4], push[5], push[6]];
            frame.extend_from_slice(&push[9..]);
            let back = decode(&frame.into()).unwrap();
            prop_assert_eq!(back.topic, "realtime:room1");
            let expected = Broadcast { event, payload, meta: None };
            prop_assert_eq!(back.content, Content::Broadcast(expected));
        }
    }
}
