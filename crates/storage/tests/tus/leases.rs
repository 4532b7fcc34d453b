//! One request at a time writes to an upload, within a process and between several.

use std::{
    future::IntoFuture as _,
    time::{Duration, Instant},
};

use http::Method;

use crate::support::{Process, Sql, TusCall, TusReply, until};

const TAKEN_OVER: &str = "Another request has taken over the upload";

#[tokio::test]
async fn asking_for_the_offset_ends_the_running_request() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;

    let offset = process.offset(&upload).await;

    let stopped = reply.await.expect("no panic");
    stopped.fails_with(423, TAKEN_OVER);
    assert_eq!(process.offset(&upload).await, offset, "it is settled");
    let rest = &"abcdef"[offset as usize..];
    process.patch(&upload, offset).bytes(rest).await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn between_processes_the_holder_learns_that_another_one_waits() {
    let process = Process::start().await;
    let other = process.another();
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;

    let offset = other.offset(&upload).await;

    let stopped = reply.await.expect("no panic");
    stopped.fails_with(423, TAKEN_OVER);
    let rest = &"abcdef"[offset as usize..];
    other.patch(&upload, offset).bytes(rest).await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn a_holder_that_does_not_stop_is_waited_for_so_long_and_no_longer() {
    let process = Process::with(&[("plinth.storage.tus.lock_wait", "300ms")]).await;
    let upload = process.begin("k", 6).await;
    process
        .execute(
            "update plinth.resumable_upload set
                 lease_id = gen_random_uuid(), lease_until = now() + interval '1 hour'",
        )
        .await;
    let began = Instant::now();

    process
        .head(&upload)
        .await
        .fails_with(503, "acquiring lock timeout");
    let patched = process.patch(&upload, 0).bytes("abc").await;
    patched.fails_with(503, "acquiring lock timeout");

    let waited = began.elapsed();
    assert!(waited > Duration::from_millis(600), "{waited:?}");
    assert!(waited < Duration::from_secs(15), "{waited:?}");
}

#[tokio::test]
async fn a_process_that_was_killed_is_not_waited_for_in_vain() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process
        .execute(
            "update plinth.resumable_upload set
                 lease_id = gen_random_uuid(), lease_until = now() + interval '4 seconds'",
        )
        .await;

    assert_eq!(process.offset(&upload).await, 0);
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
}

#[tokio::test]
async fn a_long_request_keeps_its_lease() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;

    let first = "select lease_until::text from plinth.resumable_upload";
    let first: String = process.query_one(first).await.get(0);
    let renewed = format!("plinth.resumable_upload where lease_until > '{first}'");
    until(async || process.count_rows(&renewed).await == 1).await;
    sender.send("def");
    drop(sender);

    reply.await.expect("no panic").is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

/// Blocks all writers of an object of this name.
async fn lock_object(process: &Process, path: &str) -> tokio_postgres::Client {
    let client = process.admin().await;
    let sql = "select pg_advisory_lock(hashtextextended($1, 0))";
    client.execute(sql, &[&path]).await.expect("held");
    client
}

/// Waits until so many requests wait for the lock.
async fn waiting(process: &Process, number: i64) {
    let waiting = "pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    until(async || process.count_rows(waiting).await >= number).await;
}

/// A request that hung until its lease expired, and continues right before its commit.
#[tokio::test]
async fn a_request_that_lost_its_lease_before_the_commit_creates_no_object() {
    let process = Process::start().await;
    let other = process.another();
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let held = lock_object(&process, "b/k").await;
    let stalled = tokio::spawn(process.patch(&upload, 3).bytes("XYZ").into_future());
    waiting(&process, 1).await;
    let over = "update plinth.resumable_upload set lease_id = null, lease_until = null";
    process.execute(over).await;

    let follower = tokio::spawn(other.patch(&upload, 3).bytes("def").into_future());
    waiting(&process, 2).await;
    drop(held);

    let stalled = stalled.await.expect("no panic");
    stalled.fails_with(423, TAKEN_OVER);
    follower.await.expect("no panic").is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
    assert_eq!(other.offset(&upload).await, 6);
    process.is_clean().await;
    assert_eq!(process.files().len(), 1);
}

#[tokio::test]
async fn what_a_stalled_request_sent_is_asked_for_again() {
    let process = Process::start().await;
    let other = process.another();
    let upload = process.begin("k", 6).await;
    let held = lock_object(&process, "b/k").await;
    let stalled = tokio::spawn(process.patch(&upload, 0).bytes("abcdef").into_future());
    waiting(&process, 1).await;
    let over = "update plinth.resumable_upload set lease_id = gen_random_uuid()";
    process.execute(over).await;
    drop(held);

    stalled.await.expect("no panic").fails_with(423, TAKEN_OVER);
    assert_eq!(process.count_rows("storage.objects").await, 0);
    assert_eq!(other.offset(&upload).await, 0);
    other.patch(&upload, 0).bytes("abcdef").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
    process.is_clean().await;
}

/// Rows may be copied and restored; their blobs belong to an object already.
#[tokio::test]
async fn users_may_bring_back_the_row_of_a_finished_upload() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process
        .execute(
            "create temp table kept as select * from storage.objects;
             set storage.allow_delete_query = 'true';
             delete from storage.objects;
             insert into storage.objects (bucket_id, name, version, metadata)
             select bucket_id, name, version, metadata from kept",
        )
        .await;

    assert_eq!(process.download("k").await.text(), "abc");
}

#[tokio::test]
async fn no_other_statement_makes_an_object_of_an_upload_in_flight() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let sql = "insert into storage.objects (bucket_id, name, version)
        select 'b', 'stolen', version::text from plinth.resumable_upload";

    let rejected = process.admin().await.batch_execute(sql).await;

    let rejected = rejected.expect_err("rejected");
    assert_eq!(rejected.code().map(|code| code.code()), Some("55006"));
    process.patch(&upload, 3).bytes("def").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn many_requests_at_once_leave_the_file_whole() {
    let process = Process::start().await;
    let upload = process.begin("k", 26).await;
    let all = "abcdefghijklmnopqrstuvwxyz";

    let client = async || {
        loop {
            let response = process.head(&upload).await;
            let offset = response
                .header("upload-offset")
                .map(|text| text.parse().expect("a number"));
            match offset {
                Some(26) => return,
                Some(offset) => {
                    let end = (offset + 5).min(26);
                    let piece = &all[offset..end];
                    process.patch(&upload, offset as u64).bytes(piece).await;
                }
                None => {}
            }
        }
    };
    tokio::join!(client(), client(), client(), client());

    assert_eq!(process.download("k").await.text(), all);
}

#[tokio::test]
async fn no_connection_is_held_while_bytes_flow() {
    let process = Process::start().await;
    let mut running = Vec::new();
    for number in 0..40 {
        let upload = process.begin(&format!("k{number}"), 6).await;
        let (sender, reply) = process.patch(&upload, 0).stream();
        sender.send("abc");
        running.push((sender, reply));
    }
    process.writers(40).await;

    // All of them wait for their clients; other requests are served meanwhile.
    let upload = process.begin("other", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");

    for (sender, reply) in running {
        sender.send("def");
        drop(sender);
        reply.await.expect("no panic").is(204, "");
    }
}

#[tokio::test]
async fn a_terminated_upload_is_gone_with_its_bytes() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;

    process.call(Method::DELETE, &upload).await.is(204, "");

    reply.await.expect("no panic").fails_with(423, TAKEN_OVER);
    let missing = "The file for this url was not found";
    process.head(&upload).await.fails_with(404, missing);
    let again = process.call(Method::DELETE, &upload).await;
    again.fails_with(404, missing);
    assert!(process.files().is_empty());
    process.collect_garbage().await;
    assert_eq!(process.count_rows("plinth.blob_gc").await, 0);

    let upload = process.begin("k", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let call = process.call(Method::DELETE, &upload);
    let rejected = call.header("x-upsert", "true").await;
    rejected.fails_with(400, "Cannot terminate an already completed upload");
    assert_eq!(process.download("k").await.text(), "abc");
}
