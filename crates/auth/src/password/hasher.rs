//! Password hashing on its own threads: one per core, with a bounded queue that rejects new work at
//! once when full.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use tokio::sync::oneshot;

use super::stored::StoredHash;
use crate::{AuthError, random};

/// At the usual cost a thread processes these in about four seconds, well within the time limit of
/// a request.
const QUEUE_PER_THREAD: usize = 64;

/// A pool of hashing threads outside the runtime. They end with the last handle.
pub(crate) struct Hasher {
    queue: SyncSender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_match: bool,
    /// The hash is of another algorithm than new ones, or of a lower cost.
    pub(crate) needs_rehash: bool,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self::with(threads, threads * QUEUE_PER_THREAD)
    }

    fn with(threads: usize, waiting: usize) -> Self {
        let (queue, jobs) = sync_channel(waiting);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..threads {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new()
                .name(format!("passwords-{number}"))
                .spawn(move || run_jobs(&jobs))
                .expect("a few threads can be started when the service is");
        }
        Self { queue }
    }

    /// A new hash. Callers must have rejected passwords that bcrypt would truncate
    /// ([`super::check_length`]).
    pub(crate) async fn hash(&self, password: &str, cost: u32) -> Result<String, AuthError> {
        let password = password.to_owned();
        let hashed = self.run(move || bcrypt_hash(&password, cost)).await?;
        hashed.map_err(AuthError::unexpected)
    }

    /// Compares with a stored hash of any known algorithm. An unknown one matches nothing, and
    /// takes as long.
    pub(crate) async fn verify(
        &self,
        hash: &str,
        password: &str,
        cost: u32,
    ) -> Result<Verdict, AuthError> {
        let Some(stored) = StoredHash::parse(hash) else {
            self.hash_dummy(password, cost).await?;
            return Ok(Verdict {
                is_match: false,
                needs_rehash: false,
            });
        };
        let password = password.to_owned();
        self.run(move || Verdict {
            is_match: stored.is_of(&password),
            needs_rehash: stored.is_outdated(cost) && super::check_length(&password).is_ok(),
        })
        .await
    }

    /// Takes as long as [`Self::verify`]: for users that do not exist or have no password.
    pub(crate) async fn hash_dummy(&self, password: &str, cost: u32) -> Result<(), AuthError> {
        let password = password.to_owned();
        self.run(move || bcrypt_hash(&password, cost)).await?.ok();
        Ok(())
    }

    /// Runs `job` on one of the threads, unless the queue is full or the caller is dropped before
    /// it starts.
    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AuthError> {
        let (sender, receiver) = oneshot::channel();
        let queued: Job = Box::new(move || {
            if !sender.is_closed() {
                sender.send(job()).ok();
            }
        });
        match self.queue.try_send(queued) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(AuthError::hash_queue_full()),
            Err(TrySendError::Disconnected(_)) => return Err(broken()),
        }
        receiver.await.map_err(|_| broken())
    }
}

/// Runs until the last handle is dropped.
fn run_jobs(jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The thread that waits for the next job holds the lock.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else {
            return;
        };
        // The caller gets an error, the thread continues.
        catch_unwind(AssertUnwindSafe(job)).ok();
    }
}

/// The cost of bcrypt for passwords that cannot be guessed. The usual one would make the creation
/// of a user measurably slower than a message to a known one.
const RANDOM_PASSWORD_COST: u32 = 4;

/// The hash of an unknown password. It takes about a millisecond, so it does not wait behind
/// real passwords: a full queue would reject new users only.
pub(crate) fn hash_of_random() -> Result<String, AuthError> {
    let password = random::url_text::<32>();
    bcrypt_hash(&password, RANDOM_PASSWORD_COST).map_err(AuthError::unexpected)
}

/// With the prefix of GoTrue and pgcrypto.
fn bcrypt_hash(password: &str, cost: u32) -> Result<String, bcrypt::BcryptError> {
    let parts = bcrypt::hash_with_salt(password, cost, random::bytes())?;
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

fn broken() -> AuthError {
    AuthError::unexpected("a password was never hashed")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::{Duration, Instant},
    };

    use super::*;
    use crate::error::Code;

    const CHEAP: u32 = 4;

    #[tokio::test]
    async fn a_new_hash_is_of_its_password_alone() {
        let hasher = Hasher::new();

        let hash = hasher.hash("correct horse", CHEAP).await.expect("hashed");

        assert!(hash.starts_with("$2a$04$"), "{hash}");
        let right = hasher.verify(&hash, "correct horse", CHEAP).await;
        let wrong = hasher.verify(&hash, "correct house", CHEAP).await;
        assert!(right.expect("compared").is_match);
        assert!(!wrong.expect("compared").is_match);
    }

    #[tokio::test]
    async fn the_same_password_has_another_hash_each_time() {
        let hasher = Hasher::new();
        let one = hasher.hash("same", CHEAP).await.expect("hashed");
        let other = hasher.hash("same", CHEAP).await.expect("hashed");
        assert_ne!(one, other);
    }

    #[tokio::test]
    async fn cheaper_hashes_are_to_be_replaced_and_dearer_ones_are_not() {
        let hasher = Hasher::new();
        let hash = hasher.hash("password", 5).await.expect("hashed");
        let mut needs_rehash = Vec::new();
        for cost in [4, 5, 6] {
            let verdict = hasher.verify(&hash, "password", cost).await;
            needs_rehash.push(verdict.expect("compared").needs_rehash);
        }
        assert_eq!(needs_rehash, [false, false, true]);
    }

    #[tokio::test]
    async fn an_unknown_hash_format_matches_nothing() {
        let hasher = Hasher::new();
        for hash in [
            "",
            "password",
            "$2a$04$short",
            "$argon2id$",
            "$fbscrypt$v=2",
        ] {
            let verdict = hasher.verify(hash, "password", CHEAP).await;
            assert!(!verdict.expect(hash).is_match, "{hash}");
        }
    }

    /// Blocks one thread until the returned flag is set.
    fn busy(waiting: usize) -> (Arc<Hasher>, Arc<AtomicBool>) {
        let hasher = Arc::new(Hasher::with(1, waiting));
        let (started, release) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let job: Job = Box::new({
            let (started, release) = (Arc::clone(&started), Arc::clone(&release));
            move || {
                started.store(true, Ordering::SeqCst);
                while !release.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            }
        });
        assert!(hasher.queue.try_send(job).is_ok());
        while !started.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        (hasher, release)
    }

    #[tokio::test]
    async fn a_full_queue_rejects_at_once_and_recovers() {
        let (hasher, release) = busy(1);
        let waiting = tokio::spawn({
            let hasher = Arc::clone(&hasher);
            async move { hasher.hash("waits", CHEAP).await }
        });
        tokio::task::yield_now().await;

        let started = Instant::now();
        let rejected = hasher.hash("one too many", CHEAP).await;

        let rejected = rejected.expect_err("the queue is full");
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(rejected.status(), 503);
        assert_eq!(rejected.code(), Code::RequestTimeout);
        release.store(true, Ordering::SeqCst);
        assert!(waiting.await.expect("joined").is_ok());
        assert!(hasher.hash("again", CHEAP).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_computed_for_a_caller_who_went_away() {
        let (hasher, release) = busy(8);
        let was_computed = Arc::new(AtomicBool::new(false));
        let started = tokio::spawn({
            let (hasher, was_computed) = (Arc::clone(&hasher), Arc::clone(&was_computed));
            async move {
                hasher
                    .run(move || was_computed.store(true, Ordering::SeqCst))
                    .await
            }
        });
        tokio::task::yield_now().await;

        started.abort();
        assert!(started.await.expect_err("aborted").is_cancelled());
        release.store(true, Ordering::SeqCst);

        assert!(hasher.hash("behind it", CHEAP).await.is_ok());
        assert!(!was_computed.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_costs_one_request_and_no_thread() {
        let hasher = Hasher::with(1, 8);
        let lost: Result<(), _> = hasher.run(|| panic!("expected by the test")).await;
        assert_eq!(lost.expect_err("no response").status(), 500);
        assert!(hasher.hash("still there", CHEAP).await.is_ok());
    }

    #[tokio::test]
    async fn users_who_do_not_exist_take_as_long_as_wrong_passwords() {
        let hasher = Hasher::new();
        let hash = hasher.hash("password", 8).await.expect("hashed");
        // The minimum of many runs is least disturbed by other load; under load, many are needed.
        let (mut real, mut pretended) = (f64::MAX, f64::MAX);
        let mut ratio = 0.0;
        for round in 0..200 {
            let at = Instant::now();
            hasher.verify(&hash, "wrong", 8).await.expect("compared");
            real = real.min(at.elapsed().as_secs_f64());
            let at = Instant::now();
            hasher.hash_dummy("wrong", 8).await.expect("pretended");
            pretended = pretended.min(at.elapsed().as_secs_f64());
            ratio = real / pretended;
            if round > 15 && (0.67..1.5).contains(&ratio) {
                break;
            }
        }
        assert!((0.67..1.5).contains(&ratio), "{ratio}");
    }
}
