//! Starting, asking, stopping, starting again.

use std::{os::unix::fs::PermissionsExt, process::Command, time::Duration};

use crate::support::{Folder, Instance, eventually, is_alive, rows, value, wait_for_exit};

#[test]
fn a_folder_gets_a_whole_backend_that_is_still_there_after_a_stop() {
    let folder = Folder::new();

    let first = Instance::start(&folder, &[]);
    let status = first.status.clone();
    expect_a_useful_banner(&first);
    expect_every_form_of_status(&first);
    expect_private_state(&folder);
    first.http().get("/health").expect_status(200);
    first.http().get("/ready").expect_status(200);
    rows(
        first.db_url(),
        "create table kept (id int); insert into kept values (42)",
    );
    assert_eq!(first.stop().code(), Some(0));
    folder.expect_no_postgres();

    folder
        .cli(&["status"])
        .expect_code(3)
        .says(&["no server runs for", "plinth start"]);
    for command in [
        &["projects", "list"][..],
        &["db", "url"],
        &["migration", "list"],
    ] {
        folder.cli(command).expect_code(3);
    }
    for _ in 0..2 {
        folder
            .cli(&["stop"])
            .expect_success()
            .says(&["Nothing runs for"]);
    }

    let second = Instance::start(&folder, &[]);
    assert_eq!(
        second.status, status,
        "keys, URLs and remembered ports stay"
    );
    assert_eq!(value(second.db_url(), "select id from kept"), "42");
    let pid = second.pid();
    folder
        .cli(&["stop"])
        .expect_success()
        .says(&["Stopped. The data stays in"]);
    assert_eq!(second.wait().code(), Some(0));
    assert!(!is_alive(pid));
    folder.expect_no_postgres();
}

fn expect_a_useful_banner(instance: &Instance<'_>) {
    // It comes last, just after the commands are answered.
    let banner = eventually(Duration::from_secs(5), "the banner", || {
        Some(instance.stdout()).filter(|text| text.contains("plinth stop"))
    });
    for part in [
        "Plinth is running",
        instance.api_url(),
        instance.db_url(),
        "plinth stop",
    ] {
        assert!(banner.contains(part), "no {part:?} in {banner}");
    }
    // What is no terminal tends to be kept.
    for secret in [
        "SECRET_KEY",
        "SERVICE_ROLE_KEY",
        "JWT_SECRET",
        "S3_PROTOCOL_ACCESS_KEY_SECRET",
    ] {
        assert!(
            !banner.contains(instance.value(secret)),
            "{secret} is shown in {banner}"
        );
        assert!(
            !instance.stderr().contains(instance.value(secret)),
            "{secret} is logged"
        );
    }
    assert!(
        banner.contains("(hidden; `plinth status` shows it)"),
        "{banner}"
    );
    assert!(!banner.contains('\u{1b}'), "colours in a file: {banner:?}");
    assert!(
        !instance.stderr().contains('\u{1b}'),
        "colours in a file: {:?}",
        instance.stderr()
    );
}

fn expect_every_form_of_status(instance: &Instance<'_>) {
    for name in [
        "API_URL",
        "REST_URL",
        "DB_URL",
        "STUDIO_URL",
        "CONSOLE_URL",
        "PLINTH_REF",
        "STORAGE_S3_URL",
        "S3_PROTOCOL_ACCESS_KEY_ID",
        "S3_PROTOCOL_ACCESS_KEY_SECRET",
        "S3_PROTOCOL_REGION",
    ] {
        assert!(!instance.value(name).is_empty(), "{name} is empty");
    }
    assert!(
        instance
            .value("PUBLISHABLE_KEY")
            .starts_with("sb_publishable_")
    );
    assert!(instance.value("SECRET_KEY").starts_with("sb_secret_"));
    assert_eq!(instance.value("ANON_KEY").split('.').count(), 3);

    let pretty = instance.cli(&["status"]).expect_success().stdout;
    assert!(
        pretty.contains(&format!("API_URL: {}", instance.api_url())),
        "{pretty}"
    );

    let env = instance
        .cli(&["status", "-o", "env"])
        .expect_success()
        .stdout;
    let script = format!("{env}\nprintf '%s %s' \"$API_URL\" \"$SERVICE_ROLE_KEY\"");
    let shell = Command::new("sh")
        .args(["-eu", "-c", &script])
        .output()
        .expect("a shell");
    let expected = format!(
        "{} {}",
        instance.api_url(),
        instance.value("SERVICE_ROLE_KEY")
    );
    assert_eq!(String::from_utf8_lossy(&shell.stdout), expected);

    let renamed = [
        "status",
        "-o",
        "env",
        "--override-name",
        "auth.anon_key=VITE_KEY",
    ];
    let env = instance.cli(&renamed).expect_success().stdout;
    assert!(
        env.contains(&format!("VITE_KEY=\"{}\"", instance.value("ANON_KEY"))),
        "{env}"
    );
    assert!(!env.contains("\nANON_KEY="), "{env}");
}

fn expect_private_state(folder: &Folder) {
    let mode = |name: &str| {
        let path = folder.state().join(name);
        std::fs::metadata(&path)
            .expect("a file of the state")
            .permissions()
            .mode()
            & 0o777
    };
    // The user who runs PostgreSQL for root may pass through, nobody may look.
    assert_eq!(mode("") & 0o667, 0o600, "{:o}", mode(""));
    for secret in ["instance-key", "database-password", "running.json"] {
        assert_eq!(mode(secret), 0o600, "{secret}");
    }
    assert_eq!(folder.read(".plinth/.gitignore"), "*\n");
}

#[test]
fn a_detached_server_runs_until_it_is_stopped() {
    let folder = Folder::new();

    let started = folder
        .cli(&["start", "--port", "auto", "--detach"])
        .expect_success();

    assert!(
        started.stdout.contains("runs in the background"),
        "{}",
        started.stdout
    );
    let status = folder
        .cli(&["status", "-o", "json"])
        .expect_success()
        .json();
    assert!(
        started
            .stdout
            .contains(status["API_URL"].as_str().expect("a URL"))
    );
    folder.cli(&["stop"]).expect_success();
    folder.cli(&["status"]).expect_code(3);
    folder.expect_no_postgres();

    folder.write("supabase/config.toml", "[api]\nport = \"many\"\n");
    let refused = folder
        .cli(&["start", "--port", "auto", "--detach"])
        .expect_code(1);
    refused.says(&["settings cannot be used", "api.port", "server.log"]);
}

#[test]
fn a_signal_during_the_start_ends_everything() {
    let folder = Folder::with(&[("migrations/1_slow.sql", "select pg_sleep(300);")]);
    let mut command = folder.command(&["start", "--port", "auto"]);
    let mut starting = command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("plinth starts");
    eventually(Duration::from_secs(60), "PostgreSQL runs", || {
        folder.postmaster()
    });

    crate::support::kill(starting.id(), rustix::process::Signal::TERM);

    let ended = wait_for_exit(&mut starting, Duration::from_secs(10));
    if ended.is_none() {
        _ = starting.kill();
        _ = starting.wait();
    }
    assert!(
        ended.is_some(),
        "a start that waits for a migration ignores SIGTERM"
    );
    folder.expect_no_postgres();
}

#[test]
fn an_open_tail_does_not_hold_up_a_stop() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let mut tail = folder
        .command(&["logs", "-f"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a tail");
    let mut shown = tail.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut shown, &mut first).map(|()| shown)
    });
    // It shows what happens once it is there, and nobody says when that is.
    eventually(Duration::from_secs(60), "the tail shows something", || {
        server.http().get("/auth/v1/health").expect_status(200);
        reader.is_finished().then_some(())
    });
    let _shown = reader.join().expect("a reader").expect("the tail is open");

    let began = std::time::Instant::now();
    assert_eq!(server.stop().code(), Some(0));

    let took = began.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
    wait_for_exit(&mut tail, Duration::from_secs(5)).expect("the tail ends too");
}

#[test]
fn a_long_path_has_its_control_socket_in_a_folder_of_our_own() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let deep = folder.path().join("deep".repeat(30));
    std::fs::create_dir(&deep).expect("a long path");
    std::fs::set_permissions(&deep, PermissionsExt::from_mode(0o755)).expect("open to postgres");
    let state = deep.join(".plinth");
    let shown = state.to_string_lossy();

    let server = Instance::spawn(&folder, &["start", "--port", "auto", "--data-dir", &shown]);
    let notes = eventually(
        Duration::from_secs(60),
        "the server writes its notes",
        || std::fs::read_to_string(state.join("running.json")).ok(),
    );
    folder
        .cli(&["status", "--data-dir", &shown])
        .expect_success();

    let notes: serde_json::Value = serde_json::from_str(&notes).expect("JSON");
    let socket = std::path::PathBuf::from(notes["control_socket"].as_str().expect("a path"));
    assert!(!socket.starts_with(&state), "{socket:?}");
    let parent = std::fs::metadata(socket.parent().expect("a folder")).expect("it exists");
    assert_eq!(parent.uid(), rustix::process::geteuid().as_raw());
    assert_eq!(parent.mode() & 0o777, 0o700);
    drop(server);
}
