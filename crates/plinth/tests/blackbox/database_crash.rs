//! PostgreSQL dies under load: requests get honest errors, and all works again soon.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{
    Folder, Http, Instance, Mount, Response, does_not_apply, eventually, kill, rows, try_rows,
    value,
};

const CLIENTS: usize = 16;
const PACE: Duration = Duration::from_millis(550);
const RECOVERY: Duration = Duration::from_secs(20);

/// The responses to one kind of request, and how often.
type Tally = Mutex<BTreeMap<String, usize>>;

#[test]
fn a_killed_postmaster_costs_a_few_seconds_of_503_and_nothing_else() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    // A token is good for two requests a second, so each client has its own.
    let with_token = |name: &str| {
        let token = server.cli_json(&["tokens", "create", name]);
        server
            .http()
            .token(token["token"].as_str().expect("a token"))
    };
    let platform = with_token("probe");
    let operators: Vec<Http> = (0..CLIENTS)
        .map(|n| with_token(&format!("load {n}")))
        .collect();
    let open = server.http();
    let jwks = open
        .get("/auth/v1/.well-known/jwks.json")
        .expect_status(200)
        .body;
    let projects = platform.get("/platform/projects").expect_status(200).body;
    let postmaster = folder.postmaster().expect("a postmaster");
    let (stop, tally) = (AtomicBool::new(false), Tally::default());

    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (operators, open, stop, tally) = (&operators, &open, &stop, &tally);
            let (jwks, projects) = (&jwks, &projects);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match number % 2 {
                        0 => {
                            note(
                                tally,
                                &operators[number],
                                "/platform/projects",
                                |response| response.body == *projects,
                            );
                            std::thread::sleep(PACE);
                        }
                        _ => note(tally, open, "/auth/v1/.well-known/jwks.json", |response| {
                            response.body == *jwks
                        }),
                    }
                }
            });
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(RECOVERY, "all is well before", || is_ready(&open, 200));
            kill(postmaster, Signal::KILL);
            eventually(RECOVERY, "/ready says that it is not", || {
                is_ready(&open, 503)
            });
            eventually(RECOVERY, "/ready is back", || is_ready(&open, 200));
            eventually(RECOVERY, "the platform is back", || is_back(&platform));
        }));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });

    let tally = tally.into_inner().expect("no client panicked");
    let allowed = ["200 as it should be", "503 database_unavailable"];
    let strange: Vec<_> = tally
        .iter()
        .filter(|(what, _)| !allowed.contains(&&what[..]))
        .collect();
    assert!(
        strange.is_empty(),
        "{strange:?} among {tally:?}\n{}",
        server.stderr()
    );
    assert!(tally.contains_key("200 as it should be"), "{tally:?}");
    for _ in 0..CLIENTS {
        platform.get("/platform/projects").expect_status(200);
    }
    assert_eq!(
        value(server.db_url(), "select 1"),
        "1",
        "the database proxy is open again"
    );
    assert_ne!(folder.postmaster(), Some(postmaster));
    assert!(
        server
            .stderr()
            .contains("PostgreSQL exited unexpectedly, restarting"),
        "{}",
        server.stderr()
    );
    assert_eq!(server.stop().code(), Some(0));
    folder.expect_no_postgres();
}

/// Asks once and writes down what came.
fn note(tally: &Tally, http: &Http, path: &str, is_good: impl Fn(&Response) -> bool) {
    let what = match http.send("GET", path, "") {
        Ok(response) if response.status == 200 && is_good(&response) => {
            "200 as it should be".to_owned()
        }
        Ok(response) if response.status == 503 && response.header("retry-after").is_some() => {
            format!("503 {}", response.code())
        }
        Ok(response) => format!("{path}: {response:?}"),
        Err(error) => format!("{path}: {error}"),
    };
    *tally
        .lock()
        .expect("no client panicked")
        .entry(what)
        .or_default() += 1;
}

fn is_ready(http: &Http, status: u16) -> Option<()> {
    let response = http.get("/ready");
    assert!([200, 503].contains(&response.status), "{response:?}");
    (response.status == status).then_some(())
}

#[test]
fn a_killed_backend_is_replaced_without_an_error_that_stays() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = server.cli_json(&["tokens", "create", "one"]);
    let platform = server
        .http()
        .token(token["token"].as_str().expect("a token"));
    platform.get("/platform/projects").expect_status(200);

    // A backend that dies takes all others with it: PostgreSQL starts over by itself.
    let backends = crate::support::postgres_processes(&folder.data_dir());
    let postmaster = folder.postmaster().expect("a postmaster");
    let victim = backends
        .into_iter()
        .find(|pid| *pid != postmaster && is_client_backend(*pid));
    kill(victim.expect("a backend that serves plinth"), Signal::KILL);

    eventually(RECOVERY, "the platform responses again", || {
        is_back(&platform)
    });
    assert_eq!(
        folder.postmaster(),
        Some(postmaster),
        "the postmaster lived on"
    );
    // The first response may have been faster than the crash, so this may have to be retried.
    eventually(RECOVERY, "a project can be created", || {
        let created = server.cli(&["projects", "create", "after"]);
        let must_retry = created.stderr.contains("try again shortly");
        assert!(created.code == Some(0) || must_retry, "{created:?}");
        (created.code == Some(0)).then_some(())
    });
}

/// Whether the platform responds; asked not faster than a token is good for.
fn is_back(platform: &Http) -> Option<()> {
    let response = platform.get("/platform/projects");
    assert!([200, 503].contains(&response.status), "{response:?}");
    if response.status != 200 {
        // Faster requests would exceed the rate limit of a token.
        std::thread::sleep(PACE);
    }
    (response.status == 200).then_some(())
}

fn is_client_backend(pid: u32) -> bool {
    let title = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    title.contains("[local]")
}

#[test]
fn a_full_disk_fails_requests_but_loses_no_data() {
    let folder = Folder::new();
    let Some(_disk) = Mount::tmpfs(folder.path(), 256) else {
        return does_not_apply("mounting a small disk is not permitted here");
    };
    let server = Instance::start(&folder, &[]);
    let token = server.cli_json(&["tokens", "create", "full"]);
    let platform = server
        .http()
        .token(token["token"].as_str().expect("a token"));
    rows(
        server.db_url(),
        "create table kept (id int); insert into kept values (1)",
    );

    let filler = folder.path().join("filler");
    fs::write(&filler, vec![1; 256 << 20]).expect_err("the disk is full");
    let grow = "create table big as select repeat('x', 500) t from generate_series(1, 100000)";
    try_rows(server.db_url(), grow).expect_err("there is no space");
    for _ in 0..20 {
        server.http().get("/health").expect_status(200);
        let response = platform.get("/platform/projects");
        assert!([200, 503].contains(&response.status), "{response:?}");
    }
    fs::remove_file(&filler).expect("space again");

    eventually(RECOVERY, "the platform is back", || is_back(&platform));
    eventually(RECOVERY, "the data is there", || {
        let sql = "insert into kept values (2); select min(id) from kept";
        try_rows(server.db_url(), sql)
            .ok()
            .filter(|least| least == &["1"])
    });
    assert_eq!(server.stop().code(), Some(0));
}
