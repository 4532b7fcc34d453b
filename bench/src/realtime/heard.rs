//! What arrives at listeners: how much, and how long it took.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use tokio::{net::TcpStream, sync::Notify};

use super::client::{self, Frames};

/// A server that hangs must not hang the benchmark.
const STUCK: Duration = Duration::from_secs(60);

/// Messages that carry the time at which they were sent, counted by all listeners together.
pub(crate) struct Heard {
    begun: Instant,
    count: AtomicU64,
    progress: Notify,
    latencies: Mutex<Histogram<u64>>,
}

/// Finds the time that a message carries: nanoseconds since the counting began.
pub(crate) type SentAt = fn(&[u8]) -> Option<u64>;

impl Heard {
    pub(crate) fn new() -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            begun: Instant::now(),
            count: AtomicU64::new(0),
            progress: Notify::new(),
            latencies: Mutex::new(Histogram::new(3)?),
        }))
    }

    /// The time that a message is to carry.
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.begun.elapsed())
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Something took so long.
    pub(crate) fn note(&self, taken: Duration) {
        self.latencies(|latencies| _ = latencies.record(nanoseconds(taken)));
    }

    /// From now on times are noted anew.
    pub(crate) fn forget_times(&self) {
        self.latencies(Histogram::reset);
    }

    /// The time that 95 of a hundred took at most, in milliseconds.
    pub(crate) fn p95(&self) -> f64 {
        self.latencies(|latencies| latencies.value_at_quantile(0.95)) as f64 / 1e6
    }

    /// Waits until so many have arrived.
    pub(crate) async fn wait_until(&self, wanted: u64) -> anyhow::Result<()> {
        let arriving = async {
            loop {
                // What arrives from here on is noticed, also before it is waited for.
                let progress = self.progress.notified();
                if self.count() >= wanted {
                    return;
                }
                progress.await;
            }
        };
        tokio::time::timeout(STUCK, arriving)
            .await
            .with_context(|| format!("lost: {} of {wanted} have arrived", self.count()))
    }

    /// Listens to the end of a socket.
    pub(crate) async fn listen(self: Arc<Self>, stream: TcpStream, beats: bool, sent_at: SentAt) {
        client::read_all(stream, beats, |frames| self.take(frames, sent_at)).await;
    }

    fn take(&self, frames: &mut Frames<'_>, sent_at: SentAt) {
        let now = self.now();
        let mut count = 0;
        self.latencies(|latencies| {
            for sent_at in frames.filter_map(sent_at) {
                count += 1;
                // A histogram that grows by itself takes everything.
                _ = latencies.record(now.saturating_sub(sent_at));
            }
        });
        self.count.fetch_add(count, Relaxed);
        self.progress.notify_waiters();
    }

    fn latencies<T>(&self, look: impl FnOnce(&mut Histogram<u64>) -> T) -> T {
        let latencies = self.latencies.lock();
        look(&mut latencies.unwrap_or_else(PoisonError::into_inner))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_that_carry_a_time_are_counted_and_waited_for() {
        let heard = Heard::new().unwrap();
        let bytes = [0x82, 1, b'5', 0x82, 1, b'x', 0x82, 1, b'7'];
        let sent_at =
            |payload: &[u8]| -> Option<u64> { str::from_utf8(payload).ok()?.parse().ok() };

        heard.take(&mut Frames::of(&bytes), sent_at);

        assert_eq!(heard.count(), 2);
        heard.wait_until(2).await.unwrap();
        assert!(heard.p95() > 0.0);
        heard.forget_times();
        assert!(heard.p95() < 1e-9);
    }
}
