//! Hooks that are database functions. They run as the owner of schema `auth`, whom the project
//! grants the right to, and PostgreSQL itself ends those that take too long.

use plinth_db::{DbError, Queries, QuotedIdent};
use serde_json::Value;

/// Sets the limit and returns the one before it.
const SET_TIMEOUT: &str = "select pg_catalog.current_setting('statement_timeout') as before, \
                           pg_catalog.set_config('statement_timeout', '2000', true) as now";
const RESTORE_TIMEOUT: &str = "select pg_catalog.set_config('statement_timeout', $1, true)";

/// What the function returns for `payload`.
pub(crate) async fn call(
    db: &mut impl Queries,
    schema: &str,
    name: &str,
    payload: &Value,
) -> Result<Option<Value>, DbError> {
    let before = db.query_opt(SET_TIMEOUT, &[]).await?;
    let before: Option<Option<String>> = before.map(|row| row.try_get("before")).transpose()?;
    // The parameter's type is the function's own: json or jsonb.
    let sql = format!(
        "select pg_catalog.to_jsonb({}.{}($1)) as response",
        QuotedIdent::new(schema),
        QuotedIdent::new(name)
    );
    let row = db.query_opt(&sql, &[payload]).await?;
    db.query(RESTORE_TIMEOUT, &[&before.flatten().unwrap_or_default()])
        .await?;
    // Reading can fail: not every number that PostgreSQL has fits into ours.
    let response: Option<Option<Value>> = row.map(|row| row.try_get("response")).transpose()?;
    Ok(response.flatten())
}
