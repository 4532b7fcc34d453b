//! One call for many who ask the same, and its result for those who ask a little later (A20, A21).
//!
//! A call goes on when whoever started it leaves: a browser that closes a connection must not
//! leave a refresh token spent and its successor lost (A14).

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use plinth_client::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// Calls in flight and results that are still good, by key. Keys are hashes of credentials.
pub(crate) struct Flights<T> {
    entries: Mutex<LruCache<String, Flight<T>>>,
    permits: Arc<Semaphore>,
    longest: Duration,
}

struct Flight<T> {
    landing: watch::Receiver<Option<Landed<T>>>,
    /// Set when the result must not be handed out any more, even to those who wait for it.
    is_void: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Landed<T> {
    result: T,
    until_ms: i64,
}

impl<T: Clone + Send + Sync + 'static> Flights<T> {
    /// At most so many keys, and so many calls at once, none of which takes longer than this.
    pub(crate) fn new(
        max_entries: NonZeroUsize,
        max_concurrent: usize,
        longest: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::new(LruCache::sparse(max_entries)),
            permits: Arc::new(Semaphore::new(max_concurrent)),
            longest,
        })
    }

    /// The result of the call for this key: a kept one, that of the call in flight, or of `call`,
    /// which also says for how long its result is good.
    ///
    /// Nothing when it takes longer than `wait`, when too many calls are in flight for that long,
    /// or when the result was [forgotten](Self::forget) meanwhile. The call itself goes on, though
    /// not for ever: one that hangs would keep its place among those that may run at once.
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
            let (mut landing, is_void) = match self.known(key, clock.now_ms()) {
                Some(flight) => flight,
                None => {
                    let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
                    self.start(key, clock, permit, call)
                }
            };
            let landed = landing.wait_for(Option::is_some).await.ok()?;
            let result = landed.as_ref().map(|landed| landed.result.clone());
            result.filter(|_| !is_void.load(Ordering::Acquire))
        };
        timeout(wait, joined).await.ok().flatten()
    }

    /// A result that is still good, without making a call.
    pub(crate) fn kept(&self, key: &str, now_ms: i64) -> Option<T> {
        let (landing, is_void) = self.known(key, now_ms)?;
        let landed = landing.borrow();
        let result = landed.as_ref().map(|landed| landed.result.clone());
        result.filter(|_| !is_void.load(Ordering::Acquire))
    }

    /// Forgets the result of a key and all results of this kind. Calls of that key that are in
    /// flight end without one.
    pub(crate) fn forget(&self, key: &str, is_of_this_kind: impl Fn(&T) -> bool) {
        self.entries().retain(|known, flight| {
            let landed = flight.landing.borrow();
            let is_meant = known == key
                || landed
                    .as_ref()
                    .is_some_and(|landed| is_of_this_kind(&landed.result));
            if is_meant {
                flight.is_void.store(true, Ordering::Release);
            }
            !is_meant
        });
    }

    /// How many keys are known.
    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    fn known(&self, key: &str, now_ms: i64) -> Option<FlightOf<T>> {
        find(&self.entries(), key, now_ms)
    }

    fn start<F>(
        self: &Arc<Self>,
        key: &str,
        clock: &Arc<dyn Clock>,
        permit: OwnedSemaphorePermit,
        call: F,
    ) -> FlightOf<T>
    where
        F: Future<Output = (T, Duration)> + Send + 'static,
    {
        let (sender, landing) = watch::channel(None);
        let is_void = Arc::new(AtomicBool::new(false));
        let flight = Flight {
            landing: landing.clone(),
            is_void: Arc::clone(&is_void),
        };
        {
            let mut entries = self.entries();
            // Somebody may have started while we waited for the permit.
            if let Some(flight) = find(&entries, key, clock.now_ms()) {
                return flight;
            }
            entries.push(key.to_owned(), flight);
        }

        let (flights, clock, key, own) = (
            Arc::clone(self),
            Arc::clone(clock),
            key.to_owned(),
            landing.clone(),
        );
        tokio::spawn(async move {
            let landed = timeout(flights.longest, call).await;
            drop(permit);
            let Ok((result, keep)) = landed else {
                tracing::warn!("a call about a session was given up on, because it takes too long");
                flights.remove(&key, &own);
                return;
            };
            let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
            let until_ms = clock.now_ms().saturating_add(keep_ms);
            sender.send_replace(Some(Landed { result, until_ms }));
            // Credentials stay in memory no longer than they are good for.
            tokio::time::sleep(keep).await;
            flights.remove(&key, &own);
        });
        (landing, is_void)
    }

    fn remove(&self, key: &str, landing: &watch::Receiver<Option<Landed<T>>>) {
        let mut entries = self.entries();
        let is_same = |flight: &Flight<T>| flight.landing.same_channel(landing);
        if entries.peek(key).is_some_and(is_same) {
            entries.pop(key);
        }
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<String, Flight<T>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Not promoted: the oldest go first, whoever asks for them.
fn find<T>(entries: &LruCache<String, Flight<T>>, key: &str, now_ms: i64) -> Option<FlightOf<T>> {
    let flight = entries.peek(key)?;
    let is_good = match &*flight.landing.borrow() {
        Some(landed) => now_ms < landed.until_ms,
        // Without a sender nothing will ever land.
        None => flight.landing.has_changed().is_ok(),
    };
    is_good.then(|| (flight.landing.clone(), Arc::clone(&flight.is_void)))
}

type FlightOf<T> = (watch::Receiver<Option<Landed<T>>>, Arc<AtomicBool>);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::future::join_all;
    use plinth_client::ManualClock;
    use tokio::sync::Notify;

    use super::*;

    const LONG: Duration = Duration::from_secs(5);
    const KEEP: Duration = Duration::from_secs(10);

    struct Fixture {
        flights: Arc<Flights<usize>>,
        manual: ManualClock,
        clock: Arc<dyn Clock>,
        calls: Arc<AtomicUsize>,
    }

    impl Fixture {
        fn new(max_entries: usize, max_concurrent: usize) -> Self {
            Self::with_calls_of(LONG, max_entries, max_concurrent)
        }

        fn with_calls_of(longest: Duration, max_entries: usize, max_concurrent: usize) -> Self {
            let manual = ManualClock::at(1_000);
            Self {
                flights: Flights::new(
                    NonZeroUsize::new(max_entries).unwrap(),
                    max_concurrent,
                    longest,
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
                (number, KEEP)
            };
            self.flights.join(key, &self.clock, wait, call).await
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

        let kept = || fixture.flights.kept("k", fixture.manual.now_ms());
        assert_eq!(kept(), None);
        assert_eq!(fixture.join_at_once("k").await, Some(1));
        fixture.manual.advance(KEEP - Duration::from_millis(1));
        assert_eq!(kept(), Some(1));
        assert_eq!(fixture.join_at_once("k").await, Some(1));
        assert_eq!(fixture.join_at_once("other").await, Some(2));
        fixture.manual.advance(Duration::from_millis(1));
        assert_eq!(kept(), None);
        assert_eq!(fixture.join_at_once("k").await, Some(3));
    }

    #[tokio::test]
    async fn whoever_cannot_wait_leaves_the_call_to_go_on() {
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
    async fn a_call_that_hangs_ends_and_makes_room() {
        let fixture = Fixture::with_calls_of(Duration::from_millis(20), 10, 1);
        let never = Arc::new(Notify::new());

        let begun = std::time::Instant::now();
        assert_eq!(fixture.join("a", &never, LONG).await, None);
        assert!(begun.elapsed() < LONG);

        assert_eq!(fixture.join_at_once("b").await, Some(2));
        assert_eq!(fixture.join_at_once("a").await, Some(3));
    }

    #[tokio::test]
    async fn a_forgotten_result_is_nobodys() {
        let fixture = Fixture::new(10, 64);
        let gate = Arc::new(Notify::new());
        assert_eq!(fixture.join_at_once("kept").await, Some(1));
        assert_eq!(fixture.join_at_once("result").await, Some(2));

        let waiting = fixture.join("waiting", &gate, LONG);
        let forgetting = async {
            while fixture.flights.len() < 3 {
                tokio::task::yield_now().await;
            }
            fixture.flights.forget("waiting", |result| *result == 2);
            gate.notify_one();
        };
        let (waited, ()) = tokio::join!(waiting, forgetting);

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

        assert_eq!(fixture.flights.len(), 2);
        assert_eq!(fixture.join_at_once("c").await, Some(3));
        assert_eq!(fixture.join_at_once("a").await, Some(4));
    }

    #[tokio::test]
    async fn nothing_stays_in_memory_after_its_time() {
        let fixture = Fixture::new(10, 64);
        let short = async { (7, Duration::from_millis(20)) };

        assert_eq!(
            fixture.flights.join("k", &fixture.clock, LONG, short).await,
            Some(7)
        );
        assert_eq!(fixture.flights.len(), 1);

        let gone = async {
            while fixture.flights.len() > 0 {
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
                .flights
                .join("k", &fixture.clock, LONG, failing)
                .await,
            None
        );

        assert_eq!(fixture.join_at_once("k").await, Some(1));
    }
}
