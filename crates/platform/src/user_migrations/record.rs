//! Statements that were made by clicking, recorded as a migration.

use time::{OffsetDateTime, macros::format_description};
use tokio_postgres::Client;

use crate::PlatformError;

/// The longest name of a migration, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// The name of a migration becomes part of a file's name.
pub(crate) fn check_migration_name(name: &str) -> Result<(), PlatformError> {
    let is_bad = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(is_bad) {
        return Err(PlatformError::Invalid(format!(
            "The name of a migration has 1 to {MAX_NAME_BYTES} bytes, and no slashes, colons or \
             control characters"
        )));
    }
    Ok(())
}

/// Adds statements that have run in the present transaction to the history, under the present time.
/// Returns the version.
pub(crate) async fn record_statements(
    client: &Client,
    name: &str,
    statements: &[String],
    created_by: &str,
) -> Result<String, tokio_postgres::Error> {
    let lock = "select pg_advisory_xact_lock(hashtext('supabase_migrations'))";
    client.batch_execute(lock).await?;
    let exists = "select exists (
                      select from supabase_migrations.schema_migrations where version = $1)";
    let insert = "insert into supabase_migrations.schema_migrations
                      (version, name, statements, created_by)
                  values ($1, $2, $3, $4)";
    let mut at = OffsetDateTime::now_utc();
    loop {
        let version = version_at(at);
        if !client
            .query_one(exists, &[&version])
            .await?
            .get::<_, bool>(0)
        {
            client
                .execute(insert, &[&version, &name, &statements, &created_by])
                .await?;
            return Ok(version);
        }
        at += time::Duration::SECOND;
    }
}

fn version_at(at: OffsetDateTime) -> String {
    let format = format_description!("[year][month][day][hour][minute][second]");
    at.format(format).unwrap_or_default()
}
