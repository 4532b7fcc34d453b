//! A row change with its values as JSON.

use plinth_db::replication::pgoutput::{OldRow, Relation, Tuple, Value};
use time::OffsetDateTime;

use super::super::{Event, Table, queries::ValueCast};

/// A larger change includes only small values.
const MAX_BYTES: usize = 1_048_576;
/// The largest of those.
const SMALL_BYTES: usize = 64;

/// One row change.
#[derive(Debug, Clone)]
pub struct ChangedRow<'a> {
    pub(super) table: &'a Table,
    pub(super) relation: &'a Relation,
    pub(super) event: Event,
    pub(super) committed_at: OffsetDateTime,
    pub(super) record: Cells,
    pub(super) old_record: Cells,
    pub(super) is_too_large: bool,
}

/// The values of a row, in the order of the relation's columns.
pub(super) type Cells = Vec<Cell>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Absent,
    Json(Vec<u8>),
    /// To be converted by the database: the index of its [`ValueCast`].
    Cast(usize),
}

impl Cell {
    pub(super) fn json(&self) -> Option<&[u8]> {
        match self {
            Self::Json(json) => Some(json),
            Self::Absent | Self::Cast(_) => None,
        }
    }
}

impl<'a> ChangedRow<'a> {
    /// An insert, and the values that only the database can convert.
    pub fn insert(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        new: &Tuple,
    ) -> (Self, Vec<ValueCast>) {
        let mut reader = Reader::new(table, relation);
        let record = reader.row(|index| new.get(index));
        reader.finish(Event::Insert, committed_at, record, Vec::new())
    }

    /// An update. Without an old row in the stream, `old_record` has the key alone.
    pub fn update(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        old: Option<&OldRow>,
        new: &Tuple,
    ) -> (Self, Vec<ValueCast>) {
        let mut reader = Reader::new(table, relation);
        let full = match old {
            Some(OldRow::Full(full)) => Some(full),
            Some(OldRow::Key(_)) | None => None,
        };
        let record = reader.row(|index| match new.get(index) {
            Some(Value::Unchanged) => full.and_then(|full| full.get(index)),
            value => value,
        });
        let old_record = match old {
            Some(OldRow::Full(full)) => reader.row(|index| full.get(index)),
            Some(OldRow::Key(key)) => {
                let key = |index| old_key_value(table, relation, index, Some(key), new);
                reader.row(key)
            }
            None => reader.row(|index| old_key_value(table, relation, index, None, new)),
        };
        reader.finish(Event::Update, committed_at, record, old_record)
    }

    /// A delete. Policies cannot be checked for a row that is gone, so with row security only the
    /// key is included.
    pub fn delete(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        old: &OldRow,
    ) -> (Self, Vec<ValueCast>) {
        let mut reader = Reader::new(table, relation);
        let old_record = reader.row(|index| {
            let column = relation.columns.get(index)?;
            let is_known = match old {
                OldRow::Full(_) => true,
                OldRow::Key(_) => column.is_key,
            };
            let may_be_shown = !table.has_row_security || is_primary_key(table, relation, index);
            let (OldRow::Full(tuple) | OldRow::Key(tuple)) = old;
            tuple.get(index).filter(|_| is_known && may_be_shown)
        });
        reader.finish(Event::Delete, committed_at, Vec::new(), old_record)
    }

    /// Sets the values that the database has converted; a missing one stays absent.
    pub fn set_cast_values(&mut self, values: &[Vec<u8>]) {
        for cell in self.record.iter_mut().chain(&mut self.old_record) {
            if let Cell::Cast(index) = cell {
                *cell = values
                    .get(*index)
                    .map_or(Cell::Absent, |json| Cell::Json(json.clone()));
            }
        }
        self.drop_large_values();
    }

    pub fn event(&self) -> Event {
        self.event
    }

    fn drop_large_values(&mut self) {
        let cells = || self.record.iter().chain(&self.old_record);
        let values: usize = cells().filter_map(Cell::json).map(<[u8]>::len).sum();
        let names: usize = self
            .relation
            .columns
            .iter()
            .map(|column| column.name.len() + 4)
            .sum();
        let rows = usize::from(!self.record.is_empty()) + usize::from(!self.old_record.is_empty());
        if self.is_too_large || values + names * rows <= MAX_BYTES {
            return;
        }
        self.is_too_large = true;
        for cell in self.record.iter_mut().chain(&mut self.old_record) {
            if cell.json().is_some_and(|json| json.len() > SMALL_BYTES) {
                *cell = Cell::Absent;
            }
        }
    }
}

fn is_primary_key(table: &Table, relation: &Relation, index: usize) -> bool {
    let column = table.column_of(relation, index);
    column.is_some_and(|column| column.is_primary_key)
}

/// The old value of a key column. PostgreSQL sends the old key only if it has changed; otherwise it
/// is in the new row.
fn old_key_value<'t>(
    table: &Table,
    relation: &Relation,
    index: usize,
    old_key: Option<&'t Tuple>,
    new: &'t Tuple,
) -> Option<&'t Value> {
    let is_identity = relation.columns.get(index)?.is_key;
    match old_key {
        Some(key) if is_identity => key.get(index),
        _ if is_primary_key(table, relation, index) => new.get(index),
        _ => None,
    }
}

/// Converts values to JSON and collects those that only the database can convert.
struct Reader<'a> {
    table: &'a Table,
    relation: &'a Relation,
    casts: Vec<ValueCast>,
}

impl<'a> Reader<'a> {
    fn new(table: &'a Table, relation: &'a Relation) -> Self {
        Self {
            table,
            relation,
            casts: Vec::new(),
        }
    }

    fn row<'t>(&mut self, value: impl Fn(usize) -> Option<&'t Value>) -> Cells {
        let indexes = 0..self.relation.columns.len();
        indexes
            .map(|index| self.cell(index, value(index)))
            .collect()
    }

    fn cell(&mut self, index: usize, value: Option<&Value>) -> Cell {
        let Some(column) = self.table.column_of(self.relation, index) else {
            return Cell::Absent;
        };
        match value {
            None | Some(Value::Unchanged | Value::Binary(_)) => Cell::Absent,
            Some(Value::Null) => Cell::Json(b"null".to_vec()),
            Some(Value::Text(text)) => {
                let text = String::from_utf8_lossy(text);
                let mut json = Vec::with_capacity(text.len() + 2);
                if column.shape.write(&text, &mut json) {
                    return Cell::Json(json);
                }
                self.casts.push(ValueCast {
                    type_oid: column.type_oid,
                    text: text.into_owned(),
                });
                Cell::Cast(self.casts.len() - 1)
            }
        }
    }

    fn finish(
        self,
        event: Event,
        committed_at: OffsetDateTime,
        record: Cells,
        old_record: Cells,
    ) -> (ChangedRow<'a>, Vec<ValueCast>) {
        let mut row = ChangedRow {
            table: self.table,
            relation: self.relation,
            event,
            committed_at,
            record,
            old_record,
            is_too_large: false,
        };
        if self.casts.is_empty() {
            row.drop_large_values();
        }
        (row, self.casts)
    }
}
