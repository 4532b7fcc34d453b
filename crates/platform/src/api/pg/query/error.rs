//! Errors of `/query`, with the members that node-postgres gives them.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use plinth_db::{DbError, PgError};
use serde::Serialize;

use super::super::error::PgFailure;
use crate::PlatformError;

/// A query failed.
pub(super) enum QueryFailure {
    /// PostgreSQL rejected it.
    Rejected {
        report: Box<PgError>,
        /// Where in the whole text, in characters from 1.
        position: Option<usize>,
    },
    /// The answer took too long.
    Timeout,
    /// The rows are more than this many bytes.
    TooLarge(usize),
    /// Anything else.
    Other(PgFailure),
}

impl From<DbError> for QueryFailure {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Postgres(report) if !report.is_out_of_resources() => {
                Self::rejected(*report, None)
            }
            error => Self::Other(error.into()),
        }
    }
}

/// The body of an error of PostgreSQL.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    error: String,
    message: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal_position: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal_query: Option<&'a str>,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routine: Option<&'a str>,
    formatted_error: String,
}

/// The body of another error.
#[derive(Serialize)]
struct PlainBody {
    error: String,
    message: String,
    code: &'static str,
}

impl QueryFailure {
    /// `place` is the number of characters before the statement in the whole text, and of those that we
    /// have put before it; `None` where a position would mean nothing to the caller.
    pub(super) fn rejected(report: PgError, place: Option<(usize, usize)>) -> Self {
        let position = report.position.zip(place).and_then(|(position, place)| {
            let (offset, prefix) = place;
            (position as usize + offset).checked_sub(prefix)
        });
        Self::Rejected {
            report: Box::new(report),
            position,
        }
    }

    pub(super) fn into_response(self, query: &str) -> Response {
        let plain = |status: StatusCode, code, message: String| {
            let error = message.clone();
            let body = PlainBody {
                error,
                message,
                code,
            };
            (status, Json(body)).into_response()
        };
        match self {
            Self::Other(error) => error.into_response(),
            Self::Timeout => plain(
                StatusCode::REQUEST_TIMEOUT,
                "query_timeout",
                "Query read timeout".to_owned(),
            ),
            Self::TooLarge(limit) => plain(
                StatusCode::BAD_REQUEST,
                "RESULT_SIZE_EXCEEDED",
                format!("Query result size exceeded the configured limit ({limit} bytes)"),
            ),
            Self::Rejected { report, position } => {
                let formatted = formatted(&report, position, query);
                let body = Body {
                    error: formatted.clone(),
                    message: &report.message,
                    code: report.sqlstate(),
                    severity: report.severity.map(|_| "ERROR"),
                    detail: report.detail.as_deref(),
                    hint: report.hint.as_deref(),
                    position: position.map(|position| position.to_string()),
                    internal_position: report.internal_position.map(|at| at.to_string()),
                    internal_query: report.internal_query.as_deref(),
                    context: report.context.as_deref(),
                    schema: report.schema.as_deref(),
                    table: report.table.as_deref(),
                    column: report.column.as_deref(),
                    constraint: report.constraint.as_deref(),
                    routine: report.routine.as_deref(),
                    formatted_error: formatted,
                };
                (StatusCode::BAD_REQUEST, Json(body)).into_response()
            }
        }
    }
}

/// The report as psql prints it.
fn formatted(report: &PgError, position: Option<usize>, query: &str) -> String {
    let mut text = format!("ERROR:  {}: {}\n", report.sqlstate(), report.message);
    if let Some((number, line, column)) = position.and_then(|position| line_at(query, position)) {
        let head = format!("LINE {number}: ");
        text += &format!("{head}{line}\n{}^\n", " ".repeat(head.len() + column));
    }
    for (name, part) in [
        ("DETAIL", &report.detail),
        ("HINT", &report.hint),
        ("QUERY", &report.internal_query),
        ("CONTEXT", &report.context),
    ] {
        if let Some(part) = part {
            text += &format!("{name}:  {part}\n");
        }
    }
    text
}

/// Number and text of the line with a position, and the characters before it there.
fn line_at(query: &str, position: usize) -> Option<(usize, &str, usize)> {
    let mut before = position.checked_sub(1)?;
    for (index, line) in query.split('\n').enumerate() {
        let length = line.chars().count();
        if before <= length {
            return Some((index + 1, line, before));
        }
        before -= length + 1;
    }
    None
}

impl From<PlatformError> for QueryFailure {
    fn from(error: PlatformError) -> Self {
        Self::Other(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_shows_the_line() {
        let mut report = PgError::new("42703", "column \"x\" does not exist");
        report.hint = Some("Perhaps y".to_owned());
        let text = formatted(&report, Some(18), "select 1;\nselect é, x");
        assert_eq!(
            text,
            "ERROR:  42703: column \"x\" does not exist\nLINE 2: select é, x\n               ^\n\
             HINT:  Perhaps y\n"
        );
        assert_eq!(line_at("a", 9), None);
    }
}
