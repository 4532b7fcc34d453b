//! A branch of a project with other sessions: dump and restore as a job.
//!
//! The source is read in one snapshot and stays usable. The branch is COMING_UP meanwhile; a killed
//! process leaves that row and an incomplete database, which the next start removes.

use plinth_db::{QuotedIdent, QuotedLiteral};
use plinth_dump::{DumpError, Progress, Restoration, Snapshot, restore};
use plinth_project::{Logins, ProjectName, ProjectRef, ProjectServers as _};
use plinth_token::{Secret, generate_password};
use postgres_protocol::password::scram_sha_256;
use tokio::sync::watch;
use tokio_postgres::Client;
use uuid::Uuid;

use super::{ProjectRow, create::create_logins};
use crate::{Platform, PlatformError, jobs::JobProgress};

/// The login that inserts rows while a branch is restored. Check constraints and generated columns
/// call functions of users, which must not run in the administrator's session.
pub(super) fn loader_name(reference: &ProjectRef) -> String {
    format!("loader_{reference}")
}

impl Platform {
    /// Starts the work as a task, which a shutdown awaits.
    pub(super) fn spawn_dump(
        &self,
        job: Uuid,
        source: ProjectRow,
        reference: ProjectRef,
        logins: Logins,
    ) {
        let platform = self.clone();
        self.0.tasks.spawn(async move {
            platform.run_dump(job, &source, &reference, &logins).await;
        });
    }

    async fn run_dump(
        &self,
        job: Uuid,
        source: &ProjectRow,
        reference: &ProjectRef,
        logins: &Logins,
    ) {
        let (sender, receiver) = watch::channel(JobProgress::default());
        let work = async {
            self.dump_and_restore(source, reference, logins, sender)
                .await?;
            self.activate_branch(&source.reference, reference).await
        };
        let result = tokio::select! {
            result = work => result,
            () = self.report_job(job, receiver) => Ok(()),
            () = self.0.shutdown.cancelled() => Err(PlatformError::Conflict(
                "Plinth was stopped before the copy was done".to_owned(),
            )),
        };
        let ended = match result {
            Ok(()) => self.end_job(job, None).await,
            Err(error) => {
                let reason = reason(&error);
                tracing::warn!(project = %reference, "creating a branch failed: {reason}");
                self.fail_branch(reference, job, &reason).await
            }
        };
        if let Err(error) = ended {
            tracing::warn!(
                project = %reference,
                "cleanup of a branch job failed, retrying at the next start: {error}"
            );
        }
    }

    async fn dump_and_restore(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        logins: &Logins,
        progress: watch::Sender<JobProgress>,
    ) -> Result<(), PlatformError> {
        let server = self.server(&source.server).await?;
        let snapshot = Snapshot::open(&server.administrator().database(&source.database)).await?;
        let dump = snapshot.read().await?;
        let admin = server.administrator().connect().await?;
        admin
            .batch_execute(&dump.database.create_sql(reference.as_str()))
            .await?;
        // Before the objects, because the owner of an extension must be able to create it.
        create_logins(&admin, &server, reference, logins).await?;
        let password = generate_password();
        create_loader(&admin, reference, &password).await?;
        let target = server.administrator().database(reference.as_str());
        let report = |now: Progress<'_>| {
            progress.send_replace(JobProgress {
                done: i64::try_from(now.done).unwrap_or(i64::MAX),
                total: i64::try_from(now.total).unwrap_or(i64::MAX),
                unit: "tables".to_owned(),
                message: now.message.to_owned(),
            });
        };
        let restoration = Restoration {
            admin: &target,
            loader: &target.login(&loader_name(reference), password.expose()),
            progress: &report,
        };
        restore(&snapshot, &dump, restoration).await?;
        drop_loader(&admin, reference).await?;
        self.copy_database_properties(&admin, source, reference)
            .await
    }

    /// Removes the database and keeps the branch's row with the reason.
    async fn fail_branch(
        &self,
        reference: &ProjectRef,
        job: Uuid,
        reason: &str,
    ) -> Result<(), PlatformError> {
        let sql = "update platform.branches set failure = $2, updated_at = now() where ref = $1";
        let tables = self.tables().await?;
        tables.execute(sql, &[&reference.as_str(), &reason]).await?;
        drop(tables);
        let name = ProjectName::Ref(reference.clone());
        let branch = self.load_project(&name).await?;
        self.remove_database(&branch).await?;
        self.set_status(reference, plinth_project::ProjectStatus::Removed)
            .await?;
        self.end_job(job, Some(reason)).await
    }
}

async fn create_loader(
    admin: &Client,
    reference: &ProjectRef,
    password: &Secret,
) -> Result<(), PlatformError> {
    let loader = QuotedIdent::new(&loader_name(reference));
    let database = QuotedIdent::new(reference.as_str());
    let verifier = QuotedLiteral::new(&scram_sha_256(password.expose().as_bytes()));
    Ok(admin
        .batch_execute(&format!(
            "create role {loader} login password {verifier};
             grant pg_read_all_data, pg_write_all_data to {loader};
             grant connect on database {database} to {loader};"
        ))
        .await?)
}

async fn drop_loader(admin: &Client, reference: &ProjectRef) -> Result<(), PlatformError> {
    let loader = QuotedIdent::new(&loader_name(reference));
    let database = QuotedIdent::new(reference.as_str());
    Ok(admin
        .batch_execute(&format!(
            "revoke connect on database {database} from {loader}; drop role {loader};"
        ))
        .await?)
}

/// The message for the operator, who may see PostgreSQL's errors about their own database.
fn reason(error: &PlatformError) -> String {
    match error {
        PlatformError::Internal(cause) => cause.to_string(),
        error => error.to_string(),
    }
}

impl From<DumpError> for PlatformError {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::Database(error) => error.into(),
            error @ (DumpError::Unsupported(_) | DumpError::Locked(_)) => {
                Self::Conflict(error.to_string())
            }
            error => Self::Internal(error.into()),
        }
    }
}
