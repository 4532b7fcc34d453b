//! One sender, many subscribers.

use std::{
    net::Ipv4Addr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    runtime::{Builder, Runtime},
};

use super::{TOPIC, client, deliveries::Deliveries};

/// A message of everyday size.
pub(crate) const PAYLOAD_BYTES: usize = 200;
/// Maximum number of messages in flight.
const WINDOW: u64 = 16;

/// Sockets that stay open from run to run.
pub(crate) struct FanOut {
    runtime: Runtime,
    sender: TcpStream,
    listeners: u64,
    deliveries: Arc<Deliveries>,
    sent: u64,
    /// What a message is wrapped in on its way to the server.
    wrap: fn(&[u8]) -> Vec<u8>,
}

impl FanOut {
    /// Without a key the server is the bare program, which takes frames as they are.
    pub(crate) fn open(port: u16, key: Option<&str>, listeners: u16) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let deliveries = Deliveries::new()?;
        let sender = runtime.block_on(async {
            for _ in 0..listeners {
                let stream = connect(port, key).await?;
                tokio::spawn(deliveries.clone().listen(stream, key.is_some(), sent_at));
            }
            connect(port, key).await
        })?;
        Ok(Self {
            runtime,
            sender,
            listeners: listeners.into(),
            deliveries,
            sent: 0,
            wrap: match key {
                Some(_) => |payload| client::broadcast(TOPIC, payload),
                None => super::bare::frame,
            },
        })
    }

    /// Maximum throughput: deliveries per second.
    pub(crate) fn saturate(&mut self, seconds: u16) -> anyhow::Result<f64> {
        let duration = Duration::from_secs(seconds.into());
        let (begun, before) = (Instant::now(), self.deliveries.count());
        while begun.elapsed() < duration {
            self.wait_until(self.sent.saturating_sub(WINDOW))?;
            self.send()?;
        }
        self.wait_until(self.sent)?;
        Ok((self.deliveries.count() - before) as f64 / begun.elapsed().as_secs_f64())
    }

    /// At a fixed rate of deliveries per second: the 95th percentile of the latency in milliseconds.
    pub(crate) fn at_rate(&mut self, deliveries: f64, seconds: u16) -> anyhow::Result<f64> {
        self.deliveries.reset_latencies();
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
        Ok(self.deliveries.p95())
    }

    fn send(&mut self) -> anyhow::Result<()> {
        let head = format!("{{\"t\":\"{:020}\",\"p\":\"", self.deliveries.now());
        let filler = "x".repeat(PAYLOAD_BYTES - head.len() - 2);
        let message = (self.wrap)(format!("{head}{filler}\"}}").as_bytes());
        self.runtime.block_on(self.sender.write_all(&message))?;
        self.sent += 1;
        Ok(())
    }

    /// Waits until all subscribers have received this many messages.
    fn wait_until(&self, messages: u64) -> anyhow::Result<()> {
        let arriving = self.deliveries.wait_until(messages * self.listeners);
        self.runtime.block_on(arriving)
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

/// The time that a message carries.
fn sent_at(payload: &[u8]) -> Option<u64> {
    let start = payload.len().checked_sub(PAYLOAD_BYTES)? + 6;
    let digits = payload.get(start..start + 20)?;
    str::from_utf8(digits).ok()?.parse().ok()
}
