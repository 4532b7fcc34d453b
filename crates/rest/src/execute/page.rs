//! The result row of a statement.

use bytes::Bytes;
use plinth_db::{ColumnIndex, DbError, Row};
use postgres_types::Type;
use serde_json::Value;

use crate::RestError;

/// Counts, body and `response.*` settings of a statement.
#[derive(Debug)]
pub(crate) struct Page {
    /// The number of all rows, if requested.
    pub(crate) total: Option<i64>,
    /// The number of rows on this page, or of changed rows.
    pub(crate) rows: i64,
    /// The inserted row as JSON.
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
    pub(crate) response_headers: Option<String>,
    pub(crate) response_status: Option<String>,
    /// The number of rows that an upsert inserted.
    pub(crate) inserted: Option<i32>,
}

/// From the one row that every statement returns. There is none if a rule of the database
/// suppresses it.
pub(super) fn page(rows: Vec<Row>) -> Result<Page, RestError> {
    let Some(row) = rows.into_iter().next() else {
        return Ok(Page {
            total: None,
            rows: 0,
            location: None,
            body: Bytes::new(),
            response_headers: None,
            response_status: None,
            inserted: None,
        });
    };
    let unexpected = |error: DbError| RestError::UnexpectedResult(error.to_string());
    Ok(Page {
        total: row.try_get("total").map_err(unexpected)?,
        rows: row.try_get("rows").map_err(unexpected)?,
        location: if row
            .columns()
            .iter()
            .any(|column| column.name() == "location")
        {
            row.try_get("location").map_err(unexpected)?
        } else {
            None
        },
        response_headers: row.try_get("response_headers").map_err(unexpected)?,
        response_status: row.try_get("response_status").map_err(unexpected)?,
        inserted: row.try_get("inserted").map_err(unexpected)?,
        body: body(&row, "body"),
    })
}

/// The bytes as PostgreSQL sent them: not parsed, not copied.
fn body(row: &Row, column: impl ColumnIndex + Copy) -> Bytes {
    let bytes = row.raw(column).unwrap_or_default();
    match column.position(row.columns()) {
        Some(place) => without_version(row.columns()[place].type_(), bytes),
        None => bytes,
    }
}

/// The binary form of `jsonb` is its text after a version byte.
fn without_version(ty: &Type, bytes: Bytes) -> Bytes {
    if *ty == Type::JSONB && !bytes.is_empty() {
        bytes.slice(1..)
    } else {
        bytes
    }
}

pub(super) fn plan_text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&String::from_utf8_lossy(&body(row, 0)));
        text.push('\n');
    }
    text
}

/// `Plan Rows` of an EXPLAIN in JSON.
pub(super) fn planned_rows(rows: &[Row]) -> Option<i64> {
    let explained: Value = serde_json::from_slice(&body(rows.first()?, 0)).ok()?;
    explained.pointer("/0/Plan/Plan Rows")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_their_bytes_but_for_the_version_of_jsonb() {
        let raw = |ty: &Type, bytes| without_version(ty, Bytes::from_static(bytes));

        assert_eq!(raw(&Type::TEXT, b"abc"), "abc");
        assert_eq!(raw(&Type::JSON, b"{}"), "{}");
        assert_eq!(raw(&Type::BYTEA, b"\x01\xff"), &b"\x01\xff"[..]);
        assert_eq!(raw(&Type::JSONB, b"\x01{}"), "{}");
        assert_eq!(raw(&Type::JSONB, b""), "");
    }
}
