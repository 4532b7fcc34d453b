//! Help, init, doctor, logs, completion.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Folder, Instance, eventually, kill, plinth, run_to_end};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn every_command_explains_itself() {
    let check = |args: &str, parts: &[&str]| {
        let mut command = plinth();
        command.args(args.split_whitespace()).arg("--help");
        let help = run_to_end(&mut command, None, LIMIT).expect_success();
        for part in parts.iter().chain(&["Usage: plinth"]) {
            assert!(
                help.stdout.contains(part),
                "no {part:?} in {args}:\n{}",
                help.stdout
            );
        }
        assert!(help.stderr.is_empty(), "{}", help.stderr);
    };
    check(
        "",
        &["Examples:", "plinth start", "Exit codes:", "completions"],
    );
    check(
        "start",
        &[
            "--port",
            "--db-port",
            "--database-url",
            "--detach",
            "--no-migrate",
            "--set",
        ],
    );
    check("serve", &["production", "rest", "auth"]);
    check("stop", &["data stays"]);
    check("status", &["-o env", "--override-name", "Exits with 3"]);
    check("init", &["config.toml", "--force"]);
    check("projects", &["list", "create", "pause", "resume", "delete"]);
    check("projects list", &["All projects"]);
    check("projects create", &["ref, URL and keys", "--db-password"]);
    check("projects pause", &["data stays"]);
    check("projects resume", &["again"]);
    check("projects delete", &["seven days", "--confirm", "--purge"]);
    check("branches", &["list", "create", "delete"]);
    check("branches list", &["--ref"]);
    check(
        "branches create",
        &["schema and data", "--persistent", "--end-sessions"],
    );
    check("branches delete", &["for good"]);
    check("keys", &["list", "create", "revoke", "rotate"]);
    check("keys list", &["--reveal"]);
    check("keys create", &["publishable", "secret"]);
    check("keys revoke", &["at once"]);
    check(
        "keys rotate",
        &["--signing", "--legacy", "--api", "--grace"],
    );
    check("tokens", &["list", "create", "revoke"]);
    check("tokens list", &["without their text"]);
    check("tokens create", &["shown only once", "--expires-in"]);
    check("tokens revoke", &["id or name"]);
    check("migration", &["new", "list", "up"]);
    check("migration new", &["pipe"]);
    check("migration list", &["--check"]);
    check("migration up", &["--include-all", "--to"]);
    check("db", &["reset", "url"]);
    check("db reset", &["--version", "--no-seed", "--yes"]);
    check("db url", &["connection string"]);
    check("logs", &["--follow", "--since", "--grep", "--level"]);
    check("doctor", &["how to fix"]);
    check("settings", &["source"]);
    check("completions", &["bash", "zsh", "fish"]);
}

#[test]
fn completion_scripts_are_taken_by_the_shell() {
    let script = run_to_end(plinth().args(["completions", "bash"]), None, LIMIT).expect_success();
    assert!(script.stdout.contains("_plinth") && script.stdout.contains("projects"));
    let checked = Command::new("bash")
        .args(["-n", "-c", &script.stdout])
        .output();
    if let Ok(checked) = checked {
        assert!(
            checked.status.success(),
            "{}",
            String::from_utf8_lossy(&checked.stderr)
        );
    }
    run_to_end(plinth().args(["completion", "tcsh"]), None, LIMIT).expect_code(2);
    let version = run_to_end(plinth().arg("--version"), None, LIMIT).expect_success();
    assert!(version.stdout.starts_with("plinth "), "{}", version.stdout);
}

/// As in `plinth completions bash | head`.
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    for args in [&["completions", "bash"][..], &["--help"], &["settings"]] {
        let mut command = plinth();
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());

        let ended = child.wait_with_output().expect("it ends");

        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
        assert_ne!(ended.status.code(), Some(101), "{args:?}: {stderr}");
    }
}

#[test]
fn init_writes_a_folder_once() {
    let folder = Folder::new();
    folder.write(".gitignore", "node_modules");

    let made = folder.cli(&["init"]).expect_success();
    assert_eq!(
        made.stdout,
        "supabase/config.toml\nsupabase/seed.sql\n.gitignore\n"
    );
    let ignored = folder.read(".gitignore");
    assert!(
        ignored.starts_with("node_modules\n") && ignored.contains("\n.plinth/\n"),
        "{ignored}"
    );
    let settings = folder
        .cli(&["settings", "project_id", "-o", "json"])
        .expect_success();
    assert!(
        settings.stderr.is_empty(),
        "the file is free of warnings: {}",
        settings.stderr
    );

    folder.write("supabase/seed.sql", "select 'mine';");
    folder
        .cli(&["init"])
        .expect_code(4)
        .says(&["exists already", "--force"]);
    assert_eq!(folder.read("supabase/seed.sql"), "select 'mine';");
    let forced = folder
        .cli(&["init", "--force", "-o", "json"])
        .expect_success()
        .json();
    assert_eq!(forced["files"][1], "supabase/seed.sql");
    assert_ne!(folder.read("supabase/seed.sql"), "select 'mine';");
    assert_eq!(folder.read(".gitignore"), ignored, "nothing is added twice");

    let inside = folder.path().join("src/deep");
    std::fs::create_dir_all(&inside).expect("a folder");
    let mut command = plinth();
    command.arg("status").current_dir(&inside);
    let status = run_to_end(&mut command, None, LIMIT).expect_code(3);
    status.says(&[&format!("no server runs for {}\n", folder.path().display())]);
}

#[test]
fn doctor_and_logs_describe_a_running_and_a_stopped_server() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);

    let doctor = server.cli(&["doctor"]).expect_success().stdout;
    assert!(
        doctor.contains("✓ server") && doctor.contains("Deno 2.") && !doctor.contains('✗'),
        "{doctor}"
    );
    let checks = server.cli_json(&["doctor"]);
    assert!(
        checks.as_array().is_some_and(|checks| checks.len() > 5),
        "{checks}"
    );

    server
        .http()
        .get("/auth/v1/health?probe=searched")
        .expect_status(200);
    server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"))
        .get("/auth/v1/no-such-thing")
        .expect_status(404);
    let found = eventually(LIMIT, "the request is in the log", || {
        let logs = server.cli(&[
            "logs",
            "--grep",
            "path:/auth/v1/no-such-thing",
            "-o",
            "json",
        ]);
        let logs = logs.expect_success().stdout;
        logs.lines()
            .next()
            .map(|line| serde_json::from_str::<Value>(line).expect("NDJSON"))
    });
    assert_eq!(found["fields"]["status"], 404, "{found}");
    server.cli(&["logs", "nonsense"]).expect_code(1);
    expect_follow(&folder, &server);

    server.stop();
    let offline = folder
        .cli(&["logs", "--grep", "path:/auth/v1/no-such-thing"])
        .expect_success();
    assert!(
        offline.stdout.contains("/auth/v1/no-such-thing"),
        "{}",
        offline.stdout
    );
    folder.cli(&["logs", "-f"]).expect_code(3);
    folder.cli(&["logs", "nonsense"]).expect_code(2);
    let postgres = folder
        .cli(&["logs", "postgres", "-n", "1000"])
        .expect_success()
        .stdout;
    assert!(
        postgres.contains("database system is shut down"),
        "{postgres}"
    );
    let doctor = folder.cli(&["doctor", "-o", "json"]).stdout;
    assert!(doctor.contains("not running"), "{doctor}");
}

fn expect_follow(folder: &Folder, server: &Instance<'_>) {
    let mut command = folder.command(&["logs", "-f", "-o", "json"]);
    let mut follow = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(follow.stdout.take().expect("a pipe")).lines();
    let (sender, received) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            _ = sender.send(line);
        }
    });
    eventually(LIMIT, "a new request is shown", || {
        server.http().get("/auth/v1/followed").expect_status(401);
        let wait = Duration::from_millis(200);
        received
            .recv_timeout(wait)
            .ok()
            .filter(|line| line.contains("/auth/v1/followed"))
    });
    kill(follow.id(), Signal::KILL);
    follow.wait().expect("it ends");
    reader.join().expect("the reader ends");
}
