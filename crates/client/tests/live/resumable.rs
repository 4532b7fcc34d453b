//! Uploads in parts against the real service.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use plinth_client::storage::{Files, ReadAt};
use plinth_client::{BoxFuture, StorageError};
use serde_json::json;

use crate::support::Live;

async fn ada(live: &Live) -> Files {
    live.bucket("b").await;
    live.signed_up("ada@example.com").await.storage().from("b")
}

fn bytes(length: usize) -> Bytes {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn a_file_arrives_in_parts_and_says_how_far_it_is() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sea.mp4");
    std::fs::write(&file, bytes(250_000)).unwrap();
    let reported = Arc::new(Mutex::new(Vec::new()));

    let received_events = reported.clone();
    let upload = files
        .upload_resumable("/x//a b?.mp4", file)
        .chunk_bytes(100_000);
    let upload = upload.metadata(&json!({ "n": 1 })).cache_control(9);
    let upload =
        upload.progress(move |sent, total| received_events.lock().unwrap().push((sent, total)));
    let uploaded = upload.send().await.unwrap();

    assert_eq!(
        (uploaded.path.as_str(), uploaded.full_path.as_str()),
        ("x/a b?.mp4", "b/x/a b?.mp4")
    );
    let expected = [100_000, 200_000, 250_000].map(|sent| (sent, 250_000));
    assert_eq!(*reported.lock().unwrap(), expected);
    assert!(files.download("x/a b?.mp4").send().await.unwrap() == bytes(250_000));
    let info = files.info("x/a b?.mp4").send().await.unwrap();
    assert_eq!(info.content_type.as_deref(), Some("video/mp4"));
    assert_eq!(info.cache_control.as_deref(), Some("max-age=9"));
    assert_eq!(info.metadata, Some(json!({ "n": 1 })));
}

/// A disk that fails after the first part.
struct ReadableOnce(Bytes);

impl ReadAt for ReadableOnce {
    fn length(&self) -> BoxFuture<'_, io::Result<u64>> {
        self.0.length()
    }

    fn read_at(&self, offset: u64, bytes: usize) -> BoxFuture<'_, io::Result<Bytes>> {
        match offset {
            0 => self.0.read_at(offset, bytes),
            _ => Box::pin(async { Err(io::Error::other("the disk is on fire")) }),
        }
    }
}

#[tokio::test]
async fn another_run_goes_on_with_the_token() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let source = bytes(30_000);
    let upload = || {
        files
            .upload_resumable("a", source.clone())
            .chunk_bytes(10_000)
    };

    // This run gets as far as the first part.
    let first = files.upload_resumable("a", ReadableOnce(source.clone()));
    let mut first = first.chunk_bytes(10_000).start().await.unwrap();
    let error = first.finish().await.unwrap_err();
    assert!(matches!(error, StorageError::Body(_)), "{error:?}");
    let token = first.token().as_str().to_owned();
    drop(first);

    let other = files
        .upload_resumable("b", source.clone())
        .resume(token.as_str());
    let error = other.start().await.unwrap_err();
    assert!(matches!(error, StorageError::InvalidInput(_)), "{error:?}");
    let other = files
        .upload_resumable("a", bytes(29_999))
        .resume(token.as_str());
    assert!(other.start().await.is_err());
    let mut second = upload().resume(token.as_str()).start().await.unwrap();
    assert_eq!(second.offset(), 10_000);
    second.finish().await.unwrap();
    assert_eq!((second.offset(), second.length()), (30_000, 30_000));
    assert!(files.download("a").send().await.unwrap() == source);
}

#[tokio::test]
async fn nothing_at_all_can_be_uploaded_and_an_upload_given_up() {
    let live = Live::start().await;
    let files = ada(&live).await;

    files
        .upload_resumable("empty", Bytes::new())
        .send()
        .await
        .unwrap();
    assert_eq!(files.download("empty").send().await.unwrap(), "");

    let upload = files
        .upload_resumable("a", bytes(10))
        .start()
        .await
        .unwrap();
    let token = upload.token().clone();
    upload.abort().await.unwrap();
    let gone = files
        .upload_resumable("a", bytes(10))
        .resume(token)
        .start()
        .await;
    assert_eq!(gone.unwrap_err().status(), Some(404));
}

#[tokio::test]
async fn client_errors_are_not_retried() {
    let live = Live::start().await;
    let files = ada(&live).await;
    files.upload("a", "1").send().await.unwrap();
    let upload = || files.upload_resumable("a", bytes(10));

    let error = upload().send().await.unwrap_err();
    assert_eq!(
        (error.status(), error.to_string().as_str()),
        (Some(409), "The resource already exists")
    );
    upload().upsert(true).send().await.unwrap();
    assert!(files.download("a").send().await.unwrap() == bytes(10));

    // Another client creates the file meanwhile.
    let mut late = files
        .upload_resumable("late", bytes(10))
        .start()
        .await
        .unwrap();
    files.upload("late", "1").send().await.unwrap();
    assert_eq!(late.finish().await.unwrap_err().status(), Some(409));

    let anonymous = live.client().storage().from("b");
    let error = anonymous
        .upload_resumable("x", bytes(1))
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(403));
    let error = files
        .upload_resumable("../x", bytes(1))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, StorageError::InvalidInput(_)), "{error:?}");
}

#[tokio::test]
async fn a_signed_upload_may_come_in_parts() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let allowed = files.signed_upload_url("a").send().await.unwrap();
    let anonymous = live.client().storage().from("b");

    let upload = anonymous.upload_resumable("a", bytes(25)).chunk_bytes(10);
    upload.signed_with(&allowed.token).send().await.unwrap();

    assert!(files.download("a").send().await.unwrap() == bytes(25));
    let other = anonymous
        .upload_resumable("c", bytes(25))
        .signed_with(&allowed.token);
    assert_eq!(other.send().await.unwrap_err().status(), Some(400));
}
