//! The directory of projects, over the platform's tables.

use plinth_db::DbError;
use plinth_project::{
    BoxFuture, Directory, DirectoryError, ProjectName, ProjectRecord, ProjectRef,
};
use tokio_postgres::Row;

use crate::{
    Platform, PlatformError,
    config::open_settings,
    keys::load_keys,
    projects::{parse_kind, parse_ref, parse_server},
    sealed::SealedLogins,
};

const FIND: &str =
    "select ref, name, kind, status, server, database, settings, sealed_owner_password,
        sealed_authenticator_password, sealed_service_password
    from platform.projects
    where ref = $1";

impl Directory for Platform {
    fn find<'a>(
        &'a self,
        name: &'a ProjectName,
    ) -> BoxFuture<'a, Result<Option<ProjectRecord>, DirectoryError>> {
        Box::pin(async move {
            let reference = self.reference_of(name);
            let tables = self.tables().await?;
            let row = tables
                .query_opt(FIND, &[&reference.as_str()])
                .await
                .map_err(DbError::from)?;
            let Some(row) = row else { return Ok(None) };
            let record = self.record(&tables, &row).await;
            record
                .map(Some)
                .map_err(|error| unreadable(reference, error))
        })
    }
}

impl Platform {
    async fn record(
        &self,
        tables: &tokio_postgres::Client,
        row: &Row,
    ) -> Result<ProjectRecord, PlatformError> {
        let reference = parse_ref(row.get("ref"))?;
        let kind = parse_kind(row.get("kind"))?;
        let instance_key = &self.0.instance_key;
        let sealed = SealedLogins {
            owner: row.get("sealed_owner_password"),
            authenticator: row.get("sealed_authenticator_password"),
            service: row.get("sealed_service_password"),
        };
        let logins = sealed
            .open(instance_key, &reference)
            .map_err(PlatformError::caused_by)?;
        let keys = load_keys(
            tables,
            instance_key,
            &reference,
            kind,
            &self.0.configured_keys,
        )
        .await?;
        let settings = match row.get::<_, serde_json::Value>("settings") {
            serde_json::Value::Object(settings) => settings,
            _ => serde_json::Map::new(),
        };
        let settings = open_settings(instance_key, &reference, settings)?;
        Ok(ProjectRecord {
            name: row.get("name"),
            kind,
            status: row
                .get::<_, &str>("status")
                .parse()
                .map_err(PlatformError::internal)?,
            server: parse_server(row.get("server"))?,
            database: row.get("database"),
            logins,
            keys,
            settings,
            reference,
        })
    }
}

fn unreadable(reference: ProjectRef, error: PlatformError) -> DirectoryError {
    match error {
        PlatformError::Unavailable(error) => DirectoryError::Database(error),
        PlatformError::Internal(cause) => DirectoryError::Unreadable {
            reference,
            reason: cause.to_string(),
        },
        other => DirectoryError::Unreadable {
            reference,
            reason: other.to_string(),
        },
    }
}
