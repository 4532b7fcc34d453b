//! Which worker a request gets, and how many there are (functions contract §9, §14.4).

use std::time::{Duration, Instant};

use crate::support::{TEST_TIMEOUT, TestFunctions, TestOptions, until};

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
async fn a_function_that_calls_itself_needs_no_second_worker() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            r#"Deno.serve(async (req) => {
            const url = new URL(req.url);
            const left = Number(url.searchParams.get('left'));
            if (left === 0) return new Response('the bottom');
            url.searchParams.set('left', String(left - 1));
            return await fetch(url, { headers: { apikey: req.headers.get('apikey')! } });
        });"#,
        )],
        &[
            ("plinth.functions.max_workers", "1"),
            ("plinth.functions.reachable_networks", "127.0.0.1"),
        ],
    )
    .await;

    // More at once than the target of a worker.
    let response = functions.fetch("hello?left=20").await;

    assert_eq!(response, (200, "the bottom".to_owned()));
    assert_eq!(functions.worker_pids().len(), 1);
}

#[tokio::test]
async fn all_functions_share_one_budget() {
    let code = r#"Deno.serve(async (req) => {
        if (req.url.endsWith('/slow')) {
            console.log('busy');
            await new Promise((r) => setTimeout(r, 60_000));
        }
        return new Response('fine');
    });"#;
    let functions = TestFunctions::start(TestOptions {
        files: &[("one/index.ts", code), ("two/index.ts", code)],
        // Longer than a boot takes on a busy machine.
        settings: &[("plinth.functions.wait_timeout", "5s")],
        max_workers: Some(1),
        ..TestOptions::default()
    })
    .await;

    // The idle worker is evicted.
    assert_eq!(functions.fetch("one").await.0, 200);
    assert_eq!(functions.fetch("two").await.0, 200);
    assert_eq!(functions.worker_pids().len(), 1);

    // The busy worker stays, and others are asked to retry.
    let busy = tokio::spawn(functions.get("two/slow").send());
    functions
        .records_with(|record| record.message.contains("busy"))
        .await;
    let rejected = functions.get("one").send().await.unwrap();
    assert_eq!(rejected.status(), 503);
    assert_eq!(rejected.headers()["x-relay-error"], "true");
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
    until(async || functions.worker_pids().is_empty()).await;
}

#[tokio::test]
async fn queued_requests_time_out_where_each_request_has_its_own_worker() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "Deno.serve(async () => { await new Promise((r) => setTimeout(r, 400)); return new Response('fine'); });",
        )],
        &[
            ("edge_runtime.policy", "oneshot"),
            ("plinth.functions.max_workers", "1"),
            ("plinth.functions.wait_timeout", "2s"),
        ],
    )
    .await;
    assert_eq!(functions.fetch("hello").await.0, 200);

    let began = Instant::now();
    let all = (0..40).map(|_| tokio::spawn(functions.get("hello").send()));
    let all: Vec<_> = all.collect();
    let mut statuses = Vec::new();
    for one in all {
        statuses.push(one.await.unwrap().unwrap().status().as_u16());
    }

    assert!(
        statuses.contains(&200) && statuses.contains(&503),
        "{statuses:?}"
    );
    // One after the other would take more than 40 times that long.
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn one_request_at_a_time_where_that_is_asked_for() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            r#"
            let open = 0;
            let most = 0;
            let count = 0;
            Deno.serve(async () => {
              count += 1;
              most = Math.max(most, ++open);
              await new Promise((resolve) => setTimeout(resolve, 100));
              open -= 1;
              return Response.json({ pid: Deno.pid, most, count });
            });"#,
        )],
        &[
            ("edge_runtime.policy", "per_request"),
            ("plinth.functions.max_workers", "2"),
        ],
    )
    .await;

    let calls = (0..8).map(|_| async {
        let response = functions.get("hello").send().await.unwrap();
        response.json::<serde_json::Value>().await.unwrap()
    });
    let responses = futures_util::future::join_all(calls).await;

    assert!(
        responses.iter().all(|body| body["most"] == 1),
        "{responses:?}"
    );
    let workers = functions.worker_pids();
    assert_eq!(workers.len(), 2, "no more than may be, and they stay");
    let counts = |pid: i32| {
        let own = responses.iter().filter(|body| body["pid"] == pid);
        own.filter_map(|body| body["count"].as_u64()).max()
    };
    let served: u64 = workers.iter().filter_map(|pid| counts(*pid)).sum();
    assert_eq!(served, 8, "{responses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_second_request_enters_a_worker_for_one() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "let count = 0; Deno.serve(() => new Response(String(++count)));",
        )],
        &[
            ("edge_runtime.policy", "oneshot"),
            ("plinth.functions.max_workers", "1"),
            ("plinth.functions.wait_timeout", "60s"),
        ],
    )
    .await;

    let calls = (0..12).map(|_| functions.fetch("hello"));
    let responses = futures_util::future::join_all(calls).await;

    assert_eq!(responses, vec![(200, "1".to_owned()); 12]);
}

#[tokio::test]
async fn a_worker_that_never_listens_again_gets_no_more_requests() {
    let functions = TestFunctions::of(
        "Deno.serve((req) => {
            if (req.url.endsWith('/block')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
            return new Response('fine');
        });",
    )
    .await;
    let blocked = tokio::spawn(functions.get("hello/block").send());

    let began = Instant::now();
    loop {
        let asked = functions
            .get("hello")
            .timeout(Duration::from_secs(1))
            .send();
        if asked.await.is_ok_and(|response| response.status() == 200)
            && began.elapsed().as_secs() > 1
        {
            break;
        }
        assert!(
            began.elapsed() < TEST_TIMEOUT,
            "everybody waits for one that is stuck"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    blocked.abort();
}

#[tokio::test]
async fn a_line_without_an_end_makes_no_worker_look_deaf() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "Deno.serve(async () => {
                Deno.stdout.writeSync(new TextEncoder().encode('.'));
                await new Promise((r) => setTimeout(r, 150));
                const end = Date.now() + 150;
                while (Date.now() < end);
                return new Response('fine');
            });",
        )],
        &[
            ("plinth.functions.cpu", "1s"),
            ("plinth.functions.prewarmed_processes", "0"),
        ],
    )
    .await;
    functions.fetch("hello").await;
    let first = functions.worker_pids();

    for _ in 0..14 {
        assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    }

    assert_eq!(functions.worker_pids(), first);
}
