//! Limits and their answers (functions contract §9, §10).

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{PATIENCE, PUBLISHABLE_KEY, TestFunctions, Wish, until};

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
    // At half of it the worker was told, and got no more requests.
    functions
        .records_with(|record| record.message == "going for cpu")
        .await;
    functions
        .records_with(|record| record.message == "CPU time limit of 1 s exceeded")
        .await;

    // What goes on after an answer counts, too.
    let [worker] = functions.worker_pids()[..] else {
        panic!("one worker");
    };
    assert_eq!(functions.fetch("hello/later/60000").await.0, 200);
    until("the worker to go", || {
        !functions.worker_pids().contains(&worker)
    })
    .await;
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
    let answers = futures_util::future::join_all(calls).await;

    assert_eq!(answers, vec![(200, "fine".to_owned()); 6]);
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
    // It is told before it is too late.
    functions
        .records_with(|record| record.message == "going for memory")
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
async fn an_endless_answer_is_broken_off_although_it_never_pauses() {
    let functions = TestFunctions::with(
        &[("hello/index.ts", "const piece = new Uint8Array(1 << 16); Deno.serve(() => new Response(new ReadableStream({ pull: (c) => c.enqueue(piece) })));")],
        &[("plinth.functions.wall_clock", "2s")],
    )
    .await;

    let mut answer = functions.get("hello").send().await.unwrap();
    let began = Instant::now();
    let mut bytes = 0;
    let broken = loop {
        match answer.chunk().await {
            Ok(Some(piece)) => bytes += piece.len(),
            Ok(None) => break false,
            Err(_) => break true,
        }
        assert!(began.elapsed() < PATIENCE, "it goes on and on");
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

    let mut answer = [0; 1024];
    let length = tokio::time::timeout(PATIENCE, reading.read(&mut answer)).await;
    let length = length.expect("an answer in time").unwrap();
    drips.abort();

    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 546"), "{answer}");
    assert!(
        answer.contains("sb-error-code: WORKER_RESOURCE_LIMIT"),
        "{answer}"
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
    until("all processes to go", || functions.processes().is_empty()).await;

    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
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

    let began = Instant::now();
    while functions.fetch("hello").await.1 == first {
        assert!(began.elapsed() < PATIENCE, "the same worker still");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    functions
        .records_with(|record| record.message == "going for wall_clock")
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
    assert!(began.elapsed() < PATIENCE / 2);
    assert!(functions.processes().is_empty());
}

#[tokio::test]
async fn what_a_function_prints_has_its_limits() {
    let functions = TestFunctions::of(
        "Deno.serve(() => { console.log('long ' + 'x'.repeat(20_000)); for (let i = 0; i < 300; i++) console.log('line', i); return new Response(); });",
    )
    .await;

    functions.fetch("hello").await;

    let is_notice = |record: &plinth_log::Record| {
        record.message == "The function prints too much: messages are left out for a while"
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

    // More at once than a worker is comfortable with.
    let answer = functions.fetch("hello?left=20").await;

    assert_eq!(answer, (200, "the bottom".to_owned()));
    assert_eq!(functions.worker_pids().len(), 1);
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
        let answer = functions.get("hello").send().await.unwrap();
        answer.json::<serde_json::Value>().await.unwrap()
    });
    let answers = futures_util::future::join_all(calls).await;

    assert!(answers.iter().all(|told| told["most"] == 1), "{answers:?}");
    let workers = functions.worker_pids();
    assert_eq!(workers.len(), 2, "no more than may be, and they stay");
    let counts = |pid: i32| {
        let own = answers.iter().filter(|told| told["pid"] == pid);
        own.filter_map(|told| told["count"].as_u64()).max()
    };
    let served: u64 = workers.iter().filter_map(|pid| counts(*pid)).sum();
    assert_eq!(served, 8, "{answers:?}");
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
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let innocent = functions.fetch("hello/now/3000").await;

    assert_eq!(innocent, (200, "fine".to_owned()));
    assert_eq!(endless.await.unwrap().unwrap().status(), 546);
    functions
        .records_with(|record| record.message == "going for wall_clock")
        .await;
}

#[tokio::test]
async fn work_after_an_answer_is_told_before_its_time_is_over() {
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
async fn a_worker_whose_work_goes_on_is_not_idle() {
    let functions = TestFunctions::start(Wish {
        files: &[("one/index.ts", LASTS), ("two/index.ts", LASTS)],
        settings: &[
            ("plinth.functions.wait_timeout", "500ms"),
            ("plinth.functions.worker_idle", "500ms"),
        ],
        max_workers: Some(1),
        ..Wish::default()
    })
    .await;

    functions.fetch("one/later/3000").await;
    assert_eq!(functions.fetch("two").await.0, 503, "nobody makes room");

    functions
        .records_with(|record| record.message == "done")
        .await;
    until("the worker to go", || functions.worker_pids().is_empty()).await;
    assert_eq!(functions.fetch("two").await.0, 200);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_with_its_time() {
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
    until("the worker to go", || functions.worker_pids().is_empty()).await;
    drop(stream);
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

    let is_notice = |record: &plinth_log::Record| record.message.contains("prints too much");
    let records = functions.records_with(is_notice).await;
    let lines = records
        .iter()
        .filter(|record| record.message.starts_with("line "));
    assert_eq!(lines.count(), 100);
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
    let answers = futures_util::future::join_all(calls).await;

    assert_eq!(answers, vec![(200, "1".to_owned()); 12]);
}

#[tokio::test]
async fn nobody_waits_longer_than_allowed_where_each_request_has_its_own_worker() {
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
        began.elapsed() < Duration::from_secs(12),
        "{:?}",
        began.elapsed()
    );
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
        if asked.await.is_ok_and(|answer| answer.status() == 200) && began.elapsed().as_secs() > 1 {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
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
            ("plinth.functions.spare_processes", "0"),
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
