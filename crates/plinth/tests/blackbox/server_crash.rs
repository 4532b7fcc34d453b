//! The server itself is killed: the next start finds everything, and nothing half-made.

use std::{
    fs,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{Folder, Instance, eventually, kill, rows, value};

#[test]
fn a_killed_server_comes_back_with_its_data() {
    let folder = Folder::new();
    let first = Instance::start(&folder, &[]);
    let status = first.status.clone();
    rows(
        first.db_url(),
        "create table kept (id int); insert into kept values (7)",
    );

    first.kill9();
    folder.expect_no_postgres();
    folder.cli(&["status"]).expect_code(3);
    folder
        .cli(&["stop"])
        .expect_success()
        .says(&["Nothing runs"]);

    let second = Instance::start(&folder, &[]);
    assert_eq!(second.status, status);
    assert_eq!(value(second.db_url(), "select id from kept"), "7");
}

#[test]
fn a_server_killed_together_with_its_postgres_comes_back() {
    let folder = Folder::new();
    let first = Instance::start(&folder, &[]);
    rows(first.db_url(), "create table kept as select 7 as id");
    let postmaster = folder.postmaster().expect("a postmaster");
    kill(postmaster, Signal::KILL);
    first.kill9();
    folder.expect_no_postgres();
    // Both lock files name a process that lives, of PostgreSQL's own user: the number was reused.
    let owner = fs::metadata(folder.data_dir()).expect("the data folder");
    let mut stranger = Command::new("sleep");
    stranger.arg("600").current_dir("/");
    if rustix::process::geteuid().is_root() {
        stranger.uid(owner.uid()).gid(owner.gid());
    }
    let mut stranger = stranger.spawn().expect("another program");
    let run = folder.data_dir().with_file_name("run");
    for path in [
        folder.data_dir().join("postmaster.pid"),
        run.join(".s.PGSQL.5432.lock"),
    ] {
        let text = fs::read_to_string(&path).expect("a lock file that was left");
        let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
        fs::write(&path, format!("{}\n{rest}", stranger.id())).expect("a lock file");
    }

    let second = Instance::start(&folder, &[]);

    assert_eq!(value(second.db_url(), "select id from kept"), "7");
    let ended = stranger.try_wait().expect("a child can be waited for");
    _ = stranger.kill();
    stranger.wait().expect("it ends");
    assert!(ended.is_none(), "the stranger was ended with {ended:?}");
}

#[test]
fn another_process_with_the_pid_of_a_killed_server_is_left_alone() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let old_pid = server.pid();
    server.kill9();
    let mut stranger = Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("another program");
    let running = folder.read(".plinth/running.json");
    let number = format!("\"pid\": {old_pid}");
    assert!(running.contains(&number), "{running}");
    let taken = format!("\"pid\": {}", stranger.id());
    folder.write(".plinth/running.json", &running.replace(&number, &taken));

    let status = folder.cli(&["status"]);
    let stop = folder.cli(&["stop"]);

    let ended = stranger.try_wait().expect("a child can be waited for");
    _ = stranger.kill();
    stranger.wait().expect("it ends");
    assert!(ended.is_none(), "the stranger was ended with {ended:?}");
    status.expect_code(3);
    stop.expect_success().says(&["Nothing runs"]);
}

#[test]
fn a_server_killed_while_creating_projects_leaves_none_half_made() {
    let folder = Folder::new();
    // From "hardly begun" to "just done"; creating takes about 200 ms.
    for pause_ms in [20, 70, 120, 180, 260] {
        let server = Instance::start(&folder, &[]);
        expect_whole_projects(&server);
        let mut creating: Vec<_> = ["one", "two"]
            .map(|name| {
                let mut command = folder.command(&["projects", "create", name]);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                command.spawn().expect("a command")
            })
            .into();
        std::thread::sleep(Duration::from_millis(pause_ms));
        server.kill9();
        for command in &mut creating {
            command.wait().expect("the command ends");
        }
    }

    let server = Instance::start(&folder, &[]);
    expect_whole_projects(&server);
    let before = server
        .cli_json(&["projects", "list"])
        .as_array()
        .map_or(0, Vec::len);
    let created = server.cli_json(&["projects", "create", "last"]);
    assert_eq!(
        value(created["DB_URL"].as_str().expect("a URL"), "select 1"),
        "1"
    );
    let after = server
        .cli_json(&["projects", "list"])
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(after, before + 1);
    expect_whole_projects(&server);
}

/// Every project is healthy and usable, and no database or role is there without one.
fn expect_whole_projects(server: &Instance<'_>) {
    let list = server.cli_json(&["projects", "list"]);
    let mut refs = Vec::new();
    for project in list.as_array().expect("a list") {
        assert_eq!(project["status"], "ACTIVE_HEALTHY", "{list}");
        refs.push(project["ref"].as_str().expect("a ref").to_owned());
    }
    refs.sort();
    let db = server.db_url();
    let default = server.value("PLINTH_REF");
    let databases = "select datname from pg_database where datname ~ '^[a-z]{20}' order by 1";
    let expected: Vec<_> = refs
        .iter()
        .filter(|name| *name != default)
        .cloned()
        .collect();
    assert_eq!(
        rows(db, databases),
        expected,
        "databases and projects agree"
    );
    for kind in ["owner", "authenticator"] {
        let roles = format!(
            "select substr(rolname, {}) from pg_roles where rolname ~ '^{kind}_[a-z]{{20}}$' \
             order by 1",
            kind.len() + 2
        );
        assert_eq!(rows(db, &roles), refs, "{kind} roles and projects agree");
    }
    for reference in &refs {
        let path = format!("/p/{reference}/auth/v1/health");
        eventually(Duration::from_secs(30), "the project responses", || {
            (server.http().get(&path).status == 200).then_some(())
        });
    }
}
