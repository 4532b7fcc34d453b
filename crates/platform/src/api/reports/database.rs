//! `GET …/reports/database`: cache, sizes, dead rows, connections.
//!
//! PostgreSQL's statistics are about the whole database, and read with the administrating role; only
//! functions and views of the catalogue are used, which owners cannot replace.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;

use crate::{
    Platform, PlatformError,
    api::{Operator, api_keys::rfc3339, body::Segments},
};

/// The database of a project.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct DatabaseReportBody {
    bytes: i64,
    /// The share of blocks that were found in the cache; null before the first read.
    cache_hit_ratio: Option<f64>,
    commits: i64,
    rollbacks: i64,
    deadlocks: i64,
    /// Bytes that sorts and joins wrote to temporary files.
    temporary_bytes: i64,
    /// Since when these are counted.
    counted_since: Option<String>,
    /// Transactions until the database must be vacuumed, at the latest.
    transactions_left: i64,
    connections: Vec<ConnectionsBody>,
    /// The largest ones, those of the services last.
    tables: Vec<TableReportBody>,
}

/// Connections of one role in one state.
#[derive(Serialize, JsonSchema)]
struct ConnectionsBody {
    role: String,
    /// `active`, `idle`, `idle in transaction`, …
    state: String,
    count: i64,
}

#[derive(Serialize, JsonSchema)]
struct TableReportBody {
    schema: String,
    name: String,
    /// With its indexes and long values.
    bytes: i64,
    index_bytes: i64,
    /// Estimated.
    rows: i64,
    /// Rows that were deleted or updated and take up space.
    dead_rows: i64,
    /// Bytes that dead rows take up, estimated by their share.
    dead_bytes: i64,
    sequential_scans: i64,
    index_scans: i64,
    last_vacuum: Option<String>,
    last_analyze: Option<String>,
}

const TOTALS: &str = "
    select pg_catalog.pg_database_size(d.oid),
           s.blks_hit::float8 / nullif(s.blks_hit + s.blks_read, 0),
           s.xact_commit, s.xact_rollback, s.deadlocks, s.temp_bytes, s.stats_reset,
           2000000000 - pg_catalog.age(d.datfrozenxid)::bigint
    from pg_catalog.pg_database d
    join pg_catalog.pg_stat_database s on s.datid = d.oid
    where d.datname = pg_catalog.current_database()";

const CONNECTIONS: &str = "
    select coalesce(usename::text, ''), coalesce(state, backend_type), count(*)
    from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and pid <> pg_catalog.pg_backend_pid()
    group by 1, 2
    order by 3 desc, 1, 2";

const TABLES: &str = "
    select s.schemaname::text, s.relname::text, pg_catalog.pg_total_relation_size(s.relid),
           pg_catalog.pg_indexes_size(s.relid), s.n_live_tup, s.n_dead_tup,
           (pg_catalog.pg_table_size(s.relid)::float8 * s.n_dead_tup
               / greatest(s.n_live_tup + s.n_dead_tup, 1))::bigint,
           s.seq_scan, coalesce(s.idx_scan, 0), greatest(s.last_vacuum, s.last_autovacuum),
           greatest(s.last_analyze, s.last_autoanalyze)
    from pg_catalog.pg_stat_all_tables s
    where s.schemaname !~ '^(pg_|information_schema$)'
    order by s.schemaname = any ('{auth,storage,realtime,plinth,plinth_roles,supabase_migrations,
                 supabase_functions,vault}'), 3 desc, 1, 2
    limit 100";

/// `GET …/reports/database`.
pub(in crate::api) async fn database(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<DatabaseReportBody>, PlatformError> {
    let name = operator.project_by_name(&platform, &text)?;
    let project = platform.open(&name).await?;
    let admin = project.db.as_admin().await?;
    admin.batch_execute("set statement_timeout = '10s'").await?;
    let totals = admin.query_one(TOTALS, &[]).await?;
    let connections = admin.query(CONNECTIONS, &[]).await?;
    let tables = admin.query(TABLES, &[]).await?;
    let time = |row: &Row, at: usize| -> Option<String> {
        row.get::<_, Option<time::OffsetDateTime>>(at).map(rfc3339)
    };
    let connections = connections.iter().map(|row| ConnectionsBody {
        role: row.get(0),
        state: row.get(1),
        count: row.get(2),
    });
    let tables = tables.iter().map(|row| TableReportBody {
        schema: row.get(0),
        name: row.get(1),
        bytes: row.get(2),
        index_bytes: row.get(3),
        rows: row.get(4),
        dead_rows: row.get(5),
        dead_bytes: row.get(6),
        sequential_scans: row.get(7),
        index_scans: row.get(8),
        last_vacuum: time(row, 9),
        last_analyze: time(row, 10),
    });
    Ok(Json(DatabaseReportBody {
        bytes: totals.get(0),
        cache_hit_ratio: totals.get(1),
        commits: totals.get(2),
        rollbacks: totals.get(3),
        deadlocks: totals.get(4),
        temporary_bytes: totals.get(5),
        counted_since: time(&totals, 6),
        transactions_left: totals.get(7),
        connections: connections.collect(),
        tables: tables.collect(),
    }))
}
