//! Binary frames of the second version (§3.4): a kind, sizes of one byte each, the texts, and the
//! rest is the payload.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{Body, Incoming, Malformed, Payload, Ref, UserBroadcast};

/// Bytes for any event.
const PUSH: u8 = 0;
/// A client's broadcast.
const USER_BROADCAST_PUSH: u8 = 3;
/// A broadcast on its way to a client.
pub(super) const USER_BROADCAST: u8 = 4;

/// How a broadcast's payload is written. On input everything but zero is JSON.
pub(super) const ENCODING_BYTES: u8 = 0;
pub(super) const ENCODING_JSON: u8 = 1;

pub(super) fn read(frame: &Bytes) -> Result<Incoming, Malformed> {
    let mut reader = Reader { frame, at: 0 };
    match reader.byte()? {
        PUSH => {
            let [join_ref, reference, topic, event] = reader.bytes()?;
            Ok(Incoming {
                join_ref: Ref::from_text(reader.text(join_ref)?),
                reference: Ref::from_text(reader.text(reference)?),
                topic: reader.text(topic)?.into(),
                event: reader.text(event)?.into(),
                payload: Payload::Bytes,
            })
        }
        USER_BROADCAST_PUSH => {
            let [join_ref, reference, topic, event, metadata, encoding] = reader.bytes()?;
            let join_ref = Ref::from_text(reader.text(join_ref)?);
            let reference = Ref::from_text(reader.text(reference)?);
            let topic = reader.text(topic)?.into();
            let event = reader.text(event)?.into();
            // Receivers never see what a sender writes there.
            reader.skip(metadata)?;
            let body = match encoding {
                ENCODING_BYTES => Body::Bytes(reader.rest()),
                _ => Body::Json(json(reader.rest())?),
            };
            Ok(Incoming {
                join_ref,
                reference,
                topic,
                event: "broadcast".into(),
                payload: Payload::Broadcast(UserBroadcast {
                    event,
                    body,
                    meta: None,
                }),
            })
        }
        kind => Err(Malformed::UnknownKind(kind)),
    }
}

/// Checks once; from here on the text is only copied.
fn json(bytes: Bytes) -> Result<Bytes, Malformed> {
    serde_json::from_slice::<&RawValue>(&bytes)
        .map(|raw| raw.get().len())
        .map_err(|error| Malformed::Json(error.to_string()))?;
    Ok(bytes)
}

struct Reader<'a> {
    frame: &'a Bytes,
    at: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let [byte] = self.bytes()?;
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.frame[self.at..]
            .first_chunk()
            .ok_or(Malformed::Short)?;
        self.at += N;
        Ok(*bytes)
    }

    fn text(&mut self, size: u8) -> Result<&'a str, Malformed> {
        let from = self.at;
        self.skip(size)?;
        str::from_utf8(&self.frame[from..self.at]).map_err(|_| Malformed::NotUtf8)
    }

    fn skip(&mut self, size: u8) -> Result<(), Malformed> {
        let end = self.at + usize::from(size);
        if end > self.frame.len() {
            return Err(Malformed::Short);
        }
        self.at = end;
        Ok(())
    }

    fn rest(&self) -> Bytes {
        self.frame.slice(self.at..)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(sizes: &[u8], texts: &[&str]) -> Bytes {
        let mut frame = sizes.to_vec();
        frame.extend(texts.concat().bytes());
        frame.into()
    }

    fn broadcast(incoming: &Incoming) -> &UserBroadcast {
        match &incoming.payload {
            Payload::Broadcast(broadcast) => broadcast,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_captured_push_is_read() {
        let bytes = frame(
            &[3, 1, 1, 0x0e, 6, 0, 1],
            &["6", "7", "realtime:room1", "cursor", r#"{"x":1}"#],
        );

        let read = read(&bytes).expect("well-formed");

        assert_eq!(read.join_ref.as_ref().map(Ref::as_json), Some("\"6\""));
        assert_eq!(read.reference.as_ref().map(Ref::as_json), Some("\"7\""));
        assert_eq!(&*read.topic, "realtime:room1");
        assert_eq!(&*read.event, "broadcast");
        assert_eq!(&*broadcast(&read).event, "cursor");
        assert_eq!(broadcast(&read).body, Body::Json(r#"{"x":1}"#.into()));
    }

    #[test]
    fn bytes_stay_bytes_and_metadata_is_passed_over() {
        let mut bytes = frame(&[3, 0, 1, 1, 1, 2, 0], &["1", "t", "e", "{}"]).to_vec();
        bytes.extend([0, 255]);

        let read = read(&bytes.into()).expect("well-formed");

        assert_eq!(read.join_ref, None);
        let expected = Body::Bytes(Bytes::from_static(&[0, 255]));
        assert_eq!(broadcast(&read).body, expected);
    }

    #[test]
    fn every_encoding_but_zero_is_json() {
        let bytes = frame(&[3, 0, 0, 1, 1, 0, 9], &["t", "e", "[1]"]);
        let read = read(&bytes).expect("well-formed");
        assert_eq!(broadcast(&read).body, Body::Json("[1]".into()));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let check = |frame: Bytes, expected| match read(&frame) {
            Err(error) => assert_eq!(error, expected),
            Ok(read) => panic!("{read:?}"),
        };
        check(Bytes::new(), Malformed::Short);
        check(Bytes::from_static(&[9]), Malformed::UnknownKind(9));
        check(Bytes::from_static(&[3, 1, 1]), Malformed::Short);
        check(frame(&[3, 1, 1, 1, 1, 0, 0], &["ab"]), Malformed::Short);
        let not_utf8 = Bytes::from_static(&[0, 0, 0, 1, 0, 0xff]);
        check(not_utf8, Malformed::NotUtf8);
        let not_json = read(&frame(&[3, 0, 0, 1, 1, 0, 1], &["t", "e", "{"]));
        assert!(matches!(not_json, Err(Malformed::Json(_))), "{not_json:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes.into());
        }

        #[test]
        fn what_a_client_writes_is_read(
            join_ref in "[0-9]{0,4}",
            reference in "[0-9]{0,4}",
            topic in "realtime:.{0,40}",
            event in ".{0,40}",
            body in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let texts = [&join_ref, &reference, &topic, &event];
            let mut bytes = vec![USER_BROADCAST_PUSH];
            bytes.extend(texts.map(|text| text.len() as u8));
            bytes.extend([0, ENCODING_BYTES]);
            bytes.extend(texts.iter().flat_map(|text| text.bytes()));
            bytes.extend(&body);

            let read = read(&bytes.into()).expect("well-formed");

            prop_assert_eq!(&*read.topic, topic.as_str());
            prop_assert_eq!(&*broadcast(&read).event, event.as_str());
            prop_assert_eq!(&broadcast(&read).body, &Body::Bytes(body.into()));
        }
    }
}
