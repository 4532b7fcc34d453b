//! Uploads in parts when connections break and servers misbehave.

use bytes::Bytes;
use plinth_client::StorageError;
use plinth_client::storage::{RETRY_BACKOFF_MS, ResumableUploadRequest};

use crate::support::{Bench, NOW_S, Reply};

const BASE: &str = "/storage/v1/upload/resumable";

fn created() -> Reply {
    // What a server behind a proxy may believe its address to be.
    Reply::text(201, "").header("location", "http://elsewhere.test/upload/resumable/id")
}

fn at_offset(offset: u64) -> Reply {
    let reported = Reply::text(200, "").header("upload-length", "6");
    reported.header("upload-offset", &offset.to_string())
}

fn upload(bench: &Bench) -> ResumableUploadRequest {
    let files = bench.client().storage().from("b");
    files
        .upload_resumable("a", Bytes::from("abcdef"))
        .chunk_bytes(2)
}

fn on(bench: &Bench, heads: Vec<Reply>, patches: Vec<Reply>) {
    bench.server.on(&format!("POST {BASE}"), [created()]);
    bench.server.on(&format!("HEAD {BASE}/id"), heads);
    bench.server.on(&format!("PATCH {BASE}/id"), patches);
}

fn patches(bench: &Bench) -> Vec<(u64, String)> {
    let asked = bench.server.asked().into_iter();
    let patches = asked.filter(|asked| asked.route.starts_with("PATCH"));
    patches
        .map(|asked| {
            (
                asked
                    .header("upload-offset")
                    .expect("a place")
                    .parse()
                    .expect("a number"),
                asked.body,
            )
        })
        .collect()
}

#[tokio::test]
async fn requests_are_those_of_the_protocol() {
    let bench = Bench::new();
    on(
        &bench,
        vec![at_offset(0)],
        vec![at_offset(2), at_offset(4), at_offset(6)],
    );

    let uploaded = upload(&bench)
        .upsert(true)
        .content_type("text/x")
        .send()
        .await
        .unwrap();

    assert_eq!(
        (uploaded.path.as_str(), uploaded.full_path.as_str()),
        ("a", "b/a")
    );
    let asked = bench.server.asked();
    let about = "bucketName Yg==,objectName YQ==,contentType dGV4dC94,cacheControl MzYwMA==";
    assert_eq!(asked[0].header("upload-metadata"), Some(about));
    assert_eq!(asked[0].header("upload-length"), Some("6"));
    for asked in &asked {
        assert_eq!(asked.header("tus-resumable"), Some("1.0.0"));
        assert_eq!(asked.header("x-upsert"), Some("true"));
    }
    assert_eq!(
        asked[1].header("content-type"),
        Some("application/offset+octet-stream")
    );
    let sent = ["ab", "cd", "ef"].map(str::to_owned);
    assert_eq!(
        patches(&bench),
        [0, 2, 4].into_iter().zip(sent).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_lost_connection_is_waited_out_and_the_server_asked_where_to_go_on() {
    let bench = Bench::auto_advancing();
    // One byte of the part arrived before the connection broke, and its response got lost once.
    let heads = vec![
        Reply::broken(),
        Reply::text(503, ""),
        at_offset(1),
        at_offset(5),
    ];
    on(
        &bench,
        heads,
        vec![Reply::broken(), at_offset(3), Reply::broken(), at_offset(6)],
    );

    upload(&bench).send().await.unwrap();

    assert_eq!(
        patches(&bench),
        [(0, "ab"), (1, "bc"), (3, "de"), (5, "f")].map(|(at, part)| (at, part.to_owned()))
    );
    let times: Vec<i64> = bench
        .server
        .asked()
        .iter()
        .map(|asked| asked.at_ms - NOW_S * 1000)
        .collect();
    assert_eq!(times, [0, 0, 0, 3000, 8000, 8000, 8000, 8000, 8000]);
}

#[tokio::test]
async fn an_upload_that_gets_nowhere_gives_up_and_can_go_on_later() {
    let bench = Bench::auto_advancing();
    on(&bench, vec![at_offset(0)], vec![Reply::text(500, "")]);
    let mut upload = upload(&bench).start().await.unwrap();

    let error = upload.finish().await.unwrap_err();

    assert_eq!(error.status(), Some(500));
    assert_eq!(patches(&bench).len(), 1 + RETRY_BACKOFF_MS.len());
    on(&bench, vec![at_offset(4)], vec![at_offset(6)]);
    upload.finish().await.unwrap();
    assert_eq!(patches(&bench).last(), Some(&(4, "ef".to_owned())));
}

#[tokio::test]
async fn client_errors_are_final_except_an_offset_conflict() {
    let bench = Bench::auto_advancing();
    on(
        &bench,
        vec![at_offset(0)],
        vec![Reply::text(413, "Maximum size exceeded")],
    );
    assert_eq!(upload(&bench).send().await.unwrap_err().status(), Some(413));
    assert_eq!(patches(&bench).len(), 1);

    on(
        &bench,
        vec![at_offset(0)],
        vec![Reply::text(409, "The resource already exists")],
    );
    assert_eq!(upload(&bench).send().await.unwrap_err().status(), Some(409));
    assert_eq!(patches(&bench).len(), 2);

    on(
        &bench,
        vec![at_offset(4)],
        vec![Reply::text(409, "Upload-Offset conflict"), at_offset(6)],
    );
    upload(&bench).send().await.unwrap();
}

#[tokio::test]
async fn servers_that_make_no_sense_are_not_believed() {
    let bench = Bench::auto_advancing();
    for nonsense in [
        at_offset(0),
        at_offset(3),
        at_offset(99),
        Reply::text(204, ""),
    ] {
        on(&bench, vec![at_offset(0)], vec![nonsense]);
        let error = upload(&bench).send().await.unwrap_err();
        assert!(matches!(error, StorageError::Unreadable(_)), "{error:?}");
    }
    on(&bench, vec![at_offset(7)], vec![at_offset(2)]);
    let error = upload(&bench).resume("id").start().await.unwrap_err();
    assert!(matches!(error, StorageError::InvalidInput(_)), "{error:?}");
    for token in ["", "..", "a/b"] {
        let error = upload(&bench).resume(token).start().await.unwrap_err();
        assert!(matches!(error, StorageError::InvalidInput(_)), "{error:?}");
    }
    bench
        .server
        .on(&format!("POST {BASE}"), [Reply::text(201, "")]);
    let error = upload(&bench).send().await.unwrap_err();
    assert!(matches!(error, StorageError::Unreadable(_)), "{error:?}");
}

#[tokio::test]
async fn creating_an_upload_is_retried_when_the_server_fails() {
    let bench = Bench::auto_advancing();
    on(
        &bench,
        vec![at_offset(0)],
        vec![at_offset(2), at_offset(4), at_offset(6)],
    );
    bench.server.on(
        &format!("POST {BASE}"),
        [Reply::broken(), Reply::text(503, ""), created()],
    );

    upload(&bench).send().await.unwrap();

    assert_eq!(
        bench
            .server
            .routes()
            .iter()
            .filter(|route| route.starts_with("POST"))
            .count(),
        3
    );
}
