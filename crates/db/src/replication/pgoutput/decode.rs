//! Decoding of messages.

use bytes::{Buf as _, Bytes, TryGetError};

use super::{
    Begin, Commit, Delete, Insert, Message, OldRow, Relation, RelationColumn, ReplicaIdentity,
    Tuple, Update,
};
use crate::replication::{Lsn, lsn::time_at};

/// Bytes that are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Truncated.
    #[error("a replication message ends too early")]
    TooShort,
    /// Trailing bytes.
    #[error("a replication message has {0} bytes too many")]
    TooLong(usize),
    /// An unknown tag.
    #[error("a replication message has an unknown {0}: {1}")]
    Unknown(&'static str, u8),
}

impl From<TryGetError> for Malformed {
    fn from(_: TryGetError) -> Self {
        Self::TooShort
    }
}

impl Message {
    /// Decodes one message; its values share the bytes.
    pub fn decode(mut bytes: Bytes) -> Result<Self, Malformed> {
        let message = match bytes.try_get_u8()? {
            b'B' => Self::Begin(begin(&mut bytes)?),
            b'C' => Self::Commit(commit(&mut bytes)?),
            b'R' => Self::Relation(relation(&mut bytes)?),
            b'I' => Self::Insert(insert(&mut bytes)?),
            b'U' => Self::Update(update(&mut bytes)?),
            b'D' => Self::Delete(delete(&mut bytes)?),
            kind => return Ok(Self::Other(kind)),
        };
        match bytes.len() {
            0 => Ok(message),
            rest => Err(Malformed::TooLong(rest)),
        }
    }
}

fn begin(bytes: &mut Bytes) -> Result<Begin, Malformed> {
    Ok(Begin {
        commit_position: Lsn(bytes.try_get_u64()?),
        committed_at: time_at(bytes.try_get_i64()?),
        xid: bytes.try_get_u32()?,
    })
}

fn commit(bytes: &mut Bytes) -> Result<Commit, Malformed> {
    let _flags = bytes.try_get_u8()?;
    Ok(Commit {
        commit_position: Lsn(bytes.try_get_u64()?),
        end: Lsn(bytes.try_get_u64()?),
        committed_at: time_at(bytes.try_get_i64()?),
    })
}

fn relation(bytes: &mut Bytes) -> Result<Relation, Malformed> {
    let oid = bytes.try_get_u32()?;
    let schema = match text(bytes)? {
        // An empty name means `pg_catalog`.
        empty if empty.is_empty() => "pg_catalog".to_owned(),
        schema => schema,
    };
    let name = text(bytes)?;
    let identity = match bytes.try_get_u8()? {
        b'd' => ReplicaIdentity::Default,
        b'n' => ReplicaIdentity::Nothing,
        b'f' => ReplicaIdentity::Full,
        b'i' => ReplicaIdentity::Index,
        letter => return Err(Malformed::Unknown("replica identity", letter)),
    };
    let count = bytes.try_get_u16()?;
    let columns = (0..count).map(|_| column(bytes));
    Ok(Relation {
        oid,
        schema,
        name,
        identity,
        columns: columns.collect::<Result<_, _>>()?,
    })
}

fn column(bytes: &mut Bytes) -> Result<RelationColumn, Malformed> {
    let flags = bytes.try_get_u8()?;
    Ok(RelationColumn {
        is_key: flags & 1 == 1,
        name: text(bytes)?,
        type_oid: bytes.try_get_u32()?,
        type_modifier: bytes.try_get_i32()?,
    })
}

fn insert(bytes: &mut Bytes) -> Result<Insert, Malformed> {
    let relation = bytes.try_get_u32()?;
    let new = new_row(bytes)?;
    Ok(Insert { relation, new })
}

fn update(bytes: &mut Bytes) -> Result<Update, Malformed> {
    let relation = bytes.try_get_u32()?;
    let old = match bytes.first() {
        Some(b'K' | b'O') => Some(old_row(bytes)?),
        Some(_) => None,
        None => return Err(Malformed::TooShort),
    };
    let new = new_row(bytes)?;
    Ok(Update { relation, old, new })
}

fn delete(bytes: &mut Bytes) -> Result<Delete, Malformed> {
    let relation = bytes.try_get_u32()?;
    let old = old_row(bytes)?;
    Ok(Delete { relation, old })
}

fn new_row(bytes: &mut Bytes) -> Result<Tuple, Malformed> {
    match bytes.try_get_u8()? {
        b'N' => Tuple::decode(bytes),
        letter => Err(Malformed::Unknown("kind of row", letter)),
    }
}

fn old_row(bytes: &mut Bytes) -> Result<OldRow, Malformed> {
    match bytes.try_get_u8()? {
        b'K' => Tuple::decode(bytes).map(OldRow::Key),
        b'O' => Tuple::decode(bytes).map(OldRow::Full),
        letter => Err(Malformed::Unknown("kind of old row", letter)),
    }
}

fn text(bytes: &mut Bytes) -> Result<String, Malformed> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let text = bytes.split_to(end.ok_or(Malformed::TooShort)?);
    bytes.advance(1);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
