//! What a worker may use, and the responses beyond that (functions contract §9, §10).

use serde_json::json;

use crate::support::{TestFunctions, until};

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

/// Works for so many milliseconds, and listens now and then.
const WORKS: &str = r#"
    const work = async (time: number) => {
      for (const end = Date.now() + time; Date.now() < end;) {
        for (const pause = Date.now() + 10; Date.now() < pause;);
        await new Promise((resolve) => setTimeout(resolve));
      }
    };
    addEventListener('beforeunload', (event) => console.log('going for', (event as CustomEvent).detail.reason));
    Deno.serve(async (req) => {
      const [, , what, time] = new URL(req.url).pathname.split('/');
      if (what === 'later') EdgeRuntime.waitUntil(work(Number(time)));
      if (what === 'now') await work(Number(time));
      return new Response('fine');
    });
"#;

#[tokio::test]
async fn a_request_that_uses_up_its_processor_time_is_ended_although_the_worker_listens() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", WORKS)],
        &[("plinth.functions.cpu", "1s")],
    )
    .await;
    functions.fetch("hello").await;

    let (status, body) = functions.failure("hello/now/60000").await;

    let message = "Function failed due to not having enough compute resources (please check logs)";
    let expected = json!({ "code": "WORKER_RESOURCE_LIMIT", "message": message });
    assert_eq!((status, body), (546, expected));
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    // At half of it the worker retires.
    functions
        .records_with(|record| record.message == "going for cpu")
        .await;
    functions
        .records_with(|record| record.message == "CPU time limit of 1 s exceeded")
        .await;

    // Work after a response counts, too.
    let [worker] = functions.worker_pids()[..] else {
        panic!("one worker");
    };
    assert_eq!(functions.fetch("hello/later/60000").await.0, 200);
    until(async || !functions.worker_pids().contains(&worker)).await;
}

#[tokio::test]
async fn requests_do_not_share_their_processor_time() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", WORKS)],
        &[
            ("plinth.functions.cpu", "2s"),
            ("plinth.functions.max_workers", "1"),
        ],
    )
    .await;
    functions.fetch("hello").await;
    let workers = functions.worker_pids();

    // One after the other, and at once: more in all than any one may use.
    for _ in 0..4 {
        assert_eq!(functions.fetch("hello/now/700").await.0, 200);
    }
    let calls = (0..6).map(|_| functions.fetch("hello/now/3000"));
    let responses = futures_util::future::join_all(calls).await;

    assert_eq!(responses, vec![(200, "fine".to_owned()); 6]);
    assert_eq!(functions.worker_pids(), workers, "the same worker");
}

#[tokio::test]
async fn memory_is_limited_on_the_heap_and_beside_it() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", r#"
            const kept: unknown[] = [];
            addEventListener('beforeunload', (event) => console.log('going for', (event as CustomEvent).detail.reason));
            Deno.serve(async (req) => {
              const path = new URL(req.url).pathname;
              if (path.endsWith('/heap')) for (let i = 0; ; i++) { kept.push({ i, text: 'x'.repeat(10) + i }); if (i % 100000 === 0) await new Promise((r) => setTimeout(r)); }
              if (path.endsWith('/buffers')) for (;;) { kept.push(new Uint8Array(1 << 20).fill(1)); await new Promise((r) => setTimeout(r, 20)); }
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
    // It is warned before it is killed.
    functions
        .records_with(|record| record.message == "going for memory")
        .await;
}

#[tokio::test]
async fn what_a_function_prints_has_its_limits() {
    let functions = TestFunctions::of(
        "Deno.serve(() => { console.log('long ' + 'x'.repeat(20_000)); for (let i = 0; i < 300; i++) console.log('line', i); return new Response(); });",
    )
    .await;

    functions.fetch("hello").await;

    let is_notice = |record: &plinth_log::Record| {
        record.message == "Log rate limit exceeded: dropping messages of this function"
    };
    let records = functions.records_with(is_notice).await;
    let printed = |start: &str| {
        let fits = records
            .iter()
            .filter(|record| record.message.starts_with(start));
        fits.map(|record| record.message.len()).collect::<Vec<_>>()
    };
    assert_eq!(printed("long "), [10_000]);
    assert_eq!(printed("line ").len(), 99);
    assert_eq!(records.iter().filter(|record| is_notice(record)).count(), 1);
}

#[tokio::test]
async fn all_workers_of_a_function_share_what_it_may_print() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "Deno.serve(() => { for (let i = 0; i < 60; i++) console.log('line', i); return new Response(); });")],
        &[("edge_runtime.policy", "oneshot")],
    )
    .await;

    functions.fetch("hello").await;
    functions.fetch("hello").await;

    let is_notice =
        |record: &plinth_log::Record| record.message.contains("Log rate limit exceeded");
    let records = functions.records_with(is_notice).await;
    let lines = records
        .iter()
        .filter(|record| record.message.starts_with("line "));
    assert_eq!(lines.count(), 100);
}

#[tokio::test]
async fn many_requests_at_once_have_the_time_of_each() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "Deno.serve(() => { const end = performance.now() + 300; while (performance.now() < end); return new Response('fine'); });",
        )],
        &[("plinth.functions.cpu", "1s"), ("plinth.functions.max_workers", "1")],
    )
    .await;
    functions.fetch("hello").await;

    let calls = (0..10).map(|_| functions.fetch("hello"));
    let responses = futures_util::future::join_all(calls).await;

    for response in responses {
        assert_eq!(response, (200, "fine".to_owned()));
    }
}
