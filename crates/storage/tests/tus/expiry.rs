//! Uploads expire, and garbage collection removes what they leave.

use crate::support::{Process, Sql, TusCall, TusReply};

const LONG_AGO: &str = "
    update plinth.pending_blob set created_at = now() - interval '3 days';
    update plinth.resumable_upload set created_at = now() - interval '3 days'
";

#[tokio::test]
async fn an_expired_upload_is_gone_and_its_bytes_are_collected() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process
        .execute("update plinth.resumable_upload set expires_at = now()")
        .await;
    let gone = "The file for this url no longer exists";

    process.head(&upload).await.fails_with(410, gone);
    let rejected = process.patch(&upload, 3).bytes("def").await;
    rejected.fails_with(410, gone);
    assert_eq!(process.collect_garbage().await, 1);

    assert!(process.files().is_empty());
    for table in ["resumable_upload", "pending_blob", "blob_gc"] {
        assert_eq!(
            process.count_rows(&format!("plinth.{table}")).await,
            0,
            "{table}"
        );
    }
    let missing = "The file for this url was not found";
    process.head(&upload).await.fails_with(404, missing);
}

#[tokio::test]
async fn the_lifetime_is_a_setting() {
    let process = Process::with(&[("plinth.storage.tus.expiry", "90s")]).await;

    process.begin("k", 3).await;

    let sql = "plinth.resumable_upload where expires_at = created_at + interval '90 seconds'";
    assert_eq!(process.count_rows(sql).await, 1);
}

#[tokio::test]
async fn a_live_upload_outlives_every_garbage_collection() {
    let process = Process::with(&[("plinth.storage.tus.expiry", "168h")]).await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process.execute(LONG_AGO).await;
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
    for path in process.files() {
        let file = std::fs::File::options()
            .append(true)
            .open(path)
            .expect("a file");
        file.set_modified(long_ago).expect("an older file");
    }

    assert_eq!(process.collect_garbage().await, 0);

    assert_eq!(process.offset(&upload).await, 3);
    process.patch(&upload, 3).bytes("def").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn a_finished_upload_expires_without_its_object() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process
        .execute("update plinth.resumable_upload set expires_at = now()")
        .await;

    assert_eq!(process.collect_garbage().await, 0);

    assert_eq!(process.count_rows("plinth.resumable_upload").await, 0);
    assert_eq!(process.download("k").await.text(), "abc");
}

#[tokio::test]
async fn what_is_being_written_may_come_to_its_end() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;
    process
        .execute("update plinth.resumable_upload set expires_at = now()")
        .await;

    assert_eq!(process.collect_garbage().await, 0);
    sender.send("def");
    drop(sender);

    reply.await.expect("no panic").is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}
