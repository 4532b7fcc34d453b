//! Buckets: made, read, changed, emptied and removed.

use plinth_client::StorageError;
use plinth_client::storage::{BucketSortBy, StorageErrorCode};

use crate::support::Live;

/// The error code of the server.
#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, StorageError>) -> StorageErrorCode {
    let error = result.expect_err("an error");
    error.code().unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[tokio::test]
async fn a_bucket_is_what_it_was_made_and_changed_to() {
    let live = Live::start().await;
    let storage = live.with_secret_key().storage();

    let avatars = storage.create_bucket("avatars").public(true);
    let avatars = avatars.file_size_limit("5MB");
    avatars
        .allowed_mime_types(["image/*"])
        .send()
        .await
        .unwrap();
    let bucket = storage.bucket_info("avatars").send().await.unwrap();
    assert_eq!(
        (bucket.id.as_str(), bucket.name.as_str()),
        ("avatars", "avatars")
    );
    assert!(bucket.public);
    assert_eq!(bucket.file_size_limit, Some(5_000_000));
    assert_eq!(
        bucket.allowed_mime_types.as_deref(),
        Some(["image/*".to_owned()].as_slice())
    );

    let change = storage.update_bucket("avatars").public(false);
    change.file_size_limit(1000).send().await.unwrap();
    let bucket = storage.bucket_info("avatars").send().await.unwrap();
    assert_eq!((bucket.public, bucket.file_size_limit), (false, Some(1000)));
    assert!(bucket.allowed_mime_types.is_some());

    let change = storage.update_bucket("avatars").no_file_size_limit();
    change.any_mime_type().send().await.unwrap();
    let bucket = storage.bucket_info("avatars").send().await.unwrap();
    assert_eq!(
        (bucket.file_size_limit, bucket.allowed_mime_types),
        (None, None)
    );
}

#[tokio::test]
async fn buckets_are_listed_searched_sorted_and_paged() {
    let live = Live::start().await;
    let storage = live.with_secret_key().storage();
    for id in ["a one", "b_two", "c-one"] {
        storage.create_bucket(id).send().await.unwrap();
    }
    let names = async |request: plinth_client::storage::ListBucketsRequest| {
        let buckets = request.send().await.unwrap();
        let names: Vec<String> = buckets.into_iter().map(|bucket| bucket.name).collect();
        names
    };

    let by_name = || storage.buckets().sort_by(BucketSortBy::Name);
    assert_eq!(names(by_name()).await, ["a one", "b_two", "c-one"]);
    assert_eq!(names(by_name().desc().limit(2)).await, ["c-one", "b_two"]);
    assert_eq!(names(by_name().offset(2)).await, ["c-one"]);
    assert_eq!(names(by_name().search("ONE")).await, ["a one", "c-one"]);
    assert_eq!(names(storage.buckets().search("%")).await, [""; 0]);
    assert!(
        live.client()
            .storage()
            .buckets()
            .send()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_bucket_is_removed_when_it_is_empty() {
    let live = Live::start().await;
    let storage = live.with_secret_key().storage();
    storage.create_bucket("b").send().await.unwrap();
    storage.from("b").upload("x", "1").send().await.unwrap();

    let removed = storage.delete_bucket("b").send().await;
    assert_eq!(code(removed), StorageErrorCode::ResourceNotEmpty);
    storage.empty_bucket("b").send().await.unwrap();
    storage.delete_bucket("b").send().await.unwrap();

    let found = storage.bucket_info("b").send().await;
    assert_eq!(code(found), StorageErrorCode::NoSuchBucket);
}

#[tokio::test]
async fn what_cannot_be_done_with_a_bucket_says_why() {
    let live = Live::start().await;
    let storage = live.with_secret_key().storage();
    storage.create_bucket("b").send().await.unwrap();

    let again = storage.create_bucket("b").send().await;
    assert_eq!(code(again), StorageErrorCode::BucketAlreadyExists);
    let named = storage.create_bucket("ü").send().await;
    assert_eq!(code(named), StorageErrorCode::InvalidBucketName);
    let typed = storage.create_bucket("c").allowed_mime_types(["nonsense"]);
    assert_eq!(code(typed.send().await), StorageErrorCode::InvalidMimeType);
    let changed = storage.update_bucket("none").public(true).send().await;
    assert_eq!(code(changed), StorageErrorCode::NoSuchBucket);
    let removed = storage.delete_bucket("none").send().await;
    assert_eq!(code(removed), StorageErrorCode::NoSuchBucket);

    let anonymous = live.client().storage();
    let made = anonymous.create_bucket("c").send().await;
    assert_eq!(code(made), StorageErrorCode::AccessDenied);
    let emptied = anonymous.empty_bucket("b").send().await.unwrap_err();
    assert_eq!(emptied.status(), Some(403));
    let elsewhere = storage.delete_bucket("../object").send().await;
    assert!(matches!(elsewhere, Err(StorageError::InvalidInput(_))));
}
