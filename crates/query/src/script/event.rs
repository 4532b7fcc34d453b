//! Events of a run, one JSON line each.

use plinth_db::{Notice, PgError, ScriptColumn};
use serde::{Deserialize, Serialize};

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first one.
    Start {
        /// Cancels the run.
        query_id: String,
        /// The process on the server.
        pid: i32,
    },
    /// The rows that follow have these columns.
    Columns {
        /// Which statement, from 0.
        statement: usize,
        /// The columns; names may repeat.
        columns: Vec<EventColumn>,
    },
    /// Rows, as texts.
    Rows {
        /// Which statement, from 0.
        statement: usize,
        /// The rows.
        rows: Vec<Vec<Option<String>>>,
        /// Cells that were cut: row of this event, column and length in bytes.
        truncated: Vec<(usize, usize, usize)>,
    },
    /// A message of the server that is no error.
    Notice {
        /// Which statement, from 0.
        statement: usize,
        /// Such as `WARNING`.
        severity: String,
        /// Its SQLSTATE.
        sqlstate: String,
        /// What it says.
        message: String,
        /// More of it.
        detail: Option<String>,
        /// A hint.
        hint: Option<String>,
    },
    /// A statement is done.
    Complete {
        /// Which statement, from 0.
        statement: usize,
        /// Such as `INSERT 0 3`.
        tag: String,
        /// How many rows it returned or changed.
        rows: u64,
        /// Whether there were more rows than were asked for.
        limited: bool,
        /// How long it took.
        ms: u64,
    },
    /// A statement failed; the run is over.
    Error {
        /// Which statement, from 0; absent if it was none of them.
        statement: Option<usize>,
        /// Such as `42P01`.
        sqlstate: String,
        /// What went wrong.
        message: String,
        /// More of it.
        detail: Option<String>,
        /// A hint.
        hint: Option<String>,
        /// Where in the text that was sent, in characters from 1.
        position: Option<usize>,
        /// The line of it, from 1.
        line: Option<usize>,
        /// The column of it, in characters from 1.
        column: Option<usize>,
        /// The call stack.
        r#where: Option<String>,
        /// The constraint that was violated.
        constraint: Option<String>,
        /// All of it as psql prints it.
        formatted: String,
    },
    /// The last one. Without it the response is incomplete.
    End {
        /// How it ended.
        state: EndState,
        /// How many statements there are.
        statements: usize,
        /// How many of them were completed.
        completed: usize,
        /// How many of them have effects that stay.
        kept: usize,
        /// Whether completed statements were rolled back.
        rolled_back: bool,
        /// The id to go on with in the transaction that stays open.
        session: Option<String>,
        /// How long all took.
        ms: u64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndState {
    /// Every statement was run.
    Completed,
    /// A statement failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It took longer than it was given.
    TimedOut,
    /// The connection was lost: whether the last statement took effect is unknown.
    Unknown,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventColumn {
    /// Its name.
    pub name: String,
    /// The OID of its type.
    pub oid: u32,
    /// Such as a length; -1 for none.
    pub modifier: i32,
    /// The OID of the table it comes from.
    pub table: Option<u32>,
    /// Its number there.
    pub table_column: Option<i16>,
}

impl From<ScriptColumn> for EventColumn {
    fn from(column: ScriptColumn) -> Self {
        Self {
            name: column.name,
            oid: column.type_oid,
            modifier: column.type_modifier,
            table: column.table,
            table_column: column.table_column,
        }
    }
}

impl Event {
    /// As a line of the response.
    pub fn to_line(&self) -> Vec<u8> {
        // Neither maps with other keys than texts nor failing implementations are in it.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    pub(super) fn notice(statement: usize, notice: Notice) -> Self {
        let Notice { severity, report } = notice;
        Self::Notice {
            statement,
            severity,
            sqlstate: report.sqlstate().to_owned(),
            message: report.message,
            detail: report.detail,
            hint: report.hint,
        }
    }

    /// An error of the server. `place` is position, line and column in the text that was sent, and the
    /// text of the line.
    pub(super) fn error(
        statement: Option<usize>,
        error: &PgError,
        place: Option<(usize, usize, usize, &str)>,
    ) -> Self {
        Self::Error {
            statement,
            sqlstate: error.sqlstate().to_owned(),
            message: error.message.clone(),
            detail: error.detail.clone(),
            hint: error.hint.clone(),
            position: place.map(|place| place.0),
            line: place.map(|place| place.1),
            column: place.map(|place| place.2),
            r#where: error.context.clone(),
            constraint: error.constraint.clone(),
            formatted: formatted(error, place),
        }
    }
}

/// As psql prints it.
fn formatted(error: &PgError, place: Option<(usize, usize, usize, &str)>) -> String {
    let mut text = format!("ERROR:  {}: {}", error.sqlstate(), error.message);
    if let Some((_, line, column, source)) = place {
        let head = format!("LINE {line}: ");
        let blank = " ".repeat(head.chars().count() + column - 1);
        text.push_str(&format!("\n{head}{source}\n{blank}^"));
    }
    let parts = [
        ("DETAIL:  ", &error.detail),
        ("HINT:  ", &error.hint),
        ("CONTEXT:  ", &error.context),
    ];
    for (name, part) in parts {
        if let Some(part) = part {
            text.push_str(&format!("\n{name}{part}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_look_as_in_psql() {
        let mut error = PgError::new("42P01", "relation \"x\" does not exist");
        error.hint = Some("Look again.".to_owned());
        let text = formatted(&error, Some((15, 2, 7, "  from x")));
        assert_eq!(
            text,
            "ERROR:  42P01: relation \"x\" does not exist\n\
             LINE 2:   from x\n              ^\n\
             HINT:  Look again."
        );
    }
}
