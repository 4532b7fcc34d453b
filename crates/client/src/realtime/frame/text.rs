//! JSON messages: objects in version 1, arrays in version 2.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{BROADCAST, Content, Incoming, Outgoing};
use crate::realtime::event::{Broadcast, BroadcastMeta, Payload};
use crate::realtime::{SocketMessage, Vsn};

pub(super) fn encode(message: &Outgoing, payload: &Value, vsn: Vsn) -> SocketMessage {
    let Outgoing {
        join_ref,
        reference,
        topic,
        event,
        ..
    } = message;
    let message = match vsn {
        Vsn::V1 => json!({
            "topic": topic,
            "event": event,
            "payload": payload,
            "ref": reference,
            "join_ref": join_ref,
        }),
        Vsn::V2 => json!([join_ref, reference, topic, event, payload]),
    };
    SocketMessage::Text(message.to_string())
}

#[derive(Deserialize)]
struct ObjectMessage<'a> {
    topic: String,
    event: String,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(rename = "ref", default)]
    reference: Option<String>,
    #[serde(default)]
    join_ref: Option<String>,
}

/// The payload of a broadcast. Any part may be missing.
#[derive(Deserialize)]
struct BroadcastPayload<'a> {
    #[serde(default)]
    event: String,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    meta: Option<BroadcastMeta>,
}

pub(super) fn decode(text: &str, vsn: Vsn) -> Option<Incoming> {
    let parts = match vsn {
        Vsn::V1 => serde_json::from_str(text).ok()?,
        Vsn::V2 => in_list(text)?,
    };
    let ObjectMessage {
        topic,
        event,
        payload,
        reference,
        join_ref,
    } = parts;
    let content = if event == BROADCAST {
        Content::Broadcast(broadcast(payload)?)
    } else {
        Content::Event {
            name: event,
            payload: Bytes::copy_from_slice(payload.get().as_bytes()),
        }
    };
    Some(Incoming {
        join_ref,
        reference,
        topic,
        content,
        bytes: text.len(),
    })
}

/// Elements beyond the fifth are ignored.
fn in_list(text: &str) -> Option<ObjectMessage<'_>> {
    let parts: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let [join_ref, reference, topic, event, payload, ..] = parts[..] else {
        return None;
    };
    Some(ObjectMessage {
        topic: serde_json::from_str(topic.get()).ok()?,
        event: serde_json::from_str(event.get()).ok()?,
        payload,
        reference: serde_json::from_str(reference.get()).ok()?,
        join_ref: serde_json::from_str(join_ref.get()).ok()?,
    })
}

fn broadcast(payload: &RawValue) -> Option<Broadcast> {
    let said: BroadcastPayload<'_> = serde_json::from_str(payload.get()).ok()?;
    let payload = said.payload.map_or("null", RawValue::get);
    Some(Broadcast {
        event: said.event,
        payload: Payload::Json(Bytes::copy_from_slice(payload.as_bytes())),
        meta: said.meta,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str, vsn: Vsn) -> Option<Incoming> {
        Incoming::decode(&SocketMessage::Text(text.to_owned()), vsn)
    }

    fn push() -> Outgoing {
        Outgoing {
            join_ref: Some("1".to_owned()),
            reference: "2".to_owned(),
            topic: "realtime:room".to_owned(),
            event: "presence",
            payload: super::super::Body::Json(json!({ "a": 1 })),
        }
    }

    #[test]
    fn version_2_is_a_list_and_version_1_an_object() {
        let text = |vsn| match push().encode(vsn) {
            Some(SocketMessage::Text(text)) => serde_json::from_str::<Value>(&text).unwrap(),
            other => panic!("{other:?}"),
        };

        let list = json!(["1", "2", "realtime:room", "presence", { "a": 1 }]);
        assert_eq!(text(Vsn::V2), list);
        let object = json!({
            "topic": "realtime:room", "event": "presence", "payload": { "a": 1 },
            "ref": "2", "join_ref": "1",
        });
        assert_eq!(text(Vsn::V1), object);
    }

    #[test]
    fn both_versions_are_read() {
        let list = decoded(r#"["1","2","t","phx_reply",{"status":"ok"}, 7]"#, Vsn::V2).unwrap();
        let object = r#"{"topic":"t","event":"phx_reply","payload":{"status":"ok"},"ref":"2"}"#;
        let object = decoded(object, Vsn::V1).unwrap();

        assert_eq!(list.join_ref.as_deref(), Some("1"));
        assert_eq!(object.join_ref, None);
        assert_eq!(list.reference, object.reference);
        assert_eq!(
            (&list.topic, &list.content),
            (&object.topic, &object.content)
        );
    }

    #[test]
    fn broadcasts_in_text_are_read_whatever_is_missing() {
        let said = |payload: &str| {
            let text = format!(r#"[null,null,"t","broadcast",{payload}]"#);
            match decoded(&text, Vsn::V2).unwrap().content {
                Content::Broadcast(broadcast) => broadcast,
                other => panic!("{other:?}"),
            }
        };

        let whole = said(
            r#"{"type":"broadcast","event":"e","payload":{"x":1},"meta":{"id":"i","replayed":true}}"#,
        );
        assert_eq!(whole.event, "e");
        assert_eq!(whole.json::<Value>().unwrap(), json!({ "x": 1 }));
        assert!(whole.is_replayed());
        let empty = said("{}");
        assert_eq!((empty.event.as_str(), &empty.meta), ("", &None));
        assert_eq!(empty.json::<Value>().unwrap(), Value::Null);
    }

    #[test]
    fn what_makes_no_sense_is_skipped() {
        for text in [
            "",
            "{",
            "[]",
            "[1,2,3,4,5]",
            r#"[null,null,"t","e"]"#,
            "null",
            "7",
        ] {
            assert_eq!(decoded(text, Vsn::V2), None, "{text}");
            assert_eq!(decoded(text, Vsn::V1), None, "{text}");
        }
        assert_eq!(decoded(r#"[null,null,"t","broadcast",7]"#, Vsn::V2), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_ends_in_a_panic(text in ".{0,60}") {
            _ = decoded(&text, Vsn::V1);
            _ = decoded(&text, Vsn::V2);
        }

        #[test]
        fn any_message_comes_back(topic in ".{0,20}", reference in "[0-9]{1,5}", value in ".{0,20}") {
            for vsn in [Vsn::V1, Vsn::V2] {
                let message = Outgoing {
                    topic: topic.clone(),
                    reference: reference.clone(),
                    payload: super::super::Body::Json(json!({ "v": value })),
                    ..push()
                };
                let back = Incoming::decode(&message.encode(vsn).unwrap(), vsn).unwrap();
                proptest::prop_assert_eq!(&back.topic, &topic);
                proptest::prop_assert_eq!(back.reference.as_deref(), Some(&*reference));
                let Content::Event { name, payload } = back.content else { panic!() };
                proptest::prop_assert_eq!(name, "presence");
                let payload: Value = serde_json::from_slice(&payload).unwrap();
                proptest::prop_assert_eq!(&payload["v"], &value);
            }
        }
    }
}
