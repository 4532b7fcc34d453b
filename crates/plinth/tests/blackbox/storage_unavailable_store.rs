//! An S3 store that responds with 503: requests fail, nothing is lost, nothing is orphaned.

use std::time::Duration;

use plinth_teststore::Fault;
use serde_json::json;

use super::storage_check::{HASTY, check, expect_settled, files, get, put, storage};
use crate::support::{FileStore, Folder, Instance, Response, S3, eventually};

/// The error that clients get (storage contract §11).
#[track_caller]
fn expect_fault(response: std::io::Result<Response>) {
    let response = response.expect("a response").expect_status(500);
    let body = response.json();
    assert_eq!(
        (&body["statusCode"], &body["code"], &body["message"]),
        (
            &json!("500"),
            &json!("InternalError"),
            &json!("Internal Server Error")
        ),
        "{response:?}"
    );
}

#[test]
fn a_store_that_responds_503_loses_no_file() {
    let folder = Folder::new();
    let store = FileStore::on_s3(&folder);
    let faults = store.faults().expect("a server");
    // A removal that fails is tried again a minute later: the collector has no work for now.
    let server = Instance::start(&folder, &[]);
    let http = storage(&server).header("x-upsert", "true");
    for name in ["kept", "deleted", "moved"] {
        put(&http, name, name);
    }
    let s3 = S3::of(&server);
    let send = |method, query: &str, body| s3.send(method, "b/parts", query, body);
    let created = send("POST", "uploads=", "").expect("a response");
    let id = created
        .body
        .split_once("<UploadId>")
        .and_then(|(_, rest)| rest.split_once("</UploadId>"))
        .expect("an upload")
        .0;
    let part = |number| format!("partNumber={number}&uploadId={id}");
    for (number, text) in [(1, "abc"), (2, "def")] {
        let response = send("PUT", &part(number), text).expect("a response");
        response.expect_status(200);
    }

    faults.inject(Fault::Unavailable);
    let ended = folder.cli(&["storage", "check"]).expect_code(1);
    ended.says(&["the owner of the file store cannot be determined", "503"]);
    expect_fault(http.send("POST", "/storage/v1/object/b/new", "new"));
    expect_fault(http.send("PUT", "/storage/v1/object/b/kept", "other"));
    expect_fault(http.send("GET", "/storage/v1/object/public/b/kept", ""));
    let way = |to: &str, from: &str| {
        json!({ "bucketId": "b", "sourceKey": from, "destinationKey": to }).to_string()
    };
    expect_fault(http.send("POST", "/storage/v1/object/copy", &way("copy", "kept")));
    for failed in [
        send("PUT", &part(3), "ghi"),
        send("POST", &format!("uploadId={id}"), ""),
    ] {
        let failed = failed.expect("a response").expect_status(500);
        assert!(
            failed.body.contains("<Code>InternalError</Code>"),
            "{failed:?}"
        );
    }
    // Names need no store.
    http.send(
        "POST",
        "/storage/v1/object/move",
        &way("elsewhere", "moved"),
    )
    .expect("a response")
    .expect_status(200);
    http.send("DELETE", "/storage/v1/object/b/deleted", "")
        .expect("a response")
        .expect_status(200);
    assert_eq!(get(&http, "deleted").code(), "NoSuchKey");
    faults.inject(Fault::None);

    assert_eq!(get(&http, "kept").body, "kept");
    assert_eq!(get(&http, "elsewhere").body, "moved");
    for name in ["new", "copy", "moved", "deleted", "parts"] {
        assert_eq!(get(&http, name).code(), "NoSuchKey", "{name}");
    }
    send("POST", &format!("uploadId={id}"), "")
        .expect("a response")
        .expect_status(200);
    assert_eq!(get(&http, "parts").body, "abcdef");
    put(&http, "new", "new");
    assert_eq!(server.stop().code(), Some(0));
    let server = Instance::start(&folder, HASTY);
    let summary = expect_settled(&folder);
    assert_eq!(summary["objects"], 4);
    assert_eq!(files(&store.folder(&server)).len(), 4);
    assert_eq!(store.unfinished_parts(), 0);
    let (code, _) = check(&folder, &[]);
    assert_eq!(code, Some(0));
}

#[test]
fn a_server_killed_while_the_store_hangs_in_a_removal_removes_later() {
    let folder = Folder::new();
    let store = FileStore::on_s3(&folder);
    let faults = store.faults().expect("a server");
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "kept", "kept");
    put(&http, "gone", "gone");
    let before = faults.request_count();
    faults.inject_for_deletes(Fault::Hang);
    http.send("DELETE", "/storage/v1/object/b/gone", "")
        .expect("a response")
        .expect_status(200);
    eventually(
        Duration::from_secs(30),
        "the collector asks the store",
        || (faults.request_count() > before).then_some(()),
    );
    server.kill9();
    faults.inject(Fault::None);
    let server = Instance::start(&folder, HASTY);

    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(get(&server.http(), "kept").body, "kept");
}
