//! One request at a time completes an upload, whichever node it came to.

use std::time::Duration;

use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};
use tokio::{task::AbortHandle, time::sleep};
use uuid::Uuid;

use crate::error::{Code, StorageError};

/// How long a turn lasts unless it is renewed: so long others wait for a process that was killed.
const LEASE: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_secs(3);

/// The turn of whoever completes an upload. Must be released; dropped, it ends by itself after a
/// while.
pub(super) struct Turn {
    db: ProjectDb,
    upload: String,
    lease: Uuid,
    renewal: AbortHandle,
}

impl Turn {
    /// Refuses at once where another request completes the upload: that may take long.
    pub(super) async fn take(db: &ProjectDb, upload: &str) -> Result<Self, StorageError> {
        // Rows of processes that were killed are in nobody's way, but need not stay for ever.
        const SQL: &str = "
            with left_behind as (
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
        let params: plinth_db::Params<'_> = &[&upload, &lease, &LEASE.as_secs_f64()];
        if connection.execute(SQL, params).await? == 0 {
            return Err(under_way());
        }
        let renewal = keep_renewing(db.clone(), upload.to_owned(), lease);
        Ok(Self {
            db: db.clone(),
            upload: upload.to_owned(),
            lease,
            renewal,
        })
    }

    /// Lets the next one try.
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
            tracing::warn!(%error, "an upload cannot be completed for a moment: {error}");
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

fn keep_renewing(db: ProjectDb, upload: String, lease: Uuid) -> AbortHandle {
    let renewing = async move {
        loop {
            sleep(RENEWAL).await;
            // The database may be back before the turn is over; and if not, whoever comes next does
            // the same work, and one of both makes the object.
            if let Err(error) = renew(&db, &upload, lease).await {
                tracing::warn!(%error, "a completion may lose its turn: {error}");
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
    let params: plinth_db::Params<'_> = &[&upload, &lease, &LEASE.as_secs_f64()];
    connection.execute(SQL, params).await?;
    Ok(())
}

/// In the words of S3.
fn under_way() -> StorageError {
    let message = "A conflicting conditional operation is currently in progress against this \
                   resource. Please try again.";
    StorageError::new(Code::OperationAborted, 409, message)
}
