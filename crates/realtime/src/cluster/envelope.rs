//! What nodes tell each other, as bytes.
//!
//! All nodes run the same version as a rule; while they are being replaced one by one they do not.
//! So every message begins with the number of its format, and one of another format is not read.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use plinth_db::replication::Lsn;

use crate::{
    protocol::{Body, Broadcast, UserBroadcast},
    rooms::{Announced, ChannelId},
};

const FORMAT: u8 = 1;

/// One run of one node; no two share a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u64);

impl NodeId {
    pub(super) fn generate() -> Self {
        Self(uuid::Uuid::new_v4().as_u64_pair().0)
    }
}

/// A message, and the node that says it.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) from: NodeId,
    pub(crate) said: Said,
}

#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// For everybody on the topic. What the database sent has a number, and is told once.
    Broadcast {
        id: Option<Box<str>>,
        broadcast: Broadcast,
    },
    /// Somebody on the topic says something about themselves, or nothing any more.
    Presence { clock: u64, change: PresenceChange },
    /// Everybody whom the node has on the topic.
    PresenceState { clock: u64, present: Vec<Announced> },
    /// The node is there, and this is how things are with it.
    Alive(Alive),
    /// The node goes.
    Bye,
    /// Whoever is on the topic shall be told there; of one node or of all.
    AskPresence {
        of: Option<NodeId>,
        topic: Box<str>,
        is_private: bool,
    },
    /// What the one that follows the database has read.
    Log(LogPart),
    /// Another node wants to hear of that.
    FollowLog,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PresenceChange {
    Joined(Announced),
    Left(ChannelId),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Alive {
    /// What operators call the node.
    pub(crate) name: Box<str>,
    pub(crate) sockets: u64,
    pub(crate) events: u64,
    pub(crate) joins: u64,
    pub(crate) presence_events: u64,
    /// Rooms whose presence changed lately, and how often it has.
    pub(crate) rooms: Vec<RoomClock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoomClock {
    pub(crate) topic: Box<str>,
    pub(crate) is_private: bool,
    pub(crate) clock: u64,
}

/// Pieces of the log, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogPart {
    /// Between two of them changes may be missing.
    pub(crate) generation: u64,
    /// Counts the parts of one node; a gap means that some were lost.
    pub(crate) number: u64,
    pub(crate) pieces: Vec<LogPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogPiece {
    pub(crate) position: Lsn,
    /// A description of a table that was told before.
    pub(crate) is_repeated: bool,
    pub(crate) data: Bytes,
}

/// Bytes that are no message of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of another node cannot be read")]
pub(crate) struct Unreadable;

impl From<bytes::TryGetError> for Unreadable {
    fn from(_: bytes::TryGetError) -> Self {
        Self
    }
}

impl Envelope {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(256);
        out.put_u8(FORMAT);
        out.put_u64(self.from.0);
        match &self.said {
            Said::Broadcast { id, broadcast } => {
                out.put_u8(1);
                put_optional(&mut out, id.as_deref());
                put_broadcast(&mut out, broadcast);
            }
            Said::Presence { clock, change } => {
                out.put_u8(2);
                out.put_u64(*clock);
                match change {
                    PresenceChange::Joined(announced) => {
                        out.put_u8(1);
                        put_announced(&mut out, announced);
                    }
                    PresenceChange::Left(channel) => {
                        out.put_u8(0);
                        out.put_u64(channel.0);
                    }
                }
            }
            Said::PresenceState { clock, present } => {
                out.put_u8(3);
                out.put_u64(*clock);
                put_count(&mut out, present.len());
                for announced in present {
                    put_announced(&mut out, announced);
                }
            }
            Said::Alive(alive) => {
                out.put_u8(4);
                put_text(&mut out, &alive.name);
                out.put_u64(alive.sockets);
                out.put_u64(alive.events);
                out.put_u64(alive.joins);
                out.put_u64(alive.presence_events);
                put_count(&mut out, alive.rooms.len());
                for room in &alive.rooms {
                    put_text(&mut out, &room.topic);
                    out.put_u8(room.is_private.into());
                    out.put_u64(room.clock);
                }
            }
            Said::Bye => out.put_u8(5),
            Said::AskPresence {
                of,
                topic,
                is_private,
            } => {
                out.put_u8(6);
                out.put_u64(of.map_or(0, |node| node.0));
                put_text(&mut out, topic);
                out.put_u8((*is_private).into());
            }
            Said::Log(part) => {
                out.put_u8(7);
                out.put_u64(part.generation);
                out.put_u64(part.number);
                put_count(&mut out, part.pieces.len());
                for piece in &part.pieces {
                    out.put_u64(piece.position.0);
                    out.put_u8(piece.is_repeated.into());
                    put_bytes(&mut out, &piece.data);
                }
            }
            Said::FollowLog => out.put_u8(8),
        }
        out.freeze()
    }

    pub(crate) fn decode(mut bytes: Bytes) -> Result<Self, Unreadable> {
        let from = &mut bytes;
        if from.try_get_u8()? != FORMAT {
            return Err(Unreadable);
        }
        let node = NodeId(from.try_get_u64()?);
        let said = match from.try_get_u8()? {
            1 => Said::Broadcast {
                id: optional(from)?,
                broadcast: broadcast(from)?,
            },
            2 => Said::Presence {
                clock: from.try_get_u64()?,
                change: match from.try_get_u8()? {
                    1 => PresenceChange::Joined(announced(from)?),
                    _ => PresenceChange::Left(ChannelId(from.try_get_u64()?)),
                },
            },
            3 => Said::PresenceState {
                clock: from.try_get_u64()?,
                present: list(from, announced)?,
            },
            4 => Said::Alive(Alive {
                name: text(from)?,
                sockets: from.try_get_u64()?,
                events: from.try_get_u64()?,
                joins: from.try_get_u64()?,
                presence_events: from.try_get_u64()?,
                rooms: list(from, room_clock)?,
            }),
            5 => Said::Bye,
            6 => Said::AskPresence {
                of: Some(NodeId(from.try_get_u64()?)).filter(|node| node.0 != 0),
                topic: text(from)?,
                is_private: from.try_get_u8()? != 0,
            },
            7 => Said::Log(LogPart {
                generation: from.try_get_u64()?,
                number: from.try_get_u64()?,
                pieces: list(from, log_piece)?,
            }),
            8 => Said::FollowLog,
            _ => return Err(Unreadable),
        };
        Ok(Self { from: node, said })
    }
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

fn broadcast(from: &mut Bytes) -> Result<Broadcast, Unreadable> {
    let kind = from.try_get_u8()?;
    if kind == VERBATIM {
        return Ok(Broadcast::Verbatim(text(from)?));
    }
    let (event, meta) = (text(from)?, optional(from)?);
    let body = counted(from)?;
    let body = match kind {
        JSON => Body::Json(body),
        BYTES => Body::Bytes(body),
        _ => return Err(Unreadable),
    };
    Ok(Broadcast::User(UserBroadcast { event, body, meta }))
}

fn put_announced(out: &mut BytesMut, announced: &Announced) {
    out.put_u64(announced.channel.0);
    put_text(out, &announced.key);
    put_text(out, &announced.reference);
    put_text(out, &announced.payload);
}

fn announced(from: &mut Bytes) -> Result<Announced, Unreadable> {
    Ok(Announced {
        channel: ChannelId(from.try_get_u64()?),
        key: text(from)?.into(),
        reference: text(from)?,
        payload: text(from)?,
    })
}

fn room_clock(from: &mut Bytes) -> Result<RoomClock, Unreadable> {
    Ok(RoomClock {
        topic: text(from)?,
        is_private: from.try_get_u8()? != 0,
        clock: from.try_get_u64()?,
    })
}

fn log_piece(from: &mut Bytes) -> Result<LogPiece, Unreadable> {
    Ok(LogPiece {
        position: Lsn(from.try_get_u64()?),
        is_repeated: from.try_get_u8()? != 0,
        data: counted(from)?,
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

fn counted(from: &mut Bytes) -> Result<Bytes, Unreadable> {
    let length = from.try_get_u32()? as usize;
    match length <= from.len() {
        true => Ok(from.split_to(length)),
        false => Err(Unreadable),
    }
}

fn text(from: &mut Bytes) -> Result<Box<str>, Unreadable> {
    let bytes = counted(from)?;
    str::from_utf8(&bytes)
        .map(Into::into)
        .map_err(|_| Unreadable)
}

fn optional(from: &mut Bytes) -> Result<Option<Box<str>>, Unreadable> {
    match from.try_get_u8()? {
        0 => Ok(None),
        _ => text(from).map(Some),
    }
}

fn list<T>(
    from: &mut Bytes,
    read: impl Fn(&mut Bytes) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    let count = from.try_get_u32()? as usize;
    // No more than there can be, whatever it says.
    let mut all = Vec::with_capacity(count.min(from.len()));
    for _ in 0..count {
        all.push(read(from)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn comes_back(said: Said) {
        let envelope = Envelope {
            from: NodeId(7),
            said,
        };
        let bytes = envelope.encode();
        let read = Envelope::decode(bytes.clone()).expect("readable");
        assert_eq!(format!("{envelope:?}"), format!("{read:?}"));
        for end in 0..bytes.len() {
            // A part of a message is never taken for the whole.
            assert!(Envelope::decode(bytes.slice(..end)).is_err(), "{end}");
        }
    }

    #[test]
    fn everything_comes_back_as_it_was() {
        let present = Announced {
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
        let broadcast = |broadcast| Said::Broadcast {
            id: Some("7".into()),
            broadcast,
        };
        comes_back(broadcast(Broadcast::Verbatim("{}".into())));
        comes_back(broadcast(user(Body::Json("[1]".into()))));
        comes_back(broadcast(user(Body::Bytes(Bytes::from_static(&[0, 255])))));
        comes_back(Said::Presence {
            clock: 1,
            change: PresenceChange::Joined(present.clone()),
        });
        comes_back(Said::Presence {
            clock: 2,
            change: PresenceChange::Left(ChannelId(9)),
        });
        comes_back(Said::PresenceState {
            clock: 3,
            present: vec![present.clone(), present],
        });
        comes_back(Said::Alive(Alive {
            name: "node".into(),
            sockets: 1,
            events: 2,
            joins: 3,
            presence_events: 4,
            rooms: vec![RoomClock {
                topic: "t".into(),
                is_private: true,
                clock: 5,
            }],
        }));
        comes_back(Said::Bye);
        comes_back(Said::AskPresence {
            of: None,
            topic: "t".into(),
            is_private: false,
        });
        comes_back(Said::Log(LogPart {
            generation: 1,
            number: 2,
            pieces: vec![LogPiece {
                position: Lsn(9),
                is_repeated: true,
                data: Bytes::from_static(b"R"),
            }],
        }));
        comes_back(Said::FollowLog);
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..10) {
            _ = Envelope::decode(Bytes::from(bytes.clone()));
            let mut begun = vec![FORMAT, 0, 0, 0, 0, 0, 0, 0, 1, kind];
            begun.extend(bytes);
            _ = Envelope::decode(Bytes::from(begun));
        }
    }
}
