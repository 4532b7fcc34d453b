//! New uploads.

use serde_json::{Value, json};

use crate::support::{CHUNK, Process, Sql, TusCall, TusReply, metadata};

#[tokio::test]
async fn a_new_upload_says_where_it_is_and_until_when() {
    let process = Process::start().await;

    let created = process
        .create("a/b c.txt")
        .header("upload-length", "3")
        .await;

    let upload = created.upload();
    created.has(&[("upload-offset", None), ("tus-complete", None)]);
    assert!(
        created
            .header("upload-expires")
            .expect("a time")
            .ends_with(" GMT")
    );
    let response = process.head(&upload).await;
    response.is(200, "").has(&[
        ("upload-offset", Some("0")),
        ("upload-length", Some("3")),
        ("upload-defer-length", None),
        ("cache-control", Some("no-store")),
    ]);
    assert_eq!(process.object("a/b c.txt").await, Value::Null);
}

#[tokio::test]
async fn metadata_is_given_back_in_its_stored_form() {
    let process = Process::start().await;
    let sent = metadata(&[
        ("bucketName", "b"),
        ("objectName", "k"),
        ("contentType", "image/png"),
        ("cacheControl", "3600"),
        ("filename", "ä.png"),
    ]);
    let created = process.create("k").header("upload-metadata", &sent);
    let upload = created.header("upload-length", "3").await.upload();

    let response = process.head(&upload).await;

    let stored = metadata(&[
        ("bucketName", "b"),
        ("objectName", "k"),
        ("contentType", "image/png"),
        ("cacheControl", "max-age=3600"),
        ("filename", "ä.png"),
    ]);
    response
        .is(200, "")
        .has(&[("upload-metadata", Some(stored.as_str()))]);
}

#[tokio::test]
async fn the_object_has_what_the_metadata_said() {
    let process = Process::start().await;
    let sent = metadata(&[
        ("bucketName", "b"),
        ("objectName", "k"),
        ("contentType", "text/plain"),
        ("cacheControl", "60"),
        ("metadata", r#"{"album":"spring"}"#),
    ]);
    let created = process.create("k").header("upload-metadata", &sent);
    let upload = created.header("upload-length", "3").await.upload();

    let patched = process.patch(&upload, 0).bytes("abc").await;

    patched.is(204, "").has(&[
        ("upload-offset", Some("3")),
        ("tus-complete", Some("1")),
        ("upload-expires", None),
    ]);
    let object = process.object("k").await;
    assert_eq!(object["user_metadata"], json!({ "album": "spring" }));
    let mut facts = object["metadata"].clone();
    assert!(facts["lastModified"].take().is_string());
    let expected = json!({
        "eTag": "\"900150983cd24fb0d6963f7d28e17f72\"",
        "size": 3,
        "mimetype": "text/plain",
        "cacheControl": "max-age=60",
        "lastModified": null,
        "contentLength": 3,
        "httpStatusCode": 200,
    });
    assert_eq!(facts, expected);
    assert_eq!(process.download("k").await.text(), "abc");
    assert_eq!(process.count_rows("plinth.pending_blob").await, 0);
}

#[tokio::test]
async fn an_upload_without_user_metadata_keeps_what_there_was() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    assert_eq!(process.object("k").await["user_metadata"], Value::Null);
    process
        .execute(r#"update storage.objects set user_metadata = '{"kept": true}'"#)
        .await;

    let created = process.create("k").header("x-upsert", "true");
    let upload = created.header("upload-length", "3").await.upload();
    let patched = process.patch(&upload, 0).header("x-upsert", "true");
    patched.bytes("def").await.is(204, "");

    let object = process.object("k").await;
    assert_eq!(object["user_metadata"], json!({ "kept": true }));
    assert_eq!(process.download("k").await.text(), "def");
    assert_eq!(
        process.count_rows("plinth.blob_gc").await,
        1,
        "the replaced bytes"
    );
}

#[tokio::test]
async fn the_first_bytes_may_come_at_once() {
    let process = Process::start().await;
    let begin = |key| {
        let call = process.create(key).header("upload-length", "6");
        call.header("content-type", CHUNK)
    };

    let some = begin("some").bytes("abc").await;
    let upload = some.upload();
    some.has(&[("upload-offset", Some("3")), ("tus-complete", None)]);
    assert!(some.header("upload-expires").is_some());
    process.patch(&upload, 3).bytes("def").await.is(204, "");
    assert_eq!(process.download("some").await.text(), "abcdef");

    let all = begin("all").bytes("abcdef").await;
    all.upload();
    all.has(&[
        ("upload-offset", Some("6")),
        ("tus-complete", Some("1")),
        ("upload-expires", None),
    ]);
    assert_eq!(process.download("all").await.text(), "abcdef");

    // A body of another type is no chunk.
    let none = process.create("none").header("upload-length", "6");
    let none = none
        .header("content-type", "text/plain")
        .bytes("abcdef")
        .await;
    none.has(&[("upload-offset", None), ("tus-complete", None)]);
    assert_eq!(process.offset(&none.upload()).await, 0);
}

#[tokio::test]
async fn a_creation_that_is_rejected_half_way_leaves_nothing() {
    let process = Process::start().await;
    let call = process.create("k").header("upload-length", "4");
    let (sender, reply) = call.header("content-type", CHUNK).stream();

    sender.send("ab");
    sender.send("cdef");
    drop(sender);

    let reply = reply.await.expect("no panic");
    reply.fails_with(413, "upload's size exceeded");
    assert_eq!(process.count_rows("plinth.resumable_upload").await, 0);
    process.collect_garbage().await;
    assert!(process.files().is_empty());
}

#[tokio::test]
async fn an_empty_file_is_there_at_once() {
    let process = Process::start().await;

    let created = process.create("empty").header("upload-length", "0").await;

    let upload = created.upload();
    created.has(&[("tus-complete", Some("1")), ("upload-expires", None)]);
    let response = process.head(&upload).await;
    response.has(&[("upload-offset", Some("0")), ("upload-length", Some("0"))]);
    let facts = &process.object("empty").await["metadata"];
    assert_eq!(facts["eTag"], "\"d41d8cd98f00b204e9800998ecf8427e\"");
    assert_eq!(facts["size"], 0);
    assert_eq!(process.download("empty").await.text(), "");
}

#[tokio::test]
async fn sizes_and_types_are_limited_by_the_bucket_and_the_service() {
    let process = Process::with(&[
        ("storage.file_size_limit", "100"),
        ("plinth.storage.file_size_limit_standard", "1"),
    ])
    .await;
    let create = async |length: &str, content_type: &str| {
        let pairs = [
            ("bucketName", "b"),
            ("objectName", "k"),
            ("contentType", content_type),
        ];
        let call = process.create("k").header("upload-length", length);
        call.header("upload-metadata", &metadata(&pairs)).await
    };

    create("100", "text/plain").await.upload();
    let rejected = create("101", "text/plain").await;
    rejected.fails_with(413, "Maximum size exceeded");

    process
        .execute(
            "update storage.buckets set file_size_limit = 10, allowed_mime_types = '{image/*}'",
        )
        .await;
    create("10", "image/png").await.upload();
    let rejected = create("11", "image/png").await;
    rejected.fails_with(413, "Maximum size exceeded");
    let rejected = create("10", "text/plain").await;
    rejected.fails_with(415, "mime type text/plain is not supported");
    // Without a type nothing is checked.
    let silent = process.create("k").header("upload-length", "10").await;
    silent.upload();

    process
        .execute("update storage.buckets set allowed_mime_types = '{}'")
        .await;
    create("10", "text/plain").await.upload();
}
