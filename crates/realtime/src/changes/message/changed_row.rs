//! A change with its values as JSON.

use plinth_db::replication::pgoutput::{OldRow, Relation, Tuple, Value};
use time::OffsetDateTime;

use super::super::{Event, Table, ask::ValueQuestion};

/// Above this, a message has only its small values.
const MAX_BYTES: usize = 1_048_576;
/// Values that are no larger are kept even then.
const SMALL_BYTES: usize = 64;

/// What happened to one row.
#[derive(Debug, Clone)]
pub struct ChangedRow<'a> {
    pub(super) table: &'a Table,
    pub(super) relation: &'a Relation,
    pub(super) event: Event,
    pub(super) committed_at: OffsetDateTime,
    /// In the order of the relation's columns.
    pub(super) record: Cells,
    pub(super) old_record: Cells,
    pub(super) is_too_large: bool,
}

/// The values of a row; what it does not have is absent.
pub(super) type Cells = Vec<Cell>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Absent,
    Json(Vec<u8>),
    /// The database has been asked; this is the number of the question.
    Asked(usize),
}

impl Cell {
    pub(super) fn json(&self) -> Option<&[u8]> {
        match self {
            Self::Json(json) => Some(json),
            Self::Absent | Self::Asked(_) => None,
        }
    }
}

impl<'a> ChangedRow<'a> {
    /// A new row, and what only the database knows about its values.
    pub fn insert(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        new: &Tuple,
    ) -> (Self, Vec<ValueQuestion>) {
        let mut reader = Reader::new(table, relation);
        let record = reader.row(|place| new.get(place));
        reader.finish(Event::Insert, committed_at, record, Vec::new())
    }

    /// A changed row. Where the old one is not known, it has at least the key.
    pub fn update(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        old: Option<&OldRow>,
        new: &Tuple,
    ) -> (Self, Vec<ValueQuestion>) {
        let mut reader = Reader::new(table, relation);
        let full = match old {
            Some(OldRow::Full(full)) => Some(full),
            Some(OldRow::Key(_)) | None => None,
        };
        let record = reader.row(|place| match new.get(place) {
            Some(Value::Unchanged) => full.and_then(|full| full.get(place)),
            value => value,
        });
        let old_record = match old {
            Some(OldRow::Full(full)) => reader.row(|place| full.get(place)),
            Some(OldRow::Key(key)) => {
                let key = |place| old_key_value(table, relation, place, Some(key), new);
                reader.row(key)
            }
            None => reader.row(|place| old_key_value(table, relation, place, None, new)),
        };
        reader.finish(Event::Update, committed_at, record, old_record)
    }

    /// A row that is gone. Where policies decide who sees rows, nobody can be asked about this one
    /// any more, and only its key is told.
    pub fn delete(
        table: &'a Table,
        relation: &'a Relation,
        committed_at: OffsetDateTime,
        old: &OldRow,
    ) -> (Self, Vec<ValueQuestion>) {
        let mut reader = Reader::new(table, relation);
        let old_record = reader.row(|place| {
            let column = relation.columns.get(place)?;
            let is_known = match old {
                OldRow::Full(_) => true,
                OldRow::Key(_) => column.is_key,
            };
            let may_be_told = !table.has_row_security || is_primary_key(table, relation, place);
            let (OldRow::Full(tuple) | OldRow::Key(tuple)) = old;
            tuple.get(place).filter(|_| is_known && may_be_told)
        });
        reader.finish(Event::Delete, committed_at, Vec::new(), old_record)
    }

    /// Puts the database's answers in; without all of them, what was asked for stays absent.
    pub fn answer(&mut self, answers: &[Vec<u8>]) {
        for cell in self.record.iter_mut().chain(&mut self.old_record) {
            if let Cell::Asked(number) = cell {
                *cell = answers
                    .get(*number)
                    .map_or(Cell::Absent, |json| Cell::Json(json.clone()));
            }
        }
        self.keep_small();
    }

    /// What was done.
    pub fn event(&self) -> Event {
        self.event
    }

    fn keep_small(&mut self) {
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

fn is_primary_key(table: &Table, relation: &Relation, place: usize) -> bool {
    let column = table.column_of(relation, place);
    column.is_some_and(|column| column.is_primary_key)
}

/// The old value of a key's column: what has not changed was not sent, and stands in the new row.
fn old_key_value<'t>(
    table: &Table,
    relation: &Relation,
    place: usize,
    old_key: Option<&'t Tuple>,
    new: &'t Tuple,
) -> Option<&'t Value> {
    let is_identity = relation.columns.get(place)?.is_key;
    match old_key {
        Some(key) if is_identity => key.get(place),
        _ if is_primary_key(table, relation, place) => new.get(place),
        _ => None,
    }
}

/// Makes JSON of values and collects questions on the way.
struct Reader<'a> {
    table: &'a Table,
    relation: &'a Relation,
    questions: Vec<ValueQuestion>,
}

impl<'a> Reader<'a> {
    fn new(table: &'a Table, relation: &'a Relation) -> Self {
        Self {
            table,
            relation,
            questions: Vec::new(),
        }
    }

    fn row<'t>(&mut self, value: impl Fn(usize) -> Option<&'t Value>) -> Cells {
        let places = 0..self.relation.columns.len();
        places.map(|place| self.cell(place, value(place))).collect()
    }

    fn cell(&mut self, place: usize, value: Option<&Value>) -> Cell {
        let Some(column) = self.table.column_of(self.relation, place) else {
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
                self.questions.push(ValueQuestion {
                    type_oid: column.type_oid,
                    text: text.into_owned(),
                });
                Cell::Asked(self.questions.len() - 1)
            }
        }
    }

    fn finish(
        self,
        event: Event,
        committed_at: OffsetDateTime,
        record: Cells,
        old_record: Cells,
    ) -> (ChangedRow<'a>, Vec<ValueQuestion>) {
        let mut row = ChangedRow {
            table: self.table,
            relation: self.relation,
            event,
            committed_at,
            record,
            old_record,
            is_too_large: false,
        };
        if self.questions.is_empty() {
            row.keep_small();
        }
        (row, self.questions)
    }
}
