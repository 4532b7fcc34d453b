//! Rows of a project that refer to a user: by foreign keys to `auth.users`, and as owner of files.
//!
//! Read with the operator's own rights. Schema `auth` is left out, because its rows are the user.

use plinth_db::{DbError, QuotedIdent};
use plinth_project::{DatabaseAccess, Project};
use tokio_postgres::{Client, error::SqlState};
use uuid::Uuid;

/// Counting ends here: that there are many is all that matters.
pub(crate) const MAX_COUNTED: i64 = 1000;

/// Columns that could take long to count, because they have no index.
const COUNT_TIMEOUT: &str = "2s";
/// Tables that are looked at.
const MAX_REFERENCES: i64 = 200;

/// Columns of foreign keys to `auth.users (id)`, and the owners of files and buckets. $1: how many.
const COLUMNS: &str = include_str!("user_references.sql");

/// A column that refers to users.
pub(crate) struct Reference {
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) on_delete: Option<String>,
    /// How many rows refer to the user, or why that is not known.
    pub(crate) rows: Result<i64, String>,
}

/// Every such column, with the number of rows that refer to the user.
pub(crate) async fn find(
    project: &Project,
    access: DatabaseAccess,
    user: Uuid,
) -> Result<Vec<Reference>, DbError> {
    let session = project.db.session_as_operator(access).await?;
    session
        .batch_execute(&format!(
            "set default_transaction_read_only = on; set statement_timeout = '{COUNT_TIMEOUT}'"
        ))
        .await?;
    let columns = session.query(COLUMNS, &[&MAX_REFERENCES]).await?;
    let mut found = Vec::with_capacity(columns.len());
    for row in &columns {
        let mut reference = Reference {
            schema: row.try_get("schema")?,
            table: row.try_get("table")?,
            column: row.try_get("column")?,
            on_delete: row.try_get("on_delete")?,
            rows: Ok(0),
        };
        reference.rows = count(&session, &reference, user).await?;
        found.push(reference);
    }
    Ok(found)
}

/// An error of PostgreSQL concerns this column only.
async fn count(
    session: &Client,
    reference: &Reference,
    user: Uuid,
) -> Result<Result<i64, String>, DbError> {
    // Owners of files are texts; foreign keys have the type of what they refer to.
    let value = match reference.on_delete {
        Some(_) => "$1::uuid",
        None => "$1::uuid::text",
    };
    let sql = format!(
        "select count(*) from (select from {}.{} where {} = {value} limit {MAX_COUNTED}) as rows",
        QuotedIdent::new(&reference.schema),
        QuotedIdent::new(&reference.table),
        QuotedIdent::new(&reference.column),
    );
    let counted = session.query_one(&sql, &[&user]).await;
    match counted {
        Ok(row) => Ok(Ok(row.try_get(0)?)),
        Err(error) => match error.as_db_error() {
            Some(reported) if *reported.code() == SqlState::QUERY_CANCELED => {
                Ok(Err("counting took too long".to_owned()))
            }
            Some(reported) => Ok(Err(reported.message().to_owned())),
            None => Err(error.into()),
        },
    }
}
