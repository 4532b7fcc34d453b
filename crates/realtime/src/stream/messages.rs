//! Rows of `realtime.messages`, which are broadcasts (§6.6).

use bytes::Bytes;
use plinth_db::replication::pgoutput::{Relation, Tuple, Value};
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

use crate::protocol::{Body, UserBroadcast};

/// The positions of the columns that make a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageColumns {
    id: usize,
    topic: usize,
    event: usize,
    private: usize,
    payload: usize,
    binary_payload: usize,
    inserted_at: usize,
}

/// A message of the database to a topic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DatabaseMessage {
    pub(super) id: Box<str>,
    pub(super) sub_topic: Box<str>,
    pub(super) is_private: bool,
    pub(super) broadcast: UserBroadcast,
    /// When its transaction started, if that can be parsed.
    pub(super) inserted_at: Option<OffsetDateTime>,
}

impl MessageColumns {
    /// `None` if this is not a partition of `realtime.messages`.
    pub(super) fn find(relation: &Relation) -> Option<Self> {
        let is_partition = relation.schema == "realtime"
            && (relation.name == "messages" || relation.name.starts_with("messages_"));
        if !is_partition {
            return None;
        }
        let position = |name: &str| {
            relation
                .columns
                .iter()
                .position(|column| column.name == name)
        };
        Some(Self {
            id: position("id")?,
            topic: position("topic")?,
            event: position("event")?,
            private: position("private")?,
            payload: position("payload")?,
            binary_payload: position("binary_payload")?,
            inserted_at: position("inserted_at")?,
        })
    }

    /// `None` if a value is missing without which it cannot be broadcast.
    pub(super) fn read(&self, row: &Tuple) -> Option<DatabaseMessage> {
        let text = |index| match row.get(index)? {
            Value::Text(text) => Some(text),
            Value::Null | Value::Unchanged | Value::Binary(_) => None,
        };
        let string = |index| str::from_utf8(text(index)?).ok();
        let body = match (text(self.binary_payload), text(self.payload)) {
            (Some(hex), _) => Body::Bytes(parse_bytea(hex)?),
            (None, Some(json)) => Body::Json(json.clone()),
            (None, None) => return None,
        };
        let id = string(self.id)?;
        Some(DatabaseMessage {
            id: id.into(),
            sub_topic: string(self.topic)?.into(),
            is_private: string(self.private)? == "t",
            broadcast: UserBroadcast {
                event: string(self.event)?.into(),
                body,
                meta: Some(format!("{{\"id\":\"{id}\"}}").into()),
            },
            inserted_at: string(self.inserted_at).and_then(parse_utc),
        })
    }
}

/// PostgreSQL's text form of a timestamp without time zone, `2026-01-02 03:04:05.678`, meant as UTC.
fn parse_utc(text: &str) -> Option<OffsetDateTime> {
    let format = format_description!(
        version = 2,
        "[year]-[month]-[day] [hour]:[minute]:[second][optional [.[subsecond]]]"
    );
    let time = PrimitiveDateTime::parse(text, format).ok()?;
    Some(time.assume_utc())
}

/// PostgreSQL's text form of `bytea`, `\x0102`.
fn parse_bytea(text: &[u8]) -> Option<Bytes> {
    let digits = text.strip_prefix(b"\\x")?;
    let digit = |c: u8| char::from(c).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use plinth_db::replication::pgoutput::{RelationColumn, ReplicaIdentity};
    use time::macros::datetime;

    use super::*;

    fn relation(name: &str) -> Relation {
        let column = |name: &str| RelationColumn {
            name: name.to_owned(),
            is_key: false,
            type_oid: 25,
            type_modifier: -1,
        };
        let names = [
            "topic",
            "payload",
            "event",
            "private",
            "id",
            "binary_payload",
            "inserted_at",
        ];
        Relation {
            oid: 1,
            schema: "realtime".to_owned(),
            name: name.to_owned(),
            identity: ReplicaIdentity::Default,
            columns: names.map(column).into(),
        }
    }

    fn read(values: [Option<&'static str>; 6]) -> Option<DatabaseMessage> {
        let columns = MessageColumns::find(&relation("messages_2026_01_01")).expect("a partition");
        let value = |value: Option<&'static str>| match value {
            Some(text) => Value::Text(Bytes::from_static(text.as_bytes())),
            None => Value::Null,
        };
        let mut values: Vec<Value> = values.into_iter().map(value).collect();
        values.push(value(Some("2026-01-01 10:00:00.25")));
        columns.read(&Tuple::new(values))
    }

    #[test]
    fn other_tables_are_not_messages() {
        assert!(MessageColumns::find(&relation("subscription")).is_none());
        let mut elsewhere = relation("messages_2026_01_01");
        elsewhere.schema = "public".to_owned();
        assert!(MessageColumns::find(&elsewhere).is_none());
    }

    #[test]
    fn a_row_is_a_message() {
        let row = [
            Some("room"),
            Some(r#"{"a": 1}"#),
            Some("e"),
            Some("t"),
            Some("7"),
            None,
        ];
        let message = read(row).expect("a message");
        assert_eq!((&*message.sub_topic, message.is_private), ("room", true));
        assert_eq!(message.broadcast.body, Body::Json(r#"{"a": 1}"#.into()));
        assert_eq!(message.broadcast.meta.as_deref(), Some(r#"{"id":"7"}"#));
        let inserted_at = datetime!(2026-01-01 10:00:00.25 UTC);
        assert_eq!(message.inserted_at, Some(inserted_at));
    }

    #[test]
    fn times_are_parsed_with_and_without_a_fraction() {
        let whole = datetime!(2026-11-16 15:30:01 UTC);
        assert_eq!(parse_utc("2026-11-16 15:30:01"), Some(whole));
        let exact = datetime!(2026-11-16 15:30:01.123456 UTC);
        assert_eq!(parse_utc("2026-11-16 15:30:01.123456"), Some(exact));
        for other in ["", "infinity", "2026-11-16"] {
            assert_eq!(parse_utc(other), None, "{other}");
        }
    }

    #[test]
    fn bytes_take_precedence_over_json() {
        let row = [
            Some("r"),
            Some("{}"),
            Some("e"),
            Some("f"),
            Some("7"),
            Some("\\x00fF"),
        ];
        let message = read(row).expect("a message");
        assert_eq!(
            message.broadcast.body,
            Body::Bytes(Bytes::from_static(&[0, 255]))
        );
        assert!(!message.is_private);
    }

    #[test]
    fn a_row_with_a_missing_value_is_not_a_message() {
        let whole = [Some("r"), Some("{}"), Some("e"), Some("f"), Some("7"), None];
        assert!(read(whole).is_some());
        for place in 0..5 {
            let mut row = whole;
            row[place] = None;
            assert_eq!(read(row), None, "{place}");
        }
        let odd = [
            Some("r"),
            None,
            Some("e"),
            Some("f"),
            Some("7"),
            Some("\\x0"),
        ];
        assert_eq!(read(odd), None);
    }
}
