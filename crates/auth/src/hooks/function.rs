//! Hooks that are database functions. They run as the owner of schema `auth`, whom users grant
//! the right to, and Postgres itself ends those that take too long.

use plinth_db::{DbError, Queries, QuotedIdent};
use serde_json::Value;

use crate::AuthError;

/// Sets the limit and gives the one before it.
const LIMIT: &str = "select pg_catalog.current_setting('statement_timeout') as before, \
                     pg_catalog.set_config('statement_timeout', '2000', true) as now";
const RESTORE: &str = "select pg_catalog.set_config('statement_timeout', $1, true)";

/// What the function makes of `payload`.
pub(super) async fn call(
    db: &mut impl Queries,
    schema: &str,
    name: &str,
    payload: &Value,
) -> Result<Option<Value>, AuthError> {
    let answer = limited(db, schema, name, payload).await;
    answer.map_err(|error| match error {
        DbError::Postgres(_) => AuthError::internal(
            format!("Error running hook URI: pg-functions://postgres/{schema}/{name}"),
            error,
        ),
        error => error.into(),
    })
}

async fn limited(
    db: &mut impl Queries,
    schema: &str,
    name: &str,
    payload: &Value,
) -> Result<Option<Value>, DbError> {
    let before = db.query_opt(LIMIT, &[]).await?;
    let before: Option<Option<String>> = before.map(|row| row.try_get("before")).transpose()?;
    // The parameter's type is the function's own: json or jsonb.
    let sql = format!(
        "select pg_catalog.to_jsonb({}.{}($1)) as answer",
        QuotedIdent::new(schema),
        QuotedIdent::new(name)
    );
    let row = db.query_opt(&sql, &[payload]).await?;
    db.query(RESTORE, &[&before.flatten().unwrap_or_default()])
        .await?;
    // Not every number that Postgres has fits into ours.
    let answer: Option<Option<Value>> = row.map(|row| row.try_get("answer")).transpose()?;
    Ok(answer.flatten())
}

/// A savepoint around a function whose failure is not everybody's.
pub(super) struct Guard {
    is_set: bool,
}

impl Guard {
    /// Outside of a transaction there is nothing to guard.
    pub(super) async fn set(db: &mut impl Queries) -> Self {
        let is_set = db.execute("savepoint auth_hook", &[]).await.is_ok();
        Self { is_set }
    }

    pub(super) fn none() -> Self {
        Self { is_set: false }
    }

    /// Undoes what the function did, if it failed.
    pub(super) async fn release(self, db: &mut impl Queries, is_good: bool) -> Result<(), DbError> {
        if self.is_set && !is_good {
            db.execute("rollback to savepoint auth_hook", &[]).await?;
        }
        if self.is_set {
            db.execute("release savepoint auth_hook", &[]).await?;
        }
        Ok(())
    }
}
