//! Who is at work in a database, and putting an end to it (console contract N77).

use plinth_db::{DbError, describe};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use crate::QueryError;

/// Longest statement that is shown.
const MAX_QUERY_CHARS: i32 = 4000;

/// A session of the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    /// The process on the server.
    pub pid: i32,
    /// The login.
    pub user: Option<String>,
    /// The name that the program gave itself.
    pub application: String,
    /// Where it connected from; none for this machine.
    pub address: Option<String>,
    /// `active`, `idle`, `idle in transaction` and the like.
    pub state: Option<String>,
    /// What it waits for, as in `Lock: relation`.
    pub waits_for: Option<String>,
    /// Processes that hold the lock it waits for.
    pub blocked_by: Vec<i32>,
    /// The present or last statement.
    pub query: String,
    /// When the session began, as PostgreSQL writes it.
    pub connected_at: String,
    /// When its transaction began.
    pub transaction_at: Option<String>,
    /// When its statement began.
    pub query_at: Option<String>,
    /// Seconds since then, while it is active.
    pub seconds: Option<f64>,
}

/// What is done about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Its statement is cancelled.
    Cancel,
    /// It is ended.
    Terminate,
}

/// Sessions of this database whose logins are among `logins`. `admin` may see all sessions.
pub async fn list_backends(admin: &Client, logins: &[String]) -> Result<Vec<Backend>, QueryError> {
    let sql = "
        select a.pid, a.usename::text as login, coalesce(a.application_name, '') as application,
               host(a.client_addr) as address, a.state,
               a.wait_event_type || ': ' || a.wait_event as waits_for,
               case when a.wait_event_type = 'Lock' then pg_blocking_pids(a.pid)
                    else '{}' end as blocked_by,
               left(coalesce(a.query, ''), $2) as query,
               a.backend_start::text as connected_at, a.xact_start::text as transaction_at,
               a.query_start::text as query_at,
               case when a.state = 'active'
                    then extract(epoch from clock_timestamp() - a.query_start)::float8
               end as seconds
        from pg_catalog.pg_stat_activity a
        where a.datname = current_database() and a.usename = any ($1)
          and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
        order by a.state = 'active' desc nulls last, a.query_start";
    let rows = admin.query(sql, &[&logins, &MAX_QUERY_CHARS]).await?;
    let backends = rows.iter().map(|row| {
        Ok(Backend {
            pid: row.try_get("pid")?,
            user: row.try_get("login")?,
            application: row.try_get("application")?,
            address: row.try_get("address")?,
            state: row.try_get("state")?,
            waits_for: row.try_get("waits_for")?,
            blocked_by: row.try_get("blocked_by")?,
            query: row.try_get("query")?,
            connected_at: row.try_get("connected_at")?,
            transaction_at: row.try_get("transaction_at")?,
            query_at: row.try_get("query_at")?,
            seconds: row.try_get("seconds")?,
        })
    });
    let backends: Result<_, tokio_postgres::Error> = backends.collect();
    backends.map_err(|error| QueryError::Database(DbError::Misuse(describe(&error))))
}

/// Sends a signal to a session of this database that one of `logins` opened; returns whether there was
/// such a session. In one statement, so that no other session gets the signal.
pub async fn signal_backend(
    admin: &Client,
    logins: &[String],
    pid: i32,
    signal: Signal,
) -> Result<bool, QueryError> {
    let function = match signal {
        Signal::Cancel => "pg_cancel_backend",
        Signal::Terminate => "pg_terminate_backend",
    };
    let sql = format!(
        "select pg_catalog.{function}(a.pid)
         from pg_catalog.pg_stat_activity a
         where a.pid = $2 and a.datname = current_database() and a.usename = any ($1)
           and a.backend_type = 'client backend'"
    );
    let rows = admin.query(&sql, &[&logins, &pid]).await?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}
