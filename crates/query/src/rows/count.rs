//! How many rows there are.

use plinth_db::OpenTransaction;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{QueryError, Relation, RelationName, sql::Sql};

use super::filter::{Filter, push_where};

/// Fewer rows are counted, where an estimate would do (console contract §1.6).
const EXACT_UP_TO: i64 = 50_000;

/// How rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// One by one.
    Exact,
    /// By the planner's estimate, where that is more than 50 000.
    Estimated,
    /// Not at all.
    #[default]
    None,
    /// In a response: counting took too long.
    TimedOut,
}

/// Which rows are counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// What has to hold for a row.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// How.
    pub count: CountKind,
}

/// A number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// How many.
    pub count: Option<i64>,
    /// How they were counted.
    #[serde(rename = "count_kind")]
    pub kind: CountKind,
}

/// Counts rows. The transaction is of no further use if that takes too long.
pub async fn count(tx: &mut OpenTransaction, request: &CountRequest) -> Result<Count, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    count_of(tx, &relation, request).await
}

pub(super) async fn count_of(
    tx: &mut OpenTransaction,
    relation: &Relation,
    request: &CountRequest,
) -> Result<Count, QueryError> {
    let counted = match request.count {
        CountKind::Exact => exact(tx, relation, &request.filters, None).await,
        CountKind::Estimated => estimated(tx, relation, &request.filters).await,
        CountKind::None | CountKind::TimedOut => Ok(Count {
            count: None,
            kind: CountKind::None,
        }),
    };
    match counted {
        Err(QueryError::Rejected(rejection)) if rejection.sqlstate == "57014" => Ok(Count {
            count: None,
            kind: CountKind::TimedOut,
        }),
        counted => counted,
    }
}

async fn estimated(
    tx: &mut OpenTransaction,
    relation: &Relation,
    filters: &[Filter],
) -> Result<Count, QueryError> {
    let estimate = estimate(tx, relation, filters).await?;
    if estimate <= EXACT_UP_TO {
        let count = exact(tx, relation, filters, Some(EXACT_UP_TO + 1)).await?;
        if count.count.is_some_and(|count| count <= EXACT_UP_TO) {
            return Ok(count);
        }
    }
    Ok(Count {
        count: Some(estimate.max(EXACT_UP_TO + 1)),
        kind: CountKind::Estimated,
    })
}

/// The planner's, which knows the table's present size.
async fn estimate(
    tx: &mut OpenTransaction,
    relation: &Relation,
    filters: &[Filter],
) -> Result<i64, QueryError> {
    let mut sql = Sql::new();
    sql.push("explain (format json) select from ");
    sql.push(relation.sql()).push(" t");
    push_where(&mut sql, relation, filters)?;
    let rows = sql.run(tx).await?.rows;
    let plan = rows.first().and_then(|row| row.raw(0)).unwrap_or_default();
    let plan: Value = serde_json::from_slice(&plan).unwrap_or_default();
    let rows = plan.pointer("/0/Plan/Plan Rows").and_then(Value::as_f64);
    // Saturates, as it should.
    Ok(rows.unwrap_or_default() as i64)
}

async fn exact(
    tx: &mut OpenTransaction,
    relation: &Relation,
    filters: &[Filter],
    limit: Option<i64>,
) -> Result<Count, QueryError> {
    let mut sql = Sql::new();
    sql.push("select pg_catalog.count(*) from (select from ");
    sql.push(relation.sql()).push(" t");
    push_where(&mut sql, relation, filters)?;
    if let Some(limit) = limit {
        sql.push(format_args!(" limit {limit}"));
    }
    sql.push(") counted");
    let rows = sql.run(tx).await?.rows;
    let text = rows.first().and_then(|row| row.raw(0)).unwrap_or_default();
    let count = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| text.parse().ok());
    Ok(Count {
        count,
        kind: CountKind::Exact,
    })
}
