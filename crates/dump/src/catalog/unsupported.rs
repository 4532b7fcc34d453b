//! Objects that a dump cannot represent, reported before anything is created.

use tokio_postgres::Client;

use crate::DumpError;

/// One sentence each.
pub(super) async fn find(client: &Client) -> Result<Vec<String>, DumpError> {
    let rows = client
        .query(include_str!("sql/unsupported.sql"), &[])
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
