//! Projects with a PostgreSQL of their own: apart from all others, started only while they are in
//! use.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::connections::{Sessions, parse};
use crate::support::{
    Channel, ExternalPostgres, Folder, Http, Instance, Session, does_not_apply, eventually, kill,
    postgres_processes, rows, skip, try_rows, value,
};

/// Starting and stopping servers on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

struct Made {
    reference: String,
    url: String,
    key: String,
}

impl Made {
    fn create(server: &Instance<'_>, name: &str, args: &[&str]) -> Self {
        let made = server.cli_json(&[&["projects", "create", name], args].concat());
        Self::from_json(&made)
    }

    fn from_json(made: &Value) -> Self {
        let text = |name: &str| {
            let value = made[name].as_str();
            value
                .unwrap_or_else(|| panic!("no {name} in {made}"))
                .to_owned()
        };
        Self {
            reference: text("PLINTH_REF"),
            url: text("DB_URL"),
            key: text("PUBLISHABLE_KEY"),
        }
    }

    fn rest(&self, path: &str) -> String {
        format!("/p/{}/rest/v1/{path}", self.reference)
    }

    fn http(&self, server: &Instance<'_>) -> Http {
        server.http().header("apikey", &self.key)
    }

    fn state(&self, folder: &Folder) -> PathBuf {
        folder.state().join("isolated").join(&self.reference)
    }

    /// Where its server keeps the data, as `.plinth/isolated/<ref>` says.
    fn data_dir(&self, folder: &Folder) -> PathBuf {
        let state = self.state(folder);
        match std::fs::read_to_string(state.join("data-location")) {
            Ok(path) => PathBuf::from(path.trim_end()).join("database"),
            Err(_) => state.join("database"),
        }
    }

    fn is_running(&self, folder: &Folder) -> bool {
        !postgres_processes(&self.data_dir(folder)).is_empty()
    }

    fn expect_stopped(&self, folder: &Folder) {
        eventually(LIMIT, "its PostgreSQL stops", || {
            (!self.is_running(folder)).then_some(())
        });
    }
}

fn is_isolated(server: &Instance<'_>, reference: &str) -> bool {
    let list = server.cli_json(&["projects", "list"]);
    let of_it = |project: &&Value| project["ref"] == reference;
    let found = list.as_array().into_iter().flatten().find(of_it);
    found.expect("it is listed")["isolated"] == true
}

/// The attack: a user who may assume `postgres` in one project grants a role of another one to
/// `anon`.
#[test]
fn roles_of_one_project_open_no_table_of_an_isolated_one() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    if value(
        server.db_url(),
        "select current_setting('server_version_num')::int < 160000",
    ) == "t"
    {
        does_not_apply("owners create roles from PostgreSQL 16 on");
        return;
    }
    let secret = |reader: &str| {
        format!(
            "create table ledger as select 7 as amount;
             create role {reader};
             grant usage on schema public to {reader};
             grant select on ledger to {reader};
             revoke all on ledger from anon, authenticated;
             notify pgrst, 'reload schema'"
        )
    };
    let shared = Made::create(&server, "shared", &[]);
    let isolated = Made::create(&server, "isolated", &["--isolated"]);
    let attacker = Made::create(&server, "attacker", &[]);
    rows(&shared.url, &secret("shared_reader"));
    rows(&isolated.url, &secret("isolated_reader"));
    assert!(is_isolated(&server, &isolated.reference));
    assert!(!is_isolated(&server, &shared.reference));
    for project in [&shared, &isolated] {
        let closed = project.http(&server).get(&project.rest("ledger"));
        assert_eq!(closed.expect_status(401).code(), "42501");
    }

    // It works where the cluster is shared, or this test would prove nothing.
    rows(
        &attacker.url,
        "grant shared_reader to anon with inherit true",
    );
    let opened = eventually(LIMIT, "the grant holds in the other project", || {
        let response = shared.http(&server).get(&shared.rest("ledger"));
        (response.status == 200).then(|| response.json())
    });
    assert_eq!(opened[0]["amount"], 7);

    let denied = try_rows(&attacker.url, "grant isolated_reader to anon").unwrap_err();
    assert!(denied.contains("does not exist"), "{denied}");
    let closed = isolated.http(&server).get(&isolated.rest("ledger"));
    assert_eq!(closed.expect_status(401).code(), "42501");
    let roles =
        "select count(*) from pg_roles where rolname in ('shared_reader', 'isolated_reader')";
    assert_eq!(value(&attacker.url, roles), "1");
    assert_eq!(value(&isolated.url, roles), "1");
    let databases =
        "select string_agg(datname, ',') from pg_database where datname ~ '^[a-z]{20}$'";
    assert_eq!(value(&isolated.url, databases), isolated.reference);
}

#[test]
fn an_isolated_project_has_the_commands_of_every_other() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = Made::create(&server, "shop", &["--isolated"]);
    rows(
        &shop.url,
        "create table stock (id int primary key);
         insert into stock select generate_series(1, 3);
         grant select on stock to anon; notify pgrst, 'reload schema'",
    );
    let stock = shop.rest("stock?select=id");
    eventually(LIMIT, "the table is served", || {
        (shop.http(&server).get(&stock).status == 200).then_some(())
    });
    let signed_up = shop.http(&server).post(
        &format!("/p/{}/auth/v1/signup", shop.reference),
        r#"{"email":"ann@example.com","password":"correct horse"}"#,
    );
    signed_up.expect_status(200);

    // Its row changes come from its own WAL.
    rows(
        &shop.url,
        "alter publication supabase_realtime add table stock;
         alter table stock enable row level security;
         create policy everybody on stock for select using (true)",
    );
    let path = format!("/p/{}/realtime/v1/websocket", shop.reference);
    let entry = json!({"event": "*", "schema": "public", "table": "stock"});
    let config = json!({"postgres_changes": [entry]});
    let mut channel = Channel::join_with(&server, &path, &shop.key, &config);
    channel.until_subscribed();
    rows(&shop.url, "insert into stock values (4)");
    assert_eq!(channel.next_id(), 4);
    drop(channel);

    // A branch is on the same server, and has rows and rights.
    let branch = server.cli_json(&["branches", "create", "try", "--ref", &shop.reference]);
    let branch = Made::from_json(&branch);
    assert_eq!(value(&branch.url, "select count(*) from stock"), "4");
    assert_eq!(value(&branch.url, "select count(*) from auth.users"), "1");
    assert!(is_isolated(&server, &branch.reference));
    assert!(
        !branch.state(&folder).exists(),
        "it has no server of its own"
    );
    // With a session of psql on it, it is dumped.
    let session = Session::open(&shop.url);
    let dumped = server.cli_json(&["branches", "create", "busy", "--ref", &shop.reference]);
    assert_eq!(dumped["COPY_METHOD"], "dumped");
    let dumped = Made::from_json(&dumped);
    assert_eq!(value(&dumped.url, "select count(*) from stock"), "4");
    drop(session);

    // A cancel request does not name its server.
    let sleeper = std::thread::spawn({
        let url = shop.url.clone();
        move || canceled_query(&url)
    });
    let canceled = sleeper.join().expect("the query ends");
    assert!(canceled.contains("57014"), "{canceled}");

    server
        .cli(&["db", "password", "new one", "--ref", &shop.reference])
        .expect_success();
    let wrong = try_rows(&shop.url, "select 1").unwrap_err();
    assert!(wrong.contains("28P01"), "{wrong}");

    let mut projects = vec!["projects", "pause", &shop.reference];
    server.cli(&projects).expect_success();
    shop.http(&server).get(&stock).expect_status(503);
    projects[1] = "resume";
    server.cli(&projects).expect_success();
    shop.http(&server).get(&stock).expect_status(200);

    for (reference, name) in [
        (&branch.reference, "shop (try)"),
        (&dumped.reference, "shop (busy)"),
        (&shop.reference, "shop"),
    ] {
        let delete = [
            "projects",
            "delete",
            reference,
            "--confirm",
            name,
            "--purge",
        ];
        server.cli(&delete).expect_success();
    }
    assert!(!shop.state(&folder).exists() && !shop.data_dir(&folder).exists());
    shop.http(&server).get(&stock).expect_status(404);
    // No empty server is created for a ref that was deleted.
    assert!(try_rows(&shop.url, "select 1").is_err());
    assert!(!shop.state(&folder).exists());
}

/// What a query that runs for ever ends with when its client cancels it.
fn canceled_query(url: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("a connection");
        tokio::spawn(connection);
        let cancel = client.cancel_token();
        let query = client.simple_query("select pg_sleep(600)");
        let canceling = async {
            // Sent again until it arrives while the query runs.
            loop {
                _ = cancel.cancel_query(tokio_postgres::NoTls).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ended = tokio::select! {
            ended = query => ended,
            () = canceling => unreachable!("it never ends"),
        };
        let error = ended.expect_err("it is canceled");
        error
            .code()
            .map_or_else(|| error.to_string(), |code| code.code().to_owned())
    })
}

#[test]
fn its_server_sleeps_when_idle_and_wakes_by_itself() {
    let folder = Folder::with(&[(
        "config.toml",
        "[plinth.pool]\nproject_idle = \"1s\"\n[plinth.isolation]\ndefault = true\n",
    )]);
    let server = Instance::start(&folder, &[]);
    let shop = Made::create(&server, "shop", &[]);
    let other = Made::create(&server, "other", &["--isolated=false"]);
    assert!(!other.state(&folder).exists());
    rows(
        &shop.url,
        "create table stock as select 7 as id; grant select on stock to anon",
    );
    shop.expect_stopped(&folder);
    assert_eq!(value(&shop.url, "select id from stock"), "7");
    shop.expect_stopped(&folder);
    let woken = shop.http(&server).get(&shop.rest("stock"));
    assert_eq!(woken.expect_status(200).json()[0]["id"], 7);

    // Its crash affects no other, and it restarts.
    let pid_file = shop.data_dir(&folder).join("postmaster.pid");
    let text = std::fs::read_to_string(pid_file).expect("it runs");
    let postmaster = text.lines().next().and_then(|line| line.parse().ok());
    kill(postmaster.expect("a pid"), Signal::KILL);
    server.http().get("/auth/v1/health").expect_status(200);
    eventually(LIMIT, "it comes back", || {
        (shop.http(&server).get(&shop.rest("stock")).status == 200).then_some(())
    });

    // So does all of it after Plinth was killed.
    server.kill9();
    shop.expect_stopped(&folder);
    let server = Instance::start(&folder, &[]);
    assert!(!shop.is_running(&folder), "there was no request");
    let found = shop.http(&server).get(&shop.rest("stock"));
    assert_eq!(found.expect_status(200).json()[0]["id"], 7);
    let healthy = server.cli(&["doctor"]).expect_success();
    let report = &healthy.stdout;
    assert!(report.contains("1 PostgreSQL server(s)"), "{report}");

    // It is not started while the project is paused.
    let pause = ["projects", "pause", &shop.reference];
    server.cli(&pause).expect_success();
    shop.expect_stopped(&folder);
    assert!(try_rows(&shop.url, "select 1").is_err());
    assert!(!shop.is_running(&folder));
    let resume = ["projects", "resume", &shop.reference];
    server.cli(&resume).expect_success();
    let resumed = shop.http(&server).get(&shop.rest("stock"));
    resumed.expect_status(200);
    server.stop();
    assert!(!shop.is_running(&folder), "it ends with Plinth");

    // Lost data is named, and no empty server takes its place.
    let state = shop.state(&folder);
    std::fs::rename(&state, state.with_file_name("elsewhere")).expect("a rename");
    let server = Instance::start(&folder, &[]);
    shop.http(&server)
        .get(&shop.rest("stock"))
        .expect_status(503);
    let report = server.cli(&["doctor"]).stdout;
    let lost = format!("the data of {} is missing", shop.reference);
    assert!(report.contains(&lost), "{report}");
    assert!(!state.exists());
    server.http().get("/auth/v1/health").expect_status(200);
    let reference = &shop.reference;
    let delete = [
        "projects",
        "delete",
        reference,
        "--confirm",
        "shop",
        "--purge",
    ];
    server.cli(&delete).expect_success();
    assert!(state.with_file_name("elsewhere").exists());
}

/// The status of a request to a project's REST service.
fn status(server: &Instance<'_>, project: &Made) -> u16 {
    project.http(server).get(&project.rest("")).status
}

#[test]
fn no_more_servers_run_at_once_than_configured() {
    let folder = Folder::with(&[("config.toml", "[plinth.isolation]\nmax_running = 1\n")]);
    let server = Instance::start(&folder, &[]);
    let first = Made::create(&server, "first", &["--isolated"]);
    let second = Made::create(&server, "second", &["--isolated"]);
    assert!(!first.is_running(&folder), "it was stopped for the second");
    let session = Session::open(&first.url);
    assert!(
        !second.is_running(&folder),
        "it was stopped for the session"
    );
    assert_eq!(status(&server, &first), 200);

    let rejected = second.http(&server).get(&second.rest(""));

    assert_eq!(rejected.status, 503, "{rejected:?}");
    assert_eq!(rejected.code(), "database_unavailable");
    assert!(rejected.header("retry-after").is_some(), "{rejected:?}");
    let denied = try_rows(&second.url, "select 1").unwrap_err();
    assert!(denied.contains("57P03"), "{denied}");
    assert!(!second.is_running(&folder));
    assert_eq!(status(&server, &first), 200);
    server.http().get("/auth/v1/health").expect_status(200);

    // Now the first is only open, which is no reason to keep the second waiting.
    drop(session);
    eventually(LIMIT, "the second project is served", || {
        (status(&server, &second) == 200).then_some(())
    });
    assert!(!first.is_running(&folder));
}

#[test]
fn an_owner_who_takes_all_connections_leaves_enough_for_the_api() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = Made::create(&server, "shop", &["--isolated"]);
    let branches = ["one", "two", "three"].map(|name| {
        let made = server.cli_json(&["branches", "create", name, "--ref", &shop.reference]);
        Made::from_json(&made)
    });
    assert_eq!(value(&shop.url, "show max_connections"), "60");
    let mut sessions = Sessions::new();

    let (taken, code) = sessions.take_all(&parse(&shop.url));

    assert_eq!((taken, code.as_str()), (12, "53300"), "a fifth");
    assert_eq!(status(&server, &shop), 200);
    // The tools of all branches share what the reserved connections leave.
    let more = branches.each_ref().map(|branch| {
        let (more, code) = sessions.take_all(&parse(&branch.url));
        assert_eq!(code, "53300");
        more
    });
    assert!((12..36).contains(&more.iter().sum::<usize>()), "{more:?}");
    for project in branches.iter().chain([&shop]) {
        assert_eq!(status(&server, project), 200);
    }
    // No other server is concerned.
    rows(server.db_url(), "select 1");
    let report = server.cli(&["doctor"]).stdout;
    let full = format!(
        "connection limits ({}): no further connections for owner_",
        shop.reference
    );
    assert!(report.contains(&full), "{report}");
    let login = format!("owner_{} (12)", shop.reference);
    assert!(report.contains(&login), "{report}");
}

#[test]
fn doctor_looks_at_the_servers_that_run() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let shop = Made::create(&server, "shop", &["--isolated"]);
    let session = Session::open(&shop.url);
    let healthy = server.cli(&["doctor"]).expect_success();
    assert!(!healthy.stdout.contains(&shop.reference), "{healthy:?}");

    superuser(&shop.state(&folder)).run(
        "select pg_create_physical_replication_slot('abandoned', true);
         create role reader; grant reader to anon",
    );

    let report = server.cli(&["doctor"]).stdout;
    let slots = format!("replication slots ({})", shop.reference);
    assert!(report.contains(&slots), "{report}");
    // The only project of a server may grant what it likes, until there is a branch.
    assert!(!report.contains("reader"), "{report}");
    server.cli_json(&["branches", "create", "try", "--ref", &shop.reference]);
    let report = server.cli(&["doctor"]).stdout;
    let roles = format!("API roles ({})", shop.reference);
    assert!(report.contains(&roles), "{report}");
    assert!(report.contains("granted reader to anon"), "{report}");
    drop(session);
}

/// The superuser of an isolated server, on its private socket.
fn superuser(state: &Path) -> Session {
    let password = std::fs::read_to_string(state.join("database-password")).expect("a password");
    let socket = state.join("run").display().to_string().replace('/', "%2F");
    let password = password.trim();
    Session::open(&format!(
        "postgresql://supabase_admin:{password}@{socket}:5432/template1"
    ))
}

#[test]
fn a_server_that_does_not_start_is_tried_again() {
    let folder = Folder::with(&[("config.toml", "[plinth.pool]\nproject_idle = \"1s\"\n")]);
    let server = Instance::start(&folder, &[]);
    let shop = Made::create(&server, "shop", &["--isolated"]);
    shop.expect_stopped(&folder);
    let config = shop.data_dir(&folder).join("postgresql.conf");
    let sound = std::fs::read_to_string(&config).expect("readable");
    std::fs::write(&config, format!("{sound}\nno_such_setting = 1\n")).expect("writable");

    // Most of them fail without another attempt.
    for _ in 0..20 {
        let failed = shop.http(&server).get(&shop.rest(""));
        assert_eq!(failed.status, 503, "{failed:?}");
        assert_eq!(failed.code(), "database_unavailable");
    }
    assert!(!shop.is_running(&folder));
    let log = server.stderr();
    let attempts = log.matches("the PostgreSQL of a project does not start");
    assert!((1..10).contains(&attempts.count()), "{log}");
    server.http().get("/auth/v1/health").expect_status(200);

    std::fs::write(&config, sound).expect("writable");
    eventually(LIMIT, "it starts", || {
        (status(&server, &shop) == 200).then_some(())
    });
}

#[test]
fn an_external_postgres_has_no_isolated_projects() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let folder = Folder::new();
    let server = Instance::start(&folder, &["--database-url", &external.url("app")]);

    let rejected = server.cli(&["projects", "create", "shop", "--isolated"]);

    rejected
        .expect_code(1)
        .says(&["Isolated projects need the PostgreSQL that Plinth manages"]);
    let list = server.cli_json(&["projects", "list"]);
    assert!(!list.to_string().contains("shop"), "{list}");
}
