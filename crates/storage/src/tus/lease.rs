//! One request at a time writes to an upload (storage contract §5, §14.5).
//!
//! Within this process a request that wants the upload asks the holder of its lock to release it,
//! and waits until it has. Between nodes the row of the upload has a lease; the holder renews it
//! while bytes flow, and learns then that another request waits. A lease is shorter than the usual
//! wait for it, so that a killed process blocks no other for long.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use plinth_db::{DbError, Queries as _};
use plinth_project::{ProjectDb, Service};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep, timeout_at},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{error::UploadError, store::Upload, upload_id::UploadId};
use crate::{blobs::Version, error::StorageError, request::RequestContext};

/// How long a lease lasts unless it is renewed.
const LEASE_DURATION: Duration = Duration::from_secs(4);
/// How often it is renewed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a lease that another node holds is tried again.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The exclusive use of an upload. Must be released; dropped, it expires.
pub(super) struct Lease {
    id: Uuid,
    db: ProjectDb,
    lock: LocalLock,
    renewal: AbortHandle,
}

impl Lease {
    /// Waits for the lease, and gives the state of the upload under it.
    pub(super) async fn acquire(
        context: &RequestContext,
        id: &UploadId,
    ) -> Result<(Self, Upload), StorageError> {
        let deadline = Instant::now() + context.config.resumable_lock_wait;
        let db = &context.project.db;
        let locks = context.project.service_state(LocalLocks::default);
        let lock = locks.acquire(id.version, deadline).await?;
        let lease = Uuid::new_v4();
        while !try_acquire(db, &id.version, lease).await? {
            if !request_release(db, &id.version).await? {
                return Err(UploadError::NotFound.into());
            }
            if Instant::now() >= deadline {
                return Err(UploadError::LockTimeout.into());
            }
            sleep(POLL_INTERVAL).await;
        }
        let renewal = keep_renewing(
            db.clone(),
            id.version,
            lease,
            lock.release_requested.clone(),
        );
        let acquired = Self {
            id: lease,
            db: db.clone(),
            lock,
            renewal,
        };
        match Upload::find(db, id).await {
            Ok(Some(upload)) => Ok((acquired, upload)),
            found => {
                acquired.release().await;
                found?;
                Err(UploadError::NotFound.into())
            }
        }
    }

    /// Statements that only the holder may run check this.
    pub(super) fn id(&self) -> Uuid {
        self.id
    }

    /// Waits until another request wants the upload, or the lease is lost.
    pub(super) async fn release_requested(&self) {
        self.lock.release_requested.cancelled().await;
    }

    /// Whether the lease is still held; renews it.
    pub(super) async fn is_held(&self) -> Result<bool, DbError> {
        Ok(renew(&self.db, &self.lock.version, self.id)
            .await?
            .is_some())
    }

    /// Lets the next request have the upload.
    pub(super) async fn release(self) {
        const SQL: &str = "
            update plinth.resumable_upload set
                lease_id = null, lease_until = null, lease_is_wanted = false
            where version = $1 and lease_id = $2
        ";
        self.renewal.abort();
        let released = async {
            let mut connection = self.db.as_service(Service::Storage).await?;
            let version = self.lock.version.uuid();
            connection.execute(SQL, &[&version, &self.id]).await
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, "cannot release the lease of a resumable upload, it will expire: {error}");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// The uploads that requests in this process write to.
#[derive(Default)]
struct LocalLocks(Mutex<HashMap<Version, Signals>>);

#[derive(Clone, Default)]
struct Signals {
    release_requested: CancellationToken,
    released: CancellationToken,
}

/// The lock of an upload within this process, until it is dropped.
struct LocalLock {
    version: Version,
    release_requested: CancellationToken,
    locks: Arc<LocalLocks>,
}

impl LocalLocks {
    async fn acquire(
        self: &Arc<Self>,
        version: Version,
        deadline: Instant,
    ) -> Result<LocalLock, StorageError> {
        loop {
            let holder = match self.lock().entry(version) {
                Entry::Occupied(holder) => holder.get().clone(),
                Entry::Vacant(entry) => {
                    let signals = entry.insert(Signals::default());
                    return Ok(LocalLock {
                        version,
                        release_requested: signals.release_requested.clone(),
                        locks: self.clone(),
                    });
                }
            };
            holder.release_requested.cancel();
            let released = timeout_at(deadline, holder.released.cancelled()).await;
            released.map_err(|_| UploadError::LockTimeout)?;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Version, Signals>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        if let Some(signals) = self.locks.lock().remove(&self.version) {
            signals.released.cancel();
        }
    }
}

/// Takes the lease in the row if it is free.
async fn try_acquire(db: &ProjectDb, version: &Version, lease: Uuid) -> Result<bool, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set
            lease_id = $2,
            lease_until = now() + make_interval(secs => $3),
            lease_is_wanted = false
        where version = $1 and (lease_until is null or lease_until < now())
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let params: plinth_db::Params<'_> = &[&version.uuid(), &lease, &LEASE_DURATION.as_secs_f64()];
    Ok(connection.execute(SQL, params).await? > 0)
}

/// Asks the node that holds the lease to release it; `false` if there is no such upload.
async fn request_release(db: &ProjectDb, version: &Version) -> Result<bool, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set lease_is_wanted = true where version = $1
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    Ok(connection.execute(SQL, &[&version.uuid()]).await? > 0)
}

/// Extends the lease. Gives whether another request waits for it; `None` if it is lost.
async fn renew(db: &ProjectDb, version: &Version, lease: Uuid) -> Result<Option<bool>, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set lease_until = now() + make_interval(secs => $3)
        where version = $1 and lease_id = $2
        returning lease_is_wanted
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let params: plinth_db::Params<'_> = &[&version.uuid(), &lease, &LEASE_DURATION.as_secs_f64()];
    let row = connection.query_opt(SQL, params).await?;
    Ok(row.map(|row| row.get("lease_is_wanted")))
}

/// Renews the lease until the handle is aborted, and passes on that its release is requested.
fn keep_renewing(
    db: ProjectDb,
    version: Version,
    lease: Uuid,
    release_requested: CancellationToken,
) -> AbortHandle {
    let renewing = async move {
        loop {
            sleep(RENEWAL_INTERVAL).await;
            match renew(&db, &version, lease).await {
                // The database may be back before the lease expires.
                Ok(Some(false)) | Err(_) => {}
                // A holder that still writes checks the lease once more at the end.
                Ok(Some(true) | None) => release_requested.cancel(),
            }
        }
    };
    tokio::spawn(renewing).abort_handle()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[tokio::test]
    async fn a_waiting_request_asks_the_holder_to_release_the_lock() {
        let locks = Arc::new(LocalLocks::default());
        let version = Version::generate();
        let first = locks.acquire(version, soon()).await.expect("the lock");
        assert!(!first.release_requested.is_cancelled());

        let follower = tokio::spawn({
            let locks = locks.clone();
            let later = Instant::now() + Duration::from_secs(10);
            async move { locks.acquire(version, later).await.is_ok() }
        });
        first.release_requested.cancelled().await;
        assert!(!follower.is_finished());
        drop(first);

        assert!(follower.await.expect("no panic"));
        assert!(locks.lock().is_empty(), "released locks are removed");
    }

    #[tokio::test]
    async fn waiting_times_out_and_other_uploads_do_not_wait() {
        let locks = Arc::new(LocalLocks::default());
        let version = Version::generate();
        let _holder = locks.acquire(version, soon()).await.expect("the lock");

        let timed_out = locks.acquire(version, soon()).await.err();
        let message = timed_out.map(|error| error.message().to_owned());
        assert_eq!(message.as_deref(), Some("acquiring lock timeout"));
        assert!(locks.acquire(Version::generate(), soon()).await.is_ok());
    }
}
