//! An S3 store that answers 503: whoever asks is told so, nothing is lost, nothing is left over.

use std::time::Duration;

use plinth_teststore::Mood;
use serde_json::json;

use super::storage_check::{HASTY, check, expect_settled, files, get, put, storage};
use crate::support::{Answer, FileStore, Folder, Instance, S3, eventually};

/// What clients are told (storage contract §11).
#[track_caller]
fn expect_fault(answer: std::io::Result<Answer>) {
    let answer = answer.expect("an answer").expect_status(500);
    let said = answer.json();
    assert_eq!(
        (&said["statusCode"], &said["code"], &said["message"]),
        (
            &json!("500"),
            &json!("InternalError"),
            &json!("Internal Server Error")
        ),
        "{answer:?}"
    );
}

#[test]
fn a_store_that_answers_503_costs_no_file() {
    let folder = Folder::new();
    let store = FileStore::on_s3(&folder);
    let switch = store.switch().expect("a server");
    // A removal that fails is tried again a minute later: the collector has no work for now.
    let server = Instance::start(&folder, &[]);
    let http = storage(&server).header("x-upsert", "true");
    for name in ["kept", "deleted", "moved"] {
        put(&http, name, name);
    }
    let s3 = S3::of(&server);
    let send = |method, query: &str, body| s3.send(method, "b/parts", query, body);
    let created = send("POST", "uploads=", "").expect("an answer");
    let id = created
        .body
        .split_once("<UploadId>")
        .and_then(|(_, rest)| rest.split_once("</UploadId>"))
        .expect("an upload")
        .0;
    let part = |number| format!("partNumber={number}&uploadId={id}");
    for (number, text) in [(1, "abc"), (2, "def")] {
        let answer = send("PUT", &part(number), text).expect("an answer");
        answer.expect_status(200);
    }

    switch.set(Mood::Unavailable);
    let ended = folder.cli(&["storage", "check"]).expect_code(1);
    ended.says(&["it is not known whose the store of files is", "503"]);
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
        let failed = failed.expect("an answer").expect_status(500);
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
    .expect("an answer")
    .expect_status(200);
    http.send("DELETE", "/storage/v1/object/b/deleted", "")
        .expect("an answer")
        .expect_status(200);
    assert_eq!(get(&http, "deleted").code(), "NoSuchKey");
    switch.set(Mood::Good);

    assert_eq!(get(&http, "kept").body, "kept");
    assert_eq!(get(&http, "elsewhere").body, "moved");
    for name in ["new", "copy", "moved", "deleted", "parts"] {
        assert_eq!(get(&http, name).code(), "NoSuchKey", "{name}");
    }
    send("POST", &format!("uploadId={id}"), "")
        .expect("an answer")
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
    let switch = store.switch().expect("a server");
    let server = Instance::start(&folder, HASTY);
    let http = storage(&server);
    put(&http, "kept", "kept");
    put(&http, "gone", "gone");
    let before = switch.requests();
    switch.set_for_removals(Mood::Silent);
    http.send("DELETE", "/storage/v1/object/b/gone", "")
        .expect("an answer")
        .expect_status(200);
    eventually(
        Duration::from_secs(30),
        "the collector asks the store",
        || (switch.requests() > before).then_some(()),
    );
    server.kill9();
    switch.set(Mood::Good);
    let server = Instance::start(&folder, HASTY);

    let summary = expect_settled(&folder);
    assert_eq!(summary["files"], 1);
    assert_eq!(get(&server.http(), "kept").body, "kept");
}
