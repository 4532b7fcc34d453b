//! Requests about files that `kill -9` cuts off at a known point: each has happened or has not, and
//! leaves nothing over.

use std::{
    fs,
    io::Write as _,
    net::TcpStream,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use rustix::process::Signal;
use serde_json::json;

use super::storage_check::{HASTY, expect_settled, files, get, put, storage};
use crate::support::{
    FileStore, Folder, Http, Instance, Response, S3, Session, eventually, kill, postgres_processes,
    rows, value,
};

const TIMEOUT: Duration = Duration::from_secs(60);
/// More than an S3 store takes as one part.
const SOME: usize = 6 << 20;
const MUCH: usize = 12 << 20;

/// How many requests wait for what a test has locked.
const WAITING: &str = "select count(*) from pg_locks where not granted";

/// Starts what `begin` does, with all that it would write locked, and kills the server once it waits
/// there: everything is done but the end.
fn kill_at_the_end(folder: &Folder, server: Instance<'_>, lock: &str, begin: impl FnOnce() + Send) {
    let session = Session::open(server.db_url());
    session.run("begin");
    session.run(lock);
    std::thread::scope(|scope| {
        scope.spawn(begin);
        eventually(TIMEOUT, "a request waits", || {
            (value(server.db_url(), WAITING) != "0").then_some(())
        });
        let waiting = "select distinct pid from pg_locks where not granted";
        let waiting = rows(server.db_url(), waiting);
        // Together: without the server nothing would be locked, and the request might go on.
        kill(server.pid(), Signal::STOP);
        for pid in waiting {
            kill(pid.parse().expect("a process"), Signal::KILL);
        }
        server.kill9();
    });
    // It recovers from the loss before it notices that it is alone. One that takes its time with
    // that is ended by the next start.
    let deadline = Instant::now() + TIMEOUT / 3;
    while Instant::now() < deadline && !postgres_processes(&folder.data_dir()).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A row that is there, and a name that is being written.
fn locks(name: &str) -> String {
    format!(
        "select from storage.objects where name = '{name}' for update;
         select pg_advisory_xact_lock(hashtextextended('b/{name}', 0))"
    )
}

/// The connection ends without a response, or the response says that the database is gone: the
/// threads of a process do not stop all at the same moment.
fn expect_aborted(response: std::io::Result<Response>) {
    assert!(
        response
            .as_ref()
            .map_or(true, |response| response.status == 544),
        "{response:?}"
    );
}

#[test]
fn a_move_aborted_by_a_kill_has_not_happened() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "a", "one");
    kill_at_the_end(&folder, server, &locks("a"), || {
        let body = json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": "z" });
        expect_aborted(http.send("POST", "/storage/v1/object/move", &body.to_string()));
    });

    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(get(&http, "a").body, "one");
    assert_eq!(get(&http, "z").code(), "NoSuchKey");
    let body = json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": "z" });
    http.post("/storage/v1/object/move", &body.to_string())
        .expect_status(200);
    assert_eq!(get(&http, "z").body, "one");
}

#[test]
fn a_copy_aborted_by_a_kill_has_not_happened_and_its_bytes_go() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "a", "one");
    let bytes = store.folder(&server);
    kill_at_the_end(&folder, server, &locks("z"), || {
        let body = json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": "z" });
        expect_aborted(http.send("POST", "/storage/v1/object/copy", &body.to_string()));
    });
    assert_eq!(
        files(&bytes.join("blobs")).len(),
        2,
        "all but the row was there"
    );

    let server = Instance::start(&folder, HASTY);
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(get(&server.http(), "a").body, "one");
    assert_eq!(get(&server.http(), "z").code(), "NoSuchKey");
}

#[test]
fn a_delete_aborted_by_a_kill_has_not_happened() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "a", "one");
    kill_at_the_end(&folder, server, &locks("a"), || {
        expect_aborted(http.send("DELETE", "/storage/v1/object/b/a", ""));
    });

    let server = Instance::start(&folder, HASTY);
    assert_eq!(get(&server.http(), "a").body, "one");
    let summary = expect_settled(&folder);
    assert_eq!(
        (&summary["objects"], &summary["files"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_delete_acknowledged_before_a_kill_removes_the_blob() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    // Nothing is collected before the kill.
    let server = Instance::start(&folder, &[]);
    let http = storage(&server);
    for name in ["a", "b", "kept"] {
        put(&http, name, name);
    }
    let many = json!({ "prefixes": ["a", "b"] }).to_string();
    http.send("DELETE", "/storage/v1/object/b", &many)
        .expect("a response")
        .expect_status(200);
    let bytes = store.folder(&server);
    server.kill9();
    assert_eq!(files(&bytes).len(), 3);

    let server = Instance::start(&folder, HASTY);
    let summary = expect_settled(&folder);
    assert_eq!(
        (&summary["objects"], &summary["files"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(files(&bytes).len(), 1);
    assert_eq!(get(&server.http(), "kept").body, "kept");
    for name in ["a", "b"] {
        assert_eq!(get(&server.http(), name).code(), "NoSuchKey");
    }
}

#[test]
fn an_overwrite_that_a_kill_cut_off_leaves_the_old_file() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "a", "old");
    let bytes = store.folder(&server);
    kill_at_the_end(&folder, server, &locks("a"), || {
        expect_aborted(http.send("PUT", "/storage/v1/object/b/a", "new"));
    });

    let server = Instance::start(&folder, HASTY);
    assert_eq!(get(&server.http(), "a").body, "old");
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(files(&bytes).len(), 1);
}

#[test]
fn an_upload_that_a_kill_cut_off_is_collected() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "kept", "kept");
    let bytes = store.folder(&server);
    let key = server.value("SERVICE_ROLE_KEY");
    let head = format!(
        "POST /storage/v1/object/b/cut HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: text/plain\r\nContent-Length: {MUCH}\r\n\r\n"
    );
    let _socket = send_some(&server, &head);
    eventually(TIMEOUT, "bytes arrive", || {
        has_some(&store, &bytes.join(store.arriving())).then_some(())
    });

    server.kill9();
    assert!(has_some(&store, &bytes.join(store.arriving())));
    let _server = Instance::start(&folder, HASTY);

    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(files(&bytes).len(), 1);
    assert_eq!(store.unfinished_parts(), 0);
}

#[test]
fn a_piece_of_a_resumable_upload_that_a_kill_cut_off_can_be_sent_again() {
    let folder = Folder::new();
    let store = FileStore::of(&folder);
    // The upload must live as long as a new start takes.
    let long_uploads = &[HASTY, &["--set", "plinth.storage.gc.longest_upload=10m"]].concat();
    let server = Instance::start(&folder, long_uploads);
    let http = storage(&server).header("Tus-Resumable", "1.0.0");
    let text = "0123456789abcdef".repeat(MUCH / 16);
    let path = begin_resumable(&http, "grown", text.len());
    let first = send_piece(&http, &path, 0, &text[..SOME]);
    assert_eq!(first.expect("a response").status, 204);
    let bytes = store.folder(&server);
    let before = files_size(&bytes);
    let key = server.value("SERVICE_ROLE_KEY");
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nTus-Resumable: 1.0.0\r\n\
         Upload-Offset: {SOME}\r\nContent-Type: application/offset+octet-stream\r\n\
         Content-Length: {}\r\n\r\n",
        MUCH - SOME
    );
    let parts = store.unfinished_parts();
    let _socket = send_bytes(&server, &head, &text[SOME..MUCH - 1]);
    eventually(TIMEOUT, "bytes arrive", || {
        let has_come = files_size(&bytes) > before || store.unfinished_parts() > parts;
        has_come.then_some(())
    });
    server.kill9();

    let server = Instance::start(&folder, long_uploads);
    let http = storage(&server).header("Tus-Resumable", "1.0.0");
    let response = http.send("HEAD", &path, "").expect("a response");
    let offset = response.header("upload-offset").map(str::to_owned);
    assert_eq!(
        offset.as_deref(),
        Some(SOME.to_string().as_str()),
        "{response:?}"
    );
    let rest = send_piece(&http, &path, SOME, &text[SOME..]);
    assert_eq!(rest.expect("a response").status, 204);
    assert!(
        get(&http, "grown").expect_status(200).body == text,
        "other bytes"
    );
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(store.unfinished_parts(), 0);
}

#[test]
fn the_end_of_a_resumable_upload_that_a_kill_cut_off_can_be_sent_again() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let long_uploads = &[HASTY, &["--set", "plinth.storage.gc.longest_upload=10m"]].concat();
    let server = Instance::start(&folder, long_uploads);
    let http = storage(&server).header("Tus-Resumable", "1.0.0");
    let path = begin_resumable(&http, "grown", 6);
    let first = send_piece(&http, &path, 0, "abc");
    assert_eq!(first.expect("a response").status, 204);
    kill_at_the_end(&folder, server, &locks("grown"), || {
        expect_aborted(send_piece(&http, &path, 3, "def"));
    });

    let server = Instance::start(&folder, long_uploads);
    let http = storage(&server).header("Tus-Resumable", "1.0.0");
    assert_eq!(get(&http, "grown").code(), "NoSuchKey");
    let response = http.send("HEAD", &path, "").expect("a response");
    assert_eq!(response.header("upload-offset"), Some("3"), "{response:?}");
    let rest = send_piece(&http, &path, 3, "def");
    assert_eq!(rest.expect("a response").status, 204);
    assert_eq!(get(&http, "grown").body, "abcdef");
    expect_settled(&folder);
}

#[test]
fn parts_that_a_kill_kept_from_becoming_one_can_still_become_one() {
    let folder = Folder::new();
    let _store = FileStore::of(&folder);
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "whole", "old");
    let s3 = S3::of(&server);
    let created = s3.send("POST", "b/whole", "uploads=", "");
    let created = created.expect("a response").expect_status(200);
    let id = created
        .body
        .split_once("<UploadId>")
        .and_then(|(_, rest)| rest.split_once("</UploadId>"))
        .expect("an upload")
        .0
        .to_owned();
    for (number, text) in [(1, "abc"), (2, "def")] {
        let query = format!("partNumber={number}&uploadId={id}");
        s3.send("PUT", "b/whole", &query, text)
            .expect("a response")
            .expect_status(200);
    }
    let complete = format!("uploadId={id}");
    kill_at_the_end(&folder, server, &locks("whole"), || {
        expect_aborted(s3.send("POST", "b/whole", &complete, ""));
    });

    let server = Instance::start(&folder, HASTY);
    assert_eq!(get(&server.http(), "whole").body, "old");
    let summary = expect_settled(&folder);
    assert_eq!(summary["parts"], 2);
    S3::of(&server)
        .send("POST", "b/whole", &complete, "")
        .expect("a response")
        .expect_status(200);
    assert_eq!(get(&server.http(), "whole").body, "abcdef");
    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
}

/// Sends a head and some of the bytes that it promises; the connection stays open.
fn send_some(server: &Instance<'_>, head: &str) -> TcpStream {
    send_bytes(server, head, &"x".repeat(SOME))
}

fn send_bytes(server: &Instance<'_>, head: &str, bytes: &str) -> TcpStream {
    let address = server.api_url().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.write_all(head.as_bytes()).expect("sent");
    socket.write_all(bytes.as_bytes()).expect("sent");
    socket
}

/// Whether a store has got a part of an upload.
fn has_some(store: &FileStore, arriving: &std::path::Path) -> bool {
    match store {
        FileStore::Disk(_) => files_size(arriving) > 0,
        FileStore::S3 { .. } => files(arriving).len() == 1 && store.unfinished_parts() > 0,
    }
}

fn files_size(folder: &std::path::Path) -> u64 {
    let size = |path| fs::metadata(path).map_or(0, |file| file.len());
    files(folder).into_iter().map(size).sum()
}

fn begin_resumable(tus: &Http, name: &str, length: usize) -> String {
    let metadata = [("bucketName", "b"), ("objectName", name)]
        .map(|(key, value)| format!("{key} {}", BASE64.encode(value)));
    let created = tus
        .clone()
        .header("Upload-Length", &length.to_string())
        .header("Upload-Metadata", &metadata.join(","))
        .send("POST", "/storage/v1/upload/resumable", "")
        .expect("a response")
        .expect_status(201);
    let location = created.header("location").expect("a place");
    let at = location.find("/storage/v1").expect("a path");
    location[at..].to_owned()
}

fn send_piece(tus: &Http, path: &str, offset: usize, bytes: &str) -> std::io::Result<Response> {
    tus.clone()
        .header("Upload-Offset", &offset.to_string())
        .send_as("PATCH", path, "application/offset+octet-stream", bytes)
}
