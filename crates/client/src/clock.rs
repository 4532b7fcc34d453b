//! Time and timers. Everything in this crate that depends on time uses a [`Clock`], so that tests can control
//! it.

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

/// The system clock.
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

/// A clock for tests that only moves when advanced. Clones share the time.
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
pub struct ManualClock(Arc<Mutex<ManualClockState>>);

struct ManualClockState {
    now_ms: i64,
    /// Sleeping advances the time.
    is_hurrying: bool,
    sleepers: Vec<Waker>,
}

impl ManualClock {
    /// A clock at this many milliseconds since 1970.
    pub fn at(now_ms: i64) -> Self {
        Self(Arc::new(Mutex::new(ManualClockState {
            now_ms,
            is_hurrying: false,
            sleepers: Vec::new(),
        })))
    }

    /// The same, but [`Clock::sleep`] advances the clock and returns at once.
    pub fn auto_advancing(now_ms: i64) -> Self {
        let clock = Self::at(now_ms);
        clock.state().is_hurrying = true;
        clock
    }

    /// Advances the time and wakes expired sleeps.
    pub fn advance(&self, by: Duration) {
        let sleepers = {
            let mut state = self.state();
            state.now_ms += i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// The number of pending sleeps.
    pub fn sleepers(&self) -> usize {
        self.state().sleepers.len()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ManualClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.state().now_ms
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let until = clock.now_ms() + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2);
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = clock.state();
            if state.is_hurrying {
                state.now_ms = state.now_ms.max(until);
            }
            if state.now_ms >= until {
                return Poll::Ready(());
            }
            state.sleepers.push(context.waker().clone());
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
