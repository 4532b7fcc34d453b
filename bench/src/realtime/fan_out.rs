//! One sender, many listeners.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::{Builder, Runtime},
    sync::Notify,
};

use tokio_util::task::AbortOnDropHandle;

use super::{TOPIC, client};

/// A message of everyday size.
pub(crate) const PAYLOAD_BYTES: usize = 200;
/// So many messages may be on their way to everybody.
const WINDOW: u64 = 16;
/// A server that hangs must not hang the benchmark.
const STUCK: Duration = Duration::from_secs(30);

/// Sockets that stay open from run to run.
pub(crate) struct FanOut {
    runtime: Runtime,
    sender: TcpStream,
    listeners: u64,
    seen: Arc<Seen>,
    sent: u64,
    /// What a message is wrapped in on its way to the server.
    wrap: fn(&[u8]) -> Vec<u8>,
}

/// What the listeners have got.
struct Seen {
    begun: Instant,
    delivered: AtomicU64,
    progress: Notify,
    latencies: Mutex<Histogram<u64>>,
}

impl FanOut {
    /// Without a key the server is the bare program, which takes frames as they are.
    pub(crate) fn open(port: u16, key: Option<&str>, listeners: u16) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let seen = Arc::new(Seen {
            begun: Instant::now(),
            delivered: AtomicU64::new(0),
            progress: Notify::new(),
            latencies: Mutex::new(Histogram::new(3)?),
        });
        let sender = runtime.block_on(async {
            for _ in 0..listeners {
                let stream = connect(port, key).await?;
                tokio::spawn(listen(stream, seen.clone(), key.is_some()));
            }
            connect(port, key).await
        })?;
        Ok(Self {
            runtime,
            sender,
            listeners: listeners.into(),
            seen,
            sent: 0,
            wrap: match key {
                Some(_) => |payload| client::broadcast(TOPIC, payload),
                None => super::bare::frame,
            },
        })
    }

    /// As many as arrive: deliveries per second.
    pub(crate) fn saturate(&mut self, seconds: u16) -> anyhow::Result<f64> {
        let duration = Duration::from_secs(seconds.into());
        let (begun, before) = (Instant::now(), self.delivered());
        while begun.elapsed() < duration {
            self.wait_until(self.sent.saturating_sub(WINDOW))?;
            self.send()?;
        }
        self.wait_until(self.sent)?;
        Ok((self.delivered() - before) as f64 / begun.elapsed().as_secs_f64())
    }

    /// So many deliveries per second: the time that 95 of a hundred take at most, in milliseconds.
    pub(crate) fn at_rate(&mut self, deliveries: f64, seconds: u16) -> anyhow::Result<f64> {
        self.latencies(Histogram::reset);
        let pause = Duration::from_secs_f64(self.listeners as f64 / deliveries);
        let messages = (f64::from(seconds) / pause.as_secs_f64()) as u32;
        let begun = Instant::now();
        for number in 0..messages {
            let due = begun + pause * number;
            self.runtime
                .block_on(async { tokio::time::sleep_until(due.into()).await });
            self.send()?;
        }
        self.wait_until(self.sent)?;
        let nanoseconds = self.latencies(|latencies| latencies.value_at_quantile(0.95));
        Ok(nanoseconds as f64 / 1e6)
    }

    fn send(&mut self) -> anyhow::Result<()> {
        let now = self.seen.begun.elapsed().as_nanos();
        let head = format!("{{\"t\":\"{now:020}\",\"p\":\"");
        let filler = "x".repeat(PAYLOAD_BYTES - head.len() - 2);
        let message = (self.wrap)(format!("{head}{filler}\"}}").as_bytes());
        self.runtime.block_on(self.sender.write_all(&message))?;
        self.sent += 1;
        Ok(())
    }

    /// Everybody has got so many.
    fn wait_until(&self, messages: u64) -> anyhow::Result<()> {
        let wanted = messages * self.listeners;
        let seen = &self.seen;
        let arriving = async {
            while seen.delivered.load(Relaxed) < wanted {
                seen.progress.notified().await;
            }
        };
        self.runtime
            .block_on(async { tokio::time::timeout(STUCK, arriving).await })
            .context("messages are lost")
    }

    fn delivered(&self) -> u64 {
        self.seen.delivered.load(Relaxed)
    }

    fn latencies<T>(&self, look: impl FnOnce(&mut Histogram<u64>) -> T) -> T {
        let latencies = self.seen.latencies.lock();
        look(&mut latencies.unwrap_or_else(PoisonError::into_inner))
    }
}

async fn connect(port: u16, key: Option<&str>) -> anyhow::Result<TcpStream> {
    match key {
        Some(key) => client::join(port, key, TOPIC).await,
        None => {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        }
    }
}

async fn listen(stream: TcpStream, seen: Arc<Seen>, has_heartbeat: bool) {
    let mut buffer = vec![0; 16 * 1024];
    let mut filled = 0;
    let (mut stream, mut back) = stream.into_split();
    let _heart = has_heartbeat.then(|| {
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                tokio::time::sleep(client::HEARTBEAT).await;
                if back.write_all(&client::heartbeat()).await.is_err() {
                    return;
                }
            }
        }))
    });
    while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += read;
        let now = seen.begun.elapsed().as_nanos();
        let mut rest = &buffer[..filled];
        let mut count = 0;
        let mut latencies = seen
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while let Some((payload, after)) = client::split(rest) {
            rest = after;
            if let Some(sent_at) = sent_at(payload) {
                count += 1;
                let nanoseconds = u64::try_from(now.saturating_sub(sent_at)).unwrap_or(u64::MAX);
                // A histogram that grows by itself takes everything.
                _ = latencies.record(nanoseconds);
            }
        }
        drop(latencies);
        let left = rest.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
        seen.delivered.fetch_add(count, Relaxed);
        seen.progress.notify_one();
    }
}

/// The time that a message carries.
fn sent_at(payload: &[u8]) -> Option<u128> {
    let start = payload.len().checked_sub(PAYLOAD_BYTES)? + 6;
    let digits = payload.get(start..start + 20)?;
    str::from_utf8(digits).ok()?.parse().ok()
}
