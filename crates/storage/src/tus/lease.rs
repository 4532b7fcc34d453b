//! One request at a time goes on with an upload (storage contract §5, §14.5).
//!
//! Within this process a request that wants its turn tells the one that has it to stop, and waits
//! until it has: that is quick and exact. Between processes the upload's row says whose turn it is,
//! and until when; the holder renews it while bytes flow, and learns then that another one waits.
//! A lease is shorter than the usual wait for it, so that nobody waits in vain for a process that
//! was killed.

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

use super::{
    refusal::{lock_timeout, no_such_upload},
    store::Upload,
    upload_id::UploadId,
};
use crate::{blobs::Version, error::StorageError, request::Context};

/// How long a row is taken at a time.
const LEASE: Duration = Duration::from_secs(4);
/// How often that is renewed.
const RENEWAL: Duration = Duration::from_secs(1);
/// How often a row that another process has is looked at again.
const POLL: Duration = Duration::from_millis(250);

/// The right to go on with an upload. Must be released; dropped, it ends by itself after a while.
pub(super) struct Lease {
    id: Uuid,
    db: ProjectDb,
    turn: Turn,
    renewal: AbortHandle,
}

impl Lease {
    /// Waits for the upload's turn, and gives what is known of it then.
    pub(super) async fn take(
        context: &Context,
        id: &UploadId,
    ) -> Result<(Self, Upload), StorageError> {
        let deadline = Instant::now() + context.config.resumable_lock_wait;
        let db = &context.project.db;
        let writers = context.project.attached(Writers::default);
        let turn = writers.wait(id.version, deadline).await?;
        let lease = Uuid::new_v4();
        while !try_row(db, &id.version, lease).await? {
            if !ask_for_row(db, &id.version).await? {
                return Err(no_such_upload());
            }
            if Instant::now() >= deadline {
                return Err(lock_timeout());
            }
            sleep(POLL).await;
        }
        let renewal = keep_renewing(db.clone(), id.version, lease, turn.wanted.clone());
        let taken = Self {
            id: lease,
            db: db.clone(),
            turn,
            renewal,
        };
        match Upload::find(db, id).await {
            Ok(Some(upload)) => Ok((taken, upload)),
            found => {
                taken.release().await;
                found?;
                Err(no_such_upload())
            }
        }
    }

    /// What only the holder may write bears this.
    pub(super) fn id(&self) -> Uuid {
        self.id
    }

    /// Another request waits for its turn, or this one's is over.
    pub(super) async fn is_wanted(&self) {
        self.turn.wanted.cancelled().await;
    }

    /// Whether nobody has taken the row meanwhile.
    pub(super) async fn is_held(&self) -> Result<bool, DbError> {
        Ok(renew(&self.db, &self.turn.version, self.id)
            .await?
            .is_some())
    }

    /// Lets the next one go on.
    pub(super) async fn release(self) {
        const SQL: &str = "
            update plinth.resumable_upload set
                lease_id = null, lease_until = null, lease_is_wanted = false
            where version = $1 and lease_id = $2
        ";
        self.renewal.abort();
        let released = async {
            let mut connection = self.db.as_service(Service::Storage).await?;
            let version = self.turn.version.uuid();
            connection.execute(SQL, &[&version, &self.id]).await
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, "a resumable upload stays taken for a moment: {error}");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Who writes in this process.
#[derive(Default)]
struct Writers(Mutex<HashMap<Version, Signals>>);

#[derive(Clone, Default)]
struct Signals {
    wanted: CancellationToken,
    over: CancellationToken,
}

/// A turn within this process, until it is dropped.
struct Turn {
    version: Version,
    wanted: CancellationToken,
    writers: Arc<Writers>,
}

impl Writers {
    async fn wait(
        self: &Arc<Self>,
        version: Version,
        deadline: Instant,
    ) -> Result<Turn, StorageError> {
        loop {
            let holder = match self.lock().entry(version) {
                Entry::Occupied(holder) => holder.get().clone(),
                Entry::Vacant(place) => {
                    let wanted = place.insert(Signals::default()).wanted.clone();
                    return Ok(Turn {
                        version,
                        wanted,
                        writers: self.clone(),
                    });
                }
            };
            holder.wanted.cancel();
            let over = timeout_at(deadline, holder.over.cancelled()).await;
            over.map_err(|_| lock_timeout())?;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Version, Signals>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(signals) = self.writers.lock().remove(&self.version) {
            signals.over.cancel();
        }
    }
}

/// Takes the row if nobody has it.
async fn try_row(db: &ProjectDb, version: &Version, lease: Uuid) -> Result<bool, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set
            lease_id = $2,
            lease_until = now() + make_interval(secs => $3),
            lease_is_wanted = false
        where version = $1 and (lease_until is null or lease_until < now())
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let params: plinth_db::Params<'_> = &[&version.uuid(), &lease, &LEASE.as_secs_f64()];
    Ok(connection.execute(SQL, params).await? > 0)
}

/// Lets the process that has the row know; `false` if there is no such upload.
async fn ask_for_row(db: &ProjectDb, version: &Version) -> Result<bool, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set lease_is_wanted = true where version = $1
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    Ok(connection.execute(SQL, &[&version.uuid()]).await? > 0)
}

/// Keeps the row for longer. Gives whether another one waits for it; `None` if it is lost.
async fn renew(db: &ProjectDb, version: &Version, lease: Uuid) -> Result<Option<bool>, DbError> {
    const SQL: &str = "
        update plinth.resumable_upload set lease_until = now() + make_interval(secs => $3)
        where version = $1 and lease_id = $2
        returning lease_is_wanted
    ";
    let mut connection = db.as_service(Service::Storage).await?;
    let params: plinth_db::Params<'_> = &[&version.uuid(), &lease, &LEASE.as_secs_f64()];
    let row = connection.query_opt(SQL, params).await?;
    Ok(row.map(|row| row.get("lease_is_wanted")))
}

/// Ends with the lease, or when it says that the lease should end.
fn keep_renewing(
    db: ProjectDb,
    version: Version,
    lease: Uuid,
    wanted: CancellationToken,
) -> AbortHandle {
    let renewing = async move {
        loop {
            sleep(RENEWAL).await;
            match renew(&db, &version, lease).await {
                // The database may be back before the lease is over.
                Ok(Some(false)) | Err(_) => {}
                // Whoever still writes after this renews once more by itself, at the end.
                Ok(Some(true) | None) => wanted.cancel(),
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
    async fn whoever_waits_tells_the_holder_and_follows_it() {
        let writers = Arc::new(Writers::default());
        let version = Version::generate();
        let first = writers.wait(version, soon()).await.expect("a turn");
        assert!(!first.wanted.is_cancelled());

        let follower = tokio::spawn({
            let writers = writers.clone();
            let later = Instant::now() + Duration::from_secs(10);
            async move { writers.wait(version, later).await.is_ok() }
        });
        first.wanted.cancelled().await;
        assert!(!follower.is_finished());
        drop(first);

        assert!(follower.await.expect("no panic"));
        assert!(writers.lock().is_empty(), "turns that are over are gone");
    }

    #[tokio::test]
    async fn nobody_waits_for_ever_and_other_uploads_do_not_wait_at_all() {
        let writers = Arc::new(Writers::default());
        let version = Version::generate();
        let _holder = writers.wait(version, soon()).await.expect("a turn");

        let refused = writers.wait(version, soon()).await.err();
        let message = refused.map(|error| error.message().to_owned());
        assert_eq!(message.as_deref(), Some("acquiring lock timeout"));
        assert!(writers.wait(Version::generate(), soon()).await.is_ok());
    }
}
