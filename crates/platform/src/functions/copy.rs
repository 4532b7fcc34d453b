//! Copies the active functions of a project and their secrets to a branch (console contract F72).

use plinth_project::ProjectRef;

use crate::{Platform, PlatformError, secrets};

/// $1: the parent, $2: the branch. Only active versions are copied.
const COPY_FUNCTIONS: &str = "
    insert into platform.functions (project, slug, last_version, active_version)
    select $2, slug, active_version, active_version
    from platform.functions
    where project = $1 and active_version is not null";
const COPY_VERSIONS: &str = "
    insert into platform.function_versions
        (function, version, name, verify_jwt, entrypoint, import_map, static_patterns, digest,
         activated_at)
    select own.id, v.version, v.name, v.verify_jwt, v.entrypoint, v.import_map, v.static_patterns,
           v.digest, now()
    from platform.functions f
    join platform.functions own on own.project = $2 and own.slug = f.slug
    join platform.function_versions v on v.function = f.id and v.version = own.active_version
    where f.project = $1";
const COPY_FILES: &str = "
    insert into platform.function_files (function, version, path, content)
    select own.id, files.version, files.path, files.content
    from platform.functions f
    join platform.functions own on own.project = $2 and own.slug = f.slug
    join platform.function_files files
        on files.function = f.id and files.version = own.active_version
    where f.project = $1";

impl Platform {
    /// Copies functions and secrets in one transaction.
    pub(crate) async fn copy_functions(
        &self,
        from: &ProjectRef,
        to: &ProjectRef,
    ) -> Result<(), PlatformError> {
        let mut admin = self.admin().await?;
        let transaction = admin.build_transaction();
        // A concurrent deployment to the parent is copied completely or not at all.
        let transaction =
            transaction.isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
        let transaction = transaction.start().await?;
        for sql in [COPY_FUNCTIONS, COPY_VERSIONS, COPY_FILES] {
            transaction
                .execute(sql, &[&from.as_str(), &to.as_str()])
                .await?;
        }
        let instance_key = &self.0.instance_key;
        let values = secrets::open_all(&transaction, instance_key, from).await?;
        secrets::store(&transaction, instance_key, to, &values).await?;
        Ok(transaction.commit().await?)
    }
}
