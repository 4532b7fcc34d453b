//! The server is a real one, and fails on demand.

use std::time::Duration;

use object_store::{
    Error, ObjectStoreExt as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    multipart::MultipartStore as _,
    path::Path,
};
use plinth_teststore::{ACCESS_KEY, BUCKET, Fault, SECRET_KEY, TestStore};

fn client(server: &TestStore, secret: &str) -> AmazonS3 {
    let retries = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let builder = AmazonS3Builder::new()
        .with_endpoint(server.url())
        .with_allow_http(true)
        .with_bucket_name(BUCKET)
        .with_access_key_id(ACCESS_KEY)
        .with_secret_access_key(secret)
        .with_retry(retries);
    builder.build().expect("a client")
}

#[tokio::test]
async fn objects_are_kept_for_those_who_may() {
    let server = TestStore::start().await.expect("a server");
    let path = Path::from("a/b");

    let put = client(&server, SECRET_KEY).put(&path, "bytes".into()).await;
    put.expect("stored");

    let found = client(&server, SECRET_KEY).get(&path).await.expect("there");
    assert_eq!(found.bytes().await.expect("read"), "bytes");
    assert!(client(&server, "wrong").get(&path).await.is_err());
    assert!(server.files().join("a/b").is_file());
}

#[tokio::test]
async fn an_aborted_upload_cannot_be_aborted_again() {
    let server = TestStore::start().await.expect("a server");
    let client = client(&server, SECRET_KEY);
    let path = Path::from("a");
    let upload = client.create_multipart(&path).await.expect("started");
    let abort = async || client.abort_multipart(&path, &upload).await;
    abort().await.expect("aborted");

    let error = abort().await.expect_err("aborted already");

    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn faults_come_and_go() {
    let server = TestStore::start().await.expect("a server");
    let client = client(&server, SECRET_KEY);
    let path = Path::from("a");
    let put = async || client.put(&path, "bytes".into()).await;
    put().await.expect("stored");

    server.faults().inject_next(1, Fault::Unavailable);
    let error = put().await.expect_err("unavailable").to_string();
    assert!(error.contains("503"), "{error}");
    put().await.expect("once only");

    server
        .faults()
        .inject_for_method(http::Method::PUT, Fault::Unavailable);
    put().await.expect_err("unavailable");
    client.head(&path).await.expect("no fault here");

    server.faults().inject_for_uri("/b", Fault::Unavailable);
    put().await.expect("no fault here");
    let other = client.put(&Path::from("b"), "bytes".into()).await;
    other.expect_err("unavailable");

    server.faults().inject(Fault::Hang);
    let hanging = tokio::time::timeout(Duration::from_millis(100), client.head(&path)).await;
    assert!(hanging.is_err());
    server.faults().inject(Fault::None);
    client.head(&path).await.expect("no fault any more");
}
