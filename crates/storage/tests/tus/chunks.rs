//! Chunks, and what may go wrong between them.

use crate::support::{Process, Sql, TusCall, TusReply, until};

#[tokio::test]
async fn a_file_is_put_together_from_its_pieces() {
    let process = Process::start().await;
    let upload = process.begin("k", 7).await;

    let first = process.patch(&upload, 0).bytes("abc").await;
    first
        .is(204, "")
        .has(&[("upload-offset", Some("3")), ("tus-complete", None)]);
    assert!(first.header("upload-expires").is_some());
    assert_eq!(process.offset(&upload).await, 3);
    process.patch(&upload, 3).bytes("def").await.is(204, "");
    let last = process.patch(&upload, 6).bytes("g").await;

    last.is(204, "")
        .has(&[("upload-offset", Some("7")), ("tus-complete", Some("1"))]);
    assert_eq!(process.download("k").await.text(), "abcdefg");
    let etag = process.object("k").await["metadata"]["eTag"].clone();
    let etag = etag.as_str().expect("a text").to_owned();
    assert!(etag.ends_with("-3\""), "{etag}");
    let response = process.head(&upload).await;
    response.has(&[("upload-offset", Some("7")), ("upload-length", Some("7"))]);
}

#[tokio::test]
async fn a_piece_in_the_wrong_place_is_rejected() {
    let process = Process::start().await;
    let upload = process.begin("k", 7).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");

    for offset in [0, 2, 4, 7] {
        let rejected = process.patch(&upload, offset).bytes("def").await;
        rejected.fails_with(409, "Upload-Offset conflict");
    }

    process.patch(&upload, 3).bytes("defg").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdefg");
}

#[tokio::test]
async fn a_piece_must_say_what_it_is() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    let patch = || process.patch(&upload, 0).bytes("abc");

    let rejected = patch().without("upload-offset").await;
    rejected.fails_with(403, "Upload-Offset header required");
    let rejected = patch().header("upload-offset", "x").await;
    rejected.fails_with(400, "Invalid upload-offset");
    let rejected = patch().without("content-type").await;
    rejected.fails_with(403, "Content-Type header required");
    let rejected = patch().header("content-type", "text/plain").await;
    rejected.fails_with(400, "Invalid content-type");

    assert_eq!(process.offset(&upload).await, 0);
}

#[tokio::test]
async fn more_bytes_than_announced_are_rejected_and_do_not_count() {
    let process = Process::start().await;
    let upload = process.begin("k", 4).await;

    let rejected = process.patch(&upload, 0).bytes("abcde").await;
    rejected.fails_with(413, "upload's size exceeded");
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abcd");
    sender.send("e");
    drop(sender);
    let rejected = reply.await.expect("no panic");
    rejected.fails_with(413, "upload's size exceeded");

    assert_eq!(process.offset(&upload).await, 0);
    process.patch(&upload, 0).bytes("wxyz").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "wxyz");
}

#[tokio::test]
async fn what_came_before_the_client_went_away_counts() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();

    sender.send("ab");
    sender.send("cd");
    sender.abort();
    reply.await.expect("no panic");

    assert_eq!(process.offset(&upload).await, 4);
    process.patch(&upload, 4).bytes("ef").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn received_bytes_count_even_if_the_client_disconnects() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    // Until the request holds the lease.
    process.writers(1).await;

    reply.abort();
    drop(sender);

    assert_eq!(process.offset(&upload).await, 3);
}

#[tokio::test]
async fn much_at_once_is_made_safe_on_the_way() {
    const MIB: usize = 1024 * 1024;
    static PIECE: [u8; MIB] = [b'x'; MIB];
    let process = Process::with(&[("storage.file_size_limit", "100MiB")]).await;
    let upload = process.begin("k", 70 * MIB).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    let piece = std::str::from_utf8(&PIECE).expect("text");
    (0..65).for_each(|_| sender.send(piece));

    let safe = format!("plinth.resumable_upload where received = {}", 64 * MIB);
    until(async || process.count_rows(&safe).await != 0).await;
    (0..5).for_each(|_| sender.send(piece));
    drop(sender);

    reply.await.expect("no panic").is(204, "");
    let stored = process.download("k").await.body;
    assert_eq!(stored.len(), 70 * MIB);
    assert!(stored.iter().all(|byte| *byte == b'x'));
    let etag = process.object("k").await["metadata"]["eTag"].clone();
    assert!(etag.as_str().expect("a text").ends_with("-2\""), "{etag}");
}

#[tokio::test]
async fn an_upload_goes_on_in_another_process() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");

    let next = process.another();

    assert_eq!(next.offset(&upload).await, 3);
    next.patch(&upload, 3).bytes("def").await.is(204, "");
    assert_eq!(next.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn bytes_that_a_crash_left_behind_are_overwritten() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process.has_unconfirmed_bytes();

    assert_eq!(process.offset(&upload).await, 3);
    process.patch(&upload, 3).bytes("def").await.is(204, "");

    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn a_crash_before_the_object_was_made_costs_one_piece() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    process
        .execute(
            "create function public.refuse() returns trigger language plpgsql as
             $$ begin if new.version <> '1' then raise 'not now'; end if; return new; end $$;
             create trigger refuse before insert on storage.objects
             for each row execute function public.refuse()",
        )
        .await;
    let rejected = process.patch(&upload, 3).bytes("def").await;
    rejected.fails_with(400, "not now");
    process
        .execute("drop trigger refuse on storage.objects")
        .await;

    process.collect_garbage().await;
    let next = process.another();

    assert_eq!(next.offset(&upload).await, 3);
    next.patch(&upload, 3).bytes("xyz").await.is(204, "");
    assert_eq!(next.download("k").await.text(), "abcxyz");
}

#[tokio::test]
async fn an_upload_whose_bytes_are_lost_is_gone() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    for file in process.files() {
        std::fs::remove_file(file).expect("removed");
    }
    let gone = "The file for this url no longer exists";

    process.head(&upload).await.fails_with(410, gone);
    let rejected = process.patch(&upload, 3).bytes("def").await;
    rejected.fails_with(410, gone);
}

#[tokio::test]
async fn the_length_may_be_said_later_and_once() {
    let process = Process::with(&[("storage.file_size_limit", "10")]).await;
    let created = process.create("k").header("upload-defer-length", "1").await;
    let upload = created.upload();
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let response = process.head(&upload).await;
    response.has(&[
        ("upload-offset", Some("3")),
        ("upload-length", None),
        ("upload-defer-length", Some("1")),
    ]);

    let late = |length: &str| process.patch(&upload, 3).header("upload-length", length);
    late("11")
        .bytes("d")
        .await
        .fails_with(413, "Maximum size exceeded");
    late("2")
        .bytes("d")
        .await
        .fails_with(400, "Invalid upload-length");
    late("6").bytes("d").await.is(204, "");
    let again = process.patch(&upload, 4).header("upload-length", "6");
    again
        .bytes("ef")
        .await
        .fails_with(400, "Invalid upload-length");
    let response = process.head(&upload).await;
    response.has(&[("upload-length", Some("6")), ("upload-defer-length", None)]);

    let last = process.patch(&upload, 4).bytes("ef").await;
    last.is(204, "").has(&[("tus-complete", Some("1"))]);
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn an_upload_of_unknown_length_ends_where_its_length_says() {
    let process = Process::start().await;
    let begin = async |key| {
        let created = process.create(key).header("upload-defer-length", "1").await;
        created.upload()
    };

    let upload = begin("all").await;
    let all = process.patch(&upload, 0).header("upload-length", "3");
    all.bytes("abc").await.has(&[("tus-complete", Some("1"))]);
    assert_eq!(process.download("all").await.text(), "abc");

    let upload = begin("none-left").await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let end = process.patch(&upload, 3).header("upload-length", "3");
    end.bytes("").await.has(&[("tus-complete", Some("1"))]);
    assert_eq!(process.download("none-left").await.text(), "abc");
}

#[tokio::test]
async fn an_upload_of_unknown_length_is_limited() {
    let process = Process::with(&[("storage.file_size_limit", "4")]).await;
    let created = process.create("k").header("upload-defer-length", "1").await;
    let upload = created.upload();

    let rejected = process.patch(&upload, 0).bytes("abcde").await;
    rejected.fails_with(413, "Maximum size exceeded");
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    sender.send("de");
    drop(sender);
    let rejected = reply.await.expect("no panic");
    rejected.fails_with(413, "Maximum size exceeded");
    assert_eq!(process.offset(&upload).await, 0);
}

#[tokio::test]
async fn nothing_is_added_to_a_finished_upload() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
    let patch = |offset| process.patch(&upload, offset).header("x-upsert", "true");

    patch(3)
        .bytes("")
        .await
        .has(&[("upload-offset", Some("3"))]);
    patch(3)
        .bytes("d")
        .await
        .fails_with(413, "upload's size exceeded");
    patch(0)
        .bytes("xyz")
        .await
        .fails_with(409, "Upload-Offset conflict");

    assert_eq!(process.download("k").await.text(), "abc");
}

#[tokio::test]
async fn a_client_that_exceeds_the_timeout_keeps_what_it_sent() {
    let process = Process::with(&[("plinth.storage.gc.longest_upload", "1s")]).await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");

    // It sends nothing more, and keeps the connection open.
    let stopped = reply.await.expect("no panic");
    let said = "Your socket connection to the server was not read from or written to within the \
                timeout period. Idle connections will be closed.";
    stopped.fails_with(400, said);
    drop(sender);

    assert_eq!(process.offset(&upload).await, 3);
    process.patch(&upload, 3).bytes("def").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}
