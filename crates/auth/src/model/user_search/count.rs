//! How many users a search finds: counted up to a limit, estimated by PostgreSQL above it.

use plinth_db::{DbError, Queries};
use serde_json::Value;

use super::Filter;

/// Above this number the total is an estimate.
const MAX_COUNTED: i64 = 50_000;

/// A number of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) users: u64,
    pub(crate) is_estimate: bool,
}

/// Counts, or estimates if the statement's timeout cancels that; the transaction is of no use then.
pub(crate) async fn count(db: &mut impl Queries, filter: &Filter) -> Result<Total, DbError> {
    let conditions = filter.conditions();
    let found = format!("select from auth.users u where {}", conditions.sql());
    let sql = format!(
        "select count(*) as total from ({found} limit {}) as found",
        MAX_COUNTED + 1
    );
    // First, so that the number is known even if counting takes too long.
    let estimate = estimate(db, &format!("explain (format json) {found}"), filter).await?;
    let rows = match db.query(&sql, &conditions.params()).await {
        Err(error)
            if error
                .sqlstate()
                .is_some_and(|state| state.code() == QUERY_CANCELED) =>
        {
            return Ok(Total {
                users: estimate,
                is_estimate: true,
            });
        }
        rows => rows?,
    };
    let counted: i64 = match rows.first() {
        Some(row) => row.try_get("total")?,
        None => 0,
    };
    Ok(if counted <= MAX_COUNTED {
        Total {
            users: counted.unsigned_abs(),
            is_estimate: false,
        }
    } else {
        Total {
            users: estimate.max(counted.unsigned_abs()),
            is_estimate: true,
        }
    })
}

const QUERY_CANCELED: &str = "57014";

/// The number of rows that the planner expects.
async fn estimate(db: &mut impl Queries, sql: &str, filter: &Filter) -> Result<u64, DbError> {
    let conditions = filter.conditions();
    let row = db.query_opt(sql, &conditions.params()).await?;
    let plan: Option<Value> = row.map(|row| row.try_get(0)).transpose()?;
    let rows = plan.and_then(|plan| plan[0]["Plan"]["Plan Rows"].as_f64());
    Ok(rows.unwrap_or_default() as u64)
}
