//! The load generator: keep-alive connections, each of which talks with a client's memory, because
//! the next request may need what the last one answered. One thread for all.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, runtime::Runtime};

use crate::{
    answer::{Answer, Answers},
    run::Sample,
};

/// Before the clock starts, statements get prepared and pools filled.
const WARM_UP: Duration = Duration::from_millis(500);

/// A server that hangs must not hang the benchmark.
const STUCK: Duration = Duration::from_secs(60);

/// One client: what it asks for next, and what it makes of the answer.
pub(crate) trait Conversation: Send + 'static {
    /// The next request.
    fn say(&mut self) -> &[u8];

    /// The body of its answer, whose status was 200.
    fn hear(&mut self, body: &[u8]) -> anyhow::Result<()>;
}

/// How long somebody talks.
#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Requests(u64),
}

/// Lets all talk at once; `measured` is called in between, when the clock starts.
pub(crate) fn run<T: Conversation>(
    port: u16,
    talks: &mut Vec<T>,
    duration: Duration,
    measured: &mut dyn FnMut(),
) -> anyhow::Result<Sample> {
    runtime()?.block_on(async {
        let end = |duration| Until::Time(Instant::now() + duration);
        together(port, talks, end(WARM_UP)).await?;
        measured();
        let begun = Instant::now();
        let times = together(port, talks, end(duration)).await?;
        Ok(Sample::new(&times, begun.elapsed()))
    })
}

/// Lets one talk, so many times; how long each took, in nanoseconds.
pub(crate) fn run_alone<T: Conversation>(
    port: u16,
    talk: T,
    requests: u64,
) -> anyhow::Result<(T, Histogram<u64>)> {
    runtime()?.block_on(one_connection(port, talk, Until::Requests(requests)))
}

/// Their times in nanoseconds.
async fn together<T: Conversation>(
    port: u16,
    talks: &mut Vec<T>,
    until: Until,
) -> anyhow::Result<Histogram<u64>> {
    let running: Vec<_> = talks
        .drain(..)
        .map(|talk| tokio::spawn(one_connection(port, talk, until)))
        .collect();
    let mut all = Histogram::new(3)?;
    for connection in running {
        let (talk, times) = connection.await??;
        talks.push(talk);
        all.add(times)?;
    }
    Ok(all)
}

async fn one_connection<T: Conversation>(
    port: u16,
    mut talk: T,
    until: Until,
) -> anyhow::Result<(T, Histogram<u64>)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.set_nodelay(true)?;
    let mut answers = Answers::new();
    let (mut times, mut body) = (Histogram::new(3)?, Vec::new());
    let mut begun = Instant::now();
    let goes_on = |begun: Instant, times: &Histogram<u64>| match until {
        Until::Time(end) => begun < end,
        Until::Requests(requests) => times.len() < requests,
    };
    while goes_on(begun, &times) {
        stream.write_all(talk.say()).await?;
        body.clear();
        let reading = answers.read(&mut stream, |piece| body.extend_from_slice(piece));
        let answer = tokio::time::timeout(STUCK, reading).await;
        let answer = answer.context("a server does not answer any more")??;
        check(answer, &body)?;
        talk.hear(&body)?;
        let ended = Instant::now();
        times.record(u64::try_from((ended - begun).as_nanos())?)?;
        begun = ended;
    }
    Ok((talk, times))
}

fn check(answer: Answer, body: &[u8]) -> anyhow::Result<()> {
    ensure!(
        answer.status == 200,
        "it answers {}: {}",
        answer.status,
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
