//! Our side: `Pool::run`, which is what every request ends in.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use plinth_db::{Access, Pool, PoolConfig};

use super::database::{Prepared, ROWS, SELECT};
use crate::{cpu::CpuTime, random::Random};

/// One run.
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) mean_ms: f64,
    /// Processor time of this process per transaction, in µs.
    pub(crate) cpu_us: f64,
}

/// Runs on a runtime and a pool of its own, as pgbench runs on a process of its own.
pub(crate) fn run(
    prepared: &Prepared,
    threads: u16,
    connections: u16,
    duration: Duration,
) -> anyhow::Result<Sample> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.into())
        .enable_all()
        .build()?;
    let config = PoolConfig {
        size: connections.into(),
        ..PoolConfig::default()
    };
    let pool = Pool::new(prepared.target(), config);
    runtime.block_on(async {
        warm_up(&pool, connections).await?;
        measure(&pool, connections, duration).await
    })
}

/// Connections are opened and statements prepared before the clock starts; pgbench does not count
/// its connecting either.
async fn warm_up(pool: &Pool, connections: u16) -> anyhow::Result<()> {
    let mut lent = Vec::new();
    for _ in 0..connections {
        lent.push(pool.get().await?);
    }
    drop(lent);
    let until = Instant::now() + Duration::from_millis(300);
    run_all(pool, connections, until).await.map(drop)
}

async fn measure(pool: &Pool, connections: u16, duration: Duration) -> anyhow::Result<Sample> {
    let (begun, before) = (Instant::now(), CpuTime::now()?);
    let times = run_all(pool, connections, begun + duration).await?;
    let elapsed = begun.elapsed().as_secs_f64();
    let cpu = CpuTime::now()?.own - before.own;
    let milliseconds = |nanoseconds: f64| nanoseconds / 1e6;
    Ok(Sample {
        per_second: times.len() as f64 / elapsed,
        p50_ms: milliseconds(times.value_at_quantile(0.50) as f64),
        p99_ms: milliseconds(times.value_at_quantile(0.99) as f64),
        mean_ms: milliseconds(times.mean()),
        cpu_us: cpu * 1e6 / times.len() as f64,
    })
}

/// As many tasks as connections, until the given moment; their times in nanoseconds.
async fn run_all(pool: &Pool, tasks: u16, until: Instant) -> anyhow::Result<Histogram<u64>> {
    let running: Vec<_> = (0..tasks)
        .map(|task| tokio::spawn(one_task(pool.clone(), Random::new(task.into()), until)))
        .collect();
    let mut all = Histogram::new(3)?;
    for task in running {
        all.add(task.await.context("a task of ours ended early")??)?;
    }
    Ok(all)
}

async fn one_task(
    pool: Pool,
    mut random: Random,
    until: Instant,
) -> anyhow::Result<Histogram<u64>> {
    let settings = Prepared::settings();
    let mut times = Histogram::new(3)?;
    let mut begun = Instant::now();
    while begun < until {
        let id = random.between_one_and(ROWS);
        let rows = pool
            .run(Access::ReadOnly, &settings, SELECT, &[&id])
            .await?;
        let is_right = rows.len() == 1 && rows[0].get::<_, i32>(0) == id;
        ensure!(
            is_right,
            "row {id} was asked for, but {} other rows came",
            rows.len()
        );
        let ended = Instant::now();
        times.record(u64::try_from((ended - begun).as_nanos())?)?;
        begun = ended;
    }
    Ok(times)
}
