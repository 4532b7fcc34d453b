//! A row change, from the stream to its subscribers.

use std::sync::Arc;

use plinth_db::replication::pgoutput::{OldRow, Relation, Tuple, Value};
use time::OffsetDateTime;

use crate::changes::{Event, Table, message::ChangedRow, queries::ValueCast};

/// One change.
#[derive(Debug)]
pub(crate) struct RowChange {
    /// The table as it was then.
    pub(crate) relation: Arc<Relation>,
    pub(crate) committed_at: OffsetDateTime,
    /// The transaction's id, low 32 bits.
    pub(crate) transaction: u32,
    pub(crate) operation: Operation,
}

/// What happened to the row.
#[derive(Debug)]
pub(crate) enum Operation {
    Insert(Tuple),
    Update { old: Option<OldRow>, new: Tuple },
    Delete(OldRow),
}

impl RowChange {
    pub(super) fn event(&self) -> Event {
        match self.operation {
            Operation::Insert(_) => Event::Insert,
            Operation::Update { .. } => Event::Update,
            Operation::Delete(_) => Event::Delete,
        }
    }

    /// The value that filters compare: the new one, or what is known of the old one.
    pub(super) fn value(&self, column: &str) -> Option<&Value> {
        let columns = &self.relation.columns;
        let index = columns.iter().position(|known| known.name == column)?;
        match &self.operation {
            Operation::Insert(new) => new.get(index),
            Operation::Update { old, new } => match (new.get(index), old) {
                (Some(Value::Unchanged), Some(OldRow::Full(old))) => old.get(index),
                (value, _) => value,
            },
            Operation::Delete(OldRow::Full(old)) => old.get(index),
            Operation::Delete(OldRow::Key(key)) => key.get(index).filter(|_| columns[index].is_key),
        }
    }

    /// The row's current primary key; `None` after a delete, or if the change does not have it.
    pub(super) fn key(&self, table: &Table) -> Option<Vec<&str>> {
        if matches!(self.operation, Operation::Delete(_)) {
            return None;
        }
        let text = |name: &str| match self.value(name)? {
            Value::Text(text) => str::from_utf8(text).ok(),
            Value::Null | Value::Unchanged | Value::Binary(_) => None,
        };
        let columns = table.primary_key();
        columns.map(|column| text(&column.name)).collect()
    }

    /// The row as JSON, and the values that only the database can convert.
    pub(super) fn render<'a>(&'a self, table: &'a Table) -> (ChangedRow<'a>, Vec<ValueCast>) {
        let (relation, at) = (&*self.relation, self.committed_at);
        match &self.operation {
            Operation::Insert(new) => ChangedRow::insert(table, relation, at, new),
            Operation::Update { old, new } => {
                ChangedRow::update(table, relation, at, old.as_ref(), new)
            }
            Operation::Delete(old) => ChangedRow::delete(table, relation, at, old),
        }
    }
}
