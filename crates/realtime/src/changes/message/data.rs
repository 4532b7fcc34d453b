//! Bytes of a message.

use std::collections::HashSet;

use plinth_db::replication::pgoutput::Relation;
use time::OffsetDateTime;

use super::{
    super::{Column, Event, json_value::write_text, table::Rights},
    changed_row::{Cells, ChangedRow},
};

/// The columns that some subscribers may see and want to.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// What the role may see.
    pub rights: &'a Rights,
    /// What was selected, if anything was; the primary key is shown in any case.
    pub select: Option<&'a HashSet<String>>,
}

impl Shown<'_> {
    fn has(&self, column: &Column) -> bool {
        let is_selected = |select: &HashSet<String>| select.contains(&column.name);
        let is_wanted = column.is_primary_key || self.select.is_none_or(is_selected);
        is_wanted && self.rights.can_read(column)
    }
}

/// Why subscribers of a role are told of a change, but not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The table has no primary key.
    NoPrimaryKey,
    /// The role may not see it.
    Unauthorized,
}

impl Refusal {
    fn text(self) -> &'static str {
        match self {
            Self::NoPrimaryKey => "Error 400: Bad Request, no primary key",
            Self::Unauthorized => "Error 401: Unauthorized",
        }
    }
}

/// A change as those see it who may see these columns. All questions must have been answered.
pub fn data(change: &ChangedRow<'_>, shown: Shown<'_>) -> Vec<u8> {
    let relation = change.relation;
    let mut out = begin(relation, change.event, change.record.len() * 32);
    out.extend_from_slice(b",\"commit_timestamp\":");
    write_text(&timestamp(change.committed_at), &mut out);
    out.extend_from_slice(b",\"columns\":");
    write_columns(change, shown, &mut out);
    out.extend_from_slice(match change.is_too_large {
        true => b",\"errors\":[\"Error 413: Payload Too Large\"]",
        false => b",\"errors\":null",
    });
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

/// The message in place of a change that cannot be told.
pub fn refusal_data(relation: &Relation, event: Event, refusal: Refusal) -> Vec<u8> {
    let mut out = begin(relation, event, 0);
    out.extend_from_slice(b",\"commit_timestamp\":null,\"columns\":[],\"errors\":[");
    write_text(refusal.text(), &mut out);
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
    write_text(&relation.schema, &mut out);
    out.extend_from_slice(b",\"table\":");
    write_text(&relation.name, &mut out);
    out.extend_from_slice(b",\"type\":");
    write_text(event.name(), &mut out);
    out
}

fn write_columns(change: &ChangedRow<'_>, shown: Shown<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let places = 0..change.relation.columns.len();
    let columns = places.filter_map(|place| change.table.column_of(change.relation, place));
    for (place, column) in columns.filter(|column| shown.has(column)).enumerate() {
        out.extend_from_slice(if place == 0 {
            b"{\"name\":"
        } else {
            b",{\"name\":"
        });
        write_text(&column.name, out);
        out.extend_from_slice(b",\"type\":");
        write_text(&column.type_name, out);
        out.push(b'}');
    }
    out.push(b']');
}

fn write_row(change: &ChangedRow<'_>, cells: &Cells, shown: Shown<'_>, out: &mut Vec<u8>) {
    let mut separator = b'{';
    for (place, cell) in cells.iter().enumerate() {
        let column = change.table.column_of(change.relation, place);
        let column = column.filter(|column| shown.has(column));
        if let (Some(column), Some(json)) = (column, cell.json()) {
            out.push(std::mem::replace(&mut separator, b','));
            write_text(&column.name, out);
            out.push(b':');
            out.extend_from_slice(json);
        }
    }
    if separator == b'{' {
        out.push(separator);
    }
    out.push(b'}');
}

/// In UTC, with exactly three decimals, which are cut and not rounded.
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
