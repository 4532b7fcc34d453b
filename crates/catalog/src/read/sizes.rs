//! Sizes of tables, which change without a change of the schema.

use std::collections::HashMap;

use postgres_types::Type;
use tokio_postgres::{Client, Row};

use super::{ReadError, Scope};
use crate::objects::Table;

/// Writes the present sizes into `tables`. Returns whether the tables are still those of the database.
pub async fn fill_sizes(
    client: &Client,
    scope: &Scope,
    tables: &mut [Table],
) -> Result<bool, ReadError> {
    let rows = client
        .query_typed(
            include_str!("sql/table_sizes.sql"),
            &[
                (&scope.with_system, Type::BOOL),
                (&scope.ids, Type::OID_ARRAY),
            ],
        )
        .await?;
    let sizes: HashMap<u32, &Row> = rows.iter().map(|row| (row.get("id"), row)).collect();
    for table in &mut *tables {
        let Some(row) = sizes.get(&table.id) else {
            return Ok(false);
        };
        let bytes: i64 = row.try_get("bytes")?;
        table.bytes = u64::try_from(bytes).unwrap_or_default();
        table.size = row.try_get("size")?;
        table.live_rows_estimate = row.try_get("live")?;
        table.dead_rows_estimate = row.try_get("dead")?;
    }
    Ok(true)
}
