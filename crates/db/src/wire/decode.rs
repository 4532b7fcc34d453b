//! Decoding of server messages.

use std::sync::Arc;

use bytes::Buf as _;
use postgres_types::{Kind, Oid, Type};
use tokio_postgres::error::{Severity, SqlState};

use super::script::ScriptColumn;
use crate::{PgError, row::Column};

/// An ErrorResponse. Missing and unknown fields are tolerated.
pub(super) fn error(mut body: &[u8]) -> PgError {
    let mut error = PgError::new("XX000", "");
    error.severity = None;
    while let Some((&kind, rest)) = body.split_first() {
        body = rest;
        let Some(text) = text(&mut body) else {
            break;
        };
        match kind {
            b'V' => error.severity = severity(&text),
            b'C' => error.code = SqlState::from_code(&text),
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            b's' => error.schema = Some(text),
            b't' => error.table = Some(text),
            b'c' => error.column = Some(text),
            b'n' => error.constraint = Some(text),
            b'R' => error.routine = Some(text),
            b'P' => error.position = text.parse().ok(),
            b'p' => error.internal_position = text.parse().ok(),
            b'q' => error.internal_query = Some(text),
            b'W' => error.context = Some(text),
            _ => {}
        }
    }
    error
}

fn severity(word: &str) -> Option<Severity> {
    match word {
        "PANIC" => Some(Severity::Panic),
        "FATAL" => Some(Severity::Fatal),
        "ERROR" => Some(Severity::Error),
        _ => None,
    }
}

/// A RowDescription; `None` if it is malformed.
pub(super) fn columns(mut body: &[u8]) -> Option<Arc<[Column]>> {
    let count = body.try_get_u16().ok()?;
    let columns = (0..count).map(|_| {
        let name = text(&mut body)?;
        let (_table, _number) = (body.try_get_u32().ok()?, body.try_get_u16().ok()?);
        let type_ = type_of(body.try_get_u32().ok()?);
        let (_size, _modifier) = (body.try_get_u16().ok()?, body.try_get_u32().ok()?);
        let _format = body.try_get_u16().ok()?;
        Some(Column::new(name, type_))
    });
    columns.collect()
}

/// A RowDescription with what tells where the columns come from; `None` if it is malformed.
pub(super) fn script_columns(mut body: &[u8]) -> Option<Vec<ScriptColumn>> {
    let count = body.try_get_u16().ok()?;
    let columns = (0..count).map(|_| {
        let name = text(&mut body)?;
        let (table, number) = (body.try_get_u32().ok()?, body.try_get_i16().ok()?);
        let type_oid = body.try_get_u32().ok()?;
        let _size = body.try_get_i16().ok()?;
        let type_modifier = body.try_get_i32().ok()?;
        let _format = body.try_get_u16().ok()?;
        Some(ScriptColumn {
            name,
            type_oid,
            type_modifier,
            table: (table != 0).then_some(table),
            table_column: (number != 0).then_some(number),
        })
    });
    columns.collect()
}

/// The severity of a notice as it is called in English, such as `WARNING`.
pub(super) fn severity_name(mut body: &[u8]) -> Option<String> {
    while let Some((&kind, rest)) = body.split_first() {
        body = rest;
        let word = text(&mut body)?;
        if kind == b'V' {
            return Some(word);
        }
    }
    None
}

/// A text that ends at NUL, such as the tag of a CommandComplete.
pub(super) fn tag(mut body: &[u8]) -> String {
    text(&mut body).unwrap_or_default()
}

/// A ParameterDescription; `None` if it is malformed.
pub(super) fn parameters(mut body: &[u8]) -> Option<Box<[Type]>> {
    let count = body.try_get_u16().ok()?;
    let types = (0..count).map(|_| body.try_get_u32().ok().map(type_of));
    types.collect()
}

/// The row count of a CommandComplete: its last word.
pub(super) fn affected(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(&[0]).unwrap_or(body);
    let word = tag.rsplit(|byte| *byte == b' ').next().unwrap_or(tag);
    let number = std::str::from_utf8(word).ok();
    number.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// User-defined types stay opaque: looking them up would cost a round trip.
fn type_of(oid: Oid) -> Type {
    Type::from_oid(oid)
        .unwrap_or_else(|| Type::new(format!("type {oid}"), oid, Kind::Simple, String::new()))
}

fn text(body: &mut &[u8]) -> Option<String> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let text = String::from_utf8_lossy(&body[..end]).into_owned();
    body.advance(end + 1);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_fields() {
        let error = error(b"SERREUR\0VFATAL\0C57P01\0Mgone\0Hwait\0Rf\0Zx\0\0");
        assert_eq!(error.severity, Some(Severity::Fatal));
        assert_eq!(error.code, SqlState::ADMIN_SHUTDOWN);
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            ("gone", Some("wait"))
        );
        assert_eq!((error.routine.as_deref(), error.detail), (Some("f"), None));
    }

    #[test]
    fn a_cut_message_is_no_panic() {
        let row = b"\0\x01id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        let columns_of = |length: usize| columns(&row[..length]);
        assert!((0..row.len()).all(|length| columns_of(length).is_none()));
        let columns = columns_of(row.len()).expect("a whole one");
        assert_eq!((columns[0].name(), columns[0].type_()), ("id", &Type::INT4));
        assert!(parameters(b"\0\x02\0\0\0\x17").is_none());
        assert_eq!(error(b"Mcut").message, "");
    }

    #[test]
    fn the_last_word_counts_rows() {
        assert_eq!(affected(b"INSERT 0 12\0"), 12);
        assert_eq!(affected(b"UPDATE 3\0"), 3);
        assert_eq!(affected(b"BEGIN\0"), 0);
        assert_eq!(affected(b""), 0);
    }
}
