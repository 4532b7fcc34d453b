//! Exports: one COPY statement, and what turns its stream into a file (console contract N59).

use bytes::{BufMut as _, Bytes, BytesMut};
use plinth_db::{OpenTransaction, QuotedIdent, QuotedLiteral};
use serde::{Deserialize, Serialize};

use crate::{
    QueryError, Relation, RelationName,
    rows::{Filter, Sort, push_order, push_where, sort_keys},
    sql::{Sql, separated},
};

/// What a file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Comma-separated, with names in the first line.
    #[default]
    Csv,
    /// One array of objects.
    Json,
    /// An object per line.
    Ndjson,
    /// `insert` statements.
    Sql,
}

/// Which rows of which table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// Which columns, in this order; all if absent.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// What has to hold for a row.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// In which order; any if empty.
    #[serde(default)]
    pub sort: Vec<Sort>,
    /// The form of the file.
    #[serde(default)]
    pub format: ExportFormat,
}

/// A COPY statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportStatement {
    /// It.
    pub sql: String,
    /// Whether its lines are escaped, and are to be read by a [`TextUnescaper`].
    pub is_escaped: bool,
}

impl ExportFormat {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Sql => "application/sql",
        }
    }

    /// How its files are called.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Sql => "sql",
        }
    }
}

/// Builds the statement. Nothing is run but a look at the catalog.
pub async fn export_statement(
    tx: &mut OpenTransaction,
    request: &ExportRequest,
) -> Result<ExportStatement, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    let columns: Vec<&crate::Column> = match &request.columns {
        None => relation.columns.iter().collect(),
        Some(names) => {
            let found = names.iter().map(|name| relation.column(name));
            found.collect::<Result<_, _>>()?
        }
    };
    let names = separated(
        columns
            .iter()
            .map(|column| format!("t.{}", QuotedIdent::new(&column.name))),
        ", ",
    );
    let mut sql = Sql::inline();
    sql.push("copy (");
    match request.format {
        ExportFormat::Csv => {
            sql.push("select ").push(&names);
        }
        ExportFormat::Json | ExportFormat::Ndjson => {
            sql.push("select pg_catalog.row_to_json(line) from (select ");
            sql.push(&names);
        }
        ExportFormat::Sql => {
            sql.push("select ").push(insert_text(&relation, &columns));
        }
    }
    sql.push(" from ").push(relation.sql()).push(" t");
    push_where(&mut sql, &relation, &request.filters)?;
    if !request.sort.is_empty() {
        push_order(&mut sql, &sort_keys(&relation, &request.sort)?);
    }
    match request.format {
        ExportFormat::Csv => sql.push(") to stdout (format csv, header, encoding 'UTF8')"),
        ExportFormat::Json | ExportFormat::Ndjson => {
            sql.push(") line) to stdout (format text, encoding 'UTF8')")
        }
        ExportFormat::Sql => sql.push(") to stdout (format text, encoding 'UTF8')"),
    };
    Ok(ExportStatement {
        sql: sql.into_text(),
        is_escaped: request.format != ExportFormat::Csv,
    })
}

/// SQL for the `insert` statement of a row.
fn insert_text(relation: &Relation, columns: &[&crate::Column]) -> String {
    let written: Vec<_> = columns
        .iter()
        .filter(|column| !column.is_generated)
        .collect();
    let names = separated(
        written.iter().map(|column| QuotedIdent::new(&column.name)),
        ", ",
    );
    let overriding = if written
        .iter()
        .any(|column| column.identity == Some("always"))
    {
        " overriding system value"
    } else {
        ""
    };
    if written.is_empty() {
        let text = format!("insert into {} default values;", relation.sql());
        return QuotedLiteral::new(&text).to_string();
    }
    let head = format!(
        "insert into {} ({names}){overriding} values (",
        relation.sql()
    );
    let values = written.iter().map(|column| {
        let text = column.whole_text(&format!("t.{}", QuotedIdent::new(&column.name)));
        format!("coalesce(pg_catalog.quote_literal({text}), 'null')")
    });
    format!(
        "{} || {} || ');'",
        QuotedLiteral::new(&head),
        separated(values, " || ', ' || ")
    )
}

/// Reads COPY's text format of one column, a piece of the stream at a time.
#[derive(Debug, Default)]
pub struct TextUnescaper {
    /// The last piece ended in a backslash.
    is_escaped: bool,
    array: bool,
    lines: u64,
    is_line_start: bool,
}

impl TextUnescaper {
    /// For a format; a JSON array gets its brackets and commas.
    pub fn new(format: ExportFormat) -> Self {
        Self {
            array: format == ExportFormat::Json,
            is_line_start: true,
            ..Self::default()
        }
    }

    /// The text of a piece.
    pub fn push(&mut self, piece: &[u8]) -> Bytes {
        let mut text = BytesMut::with_capacity(piece.len() + piece.len() / 16 + 8);
        for &byte in piece {
            self.push_byte(byte, &mut text);
        }
        text.freeze()
    }

    fn push_byte(&mut self, byte: u8, text: &mut BytesMut) {
        if self.is_line_start {
            self.is_line_start = false;
            if self.array {
                text.put_slice(if self.lines == 0 { b"[" } else { b",\n" });
            }
            self.lines += 1;
        }
        match (self.is_escaped, byte) {
            (true, _) => {
                self.is_escaped = false;
                text.put_u8(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    b'v' => 11,
                    other => other,
                });
            }
            (false, b'\\') => self.is_escaped = true,
            (false, b'\n') => {
                self.is_line_start = true;
                if !self.array {
                    text.put_u8(b'\n');
                }
            }
            (false, other) => text.put_u8(other),
        }
    }

    /// What comes after the last piece.
    pub fn finish(&self) -> Bytes {
        match (self.array, self.lines) {
            (false, _) => Bytes::new(),
            (true, 0) => Bytes::from_static(b"[]\n"),
            (true, _) => Bytes::from_static(b"]\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: ExportFormat, pieces: &[&str], expected: &str) {
        let mut unescaper = TextUnescaper::new(format);
        let mut text = Vec::new();
        for piece in pieces {
            text.extend_from_slice(&unescaper.push(piece.as_bytes()));
        }
        text.extend_from_slice(&unescaper.finish());
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }

    #[test]
    fn lines_become_an_array() {
        check(ExportFormat::Json, &[], "[]\n");
        let lines = ["{\"a\":1}\n{\"a\":\"x\\", "\\n\"}\n"];
        check(
            ExportFormat::Json,
            &lines,
            "[{\"a\":1},\n{\"a\":\"x\\n\"}]\n",
        );
        check(
            ExportFormat::Ndjson,
            &lines,
            "{\"a\":1}\n{\"a\":\"x\\n\"}\n",
        );
    }

    #[test]
    fn escapes_are_read() {
        check(
            ExportFormat::Sql,
            &["a\\tb\\\\c\\", "nd\\v\n"],
            "a\tb\\c\nd\u{b}\n",
        );
    }
}
