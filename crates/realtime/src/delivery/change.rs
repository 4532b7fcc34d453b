//! A change of a row, on its way to those who want to hear of it.

use std::sync::Arc;

use plinth_db::replication::pgoutput::{OldRow, Relation, Tuple, Value};
use time::OffsetDateTime;

use crate::changes::{Event, Table, ask::ValueQuestion, message::ChangedRow};

/// One change.
#[derive(Debug)]
pub(crate) struct Change {
    /// The table as it was then.
    pub(crate) relation: Arc<Relation>,
    pub(crate) committed_at: OffsetDateTime,
    /// Its number.
    pub(crate) transaction: u32,
    pub(crate) what: What,
}

/// What happened to the row.
#[derive(Debug)]
pub(crate) enum What {
    Insert(Tuple),
    Update { old: Option<OldRow>, new: Tuple },
    Delete(OldRow),
}

impl Change {
    pub(super) fn event(&self) -> Event {
        match self.what {
            What::Insert(_) => Event::Insert,
            What::Update { .. } => Event::Update,
            What::Delete(_) => Event::Delete,
        }
    }

    /// The value that filters look at: the new one, or what is known of the old one.
    pub(super) fn value(&self, column: &str) -> Option<&Value> {
        let columns = &self.relation.columns;
        let place = columns.iter().position(|known| known.name == column)?;
        match &self.what {
            What::Insert(new) => new.get(place),
            What::Update { old, new } => match (new.get(place), old) {
                (Some(Value::Unchanged), Some(OldRow::Full(old))) => old.get(place),
                (value, _) => value,
            },
            What::Delete(OldRow::Full(old)) => old.get(place),
            What::Delete(OldRow::Key(key)) => key.get(place).filter(|_| columns[place].is_key),
        }
    }

    /// The primary key of the row as it is now; `None` if there is none any more, or not here.
    pub(super) fn key(&self, table: &Table) -> Option<Vec<&str>> {
        if matches!(self.what, What::Delete(_)) {
            return None;
        }
        let text = |name: &str| match self.value(name)? {
            Value::Text(text) => str::from_utf8(text).ok(),
            Value::Null | Value::Unchanged | Value::Binary(_) => None,
        };
        let columns = table.primary_key();
        columns.map(|column| text(&column.name)).collect()
    }

    /// Its values as JSON, as far as they are known without asking.
    pub(super) fn row<'a>(&'a self, table: &'a Table) -> (ChangedRow<'a>, Vec<ValueQuestion>) {
        let (relation, at) = (&*self.relation, self.committed_at);
        match &self.what {
            What::Insert(new) => ChangedRow::insert(table, relation, at, new),
            What::Update { old, new } => ChangedRow::update(table, relation, at, old.as_ref(), new),
            What::Delete(old) => ChangedRow::delete(table, relation, at, old),
        }
    }
}
