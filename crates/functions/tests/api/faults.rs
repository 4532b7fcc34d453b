//! Functions that fail, and what errors their callers get (functions contract §5, §14.4).

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{TestFunctions, TestOptions};

#[tokio::test]
async fn a_worker_that_dies_takes_only_its_own_requests_along() {
    let functions = TestFunctions::of(
        r#"Deno.serve(async (req) => {
            const path = new URL(req.url).pathname;
            if (path.endsWith('/reject')) { Promise.reject(new Error('nobody listens')); await new Promise(() => {}); }
            if (path.endsWith('/throw')) { setTimeout(() => { throw new Error('database: out of memory'); }, 1); await new Promise(() => {}); }
            if (path.endsWith('/wait')) await new Promise(() => {});
            return new Response('fine');
        });"#,
    )
    .await;

    for path in ["hello/reject", "hello/throw"] {
        let (status, body) = functions.failure(path).await;
        assert_eq!(status, 500, "{path}");
        let message = "Function exited due to an error (please check logs)";
        assert_eq!(body, json!({ "code": "WORKER_ERROR", "message": message }));
        assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
    }
    let records = functions
        .records_with(|record| record.fields["event_type"] == "UncaughtException")
        .await;
    let exception = |record: &plinth_log::Record| {
        record
            .fields
            .get("exception")
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    assert!(
        records
            .iter()
            .any(|record| exception(record).contains("nobody listens"))
    );
    for record in records {
        let fields = &record.fields;
        if fields["event_type"] == "UncaughtException" {
            // A start alone takes longer than the clock of the system ticks.
            assert!(fields["cpu_time_used"].as_u64() > Some(0), "{fields:?}");
            let memory = fields["memory_used"]["total"].as_u64();
            assert!(memory > Some(10 << 20), "{fields:?}");
        }
    }
}

#[tokio::test]
async fn every_start_that_comes_to_nothing_is_an_execution() {
    let functions = TestFunctions::with(
        &[
            ("hello/index.ts", "this is no program"),
            ("other/index.ts", "throw new Error('never');"),
        ],
        &[],
    )
    .await;

    for slug in ["hello", "other"] {
        assert_eq!(functions.failure(slug).await.0, 503);
        let records = functions
            .records_with(|record| {
                record.fields.get("event_type") == Some(&json!("BootFailure"))
                    && record.fields["function"] == slug
            })
            .await;
        let failures = records
            .iter()
            .filter(|record| record.fields.get("event_type") == Some(&json!("BootFailure")));
        for record in failures {
            let id = record.fields["execution_id"].as_str().unwrap_or_default();
            assert_eq!(id.len(), 36, "{record:?}");
        }
    }
}

#[tokio::test]
async fn a_killed_workers_requests_get_errors_and_it_is_replaced() {
    let functions = TestFunctions::of(
        r#"Deno.serve(async (req) => {
            if (req.url.endsWith('/wait')) { console.log('waiting'); await new Promise(() => {}); }
            return new Response('fine');
        });"#,
    )
    .await;
    functions.fetch("hello").await;

    let waiting = tokio::spawn(functions.get("hello/wait").send());
    functions.logged("waiting").await;
    for pid in functions.worker_pids() {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    let cut = waiting.await.unwrap().unwrap();
    let code = cut.headers()["sb-error-code"].as_bytes();
    assert_eq!((cut.status().as_u16(), code), (500, &b"WORKER_ERROR"[..]));
    assert_eq!(functions.fetch("hello").await, (200, "fine".to_owned()));
}

#[tokio::test]
async fn what_does_not_start_says_why_to_its_developer() {
    let functions = TestFunctions::with(
        &[
            ("syntax/index.ts", "const fine = 1;\nconst bad = = 2;\n"),
            (
                "missing/index.ts",
                "import '../_shared/nowhere.ts';\nDeno.serve(() => new Response());",
            ),
            ("thrower/index.ts", "throw new Error('at the top');"),
            ("silent/index.ts", "console.log('I serve nothing');"),
        ],
        &[],
    )
    .await;

    for (path, expected) in [
        ("syntax", "supabase/functions/syntax/index.ts:2:"),
        ("missing", "supabase/functions/missing/index.ts:1:"),
        ("thrower", "at the top"),
        ("silent", "ended without serving"),
    ] {
        let (status, body) = functions.failure(path).await;
        assert_eq!(
            (status, &body["code"]),
            (503, &json!("BOOT_ERROR")),
            "{path}: {body}"
        );
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path}: {message}");
        let folder = functions.functions_folder();
        assert!(!message.contains(&*folder.to_string_lossy()), "{message}");
    }
    functions
        .records_with(|record| record.message.contains("syntax/index.ts:2:"))
        .await;
}

#[tokio::test]
async fn what_never_begins_to_serve_is_not_waited_for() {
    let functions = TestFunctions::with(
        &[(
            "hello/index.ts",
            "await new Promise((resolve) => setTimeout(resolve, 600_000)); Deno.serve(() => new Response());",
        )],
        &[("plinth.functions.boot_timeout", "1s")],
    )
    .await;

    let (status, body) = functions.failure("hello").await;

    assert_eq!((status, &body["code"]), (503, &json!("BOOT_ERROR")));
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("it did not serve within 1 s"), "{message}");
    assert!(functions.worker_pids().is_empty());
}

#[tokio::test]
async fn a_function_may_take_care_of_rejections_itself() {
    let functions = TestFunctions::of(
        r#"
        let kept = 0;
        addEventListener('unhandledrejection', (event) => { kept += 1; event.preventDefault(); });
        Deno.serve(async (req) => {
          if (req.url.endsWith('/reject')) Promise.reject(new Error('on purpose'));
          await new Promise((resolve) => setTimeout(resolve, 50));
          return new Response(String(kept));
        });"#,
    )
    .await;

    assert_eq!(functions.fetch("hello/reject").await, (200, "1".to_owned()));
    assert_eq!(functions.fetch("hello").await, (200, "1".to_owned()));
}

#[tokio::test]
async fn in_production_only_the_log_says_why() {
    let functions = TestFunctions::start(TestOptions {
        files: &[("hello/index.ts", "throw new Error('a secret');")],
        is_production: true,
        ..TestOptions::default()
    })
    .await;

    let (status, body) = functions.failure("hello").await;

    let message = "Function failed to start (please check logs)";
    assert_eq!(
        (status, body),
        (503, json!({ "code": "BOOT_ERROR", "message": message }))
    );
    let records = functions
        .records_with(|record| record.message.contains("a secret"))
        .await;
    assert!(
        records
            .iter()
            .any(|record| record.fields["event_type"] == "BootFailure")
    );
}

#[tokio::test]
async fn what_never_starts_is_not_tried_for_ever() {
    let functions = TestFunctions::of("throw new Error('never');").await;

    for _ in 0..3 {
        assert_eq!(functions.failure("hello").await.0, 503);
    }
    let began = Instant::now();
    let rejected = functions.get("hello").send().await.unwrap();

    assert_eq!(rejected.status(), 503);
    assert_eq!(rejected.headers()["retry-after"], "1");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "responded at once"
    );
}

#[tokio::test]
async fn a_function_cannot_end_its_own_process() {
    let functions = TestFunctions::of(
        r#"
        import process from 'node:process';
        Deno.serve(() => {
          Deno.exit(3);
          process.exit(4);
          Deno.kill(Deno.pid, 'SIGKILL');
          return new Response(`still here, ${typeof Worker} ${window === globalThis}`);
        });"#,
    )
    .await;

    let still_here = (200, "still here, undefined true".to_owned());
    assert_eq!(functions.fetch("hello").await, still_here);
    for name in ["Deno.exit", "process.exit", "Deno.kill"] {
        let message = format!("{name} does nothing in functions.");
        functions
            .records_with(|record| record.message == message)
            .await;
    }
}

#[tokio::test]
async fn no_process_and_no_folder_outlives_the_service() {
    let functions = TestFunctions::of("Deno.serve(() => new Response('fine'));").await;
    functions.fetch("hello").await;

    functions.prewarmed_pid().await;

    functions.service.finish().await;

    assert!(functions.processes().is_empty());
    let left = std::fs::read_dir(functions.home()).unwrap().flatten();
    let runs = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"));
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn a_second_server_gets_no_port() {
    let functions = TestFunctions::with(
        &[
            (
                "hello/index.ts",
                r#"
                Deno.serve(() => new Response('first ' + seen));
                Deno.serve({ port: 19871 }, () => new Response('second'));
                let seen = '';
                try { Deno.listen({ port: 19872 }); } catch (error) { seen = (error as Error).name; }
                "#,
            ),
            (
                "raw/index.ts",
                r#"
                import net from 'node:net';
                Deno.serve(() => { net.createServer().listen(19873, '0.0.0.0'); return new Response('listening'); });
                "#,
            ),
            // An address that it may reach, and so might listen at.
            (
                "reachable/index.ts",
                r#"
                import net from 'node:net';
                const seen = await new Promise((resolve) => {
                  const server = net.createServer();
                  server.on('error', (error) => resolve(error.code));
                  server.listen(19874, '127.0.0.1', () => resolve('listening'));
                });
                Deno.serve(() => new Response(seen));
                "#,
            ),
        ],
        &[("plinth.functions.reachable_networks", "127.0.0.1")],
    )
    .await;

    let first = (200, "first NotSupported".to_owned());
    assert_eq!(functions.fetch("hello").await, first);
    functions.fetch("raw").await;
    #[cfg(target_os = "linux")]
    assert_eq!(
        functions.fetch("reachable").await,
        (200, "EACCES".to_owned())
    );
    for port in [19871, 19872, 19873] {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{port}");
    }
    assert_eq!(functions.fetch("hello").await, first);
}

#[tokio::test]
async fn a_worker_that_crashes_again_and_again_is_restarted_with_backoff() {
    let functions = TestFunctions::of(
        "Deno.serve(() => { setTimeout(() => { throw new Error('crash'); }, 1); return new Promise<Response>(() => {}); });",
    )
    .await;

    for _ in 0..3 {
        assert_eq!(functions.failure("hello").await.0, 500);
    }
    let began = Instant::now();
    assert_eq!(functions.failure("hello").await.0, 500, "tried again");
    assert!(began.elapsed() >= Duration::from_millis(900), "at once");
}

#[tokio::test]
async fn what_one_caller_breaks_is_there_for_others() {
    let functions = TestFunctions::of(
        "Deno.serve(async (req) => {
            if (req.url.endsWith('bad')) { Promise.reject(new Error('unhandled')); await new Promise(() => {}); }
            return new Response('good');
        });",
    )
    .await;
    let good = (200, "good".to_owned());

    for _ in 0..4 {
        assert_eq!(functions.failure("hello/bad").await.0, 500);
        assert_eq!(functions.fetch("hello").await, good);
    }
    for _ in 0..4 {
        assert_eq!(functions.failure("hello/bad").await.0, 500);
    }
    assert_eq!(functions.fetch("hello").await, good);
}
