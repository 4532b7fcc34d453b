//! `POST /pg/{ref}/query`: SQL as postgres-meta runs it. All statements are one transaction unless
//! they say otherwise; the answer has the rows of the last one that returned some. Screens use the
//! stream of `/platform/projects/{ref}/sql`; this is for tools.
//!
//! Roles that own nothing run one statement, in a transaction that reads only. `/query/format`,
//! `/query/parse` and `/query/deparse` are not there: they take PostgreSQL's own parser.

mod error;
mod values;

use std::time::Duration;

use axum::{Json, extract::State, response::Response};
use plinth_db::{CellLimits, ScriptColumn, ScriptEvent, ScriptRow, ScriptSession};
use plinth_project::DatabaseAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Asked, PgBody};
use crate::{Platform, PlatformError, owner_sql::rewrite_statement, sql_statements::split};
use error::QueryFailure;
use values::{RowObject, parameter_sql};

/// As postgres-meta's own default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(55);
/// The answer is made in memory.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;
/// Longer texts are cut in the audit log.
const MAX_AUDITED_CHARACTERS: usize = 4000;
const LIMITS: CellLimits = CellLimits {
    cell_bytes: MAX_RESULT_BYTES,
    row_bytes: MAX_RESULT_BYTES,
};

/// Parameters of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueryParams {
    /// How long PostgreSQL works on a statement.
    #[serde(default)]
    statement_timeout_secs: Option<u32>,
    /// How long the answer is waited for; 0 for ever.
    #[serde(default)]
    query_timeout_secs: Option<u64>,
}

/// What is run.
#[derive(Debug, Deserialize)]
pub(super) struct QueryBody {
    /// One statement or several.
    query: String,
    /// Values of `$1`, `$2`, …; then there is one statement.
    #[serde(default)]
    parameters: Option<Vec<Value>>,
}

/// One statement of the text.
struct Planned {
    sql: String,
    /// Characters of the whole text before it; `None` where positions would not fit.
    offset: Option<usize>,
    /// Characters that we have put before it.
    prefix: usize,
}

/// `POST /pg/{ref}/query`.
pub(super) async fn run(
    State(platform): State<Platform>,
    asked: Asked<QueryParams>,
    PgBody(body): PgBody<QueryBody>,
) -> Result<Json<Vec<RowObject>>, Response> {
    let failed = |error| QueryFailure::Other(error).into_response(&body.query);
    let (project, access) = asked.open(&platform).await.map_err(failed)?;
    let statements = plan(&body, access).map_err(|error| failed(error.into()))?;
    let session = project.db.script_session(access, "plinth /query").await;
    let mut session = session.map_err(|error| failed(error.into()))?;
    let canceller = session.canceller();
    let limit = match asked.params.query_timeout_secs {
        None => DEFAULT_TIMEOUT,
        Some(0) => Duration::MAX,
        Some(seconds) => Duration::from_secs(seconds),
    };
    let work = run_all(&mut session, &statements, access, &asked.params);
    let rows = match tokio::time::timeout(limit, work).await {
        Ok(rows) => rows,
        Err(_) => {
            _ = canceller.cancel().await;
            Err(QueryFailure::Timeout)
        }
    };
    let rows = rows.map_err(|error| error.into_response(&body.query))?;
    if access == DatabaseAccess::Owner {
        audit(&platform, &asked, &body.query).await;
    }
    Ok(Json(rows))
}

fn plan(body: &QueryBody, access: DatabaseAccess) -> Result<Vec<Planned>, PlatformError> {
    let query = &body.query;
    if query.contains('\0') {
        let reason = "A statement must not contain a zero character";
        return Err(PlatformError::Invalid(reason.to_owned()));
    }
    let statements = split(query);
    if statements.is_empty() {
        return Err(PlatformError::Invalid("query not found".to_owned()));
    }
    let takes_one = access != DatabaseAccess::Owner || body.parameters.is_some();
    if takes_one && statements.len() > 1 {
        let reason = "Only one statement can be run with parameters, or by a role that only reads";
        return Err(PlatformError::Invalid(reason.to_owned()));
    }
    let mut planned = Vec::new();
    for statement in statements {
        let start = statement.text.as_ptr().addr() - query.as_ptr().addr();
        let own = Planned {
            sql: statement.text.to_owned(),
            offset: Some(query[..start].chars().count()),
            prefix: 0,
        };
        planned.push(match rewrite_statement(statement.code) {
            Some(sql) => Planned {
                sql,
                offset: None,
                prefix: 0,
            },
            None => own,
        });
    }
    if let (Some(parameters), Some(first)) = (&body.parameters, planned.first_mut()) {
        const PREPARE: &str = "prepare plinth_query as ";
        first.sql.insert_str(0, PREPARE);
        first.prefix = PREPARE.len();
        let values: Vec<String> = parameters.iter().map(parameter_sql).collect();
        let arguments = match values.as_slice() {
            [] => String::new(),
            values => format!("({})", values.join(", ")),
        };
        planned.push(Planned {
            sql: format!("execute plinth_query{arguments}"),
            offset: None,
            prefix: 0,
        });
    }
    Ok(planned)
}

async fn run_all(
    session: &mut ScriptSession,
    statements: &[Planned],
    access: DatabaseAccess,
    params: &QueryParams,
) -> Result<Vec<RowObject>, QueryFailure> {
    if let Some(seconds) = params.statement_timeout_secs {
        let sql = format!("set statement_timeout = '{seconds}s'");
        session.batch_execute(&sql).await?;
    }
    if access != DatabaseAccess::Owner {
        session.batch_execute("begin read only").await?;
    }
    let mut last = Vec::new();
    let mut bytes = 0;
    for statement in statements {
        session.start(&statement.sql, 0)?;
        let rows = receive(session, statement, &mut bytes).await?;
        if !rows.is_empty() {
            last = rows;
        }
    }
    // Ends the transaction; what was deferred is checked here.
    session.sync();
    loop {
        match session.next(LIMITS).await? {
            ScriptEvent::Failed(report) => return Err(QueryFailure::rejected(*report, None)),
            ScriptEvent::Ready(_) => return Ok(last),
            _ => {}
        }
    }
}

/// The rows of one statement.
async fn receive(
    session: &mut ScriptSession,
    statement: &Planned,
    bytes: &mut usize,
) -> Result<Vec<RowObject>, QueryFailure> {
    let mut columns: Vec<ScriptColumn> = Vec::new();
    let mut rows = Vec::new();
    loop {
        match session.next(LIMITS).await? {
            ScriptEvent::Columns(described) => columns = described,
            ScriptEvent::Row(row) => {
                *bytes += size(&row);
                if *bytes > MAX_RESULT_BYTES || !row.cut.is_empty() {
                    return Err(QueryFailure::TooLarge(MAX_RESULT_BYTES));
                }
                rows.push(RowObject::new(&columns, row));
            }
            ScriptEvent::Complete(_) | ScriptEvent::Empty | ScriptEvent::Suspended => {
                return Ok(rows);
            }
            ScriptEvent::Failed(report) => {
                let place = statement.offset.map(|offset| (offset, statement.prefix));
                return Err(QueryFailure::rejected(*report, place));
            }
            ScriptEvent::Notice(_) | ScriptEvent::Ready(_) => {}
        }
    }
}

fn size(row: &ScriptRow) -> usize {
    row.cells.iter().flatten().map(String::len).sum()
}

/// What the owner ran; a text that may have a password in it is not kept.
async fn audit(platform: &Platform, asked: &Asked<QueryParams>, query: &str) {
    let has_secret = query.to_ascii_lowercase().contains("password");
    let shown: String = if has_secret {
        "(it mentions a password)".to_owned()
    } else {
        query.chars().take(MAX_AUDITED_CHARACTERS).collect()
    };
    let reference = platform.reference_of(&asked.project);
    let details = json!({ "sql": shown });
    platform
        .audit(&asked.operator, Some(&reference), "sql.query", details)
        .await;
}
