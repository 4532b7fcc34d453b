//! Deduplicates concurrent calls with the same key and caches their results briefly (A20, A21).
//!
//! A call continues when its first caller is cancelled: a browser that closes its connection must not
//! leave a refresh token used and its successor lost (A14).

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use plinth_client::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// Calls in flight and cached results, by key. Keys are hashes of credentials.
pub(crate) struct SingleFlight<T> {
    entries: Mutex<LruCache<String, Entry<T>>>,
    permits: Arc<Semaphore>,
    call_timeout: Duration,
}

struct Entry<T> {
    result_receiver: watch::Receiver<Option<Completed<T>>>,
    /// Set when the result must not be returned any more, not even to current waiters.
    is_invalidated: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Completed<T> {
    result: T,
    until_ms: i64,
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// Limits the number of keys, of concurrent calls, and the duration of each call.
    pub(crate) fn new(
        max_entries: NonZeroUsize,
        max_concurrent: usize,
        call_timeout: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::new(LruCache::sparse(max_entries)),
            permits: Arc::new(Semaphore::new(max_concurrent)),
            call_timeout,
        })
    }

    /// The result for this key: a cached one, that of the call in flight, or of `call`, which also returns
    /// how long its result may be cached.
    ///
    /// `None` on timeout (`wait` includes waiting for a permit), or when the result was
    /// [invalidated](Self::invalidate) meanwhile. The call itself continues, up to the call timeout: a hanging
    /// one would hold its permit.
    pub(crate) async fn join<F>(
        self: &Arc<Self>,
        key: &str,
        clock: &Arc<dyn Clock>,
        wait: Duration,
        call: F,
    ) -> Option<T>
    where
        F: Future<Output = (T, Duration)> + Send + 'static,
    {
        let joined = async {
            let (mut result_receiver, is_invalidated) = match self.token_cache(key, clock.now_ms())
            {
                Some(single_flight) => single_flight,
                None => {
                    let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
                    self.start(key, clock, permit, call)
                }
            };
            let completed = result_receiver.wait_for(Option::is_some).await.ok()?;
            let result = completed.as_ref().map(|completed| completed.result.clone());
            result.filter(|_| !is_invalidated.load(Ordering::Acquire))
        };
        timeout(wait, joined).await.ok().flatten()
    }

    /// A cached result, without making a call.
    pub(crate) fn cached(&self, key: &str, now_ms: i64) -> Option<T> {
        let (result_receiver, is_invalidated) = self.token_cache(key, now_ms)?;
        let completed = result_receiver.borrow();
        let result = completed.as_ref().map(|completed| completed.result.clone());
        result.filter(|_| !is_invalidated.load(Ordering::Acquire))
    }

    /// Invalidates the result of a key and all results that match. Calls in flight for that key end without
    /// one.
    pub(crate) fn invalidate(&self, key: &str, is_match: impl Fn(&T) -> bool) {
        self.entries().retain(|token_cache, single_flight| {
            let completed = single_flight.result_receiver.borrow();
            let is_affected = token_cache == key
                || completed
                    .as_ref()
                    .is_some_and(|completed| is_match(&completed.result));
            if is_affected {
                single_flight.is_invalidated.store(true, Ordering::Release);
            }
            !is_affected
        });
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    fn token_cache(&self, key: &str, now_ms: i64) -> Option<EntryHandle<T>> {
        find(&self.entries(), key, now_ms)
    }

    fn start<F>(
        self: &Arc<Self>,
        key: &str,
        clock: &Arc<dyn Clock>,
        permit: OwnedSemaphorePermit,
        call: F,
    ) -> EntryHandle<T>
    where
        F: Future<Output = (T, Duration)> + Send + 'static,
    {
        let (sender, result_receiver) = watch::channel(None);
        let is_invalidated = Arc::new(AtomicBool::new(false));
        let single_flight = Entry {
            result_receiver: result_receiver.clone(),
            is_invalidated: Arc::clone(&is_invalidated),
        };
        {
            let mut entries = self.entries();
            // Another call may have started while we waited for the permit.
            if let Some(single_flight) = find(&entries, key, clock.now_ms()) {
                return single_flight;
            }
            entries.push(key.to_owned(), single_flight);
        }

        let (this, clock, key, own) = (
            Arc::clone(self),
            Arc::clone(clock),
            key.to_owned(),
            result_receiver.clone(),
        );
        tokio::spawn(async move {
            let completed = timeout(this.call_timeout, call).await;
            drop(permit);
            let Ok((result, keep)) = completed else {
                tracing::warn!("an auth service call for a session timed out");
                this.remove(&key, &own);
                return;
            };
            let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
            let until_ms = clock.now_ms().saturating_add(keep_ms);
            sender.send_replace(Some(Completed { result, until_ms }));
            // Credentials stay in memory no longer than they are valid.
            tokio::time::sleep(keep).await;
            this.remove(&key, &own);
        });
        (result_receiver, is_invalidated)
    }

    fn remove(&self, key: &str, result_receiver: &watch::Receiver<Option<Completed<T>>>) {
        let mut entries = self.entries();
        let is_same =
            |single_flight: &Entry<T>| single_flight.result_receiver.same_channel(result_receiver);
        if entries.peek(key).is_some_and(is_same) {
            entries.pop(key);
        }
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<String, Entry<T>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does not promote the entry: the oldest are evicted first.
fn find<T>(entries: &LruCache<String, Entry<T>>, key: &str, now_ms: i64) -> Option<EntryHandle<T>> {
    let single_flight = entries.peek(key)?;
    let is_good = match &*single_flight.result_receiver.borrow() {
        Some(completed) => now_ms < completed.until_ms,
        // Without a sender there will never be a result.
        None => single_flight.result_receiver.has_changed().is_ok(),
    };
    is_good.then(|| {
        (
            single_flight.result_receiver.clone(),
            Arc::clone(&single_flight.is_invalidated),
        )
    })
}

type EntryHandle<T> = (watch::Receiver<Option<Completed<T>>>, Arc<AtomicBool>);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::future::join_all;
    use plinth_client::ManualClock;
    use tokio::sync::Notify;

    use super::*;

    const LONG: Duration = Duration::from_secs(5);
    const RETENTION: Duration = Duration::from_secs(10);

    struct Fixture {
        single_flight: Arc<SingleFlight<usize>>,
        manual: ManualClock,
        clock: Arc<dyn Clock>,
        calls: Arc<AtomicUsize>,
    }

    impl Fixture {
        fn new(max_entries: usize, max_concurrent: usize) -> Self {
            Self::with_calls_of(LONG, max_entries, max_concurrent)
        }

        fn with_calls_of(
            call_timeout: Duration,
            max_entries: usize,
            max_concurrent: usize,
        ) -> Self {
            let manual = ManualClock::at(1_000);
            Self {
                single_flight: SingleFlight::new(
                    NonZeroUsize::new(max_entries).unwrap(),
                    max_concurrent,
                    call_timeout,
                ),
                clock: Arc::new(manual.clone()),
                manual,
                calls: Arc::default(),
            }
        }

        /// Joins a call that gives its number once the gate opens.
        async fn join(&self, key: &str, gate: &Arc<Notify>, wait: Duration) -> Option<usize> {
            let (calls, gate) = (Arc::clone(&self.calls), Arc::clone(gate));
            let call = async move {
                let number = calls.fetch_add(1, Ordering::SeqCst) + 1;
                gate.notified().await;
                (number, RETENTION)
            };
            self.single_flight.join(key, &self.clock, wait, call).await
        }

        async fn join_at_once(&self, key: &str) -> Option<usize> {
            let gate = Arc::new(Notify::new());
            gate.notify_one();
            self.join(key, &gate, LONG).await
        }
    }

    #[tokio::test]
    async fn all_who_ask_at_once_share_one_call() {
        let fixture = Fixture::new(10, 64);
        let gate = Arc::new(Notify::new());
        let asking = (0..200).map(|_| fixture.join("k", &gate, LONG));

        let (results, ()) = tokio::join!(join_all(asking), async { gate.notify_one() });

        assert_eq!(results, [Some(1); 200]);
    }

    #[tokio::test]
    async fn a_result_is_kept_as_long_as_it_is_good() {
        let fixture = Fixture::new(10, 64);

        let cached = || fixture.single_flight.cached("k", fixture.manual.now_ms());
        assert_eq!(cached(), None);
        assert_eq!(fixture.join_at_once("k").await, Some(1));
        fixture.manual.advance(RETENTION - Duration::from_millis(1));
        assert_eq!(cached(), Some(1));
        assert_eq!(fixture.join_at_once("k").await, Some(1));
        assert_eq!(fixture.join_at_once("other").await, Some(2));
        fixture.manual.advance(Duration::from_millis(1));
        assert_eq!(cached(), None);
        assert_eq!(fixture.join_at_once("k").await, Some(3));
    }

    #[tokio::test]
    async fn a_call_continues_after_its_caller_timed_out() {
        let fixture = Fixture::new(10, 64);
        let gate = Arc::new(Notify::new());

        assert_eq!(
            fixture.join("k", &gate, Duration::from_millis(20)).await,
            None
        );
        gate.notify_one();

        assert_eq!(fixture.join("k", &gate, LONG).await, Some(1));
    }

    #[tokio::test]
    async fn too_many_calls_at_once_are_not_made() {
        let fixture = Fixture::new(10, 1);
        let gate = Arc::new(Notify::new());
        let short = Duration::from_millis(20);

        assert_eq!(fixture.join("a", &gate, short).await, None);
        assert_eq!(fixture.join("b", &gate, short).await, None);
        assert_eq!(fixture.calls.load(Ordering::SeqCst), 1);
        gate.notify_one();
        assert_eq!(fixture.join("a", &gate, LONG).await, Some(1));
        assert_eq!(fixture.join_at_once("b").await, Some(2));
    }

    #[tokio::test]
    async fn a_call_that_hangs_times_out_and_frees_its_slot() {
        let fixture = Fixture::with_calls_of(Duration::from_millis(20), 10, 1);
        let never = Arc::new(Notify::new());

        let begun = std::time::Instant::now();
        assert_eq!(fixture.join("a", &never, LONG).await, None);
        assert!(begun.elapsed() < LONG);

        assert_eq!(fixture.join_at_once("b").await, Some(2));
        assert_eq!(fixture.join_at_once("a").await, Some(3));
    }

    #[tokio::test]
    async fn an_invalidated_result_is_not_returned() {
        let fixture = Fixture::new(10, 64);
        let gate = Arc::new(Notify::new());
        assert_eq!(fixture.join_at_once("kept").await, Some(1));
        assert_eq!(fixture.join_at_once("result").await, Some(2));

        let waiting = fixture.join("waiting", &gate, LONG);
        let invalidating = async {
            while fixture.single_flight.len() < 3 {
                tokio::task::yield_now().await;
            }
            fixture
                .single_flight
                .invalidate("waiting", |result| *result == 2);
            gate.notify_one();
        };
        let (waited, ()) = tokio::join!(waiting, invalidating);

        assert_eq!(waited, None);
        assert_eq!(fixture.join_at_once("kept").await, Some(1));
        assert_eq!(fixture.join_at_once("result").await, Some(4));
    }

    #[tokio::test]
    async fn the_number_of_keys_is_bounded_and_the_oldest_go() {
        let fixture = Fixture::new(2, 64);

        for key in ["a", "b", "c"] {
            fixture.join_at_once(key).await;
        }

        assert_eq!(fixture.single_flight.len(), 2);
        assert_eq!(fixture.join_at_once("c").await, Some(3));
        assert_eq!(fixture.join_at_once("a").await, Some(4));
    }

    #[tokio::test]
    async fn nothing_stays_in_memory_after_its_time() {
        let fixture = Fixture::new(10, 64);
        let short = async { (7, Duration::from_millis(20)) };

        assert_eq!(
            fixture
                .single_flight
                .join("k", &fixture.clock, LONG, short)
                .await,
            Some(7)
        );
        assert_eq!(fixture.single_flight.len(), 1);

        let gone = async {
            while fixture.single_flight.len() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, gone)
            .await
            .expect("it is removed by itself");
    }

    #[tokio::test]
    async fn a_call_that_panics_is_made_again() {
        let fixture = Fixture::new(10, 64);
        let failing = async { panic!("as asked") };

        assert_eq!(
            fixture
                .single_flight
                .join("k", &fixture.clock, LONG, failing)
                .await,
            None
        );

        assert_eq!(fixture.join_at_once("k").await, Some(1));
    }
}
