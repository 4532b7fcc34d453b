//! What time it is, and how to wait. Everything in this crate that depends on time asks a
//! [`Clock`], so that tests can move it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

/// A source of time.
pub trait Clock: MaybeSend + MaybeSync + fmt::Debug + 'static {
    /// Milliseconds since 1970, in UTC.
    fn now_ms(&self) -> i64;

    /// Resolves when this much time has passed.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Whole seconds since 1970, rounded down.
    fn now_s(&self) -> i64 {
        self.now_ms().div_euclid(1000)
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(not(target_arch = "wasm32"))]
impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        // Before 1970 no token is valid anyway.
        since.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[cfg(target_arch = "wasm32")]
impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        js_sys::Date::now() as i64
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let millis = i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
        let promise = js_sys::Promise::new(&mut |resolve, _| set_timeout(&resolve, millis));
        Box::pin(async move {
            _ = wasm_bindgen_futures::JsFuture::from(promise).await;
        })
    }
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &js_sys::Function, millis: i32);
}

/// A clock that stands still until it is moved, for tests. Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use plinth_client::{Clock, ManualClock};
///
/// let clock = ManualClock::at(1_700_000_000_000);
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(clock.now_s(), 1_700_000_090);
/// ```
#[derive(Clone)]
pub struct ManualClock(Arc<Mutex<Hands>>);

struct Hands {
    now_ms: i64,
    /// Whoever waits makes the time pass.
    is_hurrying: bool,
    sleepers: Vec<Waker>,
}

impl ManualClock {
    /// A clock that shows this many milliseconds since 1970.
    pub fn at(now_ms: i64) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            now_ms,
            is_hurrying: false,
            sleepers: Vec::new(),
        })))
    }

    /// The same, but waiting takes no time: [`Clock::sleep`] moves the clock and is over.
    pub fn hurrying(now_ms: i64) -> Self {
        let clock = Self::at(now_ms);
        clock.hands().is_hurrying = true;
        clock
    }

    /// Lets time pass, and wakes those whose wait is over.
    pub fn advance(&self, by: Duration) {
        let sleepers = {
            let mut hands = self.hands();
            hands.now_ms += i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            std::mem::take(&mut hands.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// How many are waiting for the time to pass.
    pub fn sleepers(&self) -> usize {
        self.hands().sleepers.len()
    }

    fn hands(&self) -> std::sync::MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.hands().now_ms
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let until = clock.now_ms() + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2);
        Box::pin(std::future::poll_fn(move |context| {
            let mut hands = clock.hands();
            if hands.is_hurrying {
                hands.now_ms = hands.now_ms.max(until);
            }
            if hands.now_ms >= until {
                return Poll::Ready(());
            }
            hands.sleepers.push(context.waker().clone());
            Poll::Pending
        }))
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("ManualClock")
            .field(&self.now_ms())
            .finish()
    }
}
