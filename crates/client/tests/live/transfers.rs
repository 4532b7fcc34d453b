//! Uploads and downloads: whole, in pieces, in part, from files and through a form.

use std::io;

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use plinth_client::StorageError;
use plinth_client::storage::{Files, StorageErrorCode, Transform, UploadBody};
use serde_json::json;

use crate::support::Live;

/// More than any buffer in between.
const LARGE: usize = 5 * 1024 * 1024 + 3;

async fn ada(live: &Live) -> Files {
    live.bucket("b").await;
    live.signed_up("ada@example.com").await.storage().from("b")
}

fn large() -> Bytes {
    (0..LARGE).map(|at| (at % 251) as u8).collect()
}

fn pieces(bytes: &Bytes) -> impl futures_util::Stream<Item = io::Result<Bytes>> + use<> {
    let mut rest = bytes.clone();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        pieces.push(Ok(rest.split_to(rest.len().min(70_000))));
    }
    stream::iter(pieces)
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, StorageError>) -> StorageErrorCode {
    let error = result.expect_err("an error");
    error.code().unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[tokio::test]
async fn bytes_streams_and_files_arrive_as_they_were() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sea.jpg");
    std::fs::write(&file, large()).unwrap();

    let bodies: [(&str, UploadBody); 5] = [
        ("bytes", large().into()),
        (
            "known",
            UploadBody::sized_stream(LARGE as u64, pieces(&large())),
        ),
        ("unknown", UploadBody::stream(pieces(&large()))),
        ("file", UploadBody::file(&file)),
        ("empty", Vec::new().into()),
    ];
    for (path, body) in bodies {
        files.upload(path, body).send().await.unwrap();
        let expected = if path == "empty" {
            Bytes::new()
        } else {
            large()
        };
        let whole = files.download(path).send().await.unwrap();
        assert!(whole == expected, "{path}: {} bytes", whole.len());
        let download = files.download(path).stream().await.unwrap();
        assert_eq!(download.content_length(), Some(expected.len() as u64));
        let parts: Vec<Bytes> = download.try_collect().await.unwrap();
        assert!(parts.concat() == expected, "{path}");
    }
    let kind = async |path: &str| files.info(path).send().await.unwrap().content_type;
    assert_eq!(
        kind("bytes").await.as_deref(),
        Some("text/plain;charset=UTF-8")
    );
    assert_eq!(kind("file").await.as_deref(), Some("image/jpeg"));
    let guessed = files.upload("a.pdf", "%PDF").guess_content_type();
    guessed.send().await.unwrap();
    assert_eq!(kind("a.pdf").await.as_deref(), Some("application/pdf"));
}

#[tokio::test]
async fn an_upload_replaces_only_where_it_may() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let text = async || files.download("a").send().await.unwrap();

    files.update("a", "1").send().await.unwrap();
    assert_eq!(
        code(files.upload("a", "2").send().await),
        StorageErrorCode::KeyAlreadyExists
    );
    assert_eq!(text().await, "1");
    files.upload("a", "2").upsert(true).send().await.unwrap();
    assert_eq!(text().await, "2");
    files.update("a", "3").send().await.unwrap();
    assert_eq!(text().await, "3");
}

#[tokio::test]
async fn rejected_uploads_say_why() {
    let live = Live::start().await;
    live.bucket("b").await;
    let storage = live.with_secret_key().storage();
    let small = storage.update_bucket("b").file_size_limit(10);
    small
        .allowed_mime_types(["text/plain"])
        .send()
        .await
        .unwrap();
    let files = storage.from("b");

    let rejected = files.upload("a", "more than ten bytes").send().await;
    assert_eq!(code(rejected), StorageErrorCode::EntityTooLarge);
    let too_large = UploadBody::stream(pieces(&large()));
    let rejected = files.upload("a", too_large).send().await;
    assert_eq!(code(rejected), StorageErrorCode::EntityTooLarge);
    let rejected = files
        .upload("a", "x")
        .content_type("image/png")
        .send()
        .await;
    assert_eq!(code(rejected), StorageErrorCode::InvalidMimeType);
    assert_eq!(
        code(files.upload("ü", "x").send().await),
        StorageErrorCode::InvalidKey
    );
    let anonymous = live.client().storage();
    let rejected = anonymous.from("b").upload("a", "x").send().await;
    assert_eq!(code(rejected), StorageErrorCode::AccessDenied);
    let rejected = storage.from("none").upload("a", "x").send().await;
    assert_eq!(code(rejected), StorageErrorCode::NoSuchBucket);
    assert!(files.list("").send().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_no_file() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let some = || stream::iter([Ok("some"), Err(io::Error::other("the disk is on fire"))]);

    for body in [
        UploadBody::stream(some()),
        UploadBody::sized_stream(9, some()),
    ] {
        let error = files.upload("a", body).send().await.unwrap_err();
        let StorageError::Body(why) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(why, "the disk is on fire");
    }
    for length in [3, 5] {
        let body = stream::iter([io::Result::Ok("some")]);
        let body = UploadBody::sized_stream(length, body);
        let error = files.upload("a", body).send().await.unwrap_err();
        let why = error.to_string();
        assert!(why.contains("announced length"), "{why}");
        assert!(matches!(error, StorageError::Body(_)), "{error:?}");
    }
    let missing = UploadBody::file("/nowhere/to/be/found");
    let error = files.upload("a", missing).send().await.unwrap_err();
    assert!(matches!(error, StorageError::Body(_)), "{error:?}");
    assert!(!files.exists("a").send().await.unwrap());
}

#[tokio::test]
async fn names_and_metadata_of_any_kind_survive() {
    let live = Live::start().await;
    let files = ada(&live).await;

    for path in [
        "a b/c.txt",
        "what?.txt",
        "a+b&c=d;e.txt",
        "it's (1)!*$@:,.txt",
        "a?token=b",
    ] {
        files.upload(path, path).send().await.unwrap();
        assert_eq!(files.download(path).send().await.unwrap(), path);
        assert_eq!(files.info(path).send().await.unwrap().name, path);
    }
    // More than a header can carry.
    let metadata = json!({ "text": "ü".repeat(40_000) });
    let bodies: [UploadBody; 2] = ["waves".into(), UploadBody::stream(pieces(&large()))];
    for body in bodies {
        let upload = files
            .upload("m", body)
            .upsert(true)
            .content_type("text/x-sea");
        upload
            .cache_control(7)
            .metadata(&metadata)
            .send()
            .await
            .unwrap();
        let info = files.info("m").send().await.unwrap();
        assert_eq!(info.metadata.as_ref(), Some(&metadata));
        assert_eq!(info.content_type.as_deref(), Some("text/x-sea"));
        assert_eq!(info.cache_control.as_deref(), Some("max-age=7"));
    }
    assert!(files.download("m").send().await.unwrap() == large());
}

#[tokio::test]
async fn a_part_of_a_file_is_read() {
    let live = Live::start().await;
    let files = ada(&live).await;
    files.upload("a", "0123456789").send().await.unwrap();

    let read = async |range: (std::ops::Bound<u64>, std::ops::Bound<u64>)| {
        files.download("a").range(range).send().await
    };
    use std::ops::Bound::{Excluded, Included, Unbounded};
    assert_eq!(read((Included(2), Excluded(5))).await.unwrap(), "234");
    assert_eq!(read((Unbounded, Included(1))).await.unwrap(), "01");
    assert_eq!(read((Included(8), Unbounded)).await.unwrap(), "89");
    assert_eq!(
        code(read((Included(10), Unbounded)).await),
        StorageErrorCode::InvalidRange
    );
    let empty = read((Included(2), Excluded(2))).await;
    assert!(
        matches!(empty, Err(StorageError::InvalidInput(_))),
        "{empty:?}"
    );
    let part = files.download("a").range(3..).stream().await.unwrap();
    assert_eq!(part.header("content-range"), Some("bytes 3-9/10"));
    assert!(part.etag().is_some());
}

#[tokio::test]
async fn images_are_made_smaller_on_the_way() {
    let live = Live::start().await;
    let files = ada(&live).await;
    files
        .upload("a.png", PNG)
        .content_type("image/png")
        .send()
        .await
        .unwrap();
    files.upload("a.txt", "no image").send().await.unwrap();

    let small = Transform::new().width(1).height(1).quality(50);
    let image = files
        .download("a.png")
        .transform(small)
        .stream()
        .await
        .unwrap();
    assert_eq!(image.content_type(), Some("image/png"));
    let said = image.header("x-transformations").unwrap();
    assert_eq!(said, "height:1,width:1,resizing_type:fill,quality:50");
    let bytes: Vec<Bytes> = image.try_collect().await.unwrap();
    // Width and height stand in the first chunk.
    assert_eq!(bytes.concat()[16..24], [0, 0, 0, 1, 0, 0, 0, 1]);

    let no_image = files.download("a.txt").transform(small).send().await;
    assert_eq!(code(no_image), StorageErrorCode::InvalidRequest);
    let too_much = Transform::new().quality(1);
    let rejected = files.download("a.png").transform(too_much).send().await;
    assert_eq!(code(rejected), StorageErrorCode::InvalidRequest);
}

/// Two grey pixels by two.
const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0,
    0, 0, 87, 221, 82, 248, 0, 0, 0, 14, 73, 68, 65, 84, 120, 218, 99, 112, 104, 96, 56, 240, 31,
    0, 5, 197, 2, 128, 69, 254, 116, 189, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];
