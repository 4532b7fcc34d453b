//! Idle sockets that only send heartbeats.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, runtime::Builder, task::JoinSet};

use super::{TOPIC, client};
use crate::{cpu::CpuTime, processes};

/// How long processor time is measured.
const MEASURED_FOR: Duration = Duration::from_secs(25);
/// Sockets that are opened at the same time.
const AT_ONCE: usize = 50;

/// What they cost.
pub(crate) struct Idle {
    pub(crate) rss: f64,
    pub(crate) rss_before: f64,
    /// Seconds of processor time in a hundred.
    pub(crate) load: f64,
    pub(crate) load_before: f64,
}

pub(crate) fn measure(pid: u32, port: u16, key: &str, count: u16) -> anyhow::Result<Idle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let rss_before = processes::rss(pid)?;
        let load_before = load(pid, tokio::time::sleep(MEASURED_FOR / 5)).await?;
        let mut sockets = Vec::with_capacity(count.into());
        let numbers: Vec<u16> = (0..count).collect();
        for some in numbers.chunks(AT_ONCE) {
            let mut opening = JoinSet::new();
            for number in some {
                let (key, topic) = (key.to_owned(), format!("{TOPIC}-{number}"));
                opening.spawn(async move { client::join(port, &key, &topic).await });
            }
            while let Some(opened) = opening.join_next().await {
                sockets.push(opened?.with_context(|| format!("after {}", sockets.len()))?);
            }
        }
        // One round, so that every client has sent something.
        stay(&mut sockets, Duration::from_secs(2)).await?;
        let load = load(pid, stay(&mut sockets, MEASURED_FOR)).await?;
        Ok(Idle {
            rss: processes::rss(pid)?,
            rss_before,
            load,
            load_before,
        })
    })
}

async fn load<T>(pid: u32, work: impl Future<Output = T>) -> anyhow::Result<f64> {
    let (spent, begun) = (CpuTime::of(pid)?.own, Instant::now());
    work.await;
    let spent = CpuTime::of(pid)?.own - spent;
    Ok(100.0 * spent / begun.elapsed().as_secs_f64())
}

/// All sockets send heartbeats, evenly spread; replies are discarded.
async fn stay(sockets: &mut [TcpStream], duration: Duration) -> anyhow::Result<()> {
    let frame = client::heartbeat();
    let begun = Instant::now();
    let per_second = sockets.len() as f64 / client::HEARTBEAT.min(duration).as_secs_f64();
    let mut buffer = [0; 1024];
    let mut sent = 0;
    while begun.elapsed() < duration {
        let due = (begun.elapsed().as_secs_f64() * per_second) as usize;
        while sent < due.min(sockets.len()) {
            let socket = &mut sockets[sent];
            while socket.try_read(&mut buffer).is_ok_and(|read| read > 0) {}
            socket.write_all(&frame).await?;
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
