//! The load generator: keep-alive connections that send prepared bytes and check every response's
//! status and length. One thread, so that it takes little from the two sides it stands between.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, runtime::Runtime};

use super::database::{FIRST_ID, ITEMS};
use crate::{
    http_response::{HttpResponse, ResponseReader},
    random::Random,
    run::Sample,
};

/// Before the clock starts, statements get prepared and pools filled.
const WARM_UP: Duration = Duration::from_millis(500);

/// A server that hangs must not hang the benchmark.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A request as bytes.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) bytes: Vec<u8>,
    /// Where the digits of a row's id stand, all ids being equally long.
    pub(crate) id_at: Option<usize>,
}

/// What is done to whom.
pub(crate) struct Load<'a> {
    pub(crate) port: u16,
    pub(crate) request: &'a Request,
    /// every response must be like this one.
    pub(crate) expected: HttpResponse,
    pub(crate) connections: u16,
}

impl Load<'_> {
    /// Runs until the time is over and the last responses have come; `measured` is called in
    /// between, when the clock starts.
    pub(crate) fn run(
        &self,
        duration: Duration,
        measured: impl FnOnce(),
    ) -> anyhow::Result<Sample> {
        runtime()?.block_on(async {
            self.run_all(WARM_UP).await?;
            measured();
            let begun = Instant::now();
            let times = self.run_all(duration).await?;
            Ok(Sample::new(&times, begun.elapsed()))
        })
    }

    /// All connections at once; their times in nanoseconds.
    async fn run_all(&self, duration: Duration) -> anyhow::Result<Histogram<u64>> {
        let until = Instant::now() + duration;
        let running: Vec<_> = (0..self.connections)
            .map(|number| {
                let (port, request, expected) = (self.port, self.request.clone(), self.expected);
                let random = Random::new(number.into());
                tokio::spawn(one_connection(port, request, expected, random, until))
            })
            .collect();
        let mut all = Histogram::new(3)?;
        for connection in running {
            let times = tokio::time::timeout(duration + RESPONSE_TIMEOUT, connection).await;
            all.add(times.context("a server does not respond any more")???)?;
        }
        Ok(all)
    }
}

/// One response and its body.
pub(crate) fn fetch(port: u16, request: &Request) -> anyhow::Result<(HttpResponse, Vec<u8>)> {
    runtime()?.block_on(async {
        let mut stream = connect(port).await?;
        stream.write_all(&request.bytes).await?;
        let mut body = Vec::new();
        let mut responses = ResponseReader::new();
        let reading = responses.read(&mut stream, |piece| body.extend_from_slice(piece));
        let http_response = tokio::time::timeout(RESPONSE_TIMEOUT, reading).await??;
        Ok((http_response, body))
    })
}

async fn one_connection(
    port: u16,
    mut request: Request,
    expected: HttpResponse,
    mut random: Random,
    until: Instant,
) -> anyhow::Result<Histogram<u64>> {
    let mut stream = connect(port).await?;
    let mut responses = ResponseReader::new();
    let mut times = Histogram::new(3)?;
    let mut begun = Instant::now();
    while begun < until {
        request.choose(FIRST_ID + random.between_one_and(ITEMS) - 1);
        stream.write_all(&request.bytes).await?;
        let http_response = responses.read(&mut stream, |_| ()).await?;
        ensure!(
            http_response == expected,
            "{http_response:?} came where {expected:?} should have"
        );
        let ended = Instant::now();
        times.record(u64::try_from((ended - begun).as_nanos())?)?;
        begun = ended;
    }
    Ok(times)
}

impl Request {
    /// Asks for this row, if the request is about one.
    pub(crate) fn choose(&mut self, id: i32) {
        if let Some(at) = self.id_at {
            let digits = id.to_string();
            self.bytes[at..at + digits.len()].copy_from_slice(digits.as_bytes());
        }
    }
}

async fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn runtime() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.context("no runtime for the load generator")
}
