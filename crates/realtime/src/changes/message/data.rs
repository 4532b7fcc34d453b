//! Assembling `data`.

use std::collections::HashSet;

use plinth_db::replication::pgoutput::Relation;
use time::OffsetDateTime;

use super::{
    super::{Column, Event, json_value::write_string, table::Rights},
    changed_row::{Cells, ChangedRow},
};

/// The columns that a subscriber may see and has selected.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Of the subscriber's role.
    pub rights: &'a Rights,
    /// `select`; the primary key is always included.
    pub select: Option<&'a HashSet<String>>,
}

impl Shown<'_> {
    fn includes(&self, column: &Column) -> bool {
        let selects = |select: &HashSet<String>| select.contains(&column.name);
        let is_selected = column.is_primary_key || self.select.is_none_or(selects);
        is_selected && self.rights.can_read(column)
    }
}

/// An element of `errors`: why a message does not have all values of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeError {
    /// The table has no primary key.
    NoPrimaryKey,
    /// The role may not read the primary key.
    Unauthorized,
    /// The change is over the size limit, and includes only small values.
    TooLarge,
}

impl ChangeError {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::NoPrimaryKey => "Error 400: Bad Request, no primary key",
            Self::Unauthorized => "Error 401: Unauthorized",
            Self::TooLarge => "Error 413: Payload Too Large",
        }
    }
}

/// `data` for subscribers that see these columns. [`ChangedRow::set_cast_values`] comes before.
pub fn data(change: &ChangedRow<'_>, shown: Shown<'_>) -> Vec<u8> {
    let relation = change.relation;
    let mut out = begin(relation, change.event, change.record.len() * 32);
    out.extend_from_slice(b",\"commit_timestamp\":");
    write_string(&timestamp(change.committed_at), &mut out);
    out.extend_from_slice(b",\"columns\":");
    write_columns(change, shown, &mut out);
    out.extend_from_slice(b",\"errors\":");
    if change.is_too_large {
        out.push(b'[');
        write_string(ChangeError::TooLarge.message(), &mut out);
        out.push(b']');
    } else {
        out.extend_from_slice(b"null");
    }
    if change.event != Event::Delete {
        out.extend_from_slice(b",\"record\":");
        write_row(change, &change.record, shown, &mut out);
    }
    if change.event != Event::Insert {
        out.extend_from_slice(b",\"old_record\":");
        write_row(change, &change.old_record, shown, &mut out);
    }
    out.push(b'}');
    out
}

/// `data` without values.
pub fn error_data(relation: &Relation, event: Event, error: ChangeError) -> Vec<u8> {
    let mut out = begin(relation, event, 0);
    out.extend_from_slice(b",\"commit_timestamp\":null,\"columns\":[],\"errors\":[");
    write_string(error.message(), &mut out);
    out.extend_from_slice(b"],\"record\":{}");
    if event == Event::Update {
        out.extend_from_slice(b",\"old_record\":{}");
    }
    out.push(b'}');
    out
}

fn begin(relation: &Relation, event: Event, expected: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + expected);
    out.extend_from_slice(b"{\"schema\":");
    write_string(&relation.schema, &mut out);
    out.extend_from_slice(b",\"table\":");
    write_string(&relation.name, &mut out);
    out.extend_from_slice(b",\"type\":");
    write_string(event.name(), &mut out);
    out
}

fn write_columns(change: &ChangedRow<'_>, shown: Shown<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let indexes = 0..change.relation.columns.len();
    let columns = indexes.filter_map(|index| change.table.column_of(change.relation, index));
    for (index, column) in columns.filter(|column| shown.includes(column)).enumerate() {
        out.extend_from_slice(if index == 0 {
            b"{\"name\":"
        } else {
            b",{\"name\":"
        });
        write_string(&column.name, out);
        out.extend_from_slice(b",\"type\":");
        write_string(&column.type_name, out);
        out.push(b'}');
    }
    out.push(b']');
}

fn write_row(change: &ChangedRow<'_>, cells: &Cells, shown: Shown<'_>, out: &mut Vec<u8>) {
    let mut separator = b'{';
    for (index, cell) in cells.iter().enumerate() {
        let column = change.table.column_of(change.relation, index);
        let column = column.filter(|column| shown.includes(column));
        if let (Some(column), Some(json)) = (column, cell.json()) {
            out.push(std::mem::replace(&mut separator, b','));
            write_string(&column.name, out);
            out.push(b':');
            out.extend_from_slice(json);
        }
    }
    if separator == b'{' {
        out.push(separator);
    }
    out.push(b'}');
}

/// In UTC, truncated to milliseconds.
fn timestamp(at: OffsetDateTime) -> String {
    let at = at.to_offset(time::UtcOffset::UTC);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.millisecond(),
    )
}
