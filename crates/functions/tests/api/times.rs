//! How long requests, their responses and workers last (functions contract §9, §10).

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{PUBLISHABLE_KEY, TEST_TIMEOUT, TestFunctions, TestOptions, until};

#[tokio::test]
async fn silence_and_endlessness_have_their_own_limits() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            Deno.serve((req) => {
              const path = new URL(req.url).pathname;
              if (path.endsWith('/silent')) return new Promise(() => {});
              if (path.endsWith('/stops')) return new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)) }));
              if (path.endsWith('/drips')) return new Response(new ReadableStream({ pull: async (c) => { await new Promise((r) => setTimeout(r, 100)); c.enqueue(new Uint8Array(1)); } }));
              return new Response('fine');
            });
        "#)],
        &[("plinth.functions.request_idle", "1s"), ("plinth.functions.wall_clock", "3s")],
    )
    .await;
    functions.fetch("hello").await;

    let (status, body) = functions.failure("hello/silent").await;
    assert_eq!(status, 504);
    assert_eq!(
        body,
        json!({ "code": "IDLE_TIMEOUT", "message": "Request idle timeout limit (1s) reached" })
    );

    let began = Instant::now();
    let stops = functions.get("hello/stops").send().await.unwrap();
    assert!(
        stops.bytes().await.is_err(),
        "a response that stops is broken off"
    );
    assert!(began.elapsed() < Duration::from_secs(3));
    let drips = functions.get("hello/drips").send().await.unwrap();
    assert!(
        drips.bytes().await.is_err(),
        "a response that never ends is broken off"
    );
    assert!(began.elapsed() >= Duration::from_secs(3));

    functions.set(&[("plinth.functions.wall_clock", "1s")]);
    let (status, body) = functions.failure("hello/silent").await;
    assert_eq!(
        (status, &body["code"]),
        (546, &json!("WORKER_RESOURCE_LIMIT"))
    );
}

#[tokio::test]
async fn an_endless_response_is_cut_off_although_it_never_pauses() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "const piece = new Uint8Array(1 << 16); Deno.serve(() => new Response(new ReadableStream({ pull: (c) => c.enqueue(piece) })));")],
        &[("plinth.functions.wall_clock", "2s")],
    )
    .await;

    let mut response = functions.get("hello").send().await.unwrap();
    let began = Instant::now();
    let mut bytes = 0;
    let broken = loop {
        match response.chunk().await {
            Ok(Some(piece)) => bytes += piece.len(),
            Ok(None) => break false,
            Err(_) => break true,
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "it goes on and on");
    };

    assert!(broken && bytes > 1 << 20, "{broken} {bytes}");
}

#[tokio::test]
async fn an_endless_request_ends_with_its_time() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(async (req) => { for await (const _ of req.body!); return new Response('never'); });")],
        &[("plinth.functions.wall_clock", "2s")],
    )
    .await;
    let stream = TcpStream::connect(functions.address).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let head = format!(
        "POST /hello HTTP/1.1\r\nhost: x\r\napikey: {PUBLISHABLE_KEY}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    writing.write_all(head.as_bytes()).await.unwrap();
    let drips = tokio::spawn(async move {
        while writing.write_all(b"4\r\ndrop\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });

    let mut response = [0; 1024];
    let length = tokio::time::timeout(TEST_TIMEOUT, reading.read(&mut response)).await;
    let length = length.expect("a response in time").unwrap();
    drips.abort();

    let response = String::from_utf8_lossy(&response[..length]);
    assert!(response.starts_with("HTTP/1.1 546"), "{response}");
    assert!(
        response.contains("sb-error-code: WORKER_RESOURCE_LIMIT"),
        "{response}"
    );
}

#[tokio::test]
async fn a_slow_start_is_not_the_requests_time() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "await new Promise((r) => setTimeout(r, 1500)); Deno.serve(() => new Response('fine'));",
        )],
        &[
            ("plinth.functions.request_idle", "1s"),
            ("plinth.functions.wall_clock", "1s"),
            ("plinth.functions.wait_timeout", "1s"),
        ],
    )
    .await;

    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
}

#[tokio::test]
async fn an_unread_response_ends_at_its_timeout() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "const piece = new Uint8Array(1 << 16); Deno.serve(() => new Response(new ReadableStream({ pull: (c) => c.enqueue(piece), cancel: () => console.log('cut') })));")],
        &[("plinth.functions.wall_clock", "2s")],
    )
    .await;
    let mut stream = TcpStream::connect(functions.address).await.unwrap();
    let head = format!("GET /hello HTTP/1.1\r\nhost: x\r\napikey: {PUBLISHABLE_KEY}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();

    functions
        .records_with(|record| record.message == "cut")
        .await;
    until(async || functions.worker_pids().is_empty()).await;
    drop(stream);
}

/// Ends after so many milliseconds, or leaves work behind that does.
const LASTS: &str = r#"
    const time = (req: Request) => Number(new URL(req.url).pathname.split('/')[3]);
    addEventListener('beforeunload', (event) => console.log('going for', (event as CustomEvent).detail.reason));
    Deno.serve(async (req) => {
      const wait = () => new Promise((resolve) => setTimeout(resolve, time(req)));
      if (req.url.includes('/later/')) EdgeRuntime.waitUntil(wait().then(() => console.log('done')));
      if (req.url.includes('/now/')) await wait();
      return new Response('fine');
    });
"#;

#[tokio::test]
async fn a_request_is_not_cut_short_for_another_one_whose_time_is_over() {
    const WALL_CLOCK: Duration = Duration::from_secs(4);
    let functions = TestFunctions::with(
        &[("hello/index.ts", LASTS)],
        &[
            ("plinth.functions.wall_clock", "4s"),
            ("plinth.functions.graceful_exit", "500ms"),
            ("plinth.functions.max_workers", "1"),
        ],
    )
    .await;
    functions.fetch("hello").await;

    let endless = tokio::spawn(functions.get("hello/now/60000").send());
    // The time of the first request ends half-way through the second, whose own does not.
    tokio::time::sleep(WALL_CLOCK * 5 / 8).await;
    let innocent = functions.fetch("hello/now/3000").await;

    assert_eq!(innocent, (200, "fine".to_owned()));
    assert_eq!(endless.await.unwrap().unwrap().status(), 546);
    functions
        .records_with(|record| record.message == "going for wall_clock")
        .await;
}

#[tokio::test]
async fn background_work_is_notified_before_its_timeout() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", LASTS)],
        &[("plinth.functions.wall_clock", "10s")],
    )
    .await;

    functions.fetch("hello/later/60000").await;

    functions
        .records_with(|record| record.message == "going for wall_clock")
        .await;
    assert_eq!(functions.worker_pids().len(), 1, "it may still finish");
    functions
        .records_with(|record| record.message == "Wall clock time limit reached")
        .await;
}

#[tokio::test]
async fn work_that_never_ends_does_not_hold_the_service_up() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(() => { EdgeRuntime.waitUntil(new Promise(() => setInterval(() => {}, 1000))); return new Response('fine'); });")],
        &[("plinth.functions.graceful_exit", "1s")],
    )
    .await;
    assert_eq!(functions.fetch("hello").await.0, 200);

    let began = Instant::now();
    functions.service.finish().await;

    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "it is waited for"
    );
    assert!(began.elapsed() < TEST_TIMEOUT / 2);
    assert!(functions.processes().is_empty());
}

#[tokio::test]
async fn a_worker_whose_work_goes_on_is_not_idle() {
    let functions = TestFunctions::start(TestOptions {
        files: &[("one/index.ts", LASTS), ("two/index.ts", LASTS)],
        settings: &[
            ("plinth.functions.wait_timeout", "500ms"),
            ("plinth.functions.worker_idle", "500ms"),
        ],
        max_workers: Some(1),
        ..TestOptions::default()
    })
    .await;

    functions.fetch("one/later/3000").await;
    assert_eq!(functions.fetch("two").await.0, 503, "no worker is evicted");

    functions
        .records_with(|record| record.message == "done")
        .await;
    until(async || functions.worker_pids().is_empty()).await;
    // On a busy machine a start may take longer than a request waits.
    until(async || functions.fetch("two").await.0 == 200).await;
}

#[tokio::test]
async fn a_worker_goes_at_the_end_of_its_life_where_it_has_one() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            addEventListener('beforeunload', (event) => console.log('going for', (event as CustomEvent).detail.reason));
            Deno.serve(() => new Response(Deno.env.get('SB_EXECUTION_ID')));
        "#)],
        &[("plinth.functions.worker_lifetime", "2s")],
    )
    .await;
    let (_, first) = functions.fetch("hello").await;

    until(async || functions.fetch("hello").await.1 != first).await;

    functions
        .records_with(|record| record.message == "going for wall_clock")
        .await;
}

#[tokio::test]
async fn idle_functions_cost_no_process() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(() => new Response('fine'));")],
        &[("plinth.functions.worker_idle", "2s")],
    )
    .await;

    functions.fetch("hello").await;
    assert_eq!(functions.worker_pids().len(), 1);
    until(async || functions.processes().is_empty()).await;

    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
}
