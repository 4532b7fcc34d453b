//! Statements and parameters of requests to the sample cinema.

use std::sync::LazyLock;

use plinth_db::Literal;

use super::Sql;
use crate::plan::samples::Cinema;

mod bodies;
mod calls;
mod changes;
mod counts;
mod filters;
mod injection;
mod reads;

/// The end of the statement of a read without count.
const READ_SUFFIX: &str = ") select null::bigint as total, pg_catalog.count(_pgrst_row) as rows, \
    coalesce(json_agg(_pgrst_row), '[]') as body, \
    nullif(current_setting('response.headers', true), '') as response_headers, \
    nullif(current_setting('response.status', true), '') as response_status, \
    null::int as inserted from (select * from pgrst_source) _pgrst_row";

static CINEMA: LazyLock<Cinema> = LazyLock::new(Cinema::new);

fn statement(request: &str) -> (String, Vec<String>) {
    statement_in(&CINEMA, request)
}

fn statement_in(cinema: &Cinema, request: &str) -> (String, Vec<String>) {
    cinema.statements(request, |statements| {
        let main = statements.expect("a statement").main;
        (main.text().to_owned(), values(&main))
    })
}

fn values(sql: &Sql<'_>) -> Vec<String> {
    let text = |value: &Literal<'_>| match value {
        Literal::Text(text) => text.to_string(),
        Literal::Utf8(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Literal::Binary(bytes) => format!("bytes {}", String::from_utf8_lossy(bytes)),
        Literal::Null => "null".to_owned(),
    };
    sql.values().iter().map(text).collect()
}

/// Checks the CTE of a read.
#[track_caller]
fn check_rows(request: &str, expected: &str, expected_values: &[&str]) {
    let (text, values) = statement(request);
    let rows = text
        .strip_prefix("with pgrst_source as (")
        .and_then(|text| text.strip_suffix(READ_SUFFIX))
        .unwrap_or_else(|| panic!("no plain read: {text}"));
    assert_eq!(rows, expected, "{request}");
    assert_eq!(values, expected_values, "{request}");
}

/// The text between the first `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start:?} in {text}"));
    rest.split_once(end).map_or(rest, |(found, _)| found)
}
