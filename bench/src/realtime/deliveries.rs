//! Received messages: their number and latency.

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

/// Timeout, so that a hanging server does not hang the benchmark.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Messages that carry their send time, counted by all subscribers together.
pub(crate) struct Deliveries {
    begun: Instant,
    count: AtomicU64,
    progress: Notify,
    latencies: Mutex<Histogram<u64>>,
}

/// Extracts the send time of a message: nanoseconds since the start.
pub(crate) type SentAt = fn(&[u8]) -> Option<u64>;

impl Deliveries {
    pub(crate) fn new() -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            begun: Instant::now(),
            count: AtomicU64::new(0),
            progress: Notify::new(),
            latencies: Mutex::new(Histogram::new(3)?),
        }))
    }

    /// The send time for a message.
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.begun.elapsed())
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Records a latency.
    pub(crate) fn record_latency(&self, latency: Duration) {
        self.latencies(|latencies| _ = latencies.record(nanoseconds(latency)));
    }

    /// Starts a new latency histogram.
    pub(crate) fn reset_latencies(&self) {
        self.latencies(Histogram::reset);
    }

    /// The 95th percentile of the latency in milliseconds.
    pub(crate) fn p95(&self) -> f64 {
        self.latencies(|latencies| latencies.value_at_quantile(0.95)) as f64 / 1e6
    }

    /// Waits until this many messages have arrived.
    pub(crate) async fn wait_until(&self, wanted: u64) -> anyhow::Result<()> {
        let arriving = async {
            loop {
                // Registered before the check, so that no wake-up is lost.
                let progress = self.progress.notified();
                if self.count() >= wanted {
                    return;
                }
                progress.await;
            }
        };
        tokio::time::timeout(RESPONSE_TIMEOUT, arriving)
            .await
            .with_context(|| format!("lost: {} of {wanted} have arrived", self.count()))
    }

    /// Reads a socket to its end.
    pub(crate) async fn listen(self: Arc<Self>, stream: TcpStream, beats: bool, sent_at: SentAt) {
        client::read_all(stream, beats, |frames| self.count_frames(frames, sent_at)).await;
    }

    fn count_frames(&self, frames: &mut Frames<'_>, sent_at: SentAt) {
        let now = self.now();
        let mut count = 0;
        self.latencies(|latencies| {
            for sent_at in frames.filter_map(sent_at) {
                count += 1;
                // The histogram resizes itself, so recording cannot fail.
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
        let deliveries = Deliveries::new().unwrap();
        let bytes = [0x82, 1, b'5', 0x82, 1, b'x', 0x82, 1, b'7'];
        let sent_at =
            |payload: &[u8]| -> Option<u64> { str::from_utf8(payload).ok()?.parse().ok() };

        deliveries.count_frames(&mut Frames::of(&bytes), sent_at);

        assert_eq!(deliveries.count(), 2);
        deliveries.wait_until(2).await.unwrap();
        assert!(deliveries.p95() > 0.0);
        deliveries.reset_latencies();
        assert!(deliveries.p95() < 1e-9);
    }
}
