//! Text frames: objects in version 1 (§3.2), arrays in version 2 (§3.3).

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{FrameError, IncomingFrame, Payload, Ref};

/// `{"topic","event","payload","ref","join_ref"?}`.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    topic: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(borrow, rename = "ref")]
    reference: &'a RawValue,
    #[serde(borrow, default)]
    join_ref: Option<&'a RawValue>,
}

pub(super) fn parse_object(frame: &str) -> Result<IncomingFrame, FrameError> {
    // serde would accept an array as a struct, too.
    if !frame.trim_start().starts_with('{') {
        return Err(FrameError::Json("an object was expected".to_owned()));
    }
    let object: Object<'_> = serde_json::from_str(frame).map_err(json_error)?;
    Ok(IncomingFrame {
        join_ref: object.join_ref.and_then(Ref::from_json),
        reference: Ref::from_json(object.reference),
        topic: object.topic.into(),
        event: object.event.into(),
        payload: Payload::Json(object.payload.to_owned()),
    })
}

/// `[join_ref, ref, topic, event, payload]`.
struct Array<'a> {
    join_ref: &'a RawValue,
    reference: &'a RawValue,
    topic: Cow<'a, str>,
    event: Cow<'a, str>,
    payload: &'a RawValue,
}

pub(super) fn parse_array(frame: &str) -> Result<IncomingFrame, FrameError> {
    let array: Array<'_> = serde_json::from_str(frame).map_err(json_error)?;
    Ok(IncomingFrame {
        join_ref: Ref::from_json(array.join_ref),
        reference: Ref::from_json(array.reference),
        topic: array.topic.into(),
        event: array.event.into(),
        payload: Payload::Json(array.payload.to_owned()),
    })
}

/// A string of the frame, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Array<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;

        impl<'de> Visitor<'de> for Elements {
            type Value = Array<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of join_ref, ref, topic, event and payload")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Array<'de>, A::Error> {
                let missing = || A::Error::invalid_length(0, &"five elements");
                let array = Array {
                    join_ref: seq.next_element()?.ok_or_else(missing)?,
                    reference: seq.next_element()?.ok_or_else(missing)?,
                    topic: seq.next_element::<Text<'de>>()?.ok_or_else(missing)?.0,
                    event: seq.next_element::<Text<'de>>()?.ok_or_else(missing)?.0,
                    payload: seq.next_element()?.ok_or_else(missing)?,
                };
                // Extra elements are ignored, by contract.
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(array)
            }
        }

        deserializer.deserialize_seq(Elements)
    }
}

fn json_error(error: serde_json::Error) -> FrameError {
    FrameError::Json(error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn payload(incoming: &IncomingFrame) -> &str {
        match &incoming.payload {
            Payload::Json(raw) => raw.get(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_array_is_parsed_and_its_payload_is_kept_verbatim() {
        let read = parse_array(r#"["6","7","realtime:a\"b","x", { "n": 1.50 } ,"more"]"#);

        let read = read.expect("well-formed");
        assert_eq!(read.join_ref.as_ref().map(Ref::as_json), Some("\"6\""));
        assert_eq!(read.reference.as_ref().map(Ref::as_json), Some("\"7\""));
        assert_eq!(&*read.topic, "realtime:a\"b");
        assert_eq!(&*read.event, "x");
        assert_eq!(payload(&read), r#"{ "n": 1.50 }"#);
    }

    #[test]
    fn refs_may_be_null_and_numbers_are_echoed() {
        let read = parse_array(r#"[null,26,"phoenix","heartbeat",{}]"#).expect("well-formed");

        assert_eq!(read.join_ref, None);
        assert_eq!(read.reference.as_ref().map(Ref::as_json), Some("26"));
    }

    #[test]
    fn an_object_needs_four_of_its_keys() {
        let whole = r#"{"topic":"t","event":"e","payload":{},"ref":"1"}"#;
        let read = parse_object(whole).expect("well-formed");
        assert_eq!(read.join_ref, None);
        assert_eq!(read.reference.as_ref().map(Ref::as_json), Some("\"1\""));

        for key in ["topic", "event", "payload", "ref"] {
            let lacking = whole.replacen(&format!("\"{key}\""), "\"other\"", 1);
            assert!(parse_object(&lacking).is_err(), "{lacking}");
        }
        let null = r#"{"topic":"t","event":"e","payload":{},"ref":null,"join_ref":null}"#;
        let read = parse_object(null).expect("well-formed");
        assert_eq!((read.reference, read.join_ref), (None, None));
    }

    #[test]
    fn malformed_frames_are_rejected() {
        for frame in [
            "",
            "nonsense",
            "[]",
            "{}",
            r#"["1","2","t","e"]"#,
            r#"["1","2",3,"e",{}]"#,
            r#"["1","2","t",null,{}]"#,
            r#"["1","2","t","e",{}"#,
            r#"["1","2","t","e",{}] x"#,
        ] {
            assert!(parse_array(frame).is_err(), "{frame}");
            assert!(parse_object(frame).is_err(), "{frame}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(frame in ".*") {
            let _ = parse_array(&frame);
            let _ = parse_object(&frame);
        }
    }
}
