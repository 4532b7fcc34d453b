//! What a program really runs, from the server's log: statements with their values as text.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use plinth_postgres::LogEntry;

/// The log reaches us a moment after the response reached the client.
const LOG_DELAY: Duration = Duration::from_millis(500);

/// One statement and the values it was run with; `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Option<String>>,
    /// The process of the server that ran it.
    pub(crate) session: Option<u32>,
}

/// Those that were logged.
#[derive(Default)]
pub(crate) struct Statements(Mutex<Vec<LogEntry>>);

impl Statements {
    /// For the server's log.
    pub(crate) fn record(&self, entry: LogEntry) {
        if is_statement(&entry.message) {
            self.entries().push(entry);
        }
    }

    /// What is run until `work` has ended.
    pub(crate) fn during(
        &self,
        work: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Statement>> {
        thread::sleep(LOG_DELAY);
        self.entries().clear();
        work()?;
        thread::sleep(LOG_DELAY);
        self.entries().drain(..).map(|entry| read(&entry)).collect()
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<LogEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_statement(message: &str) -> bool {
    message.starts_with("statement: ") || message.starts_with("execute ")
}

/// `statement: begin`, or `execute s1: select $1` with the values in its detail.
fn read(entry: &LogEntry) -> anyhow::Result<Statement> {
    let (_, sql) = entry.message.split_once(": ").context("no statement")?;
    let values = match &entry.detail {
        None => Vec::new(),
        Some(detail) => values(detail)?,
    };
    Ok(Statement {
        sql: sql.trim().to_owned(),
        values,
        session: entry.pid,
    })
}

/// `Parameters: $1 = 'it''s', $2 = NULL`
fn values(detail: &str) -> anyhow::Result<Vec<Option<String>>> {
    let (_, mut rest) = detail.split_once(": ").context("no parameters")?;
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once(" = ")
            .context("a parameter without value")?;
        if name.trim_start_matches(", ") != format!("${}", values.len() + 1) {
            bail!("parameters in another order: {detail}");
        }
        let value = after.strip_prefix('\'');
        let (value, after) = match value {
            Some(quoted) => {
                let (value, after) = unquote(quoted).context("a value without end")?;
                (Some(value), after)
            }
            None => (None, after.strip_prefix("NULL").context("no value")?),
        };
        values.push(value);
        rest = after;
    }
    Ok(values)
}

/// Up to the closing quote, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('\'')?;
        value.push_str(before);
        match after.strip_prefix('\'') {
            Some(further) => {
                value.push('\'');
                rest = further;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_log_writes_them() {
        let some = |text: &str| Some(text.to_owned());
        let read = values("Parameters: $1 = 'a, $2 = ''b''', $2 = NULL, $3 = ''").unwrap();
        assert_eq!(read, [some("a, $2 = 'b'"), None, some("")]);
        assert!(values("Parameters: $2 = 'a'").is_err());
        assert!(values("Parameters: $1 = 'a").is_err());
    }
}
