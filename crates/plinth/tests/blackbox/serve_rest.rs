//! `plinth serve rest`: PostgREST's environment and file, its signals, and nothing else needed.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{
    Ended, ExternalPostgres, Http, eventually, free_port, kill, plinth, rows, run_to_end, skip,
    wait_for_exit,
};

const LIMIT: Duration = Duration::from_secs(20);

/// A database with one table for strangers.
const FIXTURE: &str = "
    create role authenticator login noinherit password 'secret';
    create role web_anon;
    grant web_anon to authenticator;
    create table public.items (id int primary key);
    insert into public.items values (1);
    grant select on public.items to web_anon;
    create schema other;
    grant usage on schema other to web_anon;
    create table other.things (name text);
    grant select on other.things to web_anon;
";

/// The program with these settings and not those of the environment.
fn serve_rest(settings: &[(&str, &str)], args: &[&str]) -> Command {
    let mut command = plinth();
    let is_ours = |name: &str| name.starts_with("PGRST_") || name.starts_with("PG");
    for (name, _) in std::env::vars().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    command.args(["serve", "rest"]).args(args);
    for (name, value) in settings {
        command.env(format!("PGRST_{name}"), value);
    }
    command
}

fn failed(settings: &[(&str, &str)], args: &[&str]) -> Ended {
    run_to_end(&mut serve_rest(settings, args), None, LIMIT)
}

/// A running service, until it is dropped.
struct Rest {
    child: Child,
    output: TempDir,
    api: Http,
    admin: Http,
}

impl Rest {
    fn start(settings: &[(&str, &str)], args: &[&str]) -> Self {
        let output = tempfile::tempdir().expect("a folder");
        let (port, admin_port) = (free_port().to_string(), free_port().to_string());
        let create = |name| fs::File::create(output.path().join(name)).expect("a file");
        let child = serve_rest(settings, args)
            .env("PGRST_SERVER_HOST", "127.0.0.1")
            .env("PGRST_SERVER_PORT", &port)
            .env("PGRST_ADMIN_SERVER_PORT", &admin_port)
            .current_dir(output.path())
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .spawn()
            .expect("plinth starts");
        let rest = Self {
            child,
            output,
            api: Http::new(&format!("http://127.0.0.1:{port}")),
            admin: Http::new(&format!("http://127.0.0.1:{admin_port}")),
        };
        eventually(LIMIT, "the admin server responses", || {
            rest.admin.send("GET", "/live", "").ok()
        });
        rest
    }

    fn ready(self) -> Self {
        eventually(LIMIT, "the service is ready", || {
            (self.admin.get("/ready").status == 200).then_some(())
        });
        self
    }

    fn output(&self, name: &str) -> String {
        fs::read_to_string(self.output.path().join(name)).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    fn stop(mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        wait_for_exit(&mut self.child, LIMIT).and_then(|status| status.code())
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("stderr of plinth:\n{}", self.output("stderr"));
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn database() -> Option<(ExternalPostgres, String)> {
    let external = ExternalPostgres::start()?;
    rows(&external.url("app"), FIXTURE);
    let url = external.url("app");
    let (_, place) = url.split_once('@').expect("a user before the host");
    let uri = format!("postgresql://authenticator:secret@{place}");
    Some((external, uri))
}

#[test]
fn it_serves_with_nothing_but_the_environment_and_leaves_nothing_behind() {
    let Some((_external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let settings = [
        ("DB_URI", uri.as_str()),
        ("DB_ANON_ROLE", "web_anon"),
        ("LOG_LEVEL", "info"),
        ("JWT_SECRET", ""),
        ("DB_EXTRA_SEARCH_PATH", ""),
    ];
    let rest = Rest::start(&settings, &[]).ready();

    let response = rest.api.get("/items?select=id").expect_status(200);

    assert_eq!(response.body, "[{\"id\":1}]");
    assert_eq!(
        rest.api.clone().token("a.b.c").get("/items").code(),
        "PGRST300"
    );
    let metrics = rest.admin.get("/metrics");
    assert_eq!(
        metrics.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    for name in [
        "pgrst_db_pool_max 10",
        "pgrst_db_pool_waiting 0",
        "pgrst_db_pool_available",
        "pgrst_jwt_cache_requests_total 0",
        "pgrst_schema_cache_loads_total{status=\"SUCCESS\"}",
    ] {
        assert!(metrics.body.contains(name), "no {name} in {}", metrics.body);
    }
    rest.admin.get("/nowhere").expect_status(404);
    let log = rest.output("stdout");
    let line = log.lines().next().expect("a line per request");
    assert!(line.starts_with("127.0.0.1 - web_anon ["), "{line}");
    assert!(
        line.contains("] \"GET /items?select=id HTTP/1.1\" 200 10 \"\" \"\""),
        "{line}"
    );
    let folder = fs::read_dir(rest.output.path())
        .expect("its folder")
        .count();
    assert_eq!(folder, 2, "stdout and stderr, nothing else");
    assert_eq!(rest.stop(), Some(0));
}

#[test]
fn all_mistakes_in_the_settings_are_reported_at_once() {
    let settings = [
        ("LOG_LEVEL", "never"),
        ("DB_TX_END", "random"),
        ("JWT_SECRET", "my_short_secret"),
        ("DB_SCHEMAS", "api, pg_catalog"),
        ("SERVER_UNIX_SOCKET_MODE", "599"),
    ];

    let ended = failed(&settings, &[]).expect_code(2);

    ended.says(&[
        "PGRST_LOG_LEVEL: \"never\"",
        "PGRST_DB_TX_END: \"random\"",
        "PGRST_JWT_SECRET: The JWT secret must be at least 32 characters long",
        "PGRST_DB_SCHEMAS",
        "PGRST_SERVER_UNIX_SOCKET_MODE: \"599\"",
    ]);
    assert!(
        !ended.stderr.contains("my_short_secret"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_missing_or_malformed_file_is_reported_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("postgrest.conf");
    fs::write(&file, "db-pool = 5\ndb-schemas: \"api\"\n").expect("a file");
    let path = file.to_str().expect("a plain path");

    failed(&[], &["/no/such.conf"])
        .expect_code(2)
        .says(&["/no/such.conf cannot be read"]);
    failed(&[], &[path])
        .expect_code(2)
        .says(&[path, "line 2, column 11"]);
}

#[test]
fn while_the_database_is_away_it_waits_and_says_so() {
    let unreachable = format!("postgresql://authenticator@127.0.0.1:{}/app", free_port());
    let settings = [
        ("DB_URI", unreachable.as_str()),
        ("DB_ANON_ROLE", "web_anon"),
    ];
    let rest = Rest::start(&settings, &[]);

    let response = rest.api.get("/items").expect_status(503);

    assert_eq!(response.code(), "PGRST002");
    rest.admin.get("/live").expect_status(200);
    rest.admin.get("/ready").expect_status(503);
    assert_eq!(rest.stop(), Some(0));
}

#[test]
fn usr1_reloads_the_schema() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let settings = [
        ("DB_URI", uri.as_str()),
        ("DB_ANON_ROLE", "web_anon"),
        ("DB_CHANNEL_ENABLED", "false"),
    ];
    let rest = Rest::start(&settings, &[]).ready();
    rows(&external.url("app"), "drop table public.items");
    let missing = rest.api.get("/items").expect_status(404);
    assert_eq!(missing.code(), "42P01", "it still counts on the table");

    rest.signal(Signal::USR1);

    eventually(LIMIT, "the table is known to be gone", || {
        (rest.api.get("/items").code() == "PGRST205").then_some(())
    });
}

#[test]
fn usr2_reloads_the_settings_and_mistakes_leave_them_as_they_were() {
    let Some((_external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("postgrest.conf");
    let write = |schemas: &str| {
        let content = format!("db-anon-role = \"web_anon\"\ndb-schemas = \"{schemas}\"\n");
        fs::write(&file, content).expect("a file");
    };
    write("public");
    let path = file.to_str().expect("a plain path");
    let rest = Rest::start(&[("DB_URI", &uri)], &[path]).ready();
    let asks_other = rest.api.clone().header("Accept-Profile", "other");
    assert_eq!(
        asks_other.get("/things").expect_status(406).code(),
        "PGRST106"
    );

    write("public, other");
    rest.signal(Signal::USR2);
    rest.signal(Signal::USR1);

    eventually(LIMIT, "the other schema is exposed", || {
        (asks_other.get("/things").status == 200).then_some(())
    });
    write("pg_catalog");
    rest.signal(Signal::USR2);
    eventually(LIMIT, "the mistake is logged", || {
        rest.output("stderr")
            .contains("pg_catalog cannot be exposed")
            .then_some(())
    });
    asks_other.get("/things").expect_status(200);
}

#[test]
fn it_listens_on_a_socket_with_the_mode_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("api.sock");
    fs::write(&socket, "in the way").expect("a file");
    let unreachable = format!("postgresql://authenticator@127.0.0.1:{}/app", free_port());
    let settings = [
        ("DB_URI", unreachable.as_str()),
        ("SERVER_UNIX_SOCKET", socket.to_str().expect("a plain path")),
        ("SERVER_UNIX_SOCKET_MODE", "640"),
    ];
    let rest = Rest::start(&settings, &[]);

    let made = fs::metadata(&socket).expect("the socket");

    assert!(made.file_type().is_socket());
    assert_eq!(made.permissions().mode() & 0o777, 0o640);
    rest.admin.get("/live").expect_status(200);
    fs::remove_file(&socket).expect("ours to remove");
    rest.admin.get("/live").expect_status(500);
    assert_eq!(rest.stop(), Some(0));
}

#[test]
fn all_settings_can_be_shown_with_those_of_the_database_and_without_secrets() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    rows(
        &external.url("app"),
        "alter role authenticator set pgrst.db_max_rows = '7'",
    );
    let settings = [
        ("DB_URI", uri.as_str()),
        ("JWT_SECRET", "reallyreallyreallyreallyverysafe"),
    ];

    let ended = failed(&settings, &["--dump-config"]).expect_success();

    assert!(
        ended.stdout.contains("db-max-rows = 7\n"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("db-schemas = \"public\"\n"));
    assert!(!ended.stdout.contains("verysafe") && !ended.stdout.contains("secret@"));
}

/// Runs statements next to the database that is to be closed.
fn beside(external: &ExternalPostgres, sql: &str) {
    rows(&external.url("postgres"), sql);
}

const CLOSE: &str = "alter database app allow_connections false; \
    select pg_terminate_backend(pid) from pg_stat_activity where datname = 'app'";

#[test]
fn it_is_ready_only_while_the_database_is_there() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let settings = [("DB_URI", uri.as_str()), ("DB_ANON_ROLE", "web_anon")];
    let rest = Rest::start(&settings, &[]).ready();

    beside(&external, CLOSE);

    rest.admin.get("/ready").expect_status(503);
    beside(&external, "alter database app allow_connections true");
    rest.ready();
}

#[test]
fn settings_in_the_database_that_cannot_be_used_end_the_start() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    rows(
        &external.url("app"),
        "alter role authenticator set pgrst.db_schemas = 'pg_catalog'",
    );
    let settings = [("DB_URI", uri.as_str()), ("DB_ANON_ROLE", "web_anon")];

    let ended = failed(&settings, &[]).expect_code(2);

    ended.says(&["db_schemas", "pg_catalog cannot be exposed"]);
}

#[test]
fn the_database_may_ask_for_the_settings_to_be_read_again() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("postgrest.conf");
    let write = |schemas: &str| {
        let content = format!("db-anon-role = \"web_anon\"\ndb-schemas = \"{schemas}\"\n");
        fs::write(&file, content).expect("a file");
    };
    write("public");
    let path = file.to_str().expect("a plain path");
    let rest = Rest::start(&[("DB_URI", &uri)], &[path]).ready();
    let asks_other = rest.api.clone().header("Accept-Profile", "other");
    asks_other.get("/things").expect_status(406);

    write("public, other");

    eventually(LIMIT, "the other schema is exposed", || {
        rows(&external.url("app"), "notify pgrst, 'reload config'");
        (asks_other.get("/things").status == 200).then_some(())
    });
}

#[test]
fn without_recovery_it_ends_with_the_database() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let settings = [
        ("DB_URI", uri.as_str()),
        ("DB_ANON_ROLE", "web_anon"),
        ("DB_POOL_AUTOMATIC_RECOVERY", "false"),
    ];
    let mut rest = Rest::start(&settings, &[]).ready();

    beside(&external, CLOSE);

    let ended = wait_for_exit(&mut rest.child, LIMIT).and_then(|status| status.code());
    assert_eq!(ended, Some(1), "{}", rest.output("stderr"));
    assert!(rest.output("stderr").contains("was lost"));
}

#[test]
fn an_open_request_is_finished_before_the_end() {
    let Some((external, uri)) = database() else {
        return skip("PostgreSQL 15 is not installed");
    };
    rows(
        &external.url("app"),
        "create function public.nap() returns text language sql volatile \
         as $$ select 'rested' from pg_sleep(2) $$",
    );
    let settings = [("DB_URI", uri.as_str()), ("DB_ANON_ROLE", "web_anon")];
    let rest = Rest::start(&settings, &[]).ready();
    let api = rest.api.clone();
    let napping = std::thread::spawn(move || api.get("/rpc/nap"));
    eventually(LIMIT, "the function runs", || {
        let busy = "select 1 from pg_stat_activity where state = 'active' \
                    and usename = 'authenticator' and query like '%nap%'";
        (!rows(&external.url("app"), busy).is_empty()).then_some(())
    });

    let code = rest.stop();

    let response = napping.join().expect("a response").expect_status(200);
    assert_eq!((response.body.as_str(), code), ("\"rested\"", Some(0)));
}
