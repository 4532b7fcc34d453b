//! Which way a branch is copied: `create database … template`, which needs the source without other
//! sessions, or dump and restore (`dump_branch.rs`). Settings and grants on the database itself,
//! which neither way copies, are applied afterwards.

use std::time::Duration;

use plinth_db::DbError;
use plinth_dump::DatabaseProperties;
use plinth_project::{LoginKind, Logins, ProjectName, ProjectRef, ProjectServers as _};
use tokio_postgres::Client;
use uuid::Uuid;

use super::{BranchRequest, CopyMethod, ProjectRow, create::create_logins};
use crate::{
    Platform, PlatformError,
    databases::{self, SessionKind},
};

/// How long to wait for requests in flight before falling back to dump and restore.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

impl Platform {
    /// Copies the source if it can be locked, else starts a job that dumps and restores it.
    pub(super) async fn copy_or_dump(
        &self,
        source: ProjectRow,
        reference: &ProjectRef,
        request: &BranchRequest,
        logins: Logins,
    ) -> Result<(), PlatformError> {
        let copied = self
            .copy_database(&source, reference, request, &logins)
            .await;
        match copied {
            Ok(()) => {
                self.record_copy_method(reference, CopyMethod::Copied, None, None)
                    .await?;
                self.activate_branch(&source.reference, reference).await
            }
            Err(CopyError::Busy(why)) if self.0.cluster.is_superuser => {
                let requested_by = request.requested_by.as_deref();
                let job = self
                    .start_dump(source, reference, logins, requested_by)
                    .await?;
                self.record_copy_method(reference, CopyMethod::Dumped, Some(&why), Some(job))
                    .await
            }
            Err(CopyError::Busy(why)) => Err(PlatformError::Conflict(format!(
                "{why}, and to dump and restore it instead takes a superuser, which the role of \
                 --database-url is not; close the sessions, or end them with --end-sessions"
            ))),
            Err(CopyError::Failed(error)) => Err(error),
        }
    }

    async fn copy_database(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        request: &BranchRequest,
        logins: &Logins,
    ) -> Result<(), CopyError> {
        let project = self
            .open(&ProjectName::Ref(source.reference.clone()))
            .await?;
        let _lock = match project.db.lock(LOCK_TIMEOUT).await {
            Ok(lock) => lock,
            Err(DbError::PoolTimeout) => {
                return Err(CopyError::Busy(format!(
                    "Requests to project {} did not end within {} seconds",
                    source.reference,
                    LOCK_TIMEOUT.as_secs()
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let server = self.server(&source.server).await?;
        let admin = server.administrator().connect().await?;
        terminate_sessions(&admin, source, request.end_sessions).await?;
        match databases::create_from(&admin, reference.as_str(), &source.database).await {
            Ok(()) => {}
            Err(error) if databases::is_in_use(&error) => {
                return Err(CopyError::Busy(format!(
                    "Another session connected to the database of project {} just now",
                    source.reference
                )));
            }
            Err(error) => return Err(error.into()),
        }
        create_logins(&admin, &server, reference, logins).await?;
        Ok(self
            .copy_database_properties(&admin, source, reference)
            .await?)
    }

    /// Copies what belongs to the database object itself: `alter database … set` and grants to
    /// roles, except those to the source's own logins.
    pub(super) async fn copy_database_properties(
        &self,
        admin: &Client,
        source: &ProjectRow,
        reference: &ProjectRef,
    ) -> Result<(), PlatformError> {
        let own = LoginKind::ALL.map(|kind| kind.role_name(&source.reference));
        let is_own = |role: &str| own.iter().any(|login| login == role);
        let properties = DatabaseProperties::read(admin, &source.database).await?;
        let settings = plinth_dump::read_settings(admin, &source.database).await?;
        let mut sql = properties.grants_sql(reference.as_str(), is_own);
        sql.push_str(&plinth_dump::settings_sql(
            &settings,
            reference.as_str(),
            is_own,
        ));
        Ok(admin.batch_execute(&sql).await?)
    }

    async fn record_copy_method(
        &self,
        reference: &ProjectRef,
        method: CopyMethod,
        reason: Option<&str>,
        job: Option<Uuid>,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.branches
                   set copy_method = $2, copy_reason = $3, job = $4
                   where ref = $1";
        self.tables()
            .await?
            .execute(sql, &[&reference.as_str(), &method.as_str(), &reason, &job])
            .await?;
        Ok(())
    }
}

/// Why `create database … template` was not possible.
enum CopyError {
    /// The source is in use; a sentence without its full stop.
    Busy(String),
    Failed(PlatformError),
}

impl<E: Into<PlatformError>> From<E> for CopyError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn terminate_sessions(
    admin: &Client,
    source: &ProjectRow,
    force: bool,
) -> Result<(), CopyError> {
    let kind = if force {
        SessionKind::Any
    } else {
        SessionKind::IdlePooled
    };
    databases::terminate_sessions(admin, &source.database, kind).await?;
    let others = databases::foreign_sessions(admin, &source.database).await?;
    if others.is_empty() {
        return Ok(());
    }
    Err(CopyError::Busy(format!(
        "The database of project {} is in use by {} other session(s) ({})",
        source.reference,
        others.len(),
        others.join(", ")
    )))
}
