//! Which way a branch is copied: the quick one, which needs the source without other sessions, or
//! dump and restore (`dump_branch.rs`). What hangs on a database and not in it is carried over
//! either way.

use std::time::Duration;

use plinth_db::DbError;
use plinth_dump::DatabaseProperties;
use plinth_project::{LoginKind, Logins, ProjectName, ProjectRef};
use tokio_postgres::Client;
use uuid::Uuid;

use super::{BranchRequest, CopyMethod, ProjectRow};
use crate::{
    Platform, PlatformError,
    databases::{self, SessionKind},
};

/// How long running requests on the source may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

impl Platform {
    /// Takes the quick way if nobody is in it, else begins the other one.
    pub(super) async fn copy_or_dump(
        &self,
        source: ProjectRow,
        reference: &ProjectRef,
        request: &BranchRequest,
        logins: Logins,
    ) -> Result<(), PlatformError> {
        let copied = self
            .copy_quickly(&source, reference, request, &logins)
            .await;
        match copied {
            Ok(()) => {
                self.note_copy(reference, CopyMethod::Copied, None, None)
                    .await?;
                self.finish_branch(&source.reference, reference).await
            }
            Err(NotCopied::Busy(why)) if self.0.cluster.is_superuser => {
                let asked_by = request.asked_by.as_deref();
                let job = self
                    .begin_job("branch", reference.as_str(), asked_by)
                    .await?;
                self.note_copy(reference, CopyMethod::Dumped, Some(&why), Some(job))
                    .await?;
                self.spawn_dump(job, source, reference.clone(), logins);
                Ok(())
            }
            Err(NotCopied::Busy(why)) => Err(PlatformError::Conflict(format!(
                "{why}, and to dump and restore it instead takes a superuser, which the role of \
                 --database-url is not; close the sessions, or end them with --end-sessions"
            ))),
            Err(NotCopied::Failed(error)) => Err(error),
        }
    }

    async fn copy_quickly(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        request: &BranchRequest,
        logins: &Logins,
    ) -> Result<(), NotCopied> {
        let project = self
            .open(&ProjectName::Ref(source.reference.clone()))
            .await?;
        let _held = match project.db.hold(PATIENCE).await {
            Ok(held) => held,
            Err(DbError::PoolTimeout) => {
                return Err(NotCopied::Busy(format!(
                    "Requests to project {} did not end within {} seconds",
                    source.reference,
                    PATIENCE.as_secs()
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let admin = self.admin().await?;
        vacate(&admin, source, request.end_sessions).await?;
        match databases::create_from(&admin, reference.as_str(), &source.database).await {
            Ok(()) => {}
            Err(error) if databases::is_in_use(&error) => {
                return Err(NotCopied::Busy(format!(
                    "Somebody connected to the database of project {} just now",
                    source.reference
                )));
            }
            Err(error) => return Err(error.into()),
        }
        self.open_to_logins(&admin, reference, logins).await?;
        Ok(self.carry_over(&admin, source, reference).await?)
    }

    /// What hangs on a database and not in it: settings that sessions start with, and rights of
    /// roles. The source's own logins have no business in its branch.
    pub(super) async fn carry_over(
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

    async fn note_copy(
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

/// Why the quick copy was not made.
enum NotCopied {
    /// Somebody uses the source: one sentence without its end.
    Busy(String),
    Failed(PlatformError),
}

impl<E: Into<PlatformError>> From<E> for NotCopied {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn vacate(admin: &Client, source: &ProjectRow, force: bool) -> Result<(), NotCopied> {
    let kind = if force {
        SessionKind::Any
    } else {
        SessionKind::IdlePooled
    };
    databases::end_sessions(admin, &source.database, kind).await?;
    let others = databases::foreign_sessions(admin, &source.database).await?;
    if others.is_empty() {
        return Ok(());
    }
    Err(NotCopied::Busy(format!(
        "The database of project {} is in use by {} other session(s) ({})",
        source.reference,
        others.len(),
        others.join(", ")
    )))
}
