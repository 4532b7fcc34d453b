//! Hashing is slow on purpose, so it has threads of its own: as many as there are cores, and a
//! queue that refuses at once what it could not get to in time.

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
use crate::{AuthError, error::Code, random};

/// At the usual cost a thread works these off in about four seconds, well within the time that a
/// request may take.
const WAITING_PER_THREAD: usize = 64;

/// Hashes on a bounded number of threads, off the runtime's own. They end with the last handle.
pub(crate) struct Hasher {
    queue: SyncSender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

/// What comparing a password said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_match: bool,
    /// The hash is of another kind than new ones are, or cheaper to guess.
    pub(crate) needs_rehash: bool,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self::with(threads, threads * WAITING_PER_THREAD)
    }

    fn with(threads: usize, waiting: usize) -> Self {
        let (queue, jobs) = sync_channel(waiting);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..threads {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new()
                .name(format!("passwords-{number}"))
                .spawn(move || work(&jobs))
                .expect("a few threads can be started when the service is");
        }
        Self { queue }
    }

    /// A new hash. What is longer than bcrypt reads must have been refused before
    /// ([`super::check_length`]).
    pub(crate) async fn hash(&self, password: &str, cost: u32) -> Result<String, AuthError> {
        let password = password.to_owned();
        let hashed = self.run(move || bcrypt_hash(&password, cost)).await?;
        hashed.map_err(|error| AuthError::internal("Unexpected failure", error))
    }

    /// Compares with a stored hash of any known kind. One that nobody can read matches nothing,
    /// and takes as long.
    pub(crate) async fn verify(
        &self,
        hash: &str,
        password: &str,
        cost: u32,
    ) -> Result<Verdict, AuthError> {
        let Some(stored) = StoredHash::parse(hash) else {
            self.pretend(password, cost).await?;
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
    pub(crate) async fn pretend(&self, password: &str, cost: u32) -> Result<(), AuthError> {
        let password = password.to_owned();
        self.run(move || bcrypt_hash(&password, cost)).await?.ok();
        Ok(())
    }

    /// Runs `work` on one of the threads, unless the queue is full or the caller has gone before
    /// its turn comes.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AuthError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !answer.is_closed() {
                answer.send(work()).ok();
            }
        });
        match self.queue.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(overloaded()),
            Err(TrySendError::Disconnected(_)) => return Err(broken()),
        }
        answered.await.map_err(|_| broken())
    }
}

/// Until the last handle is gone.
fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting: whoever has it is the next to work.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else {
            return;
        };
        // The caller sees a failure, the thread lives on.
        catch_unwind(AssertUnwindSafe(job)).ok();
    }
}

/// With the prefix that GoTrue and pgcrypto write, too.
fn bcrypt_hash(password: &str, cost: u32) -> Result<String, bcrypt::BcryptError> {
    let parts = bcrypt::hash_with_salt(password, cost, random::bytes())?;
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

fn overloaded() -> AuthError {
    AuthError::new(
        503,
        Code::RequestTimeout,
        "Too many passwords are being checked at the moment, try again shortly",
    )
}

fn broken() -> AuthError {
    AuthError::internal("Unexpected failure", "a password was never hashed")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::{Duration, Instant},
    };

    use super::*;

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
    async fn a_hash_that_nobody_can_read_matches_nothing() {
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

    /// One thread is kept busy until the returned flag is set.
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
    async fn a_full_queue_refuses_at_once_and_recovers() {
        let (hasher, release) = busy(1);
        let waiting = tokio::spawn({
            let hasher = Arc::clone(&hasher);
            async move { hasher.hash("waits", CHEAP).await }
        });
        tokio::task::yield_now().await;

        let asked = Instant::now();
        let refused = hasher.hash("one too many", CHEAP).await;

        let refused = refused.expect_err("the queue is full");
        assert!(asked.elapsed() < Duration::from_millis(100));
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.code(), Code::RequestTimeout);
        release.store(true, Ordering::SeqCst);
        assert!(waiting.await.expect("joined").is_ok());
        assert!(hasher.hash("again", CHEAP).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_computed_for_a_caller_who_went_away() {
        let (hasher, release) = busy(8);
        let was_computed = Arc::new(AtomicBool::new(false));
        let asked = tokio::spawn({
            let (hasher, was_computed) = (Arc::clone(&hasher), Arc::clone(&was_computed));
            async move {
                hasher
                    .run(move || was_computed.store(true, Ordering::SeqCst))
                    .await
            }
        });
        tokio::task::yield_now().await;

        asked.abort();
        assert!(asked.await.expect_err("aborted").is_cancelled());
        release.store(true, Ordering::SeqCst);

        assert!(hasher.hash("behind it", CHEAP).await.is_ok());
        assert!(!was_computed.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_costs_one_answer_and_no_thread() {
        let hasher = Hasher::with(1, 8);
        let lost: Result<(), _> = hasher.run(|| panic!("expected by the test")).await;
        assert_eq!(lost.expect_err("no answer").status(), 500);
        assert!(hasher.hash("still there", CHEAP).await.is_ok());
    }

    #[tokio::test]
    async fn users_who_do_not_exist_take_as_long_as_wrong_passwords() {
        let hasher = Hasher::new();
        let hash = hasher.hash("password", 8).await.expect("hashed");
        // The fastest of many is what the machine's other work disturbs least; while it has much to
        // do, many are needed.
        let (mut real, mut pretended) = (f64::MAX, f64::MAX);
        let mut ratio = 0.0;
        for round in 0..200 {
            let at = Instant::now();
            hasher.verify(&hash, "wrong", 8).await.expect("compared");
            real = real.min(at.elapsed().as_secs_f64());
            let at = Instant::now();
            hasher.pretend("wrong", 8).await.expect("pretended");
            pretended = pretended.min(at.elapsed().as_secs_f64());
            ratio = real / pretended;
            if round > 15 && (0.67..1.5).contains(&ratio) {
                break;
            }
        }
        assert!((0.67..1.5).contains(&ratio), "{ratio}");
    }
}
