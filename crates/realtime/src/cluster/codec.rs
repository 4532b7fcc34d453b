//! Messages between nodes as bytes.
//!
//! During a rolling upgrade nodes of two versions run side by side, so every message starts with a
//! format number, and messages of another format are ignored.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use plinth_db::replication::Lsn;

use super::message::{
    Envelope, FollowRequest, Heartbeat, NodeMessage, TopicClock, WalPart, WalPiece,
};
use crate::{
    protocol::{Body, Broadcast, UserBroadcast},
    topics::{ChannelId, NodeId, PresenceChange, PresenceEntry, TopicMessage},
};

/// To be raised with every change of the encoding.
const FORMAT: u8 = 1;

/// Bytes that are not a message of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ignoring a message from another node: it cannot be decoded")]
pub(crate) struct DecodeError;

impl From<bytes::TryGetError> for DecodeError {
    fn from(_: bytes::TryGetError) -> Self {
        Self
    }
}

impl Envelope {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(256);
        out.put_u8(FORMAT);
        out.put_u64(self.from.0);
        match &self.message {
            NodeMessage::Topic(message) => put_topic_message(&mut out, message),
            NodeMessage::Heartbeat(heartbeat) => {
                out.put_u8(4);
                put_text(&mut out, &heartbeat.name);
                out.put_u64(heartbeat.sockets);
                out.put_u64(heartbeat.events);
                out.put_u64(heartbeat.joins);
                out.put_u64(heartbeat.presence_events);
                put_count(&mut out, heartbeat.clocks.len());
                for clock in &heartbeat.clocks {
                    put_text(&mut out, &clock.topic);
                    out.put_u8(clock.is_private.into());
                    out.put_u64(clock.clock);
                }
            }
            NodeMessage::Leaving => out.put_u8(5),
            NodeMessage::RequestPresence {
                of,
                topic,
                is_private,
            } => {
                out.put_u8(6);
                out.put_u64(of.map_or(0, |node| node.0));
                put_text(&mut out, topic);
                out.put_u8((*is_private).into());
            }
            NodeMessage::Wal(part) => {
                out.put_u8(9);
                out.put_u64(part.run);
                out.put_u64(part.number);
                out.put_u64(part.confirmed.0);
                out.put_u64(part.relayed.0);
                put_count(&mut out, part.pieces.len());
                for piece in &part.pieces {
                    out.put_u64(piece.position.0);
                    out.put_u8(piece.is_repeated.into());
                    put_bytes(&mut out, &piece.data);
                }
            }
            NodeMessage::FollowWal(request) => {
                out.put_u8(10);
                out.put_u64(request.delivered.0);
                out.put_u8(request.missing_in.is_some().into());
                out.put_u64(request.missing_in.unwrap_or_default());
                out.put_u8(request.needs_tables.into());
            }
        }
        out.freeze()
    }

    pub(crate) fn decode(mut bytes: Bytes) -> Result<Self, DecodeError> {
        let input = &mut bytes;
        if input.try_get_u8()? != FORMAT {
            return Err(DecodeError);
        }
        let node = NodeId(input.try_get_u64()?);
        let message = match input.try_get_u8()? {
            kind @ 1..=3 => NodeMessage::Topic(get_topic_message(kind, input)?),
            4 => NodeMessage::Heartbeat(Heartbeat {
                name: get_text(input)?,
                sockets: input.try_get_u64()?,
                events: input.try_get_u64()?,
                joins: input.try_get_u64()?,
                presence_events: input.try_get_u64()?,
                clocks: get_list(input, get_topic_clock)?,
            }),
            5 => NodeMessage::Leaving,
            6 => NodeMessage::RequestPresence {
                of: Some(NodeId(input.try_get_u64()?)).filter(|node| node.0 != 0),
                topic: get_text(input)?,
                is_private: input.try_get_u8()? != 0,
            },
            // 7 and 8 were these two, without positions.
            9 => NodeMessage::Wal(WalPart {
                run: input.try_get_u64()?,
                number: input.try_get_u64()?,
                confirmed: Lsn(input.try_get_u64()?),
                relayed: Lsn(input.try_get_u64()?),
                pieces: get_list(input, get_wal_piece)?,
            }),
            10 => NodeMessage::FollowWal(get_follow_request(input)?),
            _ => return Err(DecodeError),
        };
        Ok(Self {
            from: node,
            message,
        })
    }
}

fn put_topic_message(out: &mut BytesMut, message: &TopicMessage) {
    match message {
        TopicMessage::Broadcast { id, broadcast } => {
            out.put_u8(1);
            put_optional(out, id.as_deref());
            put_broadcast(out, broadcast);
        }
        TopicMessage::Presence { clock, change } => {
            out.put_u8(2);
            out.put_u64(*clock);
            match change {
                PresenceChange::Joined(entry) => {
                    out.put_u8(1);
                    put_entry(out, entry);
                }
                PresenceChange::Left(channel) => {
                    out.put_u8(0);
                    out.put_u64(channel.0);
                }
            }
        }
        TopicMessage::PresenceState { clock, entries } => {
            out.put_u8(3);
            out.put_u64(*clock);
            put_count(out, entries.len());
            for entry in entries {
                put_entry(out, entry);
            }
        }
    }
}

fn get_topic_message(kind: u8, input: &mut Bytes) -> Result<TopicMessage, DecodeError> {
    Ok(match kind {
        1 => TopicMessage::Broadcast {
            id: get_optional(input)?,
            broadcast: get_broadcast(input)?,
        },
        2 => TopicMessage::Presence {
            clock: input.try_get_u64()?,
            change: match input.try_get_u8()? {
                1 => PresenceChange::Joined(get_entry(input)?),
                _ => PresenceChange::Left(ChannelId(input.try_get_u64()?)),
            },
        },
        3 => TopicMessage::PresenceState {
            clock: input.try_get_u64()?,
            entries: get_list(input, get_entry)?,
        },
        _ => return Err(DecodeError),
    })
}

const VERBATIM: u8 = 0;
const JSON: u8 = 1;
const BYTES: u8 = 2;

fn put_broadcast(out: &mut BytesMut, broadcast: &Broadcast) {
    match broadcast {
        Broadcast::Verbatim(payload) => {
            out.put_u8(VERBATIM);
            put_text(out, payload);
        }
        Broadcast::User(user) => {
            let (kind, body) = match &user.body {
                Body::Json(body) => (JSON, body),
                Body::Bytes(body) => (BYTES, body),
            };
            out.put_u8(kind);
            put_text(out, &user.event);
            put_optional(out, user.meta.as_deref());
            put_bytes(out, body);
        }
    }
}

fn get_broadcast(input: &mut Bytes) -> Result<Broadcast, DecodeError> {
    let kind = input.try_get_u8()?;
    if kind == VERBATIM {
        return Ok(Broadcast::Verbatim(get_text(input)?));
    }
    let (event, meta) = (get_text(input)?, get_optional(input)?);
    let body = get_length_prefixed(input)?;
    let body = match kind {
        JSON => Body::Json(body),
        BYTES => Body::Bytes(body),
        _ => return Err(DecodeError),
    };
    Ok(Broadcast::User(UserBroadcast { event, body, meta }))
}

fn put_entry(out: &mut BytesMut, entry: &PresenceEntry) {
    out.put_u64(entry.channel.0);
    put_text(out, &entry.key);
    put_text(out, &entry.reference);
    put_text(out, &entry.payload);
}

fn get_entry(input: &mut Bytes) -> Result<PresenceEntry, DecodeError> {
    Ok(PresenceEntry {
        channel: ChannelId(input.try_get_u64()?),
        key: get_text(input)?.into(),
        reference: get_text(input)?,
        payload: get_text(input)?,
    })
}

fn get_topic_clock(input: &mut Bytes) -> Result<TopicClock, DecodeError> {
    Ok(TopicClock {
        topic: get_text(input)?,
        is_private: input.try_get_u8()? != 0,
        clock: input.try_get_u64()?,
    })
}

fn get_follow_request(input: &mut Bytes) -> Result<FollowRequest, DecodeError> {
    let delivered = Lsn(input.try_get_u64()?);
    let is_missing = input.try_get_u8()? != 0;
    let run = input.try_get_u64()?;
    Ok(FollowRequest {
        delivered,
        missing_in: is_missing.then_some(run),
        needs_tables: input.try_get_u8()? != 0,
    })
}

fn get_wal_piece(input: &mut Bytes) -> Result<WalPiece, DecodeError> {
    Ok(WalPiece {
        position: Lsn(input.try_get_u64()?),
        is_repeated: input.try_get_u8()? != 0,
        data: get_length_prefixed(input)?,
    })
}

fn put_count(out: &mut BytesMut, count: usize) {
    out.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.put_slice(bytes);
}

fn put_text(out: &mut BytesMut, text: &str) {
    put_bytes(out, text.as_bytes());
}

fn put_optional(out: &mut BytesMut, text: Option<&str>) {
    out.put_u8(text.is_some().into());
    if let Some(text) = text {
        put_text(out, text);
    }
}

fn get_length_prefixed(input: &mut Bytes) -> Result<Bytes, DecodeError> {
    let length = input.try_get_u32()? as usize;
    if length <= input.len() {
        Ok(input.split_to(length))
    } else {
        Err(DecodeError)
    }
}

fn get_text(input: &mut Bytes) -> Result<Box<str>, DecodeError> {
    let bytes = get_length_prefixed(input)?;
    str::from_utf8(&bytes)
        .map(Into::into)
        .map_err(|_| DecodeError)
}

fn get_optional(input: &mut Bytes) -> Result<Option<Box<str>>, DecodeError> {
    match input.try_get_u8()? {
        0 => Ok(None),
        _ => get_text(input).map(Some),
    }
}

fn get_list<T>(
    input: &mut Bytes,
    read: impl Fn(&mut Bytes) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let count = input.try_get_u32()? as usize;
    // The count comes from outside: never reserve more than the bytes that are left.
    let mut all = Vec::with_capacity(count.min(input.len()));
    for _ in 0..count {
        all.push(read(input)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(message: NodeMessage) {
        let envelope = Envelope {
            from: NodeId(7),
            message,
        };
        let bytes = envelope.encode();
        let read = Envelope::decode(bytes.clone()).expect("decoded");
        assert_eq!(format!("{envelope:?}"), format!("{read:?}"));
        for end in 0..bytes.len() {
            // A truncated message is an error.
            assert!(Envelope::decode(bytes.slice(..end)).is_err(), "{end}");
        }
    }

    #[test]
    fn every_message_is_decoded_as_it_was_encoded() {
        let entry = PresenceEntry {
            channel: ChannelId(3),
            key: "ann".into(),
            reference: "ref".into(),
            payload: r#""x":1"#.into(),
        };
        let user = |body| {
            Broadcast::User(UserBroadcast {
                event: "e".into(),
                body,
                meta: Some("{}".into()),
            })
        };
        let broadcast = |broadcast| {
            NodeMessage::Topic(TopicMessage::Broadcast {
                id: Some("7".into()),
                broadcast,
            })
        };
        check(broadcast(Broadcast::Verbatim("{}".into())));
        check(broadcast(user(Body::Json("[1]".into()))));
        check(broadcast(user(Body::Bytes(Bytes::from_static(&[0, 255])))));
        check(NodeMessage::Topic(TopicMessage::Presence {
            clock: 1,
            change: PresenceChange::Joined(entry.clone()),
        }));
        check(NodeMessage::Topic(TopicMessage::Presence {
            clock: 2,
            change: PresenceChange::Left(ChannelId(9)),
        }));
        check(NodeMessage::Topic(TopicMessage::PresenceState {
            clock: 3,
            entries: vec![entry.clone(), entry],
        }));
        check(NodeMessage::Heartbeat(Heartbeat {
            name: "node".into(),
            sockets: 1,
            events: 2,
            joins: 3,
            presence_events: 4,
            clocks: vec![TopicClock {
                topic: "t".into(),
                is_private: true,
                clock: 5,
            }],
        }));
        check(NodeMessage::Leaving);
        check(NodeMessage::RequestPresence {
            of: None,
            topic: "t".into(),
            is_private: false,
        });
        check(NodeMessage::Wal(WalPart {
            run: 1,
            number: 2,
            confirmed: Lsn(8),
            relayed: Lsn(9),
            pieces: vec![WalPiece {
                position: Lsn(9),
                is_repeated: true,
                data: Bytes::from_static(b"R"),
            }],
        }));
        for missing_in in [None, Some(3)] {
            check(NodeMessage::FollowWal(FollowRequest {
                delivered: Lsn(7),
                missing_in,
                needs_tables: true,
            }));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..12) {
            _ = Envelope::decode(Bytes::from(bytes.clone()));
            let mut message = vec![FORMAT, 0, 0, 0, 0, 0, 0, 0, 1, kind];
            message.extend(bytes);
            _ = Envelope::decode(Bytes::from(message));
        }
    }
}
