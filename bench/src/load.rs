//! The load generator: keep-alive connections, each with a stateful client, because a request may need data of
//! the previous response. One thread for all.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, runtime::Runtime};

use crate::{
    http_response::{HttpResponse, ResponseReader},
    run::Sample,
};

/// Before the measurement, statements are prepared and pools filled.
const WARM_UP: Duration = Duration::from_millis(500);

/// Timeout of a response, so that a hanging server does not hang the benchmark.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// One client: produces requests and handles responses.
pub(crate) trait LoadClient: Send + 'static {
    /// The next request.
    fn next_request(&mut self) -> &[u8];

    /// Handles the body of a response with status 200.
    fn handle_response(&mut self, body: &[u8]) -> anyhow::Result<()>;
}

/// How long a client runs.
#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Requests(u64),
}

/// Runs all clients at once; calls `measured` when the measurement starts.
pub(crate) fn run<T: LoadClient>(
    port: u16,
    talks: &mut Vec<T>,
    duration: Duration,
    measured: &mut dyn FnMut(),
) -> anyhow::Result<Sample> {
    runtime()?.block_on(async {
        let end = |duration| Until::Time(Instant::now() + duration);
        run_all(port, talks, end(WARM_UP)).await?;
        measured();
        let begun = Instant::now();
        let times = run_all(port, talks, end(duration)).await?;
        Ok(Sample::new(&times, begun.elapsed()))
    })
}

/// Runs one client for this many requests; returns each latency in nanoseconds.
pub(crate) fn run_alone<T: LoadClient>(
    port: u16,
    scripted_client: T,
    requests: u64,
) -> anyhow::Result<(T, Histogram<u64>)> {
    runtime()?.block_on(one_connection(
        port,
        scripted_client,
        Until::Requests(requests),
    ))
}

/// Latencies in nanoseconds.
async fn run_all<T: LoadClient>(
    port: u16,
    talks: &mut Vec<T>,
    until: Until,
) -> anyhow::Result<Histogram<u64>> {
    let running: Vec<_> = talks
        .drain(..)
        .map(|scripted_client| tokio::spawn(one_connection(port, scripted_client, until)))
        .collect();
    let mut all = Histogram::new(3)?;
    for connection in running {
        let (scripted_client, times) = connection.await??;
        talks.push(scripted_client);
        all.add(times)?;
    }
    Ok(all)
}

async fn one_connection<T: LoadClient>(
    port: u16,
    mut scripted_client: T,
    until: Until,
) -> anyhow::Result<(T, Histogram<u64>)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.set_nodelay(true)?;
    let mut responses = ResponseReader::new();
    let (mut times, mut body) = (Histogram::new(3)?, Vec::new());
    let mut begun = Instant::now();
    let goes_on = |begun: Instant, times: &Histogram<u64>| match until {
        Until::Time(end) => begun < end,
        Until::Requests(requests) => times.len() < requests,
    };
    while goes_on(begun, &times) {
        stream.write_all(scripted_client.next_request()).await?;
        body.clear();
        let reading = responses.read(&mut stream, |piece| body.extend_from_slice(piece));
        let http_response = tokio::time::timeout(RESPONSE_TIMEOUT, reading).await;
        let http_response = http_response.context("a server does not respond any more")??;
        check(http_response, &body)?;
        scripted_client.handle_response(&body)?;
        let ended = Instant::now();
        times.record(u64::try_from((ended - begun).as_nanos())?)?;
        begun = ended;
    }
    Ok((scripted_client, times))
}

fn check(http_response: HttpResponse, body: &[u8]) -> anyhow::Result<()> {
    ensure!(
        http_response.status == 200,
        "it responds {}: {}",
        http_response.status,
        String::from_utf8_lossy(&body[..body.len().min(300)])
    );
    Ok(())
}

fn runtime() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.context("no runtime for the load generator")
}
