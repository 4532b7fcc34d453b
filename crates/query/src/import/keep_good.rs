//! From the staging table into the table, row by row where it has to be.
//!
//! All rows are written at once. If that fails, values that a column does not take are found in one
//! pass, where PostgreSQL can tell (16 and newer), and the rows that are left are written at once; if that
//! fails too, in batches, and a batch that fails is halved until the bad row is alone.

use futures_util::TryStreamExt as _;
use plinth_db::{DbError, PgError, QuotedIdent, QuotedLiteral};
use tokio::sync::watch;
use tokio_postgres::Client;

use crate::{QueryError, sql::separated};

use super::{
    feed::check_rejects,
    load::{ImportPhase, ImportProgress},
    options::{ImportRequest, OnError},
    plan::Plan,
    rejects::Rejects,
};

/// The staging table.
pub(super) const STAGING: &str = "pg_temp.plinth_import";
/// Rows that are written at once after a failure.
const BATCH_ROWS: i64 = 2000;

/// Creates the staging table, which goes with the transaction.
pub(super) fn staging_sql(plan: &Plan) -> String {
    let columns = (0..plan.columns.len()).map(|index| format!("c{index} text"));
    format!(
        "create temporary table plinth_import (line bigint, {}) on commit drop",
        separated(columns, ", ")
    )
}

/// Writes all rows of the staging table; returns how many were written.
pub(super) async fn write(
    client: &Client,
    request: &ImportRequest,
    plan: &Plan,
    rejects: &mut Rejects,
    progress: &watch::Sender<ImportProgress>,
) -> Result<u64, QueryError> {
    let mut writer = Writer {
        client,
        plan,
        insert: insert_sql(plan),
        max_rejects: request.max_rejects,
        rejects,
        progress,
        written: 0,
        expected: 0,
    };
    if request.on_error == OnError::Abort {
        writer.enter(ImportPhase::Writing);
        let written = client.execute(&*writer.statement(""), &[]).await?;
        let staged = count_staged(client).await?;
        return writer.all_written(written, staged);
    }
    // Deferred constraints would fail only at the end, when no row can be left out any more.
    client
        .batch_execute("set constraints all immediate")
        .await?;
    writer.enter(ImportPhase::Writing);
    writer.expected = count_staged(client).await?;
    // Most files have no bad rows, and need not be looked through.
    if writer.attempt(None).await?.is_err() {
        writer.enter(ImportPhase::Checking);
        writer.remove_invalid().await?;
        writer.enter(ImportPhase::Writing);
        writer.expected = count_staged(client).await?;
        if writer.attempt(None).await?.is_err() {
            writer.write_in_batches().await?;
        }
    }
    let (written, expected) = (writer.written, writer.expected);
    writer.all_written(written, expected)
}

async fn count_staged(client: &Client) -> Result<u64, QueryError> {
    let sql = format!("select pg_catalog.count(*) from {STAGING}");
    let count: i64 = client.query_one(&sql, &[]).await?.get(0);
    Ok(u64::try_from(count).unwrap_or_default())
}

/// `insert into … select … from` the staging table, without conditions.
fn insert_sql(plan: &Plan) -> String {
    let values = plan
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| format!("c{index}::{}", column.cast));
    format!(
        "insert into {} ({}) select {} from {STAGING}",
        plan.table,
        plan.column_list(),
        separated(values, ", ")
    )
}

/// What an `upsert` adds to it.
fn conflict_sql(plan: &Plan) -> String {
    if plan.key.is_empty() {
        return String::new();
    }
    let key = separated(plan.key.iter().map(|name| QuotedIdent::new(name)), ", ");
    let others: Vec<String> = plan
        .columns
        .iter()
        .filter(|column| !plan.key.contains(&column.name))
        .map(|column| {
            let name = QuotedIdent::new(&column.name);
            format!("{name} = excluded.{name}")
        })
        .collect();
    if others.is_empty() {
        format!(" on conflict ({key}) do nothing")
    } else {
        format!(" on conflict ({key}) do update set {}", others.join(", "))
    }
}

struct Writer<'a> {
    client: &'a Client,
    plan: &'a Plan,
    insert: String,
    max_rejects: u64,
    rejects: &'a mut Rejects,
    progress: &'a watch::Sender<ImportProgress>,
    written: u64,
    expected: u64,
}

impl Writer<'_> {
    fn enter(&self, phase: ImportPhase) {
        self.progress.send_modify(|now| now.phase = phase);
    }

    fn report(&self) {
        let rejected = self.rejects.count();
        self.progress.send_modify(|now| now.rejected = rejected);
    }

    fn all_written(&self, written: u64, expected: u64) -> Result<u64, QueryError> {
        // Rows with a key that is there already, and nothing else.
        let may_do_nothing = conflict_sql(self.plan).ends_with("do nothing");
        if written == expected || may_do_nothing {
            return Ok(written);
        }
        Err(QueryError::Invalid(format!(
            "Nothing was imported: the table took {written} of {expected} rows, a trigger or a rule \
             may have refused the others"
        )))
    }

    /// Writes the rows for which a condition holds, in the order of the file.
    fn statement(&self, condition: &str) -> String {
        let conflict = conflict_sql(self.plan);
        format!("{}{condition} order by line{conflict}", self.insert)
    }

    /// Moves rows with values that their columns do not take to the list.
    async fn remove_invalid(&mut self) -> Result<(), QueryError> {
        if !self.can_check().await? {
            return Ok(());
        }
        let Some(sql) = check_sql(self.plan) else {
            return Ok(());
        };
        self.client.batch_execute("savepoint plinth_check").await?;
        match self.take_rows(&sql).await {
            Ok(()) => {}
            // A type whose input function knows no other way than to fail.
            Err(QueryError::Rejected(rejection)) if is_of_a_row(&rejection.sqlstate, "") => {
                let sql = "rollback to savepoint plinth_check";
                self.client.batch_execute(sql).await?;
            }
            Err(error) => return Err(error),
        }
        let sql = "release savepoint plinth_check";
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn can_check(&self) -> Result<bool, QueryError> {
        let sql = "select pg_catalog.current_setting('server_version_num')::int >= 160000";
        Ok(self.client.query_one(sql, &[]).await?.get(0))
    }

    /// Lists the rows that a statement returns: line, reason, values.
    async fn take_rows(&mut self, sql: &str) -> Result<(), QueryError> {
        let none: [&str; 0] = [];
        let rows = self.client.query_raw(sql, none).await?;
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.try_next().await? {
            let line: i64 = row.get(0);
            let reason: &str = row.get(1);
            let values = (2..row.len()).map(|index| row.get::<_, Option<&str>>(index));
            let line = u64::try_from(line).unwrap_or_default();
            self.rejects.add(line, reason, values);
            check_rejects(self.rejects, self.max_rejects)?;
        }
        self.report();
        Ok(())
    }

    /// Writes rows with lines in the range, or all. An inner error is one of a row.
    async fn attempt(
        &mut self,
        lines: Option<(i64, i64)>,
    ) -> Result<Result<(), PgError>, QueryError> {
        let condition = match lines {
            None => String::new(),
            Some((first, last)) => format!(" where line between {first} and {last}"),
        };
        let sql = self.statement(&condition);
        self.client.batch_execute("savepoint plinth_rows").await?;
        match self.client.execute(&*sql, &[]).await {
            Ok(count) => {
                self.written += count;
                let sql = "release savepoint plinth_rows";
                self.client.batch_execute(sql).await?;
                Ok(Ok(()))
            }
            Err(error) => match DbError::from(error) {
                DbError::Postgres(error) if is_of_a_row(error.sqlstate(), &error.message) => {
                    let sql = "rollback to savepoint plinth_rows; release savepoint plinth_rows";
                    self.client.batch_execute(sql).await?;
                    Ok(Err(*error))
                }
                error => Err(error.into()),
            },
        }
    }

    async fn write_in_batches(&mut self) -> Result<(), QueryError> {
        let index = format!("create index on {STAGING} (line); analyze {STAGING}");
        self.client.batch_execute(&index).await?;
        let sql = format!(
            "select min(line), max(line)
             from (select line, (row_number() over (order by line) - 1) / {BATCH_ROWS} as batch
                   from {STAGING}) numbered
             group by batch order by batch"
        );
        let batches = self.client.query(&sql, &[]).await?;
        for batch in batches {
            let range = (batch.get(0), batch.get(1));
            if self.attempt(Some(range)).await?.is_err() {
                self.write_halves(range).await?;
            }
            self.report();
        }
        Ok(())
    }

    /// A batch that failed: halves it until the bad rows are alone.
    async fn write_halves(&mut self, (first, last): (i64, i64)) -> Result<(), QueryError> {
        let sql = format!("select line from {STAGING} where line between $1 and $2 order by line");
        let rows = self.client.query(&sql, &[&first, &last]).await?;
        let lines: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        // Ranges of `lines` that are not written, the first one on top: the order of the file decides
        // which of two rows with one key stays.
        let middle = lines.len() / 2;
        let mut open = vec![middle..lines.len(), 0..middle];
        while let Some(range) = open.pop() {
            let [first, ..] = lines[range.clone()] else {
                continue;
            };
            let last = lines[range.end - 1];
            match self.attempt(Some((first, last))).await? {
                Ok(()) => {}
                Err(error) if range.len() == 1 => self.reject(first, &error).await?,
                Err(_) => {
                    let middle = range.start + range.len() / 2;
                    open.push(middle..range.end);
                    open.push(range.start..middle);
                }
            }
        }
        Ok(())
    }

    async fn reject(&mut self, line: i64, error: &PgError) -> Result<(), QueryError> {
        self.expected = self.expected.saturating_sub(1);
        let mut reason = error.message.clone();
        if let Some(detail) = &error.detail {
            reason.push_str(": ");
            reason.push_str(detail);
        }
        let values = (0..self.plan.columns.len()).map(|index| format!("c{index}"));
        let sql = format!(
            "select line, {}, {} from {STAGING} where line = {line}",
            QuotedLiteral::new(&reason),
            separated(values, ", ")
        );
        self.take_rows(&sql).await
    }
}

/// Removes rows whose values are no input of their types; `None` if there are no such types.
fn check_sql(plan: &Plan) -> Option<String> {
    let mut tests = Vec::new();
    for (index, column) in plan.columns.iter().enumerate() {
        if column.is_checked {
            let type_text = QuotedLiteral::new(&column.type_text);
            let name = QuotedLiteral::new(&format!("{}: ", column.name));
            tests.push((
                // NULL for NULL.
                format!("not pg_catalog.pg_input_is_valid(c{index}, {type_text})"),
                format!(
                    "{name} || (pg_catalog.pg_input_error_info(c{index}, {type_text})).message"
                ),
            ));
        }
        if column.is_not_null {
            let reason = QuotedLiteral::new(&format!("{}: NULL is not allowed", column.name));
            tests.push((format!("c{index} is null"), reason.to_string()));
        }
    }
    if tests.is_empty() {
        return None;
    }
    let condition = separated(tests.iter().map(|test| &test.0), " or ");
    let reasons = tests
        .iter()
        .map(|(test, reason)| format!("when {test} then {reason}"));
    let values = (0..plan.columns.len()).map(|index| format!("c{index}"));
    Some(format!(
        "delete from {STAGING} where {condition} \
         returning line, case {} end::text, {}",
        separated(reasons, " "),
        separated(values, ", ")
    ))
}

/// Whether an error is one of a row, so that others may be written all the same.
fn is_of_a_row(sqlstate: &str, message: &str) -> bool {
    match sqlstate {
        // Policies; otherwise a privilege is missing.
        "42501" => message.contains("row-level security"),
        // A row twice in one upsert; check options of views; what triggers raise.
        "21000" | "44000" | "P0001" | "P0004" => true,
        _ => sqlstate.starts_with("22") || sqlstate.starts_with("23"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_rows_are_skipped() {
        for (code, message, expected) in [
            ("22P02", "", true),
            ("23505", "", true),
            ("42501", "permission denied for table t", false),
            ("42501", "new row violates row-level security policy", true),
            ("42P01", "", false),
            ("57014", "", false),
        ] {
            assert_eq!(is_of_a_row(code, message), expected, "{code} {message}");
        }
    }
}
