//! Concurrent uploads, and clients that disconnect (storage contract §3.1, §10.3).

use std::{future::IntoFuture, time::Duration};

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt;

use crate::support::{
    Form, Listener, Requests, SECRET_KEY, Sql, StorageCall, StorageReply, TestApi, until,
};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api
}

#[tokio::test]
async fn of_many_creators_one_succeeds() {
    let api = api().await;
    let contents: Vec<String> = (0..8).map(|i| i.to_string().repeat(300_000)).collect();
    let calls = contents
        .iter()
        .map(|content| api.upload("b/a", content).service_role().into_future());

    let replies = join_all(calls).await;

    let (won, lost): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
    assert_eq!(won.len(), 1);
    for reply in lost {
        reply.fails_with_code(409, "KeyAlreadyExists");
    }
    let stored = api.get("/object/public/b/a").await;
    assert!(contents.iter().any(|content| content == stored.text()));
    api.collect_garbage_later().await;
    assert_eq!(api.files(), (0, 1));
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn of_many_replacers_one_is_last_and_no_bytes_are_mixed() {
    let api = api().await;
    let contents: Vec<String> = (0..8).map(|i| i.to_string().repeat(300_000)).collect();
    let calls = contents.iter().map(|content| {
        api.upload("b/a", content)
            .service_role()
            .upsert()
            .into_future()
    });
    let reads = (0..8).map(|_| api.get("/object/public/b/a").into_future());

    let (replies, reads) = tokio::join!(join_all(calls), join_all(reads));

    for reply in &replies {
        reply.expect_ok();
    }
    let is_whole = |text: &str| contents.iter().any(|content| content == text);
    for read in reads {
        assert!(
            read.status == 400 || is_whole(read.text()),
            "{}",
            read.status
        );
    }
    assert!(is_whole(api.get("/object/public/b/a").await.text()));
    assert_eq!(api.ledger().await, (0, 7));
    assert_eq!(api.collect_garbage_later().await, 7);
    assert_eq!(api.files(), (0, 1));
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_nothing() {
    let api = api().await;
    let large = "x".repeat(1_000_000);
    let reply = api
        .upload("b/a", "")
        .service_role()
        .broken("text/plain", &large);
    // Without a length: only the error of the body shows that it is incomplete.
    let reply = reply.with(|request| _ = request.headers_mut().remove("content-length"));
    reply
        .await
        .fails_with_code(400, "InvalidRequest")
        .expect_header("connection", "close");
    let (kind, body) = Form::default().file("text/plain", &large).cut_off();
    let reply = api
        .upload("b/a", "")
        .service_role()
        .broken(&kind, &body)
        .with(|request| {
            _ = request.headers_mut().remove("content-length");
        });
    reply.await.fails_with_code(400, "InvalidRequest");
    assert_eq!(api.count("select count(*) from storage.objects").await, 0);
    api.collect_garbage().await;
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn a_length_that_is_a_lie_makes_no_object() {
    let api = api().await;
    for length in ["4", "6", "0"] {
        let call = api.upload("b/a", "hello").service_role();
        let reply = call.header("content-length", length).await;
        reply
            .fails_with_code(400, "InvalidRequest")
            .expect_header("connection", "close");
    }
    assert_eq!(api.count("select count(*) from storage.objects").await, 0);
    api.collect_garbage().await;
    assert_eq!(api.files(), (0, 0));
    let large = api.upload("b/a", "hello").service_role();
    let reply = large.header("content-length", "99999999999999").await;
    reply.fails_with_code(413, "EntityTooLarge");
}

fn head(length: usize) -> String {
    format!(
        "POST /object/b/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECRET_KEY}\r\n\
         Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn who_leaves_in_the_middle_leaves_nothing() {
    let api = api().await;
    let listener = Listener::start(api.router()).await;
    // Enough for a part in an S3 store.
    let mut stream = listener.send(&head(12_000_000)).await;
    let half = "x".repeat(6_000_000);
    stream.write_all(half.as_bytes()).await.expect("sent");
    until(async || api.files().0 == 1).await;

    drop(stream);

    until(async || api.files().0 == 0).await;
    assert_eq!(api.count("select count(*) from storage.objects").await, 0);
    api.collect_garbage_later().await;
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn who_leaves_with_the_last_byte_has_an_object() {
    let api = api().await;
    let listener = Listener::start(api.router()).await;
    // The commit is blocked until the client has disconnected.
    let admin = api.admin().await;
    let lock = "select pg_advisory_lock(hashtextextended('b/a', 0))";
    admin.batch_execute(lock).await.expect("locked");
    let large = "x".repeat(600_000);
    let mut stream = listener.send(&head(large.len())).await;
    stream.write_all(large.as_bytes()).await.expect("sent");
    until(async || api.files().1 == 1).await;

    drop(stream);
    // Time in which the server notices it; the outcome is the same if it does not.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let unlock = "select pg_advisory_unlock_all()";
    admin.batch_execute(unlock).await.expect("unlocked");

    api.drain().await;
    let stored = api.get("/object/public/b/a").await;
    assert!(stored.expect_ok().text() == large);
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn who_leaves_while_rights_are_checked_has_an_object_too() {
    let api = api().await;
    let listener = Listener::start(api.router()).await;
    for bytes in [1, 600_000] {
        // The dry run has to wait.
        let admin = api.admin().await;
        let lock = "begin; lock table storage.objects in access exclusive mode";
        admin.batch_execute(lock).await.expect("locked");
        let place = format!("/object/b/{bytes}");
        let head = head(bytes).replace("/object/b/a", &place);
        let body = "x".repeat(bytes);
        let mut stream = listener.send(&head).await;
        stream.write_all(body.as_bytes()).await.expect("sent");
        let waiting = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'";
        until(async || api.count(waiting).await == 1).await;

        drop(stream);
        // Time in which the server notices it; the outcome is the same if it does not.
        tokio::time::sleep(Duration::from_millis(100)).await;
        admin.batch_execute("rollback").await.expect("unlocked");

        let path = format!("/object/public/b/{bytes}");
        until(async || api.get(&path).await.status == 200).await;
        assert!(api.get(&path).await.text() == body);
    }
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn a_rejected_upload_is_not_read_to_its_end() {
    let api = api().await;
    let listener = Listener::start(api.router()).await;
    let rejected = head(50_000_000).replace("/object/b/a", "/object/none/a");
    // The body is never sent, and the response comes all the same.
    let raw_response = listener.exchange(&rejected).await;
    assert!(raw_response.starts_with("HTTP/1.1 400"), "{raw_response}");
    assert!(
        raw_response.contains("connection: close\r\n"),
        "{raw_response}"
    );
    let expects = rejected.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    let raw_response = listener.exchange(&expects).await;
    assert!(
        raw_response.starts_with("HTTP/1.1 400"),
        "checked before it goes on: {raw_response}"
    );
}
