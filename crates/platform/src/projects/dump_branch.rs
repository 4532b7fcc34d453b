//! A branch of a project with other sessions: dump and restore as a job.
//!
//! The source is read in one snapshot and stays usable. The branch is COMING_UP meanwhile; a killed
//! process leaves that row and an incomplete database, which the next start removes.

use plinth_db::{QuotedIdent, QuotedLiteral};
use plinth_dump::{DumpError, Progress, Restoration, Snapshot, restore};
use plinth_project::{Logins, ProjectName, ProjectRef, ProjectServers as _};
use plinth_token::{Secret, generate_password};
use postgres_protocol::password::scram_sha_256;
use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use super::{ProjectRow, create::create_logins};
use crate::{
    Platform, PlatformError,
    jobs::{JobContext, JobKind, JobProgress, JobRequest, reason},
};

/// The login that inserts rows while a branch is restored. Check constraints and generated columns
/// call functions of users, which must not run in the administrator's session.
pub(super) fn loader_name(reference: &ProjectRef) -> String {
    format!("loader_{reference}")
}

/// Each copies a whole database.
const BRANCH_JOB: JobKind = JobKind {
    name: "branch",
    max_running: 2,
};

impl Platform {
    /// Starts the job and returns its id.
    pub(super) async fn start_dump(
        &self,
        source: ProjectRow,
        reference: &ProjectRef,
        logins: Logins,
        requested_by: Option<&str>,
    ) -> Result<Uuid, PlatformError> {
        let (platform, branch) = (self.clone(), reference.clone());
        let request = JobRequest {
            project: Some(reference),
            created_by: requested_by,
            input: None,
        };
        self.run_job(BRANCH_JOB, request, async move |job: JobContext| {
            let made = job.until_cancelled(platform.run_dump(&job, &source, &branch, &logins));
            if let Err(error) = made.await {
                let reason = reason(&error);
                tracing::warn!(project = %branch, "creating a branch failed: {reason}");
                platform.fail_branch(&branch, &reason).await;
                return Err(error);
            }
            Ok(Value::Null)
        })
        .await
    }

    async fn run_dump(
        &self,
        job: &JobContext,
        source: &ProjectRow,
        reference: &ProjectRef,
        logins: &Logins,
    ) -> Result<(), PlatformError> {
        self.dump_and_restore(source, reference, logins, job)
            .await?;
        self.activate_branch(&source.reference, reference).await
    }

    async fn dump_and_restore(
        &self,
        source: &ProjectRow,
        reference: &ProjectRef,
        logins: &Logins,
        job: &JobContext,
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
            job.report(JobProgress {
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
    async fn fail_branch(&self, reference: &ProjectRef, reason: &str) {
        let cleaned = async {
            let sql =
                "update platform.branches set failure = $2, updated_at = now() where ref = $1";
            let tables = self.tables().await?;
            tables.execute(sql, &[&reference.as_str(), &reason]).await?;
            drop(tables);
            let name = ProjectName::Ref(reference.clone());
            let branch = self.load_project(&name).await?;
            self.remove_database(&branch).await?;
            self.set_status(reference, plinth_project::ProjectStatus::Removed)
                .await?;
            Ok::<_, PlatformError>(())
        };
        if let Err(error) = cleaned.await {
            tracing::warn!(
                project = %reference,
                "cleanup of a branch job failed, retrying at the next start: {error}"
            );
        }
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
