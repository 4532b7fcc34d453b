//! `plinth storage check`, with the server up and down.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    FileStore, Folder, Http, Instance, Session, eventually, postgres_processes, rows,
};

/// A collector that does not let a test wait.
pub(crate) const HASTY: &[&str] = &[
    "--set",
    "plinth.storage.gc.grace=300ms",
    "--set",
    "plinth.storage.gc.every=200ms",
    "--set",
    "plinth.storage.gc.scan_every=500ms",
    "--set",
    "plinth.storage.gc.longest_upload=8s",
];

const TIMEOUT: Duration = Duration::from_secs(60);

/// Requests with all rights; there is a public bucket `b`.
pub(crate) fn storage(server: &Instance<'_>) -> Http {
    let http = server.http().token(server.value("SERVICE_ROLE_KEY"));
    let bucket = json!({ "name": "b", "public": true }).to_string();
    let made = http.post("/storage/v1/bucket", &bucket);
    assert!(
        made.status == 200 || made.code().contains("Exists"),
        "{made:?}"
    );
    http
}

pub(crate) fn put(http: &Http, name: &str, text: &str) {
    let path = format!("/storage/v1/object/b/{name}");
    let http = http.clone().header("x-upsert", "true");
    http.send("POST", &path, text)
        .expect("a response")
        .expect_status(200);
}

pub(crate) fn get(http: &Http, name: &str) -> crate::support::Response {
    http.get(&format!("/storage/v1/object/public/b/{name}"))
}

/// Every file of a project's store.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files(&path),
        path => vec![path],
    });
    below.collect()
}

/// What `storage check` says about the default project, however it ends.
pub(crate) fn check(folder: &Folder, args: &[&str]) -> (Option<i32>, Value) {
    let args = [
        &["storage", "check", "--project", "default", "--json"],
        args,
    ]
    .concat();
    let ended = folder.cli(&args);
    let document = ended.json();
    assert_eq!(document["clean"], ended.code == Some(0), "{ended:?}");
    (ended.code, document["projects"][0].clone())
}

/// Waits until nothing is left over: all bytes belong to a row, and the collector has no work.
pub(crate) fn expect_settled(folder: &Folder) -> Value {
    eventually(TIMEOUT, "rows and bytes agree", || {
        let (code, project) = check(folder, &["--verify-digests"]);
        let summary = &project["summary"];
        let count = |name: &str| summary[name].as_u64().unwrap_or(u64::MAX);
        let findings = project["findings"].as_array().cloned().unwrap_or_default();
        let is_lasting = |finding: &Value| finding["finding"] != "orphan";
        assert!(!findings.iter().any(is_lasting), "{project:#}");
        let is_settled = code == Some(0)
            && count("leaving") == 0
            && count("pending") == count("uploads")
            && count("files") <= count("objects") + count("parts") + count("uploads");
        is_settled.then(|| summary.clone())
    })
}

/// Bytes that nothing names.
fn leave_behind(store: &Path, name: &str) -> PathBuf {
    let folder = store.join("blobs").join(&name[..2]).join(&name[2..4]);
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, "left behind").expect("a file");
    path
}

#[test]
fn changes_behind_the_servers_back_are_found() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, &["--set", "plinth.storage.gc.grace=100ms"]);
    let http = storage(&server);
    put(&http, "kept", "kept");
    put(&http, "gone", "gone");
    let ended = folder.cli(&["storage", "check"]).expect_success();
    assert!(ended.stdout.contains("✓ 2 object(s)"), "{ended:?}");

    let gone = rows(
        server.db_url(),
        "select version from storage.objects where name = 'gone'",
    );
    let store = store.folder(&server);
    let bytes = files(&store)
        .into_iter()
        .find(|path| path.ends_with(&gone[0]));
    fs::remove_file(bytes.expect("its bytes")).expect("removed");
    let orphan = leave_behind(&store, "5f0e6a52-1111-4222-8333-444455556666");
    // Twice the grace period: what is younger is no orphan yet.
    std::thread::sleep(Duration::from_millis(200));

    let ended = folder.cli(&["storage", "check"]).expect_code(1);
    assert!(
        ended
            .stdout
            .contains("✗ object b/gone: its blob is missing"),
        "{ended:?}"
    );
    assert!(
        ended.stdout.contains("✗ orphaned blob of 11 bytes"),
        "{ended:?}"
    );
    ended.says(&["2 problems were found", "--repair"]);
    let (_, project) = check(&folder, &[]);
    let kinds: Vec<_> = project["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| finding["finding"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(kinds, ["missing", "orphan"]);
    let response = get(&http, "gone");
    assert_eq!(
        (response.status, response.code().as_str()),
        (400, "NoSuchKey")
    );

    // Repairing removes blobs after a grace period, and never rows.
    let (code, _) = check(&folder, &["--repair"]);
    assert_eq!(code, Some(1));
    assert!(orphan.exists(), "not at once");
    eventually(TIMEOUT, "the orphan is collected", || {
        check(&folder, &[]);
        (!orphan.exists()).then_some(())
    });
    http.send("DELETE", "/storage/v1/object/b/gone", "")
        .expect("a response")
        .expect_status(200);
    folder.cli(&["storage", "check"]).expect_success();
    assert_eq!(get(&http, "kept").body, "kept");
}

#[test]
fn a_check_needs_no_server() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    folder
        .cli(&["storage", "check"])
        .expect_code(3)
        .says(&["no server runs"]);
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    put(&http, "a", "one");
    let store = store.folder(&server);
    assert_eq!(server.stop().code(), Some(0));

    let ended = folder.cli(&["storage", "check"]).expect_success();
    assert!(ended.stdout.contains("✓ 1 object(s)"), "{ended:?}");
    folder.expect_no_postgres();
    for file in files(&store) {
        fs::remove_file(file).expect("removed");
    }
    let (code, project) = check(&folder, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(project["findings"][0]["finding"], "missing");
    folder.expect_no_postgres();

    let server = Instance::start(&folder, &[]);
    assert_eq!(get(&server.http(), "a").code(), "NoSuchKey");
}

#[test]
fn a_check_without_a_server_wakes_one_isolated_project_at_a_time() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    let references = ["one", "two"].map(|name| {
        let made = server.cli_json(&["projects", "create", name, "--isolated"]);
        made["PLINTH_REF"].as_str().expect("a ref").to_owned()
    });
    assert_eq!(server.stop().code(), Some(0));
    let servers = references.each_ref().map(|reference| {
        let state = folder.state().join("isolated").join(reference);
        let outside = fs::read_to_string(state.join("data-location"));
        outside
            .map_or(state, |path| PathBuf::from(path.trim_end()))
            .join("database")
    });
    let [one, two] = &servers;
    let processes =
        |server: &PathBuf| -> BTreeSet<u32> { postgres_processes(server).into_iter().collect() };
    let mut command = folder.command(&["storage", "check", "-o", "json"]);
    let output = tempfile::tempfile().expect("a file");
    let printed = output.try_clone().expect("the same file");
    let mut check = command.stdout(printed).spawn().expect("the program starts");

    let mut seen = [false; 2];
    let ended = eventually(TIMEOUT, "the check ends", || {
        let before = processes(one);
        let other = processes(two);
        // Not those that ended before the other was looked at.
        let both = !other.is_empty() && !before.is_disjoint(&processes(one));
        assert!(!both, "both servers run");
        seen = [seen[0] || !before.is_empty(), seen[1] || !other.is_empty()];
        check.try_wait().expect("a child can be waited for")
    });

    assert_eq!(ended.code(), Some(0));
    assert_eq!(seen, [true; 2]);
    let document: Value = serde_json::from_reader(rewound(output)).expect("JSON");
    let projects = document["projects"].as_array().expect("projects");
    for reference in &references {
        let is_it = |project: &&Value| project["project"] == reference.as_str();
        let project = projects.iter().find(is_it).expect("every project");
        assert_eq!(project["summary"]["objects"], 0, "{project}");
    }
    for server in &servers {
        assert!(postgres_processes(server).is_empty());
    }
}

fn rewound(mut file: fs::File) -> fs::File {
    file.rewind().expect("a file has a beginning");
    file
}

#[test]
fn rows_deleted_by_sql_take_their_bytes_along() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    for name in ["a", "b", "c"] {
        put(&http, name, name);
    }
    rows(
        server.db_url(),
        "set storage.allow_delete_query = 'true';
         delete from storage.objects where name <> 'c'",
    );

    let summary = expect_settled(&folder);

    assert_eq!(
        (&summary["objects"], &summary["files"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(get(&http, "c").body, "c");
}

#[test]
fn the_server_finds_abandoned_bytes_by_itself() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    put(&storage(&server), "a", "one");
    let bytes = store.folder(&server);
    let left = [
        leave_behind(&bytes, "5f0e6a52-1111-4222-8333-444455556666"),
        leave_on_its_way(&store, &bytes, "aaaa6a52-1111-4222-8333-444455556666"),
        leave_growing(&store, &bytes, "bbbb6a52-1111-4222-8333-444455556666"),
    ];
    if store.faults().is_some() {
        // An S3 store may be shared, so adopting it takes a setting.
        eventually(TIMEOUT, "abandoned bytes are found", || {
            let (_, project) = check(&folder, &[]);
            (project["findings"].as_array().map(Vec::len) == Some(left.len())).then_some(())
        });
        assert!(left.iter().all(|path| path.exists()));
        check(&folder, &["--repair"]);
    }

    eventually(TIMEOUT, "abandoned bytes are collected", || {
        (!left.iter().any(|path| path.exists())).then_some(())
    });

    assert_eq!(files(&bytes).len(), 1);
    assert_eq!(get(&server.http(), "a").body, "one");
}

/// Bytes of one request that never ended.
fn leave_on_its_way(store: &FileStore, bytes: &Path, name: &str) -> PathBuf {
    let note = "upload.00000000-0000-4000-8000-000000000000";
    leave_in(&bytes.join(store.arriving()), store, name, note)
}

/// Bytes of an upload over several requests.
fn leave_growing(store: &FileStore, bytes: &Path, name: &str) -> PathBuf {
    let note = format!("at.{:020}", 11);
    leave_in(&bytes.join(store.growing()), store, name, &note)
}

/// A file of its own on disk, a note on S3.
fn leave_in(folder: &Path, store: &FileStore, name: &str, note: &str) -> PathBuf {
    let path = match store {
        FileStore::Disk(_) => folder.join(name),
        FileStore::S3 { .. } => folder.join(name).join(note),
    };
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, "left behind").expect("a file");
    path
}

#[test]
fn the_files_of_a_project_go_with_it() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let reference = shop["PLINTH_REF"].as_str().expect("a ref");
    let key = shop["SERVICE_ROLE_KEY"].as_str().expect("a key");
    let http = server.http().token(key);
    let path = format!("/p/{reference}/storage/v1");
    let bucket = json!({ "name": "b", "public": true }).to_string();
    http.post(&format!("{path}/bucket"), &bucket)
        .expect_status(200);
    http.post(&format!("{path}/object/b/a"), "one")
        .expect_status(200);
    let store = store.folder_of(reference);
    assert_eq!(files(&store).len(), 1);
    let all = server.cli_json(&["storage", "check"]);
    let is_shop = |project: &&Value| project["project"] == reference;
    let projects = all["projects"].as_array().expect("projects");
    let shop = projects.iter().find(is_shop).expect("every project");
    assert_eq!(shop["summary"]["objects"], 1);

    server
        .cli(&[
            "projects",
            "delete",
            reference,
            "--confirm",
            "shop",
            "--purge",
        ])
        .expect_success();

    assert_eq!(files(&store), Vec::<PathBuf>::new());
}

#[test]
fn the_files_of_a_half_made_project_go_when_the_next_start_clears_it_away() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    let session = Session::open(server.db_url());
    // A branch that never comes up: the check of its rows waits for the kill.
    session.run(
        "create function slow(id int) returns boolean language plpgsql as $$
         begin
             if session_user like 'loader%' then perform pg_catalog.pg_sleep(600); end if;
             return true;
         end $$;
         create table items (id int primary key check (slow(id)));
         insert into items values (1)",
    );
    let branch = server.cli_json(&["branches", "create", "half", "--no-wait"]);
    let bytes = store.folder_of(branch["PLINTH_REF"].as_str().expect("a ref"));
    leave_behind(&bytes, "5f0e6a52-1111-4222-8333-444455556666");
    server.kill9();
    drop(session);
    folder.expect_no_postgres();

    let server = Instance::start(&folder, &[]);

    let stderr = server.stderr();
    assert!(
        stderr.contains("removed the half-created project"),
        "{stderr}"
    );
    assert_eq!(files(&bytes), Vec::<PathBuf>::new());
}

#[test]
fn a_paused_project_is_not_counted_as_checked() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let reference = shop["PLINTH_REF"].as_str().expect("a ref");
    server
        .cli(&["projects", "pause", reference])
        .expect_success();

    let ended = folder.cli(&["storage", "check"]).expect_code(4);

    ended.says(&["1 project was skipped", "plinth projects resume"]);
    assert!(
        ended.stdout.contains("skipped: it is INACTIVE"),
        "{ended:?}"
    );
    let ended = folder.cli(&["storage", "check", "--json"]).expect_code(4);
    let document = ended.json();
    assert_eq!(
        (&document["clean"], &document["skipped"]),
        (&json!(false), &json!(1))
    );
    let projects = document["projects"].as_array().expect("projects");
    let is_shop = |project: &&Value| project["project"] == reference;
    let asleep = projects.iter().find(is_shop).expect("every project");
    assert_eq!(asleep["skipped"], "INACTIVE");
    check(&folder, &[]);
    server
        .cli(&["projects", "resume", reference])
        .expect_success();
    folder.cli(&["storage", "check"]).expect_success();
}

#[test]
fn a_reader_that_goes_away_ends_the_check_without_a_word() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, &[]);
    storage(&server);
    rows(
        server.db_url(),
        "insert into storage.objects (bucket_id, name)
         select 'b', 'never ' || i from generate_series(1, 4000) as i",
    );
    for format in ["pretty", "json"] {
        let mut command = folder.command(&["storage", "check", "-o", format]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("the program starts");
        let mut begin = [0; 10];
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut begin).expect("a beginning");
        drop(stdout);

        let ended = child.wait_with_output().expect("it ends");

        assert_eq!(ended.status.code(), Some(1), "nothing was proved");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    }
    let ended = folder.cli(&["storage", "check", "--json"]).expect_code(1);
    ended.says(&["4000 problems were found"]);
    let document = ended.json();
    let findings = |project: &Value| project["findings"].as_array().map_or(0, Vec::len);
    let projects = document["projects"].as_array().expect("projects");
    assert_eq!(projects.iter().map(findings).sum::<usize>(), 4_000);
}
