//! Limits and their answers (functions contract §9, §10).

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{TestFunctions, Wish, until};

#[tokio::test]
async fn an_endless_loop_is_ended_and_the_next_request_gets_a_new_worker() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve((req) => { if (req.url.endsWith('/loop')) for (;;); return new Response('fine'); });")],
        &[("plinth.functions.cpu", "1s")],
    )
    .await;
    functions.fetch("hello").await;

    let (status, body) = functions.failure("hello/loop").await;

    assert_eq!(
        (status, &body["code"]),
        (546, &json!("WORKER_RESOURCE_LIMIT"))
    );
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    let records = functions
        .records_with(|record| record.fields.get("reason") == Some(&json!("CPUTime")))
        .await;
    assert!(
        records
            .iter()
            .any(|record| record.fields["event_type"] == "Shutdown")
    );
}

#[tokio::test]
async fn memory_is_limited_on_the_heap_and_beside_it() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            const kept: unknown[] = [];
            Deno.serve(async (req) => {
              const path = new URL(req.url).pathname;
              if (path.endsWith('/heap')) for (let i = 0; ; i++) { kept.push({ i, text: 'x'.repeat(10) + i }); if (i % 100000 === 0) await new Promise((r) => setTimeout(r)); }
              if (path.endsWith('/buffers')) for (;;) { kept.push(new Uint8Array(1 << 20).fill(1)); await new Promise((r) => setTimeout(r)); }
              return new Response('fine');
            });
        "#)],
        &[("plinth.functions.memory", "128MiB")],
    )
    .await;

    for path in ["hello/heap", "hello/buffers"] {
        let (status, body) = functions.failure(path).await;
        assert_eq!(
            (status, &body["code"]),
            (546, &json!("WORKER_RESOURCE_LIMIT")),
            "{path}"
        );
        assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    }
    functions
        .records_with(|record| record.fields.get("reason") == Some(&json!("Memory")))
        .await;
}

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
        "an answer that stops is broken off"
    );
    assert!(began.elapsed() < Duration::from_secs(3));
    let drips = functions.get("hello/drips").send().await.unwrap();
    assert!(
        drips.bytes().await.is_err(),
        "an answer that never ends is broken off"
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
async fn idle_functions_cost_no_process() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(() => new Response('fine'));")],
        &[("plinth.functions.worker_idle", "2s")],
    )
    .await;

    functions.fetch("hello").await;
    assert_eq!(functions.worker_pids().len(), 1);
    until("the worker to go", || functions.worker_pids().is_empty()).await;

    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
}

#[tokio::test]
async fn a_busy_worker_gets_help() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(async () => { await new Promise((r) => setTimeout(r, 1500)); return new Response('fine'); });")],
        &[("plinth.functions.max_workers", "2")],
    )
    .await;

    let calls = (0..40).map(|_| async {
        functions
            .get("hello")
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    });
    let statuses = futures_util::future::join_all(calls).await;

    assert_eq!(statuses, [200; 40]);
    assert_eq!(functions.worker_pids().len(), 2);
}

#[tokio::test]
async fn all_functions_share_one_budget() {
    let code = "Deno.serve(async (req) => { if (req.url.endsWith('/slow')) await new Promise((r) => setTimeout(r, 60_000)); return new Response('fine'); });";
    let functions = TestFunctions::start(Wish {
        files: &[("one/index.ts", code), ("two/index.ts", code)],
        settings: &[("plinth.functions.wait_timeout", "500ms")],
        max_workers: Some(1),
        ..Wish::default()
    })
    .await;

    // Whoever is idle goes.
    assert_eq!(functions.fetch("one").await.0, 200);
    assert_eq!(functions.fetch("two").await.0, 200);
    assert_eq!(functions.worker_pids().len(), 1);

    // Whoever is busy stays, and others are told to come back.
    let busy = tokio::spawn(functions.get("two/slow").send());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let refused = functions.get("one").send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["x-relay-error"], "true");
    busy.abort();
}

#[tokio::test]
async fn one_worker_per_request_where_that_is_asked_for() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "let count = 0; Deno.serve(() => new Response(String(++count)));",
        )],
        &[("edge_runtime.policy", "oneshot")],
    )
    .await;

    for _ in 0..3 {
        assert_eq!(functions.fetch("hello").await, (200, "1".to_owned()));
    }
    until("all workers to go", || functions.worker_pids().is_empty()).await;
}
