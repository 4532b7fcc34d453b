//! Every message that can be written is read back, and no bytes make the reader panic.

use bytes::{BufMut as _, Bytes, BytesMut};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::replication::pgoutput::Value;

/// The encoder, which only tests need. Times are server timestamps in microseconds.
fn written(message: &Message, clock: i64) -> Bytes {
    let mut out = BytesMut::new();
    match message {
        Message::Begin(begin) => {
            out.put_u8(b'B');
            out.put_u64(begin.commit_position.0);
            out.put_i64(clock);
            out.put_u32(begin.xid);
        }
        Message::Commit(commit) => {
            out.put_slice(b"C\0");
            out.put_u64(commit.commit_position.0);
            out.put_u64(commit.end.0);
            out.put_i64(clock);
        }
        Message::Relation(relation) => put_relation(&mut out, relation),
        Message::Insert(insert) => {
            out.put_u8(b'I');
            out.put_u32(insert.relation);
            put_tuple(&mut out, b'N', &insert.new);
        }
        Message::Update(update) => {
            out.put_u8(b'U');
            out.put_u32(update.relation);
            update.old.iter().for_each(|old| put_old(&mut out, old));
            put_tuple(&mut out, b'N', &update.new);
        }
        Message::Delete(delete) => {
            out.put_u8(b'D');
            out.put_u32(delete.relation);
            put_old(&mut out, &delete.old);
        }
        Message::Other(kind) => out.put_u8(*kind),
    }
    out.freeze()
}

fn put_relation(out: &mut BytesMut, relation: &Relation) {
    out.put_u8(b'R');
    out.put_u32(relation.oid);
    put_text(out, &relation.schema);
    put_text(out, &relation.name);
    out.put_u8(match relation.identity {
        ReplicaIdentity::Default => b'd',
        ReplicaIdentity::Nothing => b'n',
        ReplicaIdentity::Full => b'f',
        ReplicaIdentity::Index => b'i',
    });
    out.put_u16(relation.columns.len() as u16);
    for column in &relation.columns {
        out.put_u8(u8::from(column.is_key));
        put_text(out, &column.name);
        out.put_u32(column.type_oid);
        out.put_i32(column.type_modifier);
    }
}

fn put_old(out: &mut BytesMut, old: &OldRow) {
    match old {
        OldRow::Key(tuple) => put_tuple(out, b'K', tuple),
        OldRow::Full(tuple) => put_tuple(out, b'O', tuple),
    }
}

fn put_tuple(out: &mut BytesMut, kind: u8, tuple: &Tuple) {
    out.put_u8(kind);
    out.put_u16(tuple.values().len() as u16);
    for value in tuple.values() {
        let (kind, bytes) = match value {
            Value::Null => (b'n', None),
            Value::Unchanged => (b'u', None),
            Value::Text(bytes) => (b't', Some(bytes)),
            Value::Binary(bytes) => (b'b', Some(bytes)),
        };
        out.put_u8(kind);
        if let Some(bytes) = bytes {
            out.put_u32(bytes.len() as u32);
            out.put_slice(bytes);
        }
    }
}

fn put_text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

fn tuple() -> impl Strategy<Value = Tuple> {
    let bytes = || vec(any::<u8>(), 0..20).prop_map(Bytes::from);
    let value = prop_oneof![
        Just(Value::Null),
        Just(Value::Unchanged),
        bytes().prop_map(Value::Text),
        bytes().prop_map(Value::Binary),
    ];
    vec(value, 0..6).prop_map(Tuple::new)
}

fn old_row() -> impl Strategy<Value = OldRow> {
    prop_oneof![
        tuple().prop_map(OldRow::Key),
        tuple().prop_map(OldRow::Full)
    ]
}

fn relation() -> impl Strategy<Value = Message> {
    let name = "[^\0]{1,12}";
    let identity = prop_oneof![
        Just(ReplicaIdentity::Default),
        Just(ReplicaIdentity::Nothing),
        Just(ReplicaIdentity::Full),
        Just(ReplicaIdentity::Index),
    ];
    let column = (name, any::<bool>(), any::<u32>(), any::<i32>()).prop_map(
        |(name, is_key, type_oid, type_modifier)| RelationColumn {
            name,
            is_key,
            type_oid,
            type_modifier,
        },
    );
    (any::<u32>(), name, name, identity, vec(column, 0..5)).prop_map(
        |(oid, schema, name, identity, columns)| {
            Message::Relation(Relation {
                oid,
                schema,
                name,
                identity,
                columns,
            })
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        relation(),
        (any::<u32>(), tuple())
            .prop_map(|(relation, new)| Message::Insert(Insert { relation, new })),
        (any::<u32>(), proptest::option::of(old_row()), tuple())
            .prop_map(|(relation, old, new)| Message::Update(Update { relation, old, new })),
        (any::<u32>(), old_row())
            .prop_map(|(relation, old)| Message::Delete(Delete { relation, old })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        prop_assert_eq!(Message::decode(written(&message, 0)), Ok(message));
    }

    #[test]
    fn transactions_have_their_times(position: u64, end: u64, clock: i64, xid: u32) {
        let begin = Message::Begin(Begin {
            commit_position: Lsn(position),
            committed_at: time_at(clock),
            xid,
        });
        prop_assert_eq!(Message::decode(written(&begin, clock)), Ok(begin));
        let commit = Message::Commit(Commit {
            commit_position: Lsn(position),
            end: Lsn(end),
            committed_at: time_at(clock),
        });
        prop_assert_eq!(Message::decode(written(&commit, clock)), Ok(commit));
    }

    #[test]
    fn a_message_that_is_cut_or_goes_on_is_an_error(message in message()) {
        let whole = written(&message, 0);
        for length in 0..whole.len() {
            prop_assert!(Message::decode(whole.slice(..length)).is_err());
        }
        let mut longer = BytesMut::from(&whole[..]);
        longer.put_u8(0);
        prop_assert_eq!(Message::decode(longer.freeze()), Err(Malformed::TooLong(1)));
    }

    #[test]
    fn no_bytes_are_a_panic(kind in "[BCRIUDTYOMx]", rest in vec(any::<u8>(), 0..200)) {
        let mut bytes = BytesMut::from(kind.as_bytes());
        bytes.put_slice(&rest);
        _ = Message::decode(bytes.freeze());
    }
}

#[test]
fn what_is_of_no_interest_has_its_letter() {
    for kind in *b"TYOMS" {
        let bytes = Bytes::copy_from_slice(&[kind, 1, 2, 3]);
        assert_eq!(Message::decode(bytes), Ok(Message::Other(kind)));
    }
}

#[test]
fn values_are_not_copied() {
    let insert = Message::Insert(Insert {
        relation: 7,
        new: Tuple::new(vec![Value::Text(Bytes::from_static(b"here"))]),
    });
    let bytes = written(&insert, 0);
    let Ok(Message::Insert(insert)) = Message::decode(bytes.clone()) else {
        panic!("an insert");
    };
    let Some(Value::Text(text)) = insert.new.get(0) else {
        panic!("a text");
    };
    assert!(bytes.as_ptr_range().contains(&text.as_ptr()));
}
