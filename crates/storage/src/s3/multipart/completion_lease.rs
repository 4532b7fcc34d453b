//! One request at a time completes an upload, on whichever node.

use std::time::Duration;

use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};
use tokio::{task::AbortHandle, time::sleep};
use uuid::Uuid;

use crate::error::{Code, StorageError};

/// How long the lease lasts unless it is renewed: so long a killed process blocks others.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// The exclusive right to complete an upload. Must be released; dropped, it expires.
pub(super) struct CompletionLease {
    db: ProjectDb,
    upload: String,
    lease: Uuid,
    renewal: AbortHandle,
}

impl CompletionLease {
    /// Fails at once if another request completes the upload: that may take long.
    pub(super) async fn acquire(db: &ProjectDb, upload: &str) -> Result<Self, StorageError> {
        // Also removes leases of killed processes.
        const SQL: &str = "
            with stale as (
                delete from plinth.multipart_completion
                where lease_until < now() - interval '1 hour' and upload_id <> $1
            )
            insert into plinth.multipart_completion as c (upload_id, lease_id, lease_until)
            values ($1, $2, now() + make_interval(secs => $3))
            on conflict (upload_id) do update set
                lease_id = excluded.lease_id,
                lease_until = excluded.lease_until
            where c.lease_until < now()
        ";
        let lease = Uuid::new_v4();
        let mut connection = db.as_service(Service::Storage).await?;
        let params: plinth_db::Params<'_> = &[&upload, &lease, &LEASE_DURATION.as_secs_f64()];
        if connection.execute(SQL, params).await? == 0 {
            return Err(in_progress());
        }
        let renewal = keep_renewing(db.clone(), upload.to_owned(), lease);
        Ok(Self {
            db: db.clone(),
            upload: upload.to_owned(),
            lease,
            renewal,
        })
    }

    /// Lets another request try.
    pub(super) async fn release(self) {
        const SQL: &str = "
            delete from plinth.multipart_completion where upload_id = $1 and lease_id = $2
        ";
        self.renewal.abort();
        let released = async {
            let mut connection = self.db.as_service(Service::Storage).await?;
            connection.execute(SQL, &[&self.upload, &self.lease]).await
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, "cannot release the lease of a multipart completion, it will expire: {error}");
        }
    }
}

impl Drop for CompletionLease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

fn keep_renewing(db: ProjectDb, upload: String, lease: Uuid) -> AbortHandle {
    let renewing = async move {
        loop {
            sleep(RENEWAL_INTERVAL).await;
            // The database may be back before the lease expires. If not, another request may do the
            // same work, and one of both creates the object.
            if let Err(error) = renew(&db, &upload, lease).await {
                tracing::warn!(%error, "cannot renew the lease of a multipart completion: {error}");
            }
        }
    };
    tokio::spawn(renewing).abort_handle()
}

async fn renew(db: &ProjectDb, upload: &str, lease: Uuid) -> Result<(), DbError> {
    const SQL: &str = "
        update plinth.multipart_completion set lease_until = now() + make_interval(secs => $3)
        where upload_id = $1 and lease_id = $2
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let params: plinth_db::Params<'_> = &[&upload, &lease, &LEASE_DURATION.as_secs_f64()];
    connection.execute(SQL, params).await?;
    Ok(())
}

/// With the message of S3.
fn in_progress() -> StorageError {
    let message = "A conflicting conditional operation is currently in progress against this \
                   resource. Please try again.";
    StorageError::new(Code::OperationAborted, 409, message)
}
