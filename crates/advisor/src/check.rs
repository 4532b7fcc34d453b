//! Running checks.

use std::{collections::HashMap, time::Duration};

use serde_json::{Map, Value};
use tokio_postgres::{Client, Row, error::SqlState};

use crate::{
    Category, Facts, Lint, NotRun,
    checks::{self, SQL_CHECKS},
    fixes,
    kind::{Found, Kind, SqlCheck},
};

/// From where on something counts as too much.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a check may take.
    pub timeout: Duration,
    /// Dead rows of a table.
    pub dead_rows: i64,
    /// Rows read by sequential scans of a table.
    pub scanned_rows: i64,
    /// Transactions since the oldest row of the database was frozen.
    pub transaction_age: i64,
    /// Rows changed since statistics were made.
    pub changed_rows: i64,
    /// WAL that a replication slot keeps, in bytes.
    pub slot_bytes: i64,
    /// Pages of an index that nothing uses.
    pub unused_index_pages: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            dead_rows: 10_000,
            scanned_rows: 10_000_000,
            transaction_age: 1_000_000_000,
            changed_rows: 10_000,
            slot_bytes: 1 << 30,
            unused_index_pages: 8,
        }
    }
}

impl Limits {
    fn to_json(&self) -> Value {
        serde_json::json!({
            "dead_rows": self.dead_rows,
            "scanned_rows": self.scanned_rows,
            "transaction_age": self.transaction_age,
            "changed_rows": self.changed_rows,
            "slot_bytes": self.slot_bytes,
            "unused_index_pages": self.unused_index_pages,
        })
    }
}

/// The findings of one run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Worst first.
    pub lints: Vec<Lint>,
    /// Checks without an answer.
    pub not_run: Vec<NotRun>,
}

/// Runs the checks of one advisor, or of both. `client` is a session of the project's owner; its
/// settings are changed.
pub async fn run(
    client: &mut Client,
    facts: &Facts,
    limits: &Limits,
    category: Option<Category>,
) -> Result<Report, tokio_postgres::Error> {
    let mut report = Report::default();
    let is_wanted = |kind: &Kind| category.is_none_or(|category| kind.category == category);
    prepare(client, limits.timeout).await?;
    for check in SQL_CHECKS.iter().filter(|check| is_wanted(&check.kind)) {
        match ask(client, check, facts, limits).await {
            Ok(rows) => report
                .lints
                .extend(rows.iter().map(|row| from_row(&check.kind, row))),
            Err(error) => {
                // The connection is gone: no other check would have an answer.
                let Some(reason) = reason(&error) else {
                    return Err(error);
                };
                report.not_run.push(check.kind.not_run(reason));
            }
        }
    }
    for (kind, found) in checks::of_facts(facts) {
        if is_wanted(&kind) {
            match found {
                Some(found) => report
                    .lints
                    .extend(found.into_iter().map(|found| found.into_lint(&kind))),
                None => report
                    .not_run
                    .push(kind.not_run("Nothing is known about it".to_owned())),
            }
        }
    }
    report
        .lints
        .sort_by(|a, b| (a.level, &a.name, &a.cache_key).cmp(&(b.level, &b.name, &b.cache_key)));
    make_keys_unique(&mut report.lints);
    Ok(report)
}

/// Names are joined with underscores, which they may have themselves.
fn make_keys_unique(lints: &mut [Lint]) {
    let mut seen = HashMap::new();
    for lint in lints {
        let count = seen.entry(lint.cache_key.clone()).or_insert(0_usize);
        *count += 1;
        if *count > 1 {
            lint.cache_key = format!("{}__{count}", lint.cache_key);
        }
    }
}

/// The names of the checks of one advisor, or of both.
pub fn checks(category: Option<Category>) -> Vec<&'static str> {
    let of_facts = checks::of_facts(&Facts::default());
    let kinds = SQL_CHECKS
        .iter()
        .map(|check| (check.kind.category, check.kind.name))
        .chain(of_facts.iter().map(|(kind, _)| (kind.category, kind.name)));
    kinds
        .filter(|(of, _)| category.is_none_or(|category| category == *of))
        .map(|(_, name)| name)
        .collect()
}

async fn prepare(client: &Client, timeout: Duration) -> Result<(), tokio_postgres::Error> {
    let milliseconds = timeout.as_millis();
    client
        .batch_execute(&format!(
            "set search_path = pg_catalog, pg_temp; set statement_timeout = {milliseconds};
             set lock_timeout = {milliseconds}; set default_transaction_read_only = on;
             set quote_all_identifiers = off"
        ))
        .await
}

async fn ask(
    client: &mut Client,
    check: &SqlCheck,
    facts: &Facts,
    limits: &Limits,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let (exposed, limits) = (&facts.exposed_schemas, limits.to_json());
    client
        .query(check.sql, &[exposed, &limits, &facts.system_schemas])
        .await
}

fn reason(error: &tokio_postgres::Error) -> Option<String> {
    let cause = error.as_db_error()?;
    Some(match cause.code() {
        &SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE => "It took too long".to_owned(),
        _ => format!("The database refused it: {}", cause.message()),
    })
}

fn from_row(kind: &Kind, row: &Row) -> Lint {
    let mut metadata = match row.get::<_, Option<Value>>("metadata") {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let fix: Option<String> = row.get("fix");
    let fix = fix.or_else(|| fixes::of(kind.name, &mut metadata));
    for member in ["schema", "name", "type"] {
        if let Some(text) = row.get::<_, Option<String>>(member) {
            metadata.insert(member.to_owned(), Value::String(text));
        }
    }
    let found = Found {
        detail: row.get("detail"),
        metadata,
        key: row.get("key"),
        fix,
    };
    found.into_lint(kind)
}
