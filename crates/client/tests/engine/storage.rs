//! Files, on the wire: what is sent, whose it is, and how responses are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use plinth_client::StorageError;
use plinth_client::storage::{SortBy, StorageErrorCode, UploadBody};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Bench, Reply, settle, token_response};

const KEY: &str = r#"{"Key":"b/a","Id":"1"}"#;

#[tokio::test]
async fn uploads_carry_what_the_javascript_client_sends() {
    let bench = Bench::new();
    bench
        .server
        .on("POST /storage/v1/object/b/a", [Reply::text(200, KEY)]);
    bench
        .server
        .on("PUT /storage/v1/object/b/a", [Reply::text(200, KEY)]);
    let files = bench.client().storage().from("b");

    files.upload("a", "x").send().await.unwrap();
    let sent = bench.server.last();
    let headers = [
        "content-type",
        "cache-control",
        "x-upsert",
        "x-metadata",
        "apikey",
    ];
    assert_eq!(
        headers.map(|name| sent.header(name)),
        [
            Some("text/plain;charset=UTF-8"),
            Some("max-age=3600"),
            Some("false"),
            None,
            Some("anon-key")
        ]
    );
    assert_eq!(sent.header("authorization"), Some("Bearer anon-key"));
    assert!(
        sent.header("x-client-info")
            .unwrap()
            .starts_with("plinth-client/")
    );

    let upload = files
        .update("a", "x")
        .content_type("image/png")
        .cache_control(5);
    let upload = upload
        .metadata(&json!({ "a": 1 }))
        .header("cache-control", "no-store");
    upload.send().await.unwrap();
    let sent = bench.server.last();
    assert_eq!(
        headers.map(|name| sent.header(name)),
        [
            Some("image/png"),
            Some("no-store"),
            None,
            Some("eyJhIjoxfQ=="),
            Some("anon-key")
        ]
    );
}

#[tokio::test]
async fn bytes_that_are_encoded_are_sent_as_they_are_with_a_word_about_it() {
    let bench = Bench::new();
    let upload = "POST /storage/v1/object/b/a";
    bench
        .server
        .on(upload, [Reply::text(200, KEY), Reply::text(200, KEY)]);
    bench
        .server
        .on("POST /storage/v1/object/copy", [Reply::text(200, KEY)]);
    let files = bench.client().storage().from("b");
    let packed = || files.upload("a", "packed").content_encoding("gzip");

    packed().send().await.unwrap();
    let sent = bench.server.last();
    assert_eq!(sent.header("content-encoding"), Some("gzip"));
    assert_eq!(sent.body, "packed");

    // In a form, this field precedes the file, like the metadata.
    let large = json!({ "note": "x".repeat(10_000) });
    packed().metadata(&large).send().await.unwrap();
    let sent = bench.server.last();
    assert_eq!(sent.header("content-encoding"), None);
    let body = sent.body;
    let field = body
        .find("name=\"contentEncoding\"\r\n\r\ngzip\r\n")
        .unwrap();
    assert!(field < body.find("name=\"\"").unwrap(), "{body}");

    let forged = files.upload("a", "x").content_encoding("gzip\r\nx: y");
    let error = forged.metadata(&large).send().await.unwrap_err();
    assert!(matches!(error, StorageError::InvalidInput(_)), "{error:?}");

    let copy = files.copy("a", "z").copy_metadata(false);
    copy.content_encoding("").send().await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&bench.server.last().body).unwrap();
    assert_eq!(body["metadata"], json!({ "contentEncoding": "" }));
}

#[tokio::test]
async fn requests_are_made_in_the_name_of_who_is_signed_in() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench
        .server
        .on("GET /storage/v1/bucket", [Reply::text(200, "[]")]);

    bench.client().storage().buckets().send().await.unwrap();

    let token = token_response("stored", crate::support::NOW_S + 3600)["access_token"].clone();
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    assert_eq!(
        bench.server.last().header("authorization"),
        Some(bearer.as_str())
    );
}

#[tokio::test]
async fn a_request_whose_session_cannot_be_refreshed_is_not_sent() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    bench.server.on("POST /auth/v1/token", [Reply::broken()]);

    let error = bench.client().storage().buckets().send().await.unwrap_err();

    assert!(
        matches!(error, StorageError::Auth(_)) && error.is_retryable(),
        "{error:?}"
    );
    assert!(
        bench
            .server
            .routes()
            .iter()
            .all(|route| route.starts_with("POST /auth"))
    );
}

#[tokio::test]
async fn a_request_waits_for_the_session_no_longer_than_for_its_response() {
    let bench = Bench::new();
    bench.store_session(-10).await;
    let never = Arc::new(Semaphore::new(0));
    let hanging = Reply::json(200, json!({})).behind(&never);
    bench.server.on("POST /auth/v1/token", [hanging]);

    let buckets = bench.client().storage().buckets();
    let buckets = buckets.timeout(Duration::from_secs(2)).send();
    let (error, ()) = tokio::join!(buckets, async {
        settle().await;
        bench.advance(2);
    });

    assert_eq!(error.unwrap_err().to_string(), "the request timed out");
    assert_eq!(bench.server.routes(), ["POST /auth/v1/token"]);
}

#[tokio::test]
async fn lists_and_moves_say_all_that_was_asked() {
    let bench = Bench::new();
    bench
        .server
        .on("POST /storage/v1/object/list/b", [Reply::text(200, "[]")]);
    bench
        .server
        .on("POST /storage/v1/object/move", [Reply::text(200, "{}")]);
    bench
        .server
        .on("GET /storage/v1/bucket", [Reply::text(200, "[]")]);
    let storage = bench.client().storage();
    let files = storage.from("b");

    files.list("").send().await.unwrap();
    let order = json!({ "column": "name", "order": "asc" });
    assert_eq!(
        bench.server.last().json(),
        json!({ "prefix": "", "limit": 100, "offset": 0, "sortBy": order })
    );
    let list = files
        .list("f")
        .limit(1)
        .offset(2)
        .search("s")
        .sort_by(SortBy::LastAccessedAt);
    list.desc().send().await.unwrap();
    let order = json!({ "column": "last_accessed_at", "order": "desc" });
    assert_eq!(
        bench.server.last().json(),
        json!({ "prefix": "f", "limit": 1, "offset": 2, "search": "s", "sortBy": order })
    );
    files.move_("a", "c").to_bucket("d").send().await.unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": "c", "destinationBucket": "d" })
    );
    storage
        .buckets()
        .search("a&b")
        .limit(3)
        .desc()
        .send()
        .await
        .unwrap();
    assert_eq!(
        bench.server.last().query,
        "limit=3&search=a%26b&sortOrder=desc"
    );
}

#[tokio::test]
async fn paths_that_lead_elsewhere_are_not_sent() {
    let bench = Bench::new();
    let storage = bench.client().storage();
    let files = storage.from("b");

    let rejected = [
        files.download("../../bucket/b").send().await.err(),
        files.upload("a/../../c", "x").send().await.err(),
        files.info("..").send().await.err(),
        storage.from("..").list("").send().await.err(),
        storage.from("").remove(["a"]).send().await.err(),
        storage
            .from("a/b")
            .signed_url("c", Duration::from_secs(1))
            .send()
            .await
            .err(),
    ];

    for error in rejected {
        assert!(
            matches!(error, Some(StorageError::InvalidInput(_))),
            "{error:?}"
        );
    }
    assert!(bench.server.routes().is_empty());
}

#[tokio::test]
async fn malformed_responses_are_errors_and_not_panics() {
    let bench = Bench::new();
    let files = bench.client().storage().from("b");
    let sign = "POST /storage/v1/object/sign/b/a";

    for body in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"signedURL":1}"#,
        r#"{"signedURL":"/object/a"}"#,
    ] {
        bench.server.on(sign, [Reply::text(200, body)]);
        let error = files
            .signed_url("a", Duration::from_secs(1))
            .send()
            .await
            .unwrap_err();
        assert!(
            matches!(error, StorageError::Unreadable(_)),
            "{body}: {error:?}"
        );
    }
    bench.server.on(sign, [Reply::text(502, "<html>")]);
    let error = files
        .signed_url("a", Duration::from_secs(1))
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        (error.status(), error.to_string().as_str()),
        (Some(502), "Bad Gateway")
    );
    bench.server.on(sign, [Reply::broken()]);
    let error = files
        .signed_url("a", Duration::from_secs(1))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, StorageError::Transport(_)) && error.is_retryable());
    let error_body = json!({ "statusCode": "404", "message": "m", "code": "FromTheFuture" });
    bench.server.on(sign, [Reply::json(400, error_body)]);
    let error = files
        .signed_url("a", Duration::from_secs(1))
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        error.code(),
        Some(&StorageErrorCode::Other("FromTheFuture".to_owned()))
    );
    let unsendable = files.download("a").header("x", "a\nb").send().await;
    assert!(matches!(unsendable, Err(StorageError::InvalidInput(_))));
}

/// Sends three pieces, and then nothing more.
async fn stalling() -> axum::body::Body {
    let pieces = stream::iter(0..).then(async |at: u64| {
        if at == 3 {
            std::future::pending::<()>().await;
        }
        Ok::<_, std::io::Error>(Bytes::from_static(&[0; 1000]))
    });
    axum::body::Body::from_stream(pieces)
}

#[tokio::test]
async fn a_download_comes_piece_by_piece_and_is_given_up_on_when_it_stalls() {
    let client = client_of(axum::Router::new().fallback(stalling)).await;
    let download = || client.storage().from("b").download("a");

    let stalling = download().timeout(Duration::from_millis(200));
    let mut stalled = stalling.stream().await.unwrap();
    let mut read = 0;
    let error = loop {
        match stalled.next().await.expect("a piece or an error") {
            Ok(piece) => read += piece.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(read, 3000);
    assert!(error.to_string().contains("timed out"), "{error}");
    let whole = download().timeout(Duration::from_millis(200)).send().await;
    assert!(whole.unwrap_err().to_string().contains("timed out"));
}

#[tokio::test]
async fn streams_reach_a_service_without_a_socket_too() {
    let bench = Bench::new();
    bench
        .server
        .on("POST /storage/v1/object/b/a", [Reply::text(200, KEY)]);
    let files = bench.client().storage().from("b");
    let pieces = || stream::iter(["hel", "lo"].map(Ok::<_, std::io::Error>));

    files
        .upload("a", UploadBody::stream(pieces()))
        .send()
        .await
        .unwrap();
    assert_eq!(bench.server.last().body, "hello");
    files
        .upload("a", UploadBody::sized_stream(5, pieces()))
        .send()
        .await
        .unwrap();
    let wrong = files
        .upload("a", UploadBody::sized_stream(4, pieces()))
        .send()
        .await;
    assert!(matches!(wrong, Err(StorageError::Body(why)) if why.contains("longer")));
    assert_eq!(bench.server.routes().len(), 2);
}

/// Pieces without an end; counts those that were asked for.
fn counted(
    asked: &Arc<AtomicUsize>,
) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> + use<> {
    let asked = asked.clone();
    stream::iter(0..).map(move |_: u64| {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok(Bytes::from_static(&[0; 64 * 1024]))
    })
}

/// What sockets and clients may hold, in pieces of 64 KiB: far less than a file may have.
const MOST_PIECES_ON_THE_WAY: usize = 1024;

#[tokio::test]
async fn nothing_is_read_before_it_can_be_passed_on() {
    let (uploaded, downloaded) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let sent = downloaded.clone();
    let router = axum::Router::new().fallback(async move |request: axum::extract::Request| {
        if request.method() == http::Method::POST {
            // Takes nothing of what comes.
            std::future::pending::<()>().await;
        }
        axum::body::Body::from_stream(counted(&sent))
    });
    let files = client_of(router).await.storage().from("b");

    let upload = files.upload("a", UploadBody::stream(counted(&uploaded)));
    let upload = upload.timeout(Duration::from_secs(1)).send().await;
    assert!(upload.unwrap_err().to_string().contains("timed out"));
    let mut download = files.download("a").stream().await.unwrap();
    download.next().await.expect("a piece").unwrap();
    // As long as the upload had: time in which a client that reads ahead would.
    tokio::time::sleep(Duration::from_secs(1)).await;

    for pieces in [uploaded, downloaded] {
        let pieces = pieces.load(Ordering::SeqCst);
        assert!((1..MOST_PIECES_ON_THE_WAY).contains(&pieces), "{pieces}");
    }
}

/// A client of a server on a port of its own.
async fn client_of(router: axum::Router) -> plinth_client::Client {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    plinth_client::Client::new(&url, "key").expect("a client")
}
