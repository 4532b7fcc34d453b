//! `GET …/queries`: the statements of this project's database, from `pg_stat_statements`.
//!
//! The extension counts for the whole server, so the view shows all databases. It is read in a database
//! that no project can reach, with the administrating role, and for the project's own database only;
//! in the project's database its owner could replace the view.

use axum::{Json, extract::State};
use plinth_log::redact::redact_text;
use plinth_project::{ProjectName, ProjectRef, ProjectServers as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, error::SqlState};

use crate::{
    Platform, PlatformError,
    api::{
        Operator,
        body::{Params, Segments},
    },
    projects::ProjectRow,
};

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;
/// In the overview.
const SLOWEST: i64 = 5;

#[derive(Deserialize, Serialize, JsonSchema, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum QueryOrder {
    #[default]
    TotalTime,
    MeanTime,
    Calls,
    Rows,
}

impl QueryOrder {
    fn column(self) -> &'static str {
        match self {
            Self::TotalTime => "s.total_exec_time",
            Self::MeanTime => "s.mean_exec_time",
            Self::Calls => "s.calls",
            Self::Rows => "s.rows",
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct QueryParams {
    #[serde(default)]
    sort: QueryOrder,
    /// A part of the statement, in any case.
    #[serde(default)]
    search: Option<String>,
    #[serde(default)]
    limit: Option<i64>,
}

/// Statements, or why there are none.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct QueriesBody {
    /// Whether the server counts statements.
    is_available: bool,
    /// How to enable it.
    hint: Option<&'static str>,
    queries: Vec<QueryReportBody>,
}

/// A statement, without its values.
#[derive(Serialize, JsonSchema)]
struct QueryReportBody {
    /// Identifies it, as text: it is a 64-bit number.
    id: Option<String>,
    role: Option<String>,
    query: String,
    calls: i64,
    rows: i64,
    /// Milliseconds.
    total_ms: f64,
    mean_ms: f64,
    max_ms: f64,
    /// The share of blocks that were found in the cache.
    cache_hit_ratio: Option<f64>,
    temporary_blocks: i64,
}

const NOT_LOADED: &str =
    "Add pg_stat_statements to shared_preload_libraries of the server, and restart it";
const NO_RIGHT: &str =
    "Create the extension pg_stat_statements in the database of project zero as a superuser";

/// `GET …/queries`.
pub(in crate::api) async fn queries(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<QueryParams>,
) -> Result<Json<QueriesBody>, PlatformError> {
    let name = operator.project_by_name(&platform, &text)?;
    let row = platform.load_project(&name).await?;
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let search = params.search.filter(|search| !search.is_empty());
    match read(&platform, &row, params.sort, search.as_deref(), limit).await? {
        Ok(queries) => Ok(Json(QueriesBody {
            is_available: true,
            hint: None,
            queries,
        })),
        Err(hint) => Ok(none(hint)),
    }
}

/// A statement in the overview.
#[derive(Serialize, JsonSchema)]
pub(super) struct SlowQueryBody {
    query: String,
    calls: i64,
    mean_ms: f64,
}

/// The statements on which the database spent most time; none where they are not counted.
pub(super) async fn slowest(
    platform: &Platform,
    project: &ProjectRef,
) -> Result<Vec<SlowQueryBody>, PlatformError> {
    let name = ProjectName::Ref(project.clone());
    let row = platform.load_project(&name).await?;
    if !platform.is_running(&row.server) {
        return Ok(Vec::new());
    }
    let found = read(platform, &row, QueryOrder::TotalTime, None, SLOWEST).await?;
    let found = found.unwrap_or_default().into_iter();
    Ok(found
        .map(|query| SlowQueryBody {
            query: query.query,
            calls: query.calls,
            mean_ms: query.mean_ms,
        })
        .collect())
}

/// The statements, or how to have them counted.
async fn read(
    platform: &Platform,
    row: &ProjectRow,
    sort: QueryOrder,
    search: Option<&str>,
    limit: i64,
) -> Result<Result<Vec<QueryReportBody>, &'static str>, PlatformError> {
    let admin = connect(platform, row).await?;
    if let Err(error) = prepare(&admin).await {
        return match error.code() {
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Ok(Err(NO_RIGHT)),
            Some(_) => Ok(Err(NOT_LOADED)),
            None => Err(error.into()),
        };
    }
    let sql = format!(
        "{STATEMENTS} order by {} desc, s.queryid limit $3",
        sort.column()
    );
    let found = match admin.query(&sql, &[&row.database, &search, &limit]).await {
        Ok(found) => found,
        Err(error) if error.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => {
            return Ok(Err(NOT_LOADED));
        }
        Err(error) => return Err(error.into()),
    };
    let queries = found.iter().map(|row| QueryReportBody {
        id: row.get(0),
        role: row.get(1),
        // Statements like `create role … password '…'` are kept as they are.
        query: redact_text(row.get(2)).into_owned(),
        calls: row.get(3),
        rows: row.get(4),
        total_ms: row.get(5),
        mean_ms: row.get(6),
        max_ms: row.get(7),
        cache_hit_ratio: row.get(8),
        temporary_blocks: row.get(9),
    });
    Ok(Ok(queries.collect()))
}

/// `$1` is the database, `$2` a part of the statement.
const STATEMENTS: &str = "
    select s.queryid::text, r.rolname::text, s.query, s.calls, s.rows, s.total_exec_time,
           s.mean_exec_time, s.max_exec_time,
           s.shared_blks_hit::float8 / nullif(s.shared_blks_hit + s.shared_blks_read, 0),
           s.temp_blks_read + s.temp_blks_written
    from plinth_statistics.pg_stat_statements s
    join pg_catalog.pg_database d on d.oid = s.dbid
    left join pg_catalog.pg_roles r on r.oid = s.userid
    where d.datname = $1 and (r.rolname is null or r.rolname <> current_user)
      and ($2::text is null or position(lower($2) in lower(s.query)) > 0)";

fn none(hint: &'static str) -> Json<QueriesBody> {
    Json(QueriesBody {
        is_available: false,
        hint: Some(hint),
        queries: Vec::new(),
    })
}

/// A database on the project's server that no project can reach.
async fn connect(platform: &Platform, row: &ProjectRow) -> Result<Client, PlatformError> {
    if row.server.is_isolated() {
        let server = platform.server(&row.server).await?;
        return Ok(server.administrator().connect().await?);
    }
    Ok(platform.admin().await?)
}

/// Makes the view available, in a schema of its own.
async fn prepare(admin: &Client) -> Result<(), tokio_postgres::Error> {
    let sql = "select 1 from pg_catalog.pg_extension e
               join pg_catalog.pg_namespace n on n.oid = e.extnamespace
               where e.extname = 'pg_stat_statements' and n.nspname = 'plinth_statistics'";
    if admin.query_opt(sql, &[]).await?.is_some() {
        return Ok(());
    }
    let sql = "create schema if not exists plinth_statistics;
               revoke all on schema plinth_statistics from public;
               create extension if not exists pg_stat_statements schema plinth_statistics;
               alter extension pg_stat_statements set schema plinth_statistics";
    admin.batch_execute(sql).await
}
