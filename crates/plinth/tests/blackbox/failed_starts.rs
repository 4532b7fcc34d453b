//! Starts that cannot work: one clear sentence, a code that is not zero, soon, nothing left.

use std::{fs, net::TcpListener, time::Duration};

use crate::support::{Ended, Folder, Instance, Mount, does_not_apply, free_port, value};

/// What a person finds acceptable before reading why it does not work.
const SOON: Duration = Duration::from_secs(10);

/// The message of a failed start.
#[track_caller]
fn sentence(failed: &Ended) -> String {
    assert!(
        failed.took < SOON,
        "{:?} until\n{}",
        failed.took,
        failed.stderr
    );
    assert!(!failed.stderr.contains("panicked"), "{}", failed.stderr);
    assert!(!failed.stderr.contains("os error"), "{}", failed.stderr);
    failed.failure().to_owned()
}

#[test]
fn a_busy_port_is_named() {
    let folder = Folder::new();
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("its address").port().to_string();
    let free = free_port().to_string();

    let api = folder
        .cli(&["start", "--port", &port, "--db-port", &free])
        .expect_code(1);
    assert!(sentence(&api).contains(&port), "{}", api.stderr);
    let database = folder
        .cli(&["start", "--port", &free, "--db-port", &port])
        .expect_code(1);
    assert!(sentence(&database).contains(&port), "{}", database.stderr);
    assert_ne!(sentence(&api), sentence(&database));

    assert!(!folder.data_dir().exists(), "a busy port costs no database");
    let doctor_config = format!("[api]\nport = {port}\n[db]\nport = {free}\n");
    folder.write("supabase/config.toml", &doctor_config);
    let doctor = folder.cli(&["doctor"]).expect_code(1);
    assert!(doctor.stdout.contains(&port) && doctor.stdout.contains("--port auto"));
}

#[test]
fn a_second_server_on_a_folder_names_the_first() {
    let folder = Folder::new();
    let first = Instance::start(&folder, &[]);

    let second = folder.cli(&["start", "--port", "auto"]).expect_code(1);

    let message = sentence(&second);
    assert!(
        message.contains("already running") && message.contains(&first.pid().to_string()),
        "{message}"
    );
    assert_eq!(
        value(first.db_url(), "select 1"),
        "1",
        "the first one is unharmed"
    );
    first.cli(&["status"]).expect_success();
    assert_eq!(first.stop().code(), Some(0));
}

#[test]
fn a_database_of_another_major_version_is_rejected_and_unharmed() {
    let folder = Folder::new();
    Instance::start(&folder, &[]).stop();
    let version = folder.data_dir().join("PG_VERSION");
    let made_by = fs::read_to_string(&version).expect("a version");

    fs::write(&version, "14\n").expect("another version");
    let failed = folder.start_failing(&[]).expect_code(1);
    let message = sentence(&failed);
    assert!(
        message.contains("made by PostgreSQL 14") && message.contains(made_by.trim()),
        "{message}"
    );

    fs::write(&version, made_by).expect("the version");
    let key = folder.read(".plinth/instance-key");
    folder.write(
        ".plinth/instance-key",
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
    );
    let failed = folder.start_failing(&[]).expect_code(1);
    assert!(
        sentence(&failed).contains("instance key"),
        "{}",
        failed.stderr
    );
    folder.write(".plinth/instance-key", "short");
    let failed = folder.start_failing(&[]).expect_code(1);
    assert!(
        sentence(&failed).contains("instance-key"),
        "{}",
        failed.stderr
    );

    folder.write(".plinth/instance-key", &key);
    Instance::start(&folder, &[]).stop();
}

#[test]
fn a_folder_with_something_else_in_place_of_the_database_is_left_alone() {
    let folder = Folder::new();
    folder.write(".plinth/database/holiday.jpg", "a picture");

    let failed = folder.start_failing(&[]).expect_code(1);

    assert!(
        sentence(&failed).contains("holds no PostgreSQL database"),
        "{}",
        failed.stderr
    );
    assert_eq!(folder.read(".plinth/database/holiday.jpg"), "a picture");
}

#[test]
fn a_disk_that_cannot_be_written_or_is_full_is_named() {
    let folder = Folder::new();
    let missing = folder.path().join("no/such/folder");
    let missing = missing.to_str().expect("text");
    let mut command = crate::support::plinth();
    command.args(["start", "--port", "auto", "--workdir", missing]);
    let failed = crate::support::run_to_end(&mut command, None, SOON).expect_code(1);
    assert!(sentence(&failed).contains(missing), "{}", failed.stderr);

    let Some(disk) = Mount::tmpfs(folder.path(), 8) else {
        return does_not_apply("mounting a small disk is not permitted here");
    };
    let failed = folder.start_failing(&[]).expect_code(1);
    let message = sentence(&failed);
    assert!(
        message.contains("disk") && message.contains("full"),
        "{message}"
    );

    fs::write(folder.path().join("filler"), vec![0; 16 << 20]).expect_err("the disk is full");
    let failed = folder.start_failing(&[]).expect_code(1);
    assert!(!sentence(&failed).is_empty());

    if !disk.make_read_only() {
        return does_not_apply("a mount cannot be made read-only here");
    }
    let failed = folder.start_failing(&[]).expect_code(1);
    let message = sentence(&failed).to_lowercase();
    assert!(message.contains("read-only"), "{message}");
}

#[test]
fn a_database_url_that_leads_nowhere_is_explained_without_its_password() {
    let folder = Folder::new();
    let check = |url: &str, parts: &[&str]| {
        let failed = folder.start_failing(&["--database-url", url]);
        let message = sentence(&failed).to_lowercase();
        for part in parts {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
        assert!(!failed.stderr.contains("hunter2"), "{}", failed.stderr);
    };
    let port = free_port();

    check(
        &format!("postgresql://me:hunter2@127.0.0.1:{port}/app"),
        &["--database-url", "cannot be reached", "refused"],
    );
    check(
        "postgresql://me:hunter2@no-such-host.invalid/app",
        &["--database-url"],
    );
    check("mysql://me:hunter2@127.0.0.1/app", &["url"]);
    check("not a URL at all", &["url"]);
    check("", &["url"]);

    let server_folder = Folder::new();
    let server = Instance::start(&server_folder, &[]);
    let wrong = server
        .db_url()
        .replace("postgres:postgres@", "postgres:hunter2@");
    check(&wrong, &["--database-url", "password"]);
}
