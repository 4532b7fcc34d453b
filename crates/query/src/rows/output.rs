//! The columns of a page and its rows as texts.

use plinth_db::{QuotedIdent, Row};
use serde::{Deserialize, Serialize};

use crate::{Column, Relation};

/// Longer cells are cut (console contract N52).
pub(crate) const MAX_CELL_BYTES: usize = 10 * 1024;

/// A column of a [`RowSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type, such as `character varying(10)`.
    #[serde(rename = "type")]
    pub type_text: String,
    /// The OID of its type.
    pub oid: u32,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether it has a default.
    pub has_default: bool,
    /// Whether it is computed from others, and cannot be written.
    pub generated: bool,
    /// `always` or `by default` for an identity column.
    pub identity: Option<String>,
}

/// Rows of a table or view, as texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSet {
    /// The columns.
    pub columns: Vec<TableColumn>,
    /// The rows: PostgreSQL's text output of each value, or null.
    pub rows: Vec<Vec<Option<String>>>,
    /// Names of the columns that identify a row; empty if nothing does.
    pub keys: Vec<String>,
    /// The key of each row, whole; empty if nothing identifies a row.
    pub row_keys: Vec<Vec<Option<String>>>,
    /// The version of each row, for updates; empty if rows have none.
    pub versions: Vec<String>,
    /// Cells that were cut: row, column and length in bytes.
    pub truncated: Vec<(usize, usize, u64)>,
}

/// Which columns are read.
pub(crate) struct Output<'a> {
    relation: &'a Relation,
    /// Indexes of the relation's columns.
    shown: Vec<usize>,
    cell_bytes: usize,
}

impl<'a> Output<'a> {
    pub(crate) fn new(relation: &'a Relation, shown: Vec<usize>, cell_bytes: usize) -> Self {
        Self {
            relation,
            shown,
            cell_bytes,
        }
    }

    pub(crate) fn all(relation: &'a Relation) -> Self {
        let shown = (0..relation.columns.len()).collect();
        Self::new(relation, shown, MAX_CELL_BYTES)
    }

    fn shown(&self) -> impl Iterator<Item = &'a Column> {
        let columns = &self.relation.columns;
        self.shown.iter().map(|index| &columns[*index])
    }

    /// How many columns the select list has.
    pub(crate) fn width(&self) -> usize {
        self.shown.len() + 1 + self.key_width() + usize::from(self.relation.has_versions())
    }

    fn key_width(&self) -> usize {
        self.relation.key.len()
    }

    /// The select list, with an alias for each item: cells, lengths of those that are cut, key, version.
    pub(crate) fn select_list(&self) -> String {
        let mut list = String::new();
        let mut lengths = String::new();
        for (index, column) in self.shown().enumerate() {
            let name = column_sql(column);
            list.push_str(&column.text_output(&name, self.cell_bytes));
            list.push_str(&format!(" as c{index}, "));
            if let Some(length) = column.text_length(&name) {
                if !lengths.is_empty() {
                    lengths.push_str(" || ");
                }
                let limit = self.cell_bytes;
                lengths.push_str(&format!(
                    "case when {length} > {limit} then '{index}:' || {length} || ' ' else '' end"
                ));
            }
        }
        if lengths.is_empty() {
            lengths.push_str("''");
        }
        list.push_str(&lengths);
        list.push_str(" as lengths");
        for (index, column) in self.relation.key_columns().enumerate() {
            let text = column.whole_text(&column_sql(column));
            list.push_str(&format!(", {text} as k{index}"));
        }
        if self.relation.has_versions() {
            list.push_str(", t.xmin::pg_catalog.text as version");
        }
        list
    }

    /// Reads rows of [`Self::select_list`].
    pub(crate) fn read(&self, rows: &[Row]) -> RowSet {
        let mut set = self.empty();
        for row in rows {
            self.read_row(row, &mut set);
        }
        set
    }

    fn empty(&self) -> RowSet {
        RowSet {
            columns: self.shown().map(TableColumn::new).collect(),
            rows: Vec::new(),
            keys: self
                .relation
                .key_columns()
                .map(|column| column.name.clone())
                .collect(),
            row_keys: Vec::new(),
            versions: Vec::new(),
            truncated: Vec::new(),
        }
    }

    fn read_row(&self, row: &Row, set: &mut RowSet) {
        let shown = self.shown.len();
        let mut values = texts(row);
        let rest = values.split_off(shown.min(values.len()));
        for (column, length) in cut_cells(rest.first().and_then(Option::as_deref)) {
            if let Some(Some(cell)) = values.get_mut(column) {
                cut(cell, self.cell_bytes);
                set.truncated.push((set.rows.len(), column, length));
            }
        }
        set.rows.push(values);
        let key_width = self.key_width();
        if key_width > 0 {
            set.row_keys
                .push(rest.iter().skip(1).take(key_width).cloned().collect());
        }
        if self.relation.has_versions() {
            let version = rest.get(1 + key_width).cloned().flatten();
            set.versions.push(version.unwrap_or_default());
        }
    }
}

impl TableColumn {
    fn new(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            type_text: column.type_text.clone(),
            oid: column.type_oid,
            nullable: !column.is_not_null,
            has_default: column.has_default,
            generated: column.is_generated,
            identity: column.identity.map(str::to_owned),
        }
    }
}

/// A column of the table `t`.
pub(crate) fn column_sql(column: &Column) -> String {
    format!("t.{}", QuotedIdent::new(&column.name))
}

/// All values of a row of texts.
pub(crate) fn texts(row: &Row) -> Vec<Option<String>> {
    row.texts()
        .map(|value| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
        .collect()
}

/// `3:20480 5:11000 `.
fn cut_cells(text: Option<&str>) -> impl Iterator<Item = (usize, u64)> {
    let cells = text.unwrap_or_default().split_whitespace();
    cells.filter_map(|cell| {
        let (column, length) = cell.split_once(':')?;
        Some((column.parse().ok()?, length.parse().ok()?))
    })
}

/// PostgreSQL cuts by characters.
fn cut(text: &mut String, limit: usize) {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = "aéé".to_owned();
        cut(&mut text, 4);
        assert_eq!(text, "aé");
    }

    #[test]
    fn lengths_of_cut_cells_are_read() {
        let cells: Vec<_> = cut_cells(Some("3:20480 5:11000 ")).collect();
        assert_eq!(cells, [(3, 20480), (5, 11000)]);
        assert_eq!(cut_cells(None).count(), 0);
    }
}
