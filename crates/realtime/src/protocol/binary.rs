//! Binary frames of version 2 (§3.4): a kind, sizes of one byte each, the strings; the rest is the
//! payload.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{Body, FrameError, IncomingFrame, Payload, Ref, UserBroadcast};

/// Bytes for any event.
const PUSH: u8 = 0;
/// A client's broadcast.
const USER_BROADCAST_PUSH: u8 = 3;
/// A broadcast to a client.
pub(super) const USER_BROADCAST: u8 = 4;

/// The encoding of a broadcast's payload. On input, everything but zero is JSON.
pub(super) const ENCODING_BYTES: u8 = 0;
pub(super) const ENCODING_JSON: u8 = 1;

pub(super) fn parse(frame: &Bytes) -> Result<IncomingFrame, FrameError> {
    let mut reader = Reader { frame, position: 0 };
    match reader.byte()? {
        PUSH => {
            let [join_ref, reference, topic, event] = reader.bytes()?;
            Ok(IncomingFrame {
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
            // Metadata of a sender is not forwarded, by contract.
            reader.skip(metadata)?;
            let body = match encoding {
                ENCODING_BYTES => Body::Bytes(reader.rest()),
                _ => Body::Json(validate_json(reader.rest())?),
            };
            Ok(IncomingFrame {
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
        kind => Err(FrameError::UnknownKind(kind)),
    }
}

/// Validates once; from here on the text is only copied.
fn validate_json(bytes: Bytes) -> Result<Bytes, FrameError> {
    serde_json::from_slice::<&RawValue>(&bytes)
        .map(|raw| raw.get().len())
        .map_err(|error| FrameError::Json(error.to_string()))?;
    Ok(bytes)
}

struct Reader<'a> {
    frame: &'a Bytes,
    position: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, FrameError> {
        let [byte] = self.bytes()?;
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let bytes = self.frame[self.position..]
            .first_chunk()
            .ok_or(FrameError::Truncated)?;
        self.position += N;
        Ok(*bytes)
    }

    fn text(&mut self, size: u8) -> Result<&'a str, FrameError> {
        let start = self.position;
        self.skip(size)?;
        str::from_utf8(&self.frame[start..self.position]).map_err(|_| FrameError::NotUtf8)
    }

    fn skip(&mut self, size: u8) -> Result<(), FrameError> {
        let end = self.position + usize::from(size);
        if end > self.frame.len() {
            return Err(FrameError::Truncated);
        }
        self.position = end;
        Ok(())
    }

    fn rest(&self) -> Bytes {
        self.frame.slice(self.position..)
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

    fn broadcast(incoming: &IncomingFrame) -> &UserBroadcast {
        match &incoming.payload {
            Payload::Broadcast(broadcast) => broadcast,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_captured_push_is_parsed() {
        let bytes = frame(
            &[3, 1, 1, 0x0e, 6, 0, 1],
            &["6", "7", "realtime:room1", "cursor", r#"{"x":1}"#],
        );

        let read = parse(&bytes).expect("well-formed");

        assert_eq!(read.join_ref.as_ref().map(Ref::as_json), Some("\"6\""));
        assert_eq!(read.reference.as_ref().map(Ref::as_json), Some("\"7\""));
        assert_eq!(&*read.topic, "realtime:room1");
        assert_eq!(&*read.event, "broadcast");
        assert_eq!(&*broadcast(&read).event, "cursor");
        assert_eq!(broadcast(&read).body, Body::Json(r#"{"x":1}"#.into()));
    }

    #[test]
    fn bytes_stay_bytes_and_metadata_is_skipped() {
        let mut bytes = frame(&[3, 0, 1, 1, 1, 2, 0], &["1", "t", "e", "{}"]).to_vec();
        bytes.extend([0, 255]);

        let read = parse(&bytes.into()).expect("well-formed");

        assert_eq!(read.join_ref, None);
        let expected = Body::Bytes(Bytes::from_static(&[0, 255]));
        assert_eq!(broadcast(&read).body, expected);
    }

    #[test]
    fn every_encoding_but_zero_is_json() {
        let bytes = frame(&[3, 0, 0, 1, 1, 0, 9], &["t", "e", "[1]"]);
        let read = parse(&bytes).expect("well-formed");
        assert_eq!(broadcast(&read).body, Body::Json("[1]".into()));
    }

    #[test]
    fn malformed_frames_are_rejected() {
        let check = |frame: Bytes, expected| match parse(&frame) {
            Err(error) => assert_eq!(error, expected),
            Ok(read) => panic!("{read:?}"),
        };
        check(Bytes::new(), FrameError::Truncated);
        check(Bytes::from_static(&[9]), FrameError::UnknownKind(9));
        check(Bytes::from_static(&[3, 1, 1]), FrameError::Truncated);
        check(
            frame(&[3, 1, 1, 1, 1, 0, 0], &["ab"]),
            FrameError::Truncated,
        );
        let not_utf8 = Bytes::from_static(&[0, 0, 0, 1, 0, 0xff]);
        check(not_utf8, FrameError::NotUtf8);
        let not_json = parse(&frame(&[3, 0, 0, 1, 1, 0, 1], &["t", "e", "{"]));
        assert!(matches!(not_json, Err(FrameError::Json(_))), "{not_json:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes.into());
        }

        #[test]
        fn every_push_is_parsed(
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

            let read = parse(&bytes.into()).expect("well-formed");

            prop_assert_eq!(&*read.topic, topic.as_str());
            prop_assert_eq!(&*broadcast(&read).event, event.as_str());
            prop_assert_eq!(&broadcast(&read).body, &Body::Bytes(body.into()));
        }
    }
}
