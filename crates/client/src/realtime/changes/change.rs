//! A row change.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::convert::convert;
use crate::realtime::RealtimeError;

/// A row, by column name.
pub type Row = Map<String, Value>;

/// Kind of a row change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Inserted.
    #[serde(rename = "INSERT")]
    Insert,
    /// Updated.
    #[serde(rename = "UPDATE")]
    Update,
    /// Deleted.
    #[serde(rename = "DELETE")]
    Delete,
}

/// A row change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change<T = Row> {
    /// Its kind.
    pub kind: ChangeKind,
    /// The schema of its table.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// When it was committed, in UTC.
    pub commit_timestamp: Option<String>,
    /// The new row. `None` for deleted rows and for rows that may not be seen (see `errors`).
    pub new: Option<T>,
    /// What is known of the old row: usually the primary key; more with `replica identity full`.
    pub old: Row,
    /// Why the row is incomplete: too large, no permission, no primary key.
    pub errors: Vec<String>,
}

impl Change {
    /// With the new row deserialized as this type.
    pub fn typed<T: DeserializeOwned>(self) -> Result<Change<T>, RealtimeError> {
        let typed = |row| serde_json::from_value(Value::Object(row));
        let new = self.new.map(typed).transpose();
        Ok(Change {
            kind: self.kind,
            schema: self.schema,
            table: self.table,
            commit_timestamp: self.commit_timestamp,
            new: new.map_err(RealtimeError::unreadable)?,
            old: self.old,
            errors: self.errors,
        })
    }
}

impl<T> Change<T> {
    /// The old row, deserialized as this type.
    pub fn old_as<O: DeserializeOwned>(&self) -> Result<O, RealtimeError> {
        let old = Value::Object(self.old.clone());
        serde_json::from_value(old).map_err(RealtimeError::unreadable)
    }
}

/// The payload of `postgres_changes`.
#[derive(Deserialize)]
pub(in crate::realtime) struct WireChange {
    #[serde(default)]
    pub(in crate::realtime) ids: Vec<Value>,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "type")]
    kind: ChangeKind,
    #[serde(default)]
    schema: String,
    #[serde(default)]
    table: String,
    #[serde(default)]
    commit_timestamp: Option<String>,
    #[serde(default)]
    columns: Option<Vec<Column>>,
    #[serde(default)]
    record: Option<Row>,
    #[serde(default)]
    old_record: Option<Row>,
    #[serde(default)]
    errors: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
}

impl WireChange {
    pub(in crate::realtime) fn kind(&self) -> ChangeKind {
        self.data.kind
    }

    pub(in crate::realtime) fn into_change(self) -> Change {
        let data = self.data;
        let columns = data.columns.unwrap_or_default();
        let errors = data.errors.unwrap_or_default();
        let row = |row: Option<Row>| row.map(|row| converted(&columns, row));
        let has_new = data.kind != ChangeKind::Delete;
        let has_old = data.kind != ChangeKind::Insert;
        let new = row(data.record.filter(|_| has_new));
        Change {
            kind: data.kind,
            schema: data.schema,
            table: data.table,
            commit_timestamp: data.commit_timestamp,
            new: new.filter(|row| errors.is_empty() || !row.is_empty()),
            old: row(data.old_record.filter(|_| has_old)).unwrap_or_default(),
            errors,
        }
    }
}

fn converted(columns: &[Column], row: Row) -> Row {
    let one = |(name, value): (String, Value)| {
        let column = columns.iter().find(|column| column.name == name);
        let value = match column {
            Some(column) => convert(&column.kind, value),
            None => value,
        };
        (name, value)
    };
    row.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(data: Value) -> Change {
        let wire: WireChange = serde_json::from_value(json!({ "ids": [1], "data": data })).unwrap();
        wire.into_change()
    }

    #[test]
    fn a_change_has_the_sides_of_its_kind() {
        let data = |kind: &str| {
            json!({
                "type": kind, "schema": "public", "table": "t",
                "commit_timestamp": "2024-01-02T03:04:05.678Z",
                "columns": [{ "name": "id", "type": "int8" }, { "name": "ok", "type": "bool" }],
                "record": { "id": "1", "ok": "t" }, "old_record": { "id": 1 }, "errors": null,
            })
        };
        let row = |value: Value| value.as_object().unwrap().clone();

        let insert = change(data("INSERT"));
        assert_eq!(insert.kind, ChangeKind::Insert);
        assert_eq!(insert.new, Some(row(json!({ "id": 1, "ok": true }))));
        assert!(insert.old.is_empty());
        let update = change(data("UPDATE"));
        assert_eq!(update.old, row(json!({ "id": 1 })));
        let delete = change(data("DELETE"));
        assert_eq!((delete.new.is_none(), delete.old.len()), (true, 1));
        assert_eq!(
            delete.commit_timestamp.as_deref(),
            Some("2024-01-02T03:04:05.678Z")
        );
    }

    #[test]
    fn rows_are_typed_and_those_that_may_not_be_seen_are_missing() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Todo {
            id: i64,
        }
        let seen = json!({ "type": "INSERT", "record": { "id": 7 } });
        let typed: Change<Todo> = change(seen.clone()).typed().unwrap();
        assert_eq!(typed.new, Some(Todo { id: 7 }));
        assert!(change(seen).typed::<Vec<u8>>().is_err());

        let unseen = json!({
            "type": "UPDATE", "columns": [], "record": {}, "old_record": {},
            "commit_timestamp": null, "errors": ["Error 401: Unauthorized"],
        });
        let unseen: Change<Todo> = change(unseen).typed().unwrap();
        assert_eq!(unseen.new, None);
        assert_eq!(unseen.errors, ["Error 401: Unauthorized"]);

        let deleted = json!({ "type": "DELETE", "old_record": { "id": 9 } });
        let old: Todo = change(deleted).old_as().unwrap();
        assert_eq!(old, Todo { id: 9 });
    }
}
