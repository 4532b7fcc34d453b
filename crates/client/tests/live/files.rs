//! Files: described, listed, moved, copied and removed, by users with policies.

use futures_util::TryStreamExt;
use plinth_client::StorageError;
use plinth_client::storage::{FileObject, Files, SortBy, StorageErrorCode};
use serde_json::json;

use crate::support::Live;

async fn ada(live: &Live) -> Files {
    live.bucket("b").await;
    live.signed_up("ada@example.com").await.storage().from("b")
}

async fn put(files: &Files, paths: &[&str]) {
    for path in paths {
        files.upload(path, *path).send().await.expect("uploaded");
    }
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, StorageError>) -> StorageErrorCode {
    let error = result.expect_err("an error");
    error.code().unwrap_or_else(|| panic!("{error:?}")).clone()
}

fn names(files: &[FileObject]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

#[tokio::test]
async fn a_file_is_described_as_it_was_uploaded() {
    let live = Live::start().await;
    let files = ada(&live).await;

    let upload = files
        .upload("/a//sea.txt/", "waves")
        .content_type("text/x-sea");
    let upload = upload
        .cache_control(60)
        .metadata(&json!({ "place": "Sylt ü" }));
    let uploaded = upload.send().await.unwrap();
    assert_eq!(uploaded.path, "a/sea.txt");
    assert_eq!(uploaded.full_path, "b/a/sea.txt");

    let info = files.info("a/sea.txt").send().await.unwrap();
    assert_eq!(Some(&info.id), uploaded.id.as_ref());
    assert_eq!((info.name.as_str(), info.size), ("a/sea.txt", Some(5)));
    assert_eq!(info.content_type.as_deref(), Some("text/x-sea"));
    assert_eq!(info.cache_control.as_deref(), Some("max-age=60"));
    assert_eq!(info.metadata, Some(json!({ "place": "Sylt ü" })));
    assert!(files.exists("a/sea.txt").send().await.unwrap());
}

#[tokio::test]
async fn a_missing_file_is_distinguished_from_a_missing_bucket() {
    let live = Live::start().await;
    let files = ada(&live).await;

    assert!(!files.exists("nothing").send().await.unwrap());
    assert_eq!(
        code(files.info("nothing").send().await),
        StorageErrorCode::NoSuchKey
    );
    assert_eq!(
        code(files.download("nothing").send().await),
        StorageErrorCode::NoSuchKey
    );
    let anonymous = live.client().storage();
    assert!(!anonymous.from("b").exists("x").send().await.unwrap());
    assert_eq!(
        code(anonymous.from("none").exists("x").send().await),
        StorageErrorCode::NoSuchBucket
    );
}

#[tokio::test]
async fn folders_and_files_are_listed_as_asked() {
    let live = Live::start().await;
    let files = ada(&live).await;
    put(
        &files,
        &["b.txt", "a.txt", "dir/one", "dir/two", "dir/deep/x"],
    )
    .await;

    let all = files.list("").send().await.unwrap();
    assert_eq!(names(&all), ["a.txt", "b.txt", "dir"]);
    assert_eq!(all.iter().filter(|file| file.is_folder()).count(), 1);
    assert_eq!(
        (all[0].size(), all[0].content_type()),
        (Some(5), Some("text/plain;charset=UTF-8"))
    );
    assert!(all[0].etag().is_some_and(|etag| etag.starts_with('"')));
    let dir = files.list("dir").desc().limit(2).send().await.unwrap();
    assert_eq!(names(&dir), ["two", "one"]);
    let rest = files.list("dir").offset(2).send().await.unwrap();
    assert_eq!(names(&rest), ["two"]);
    let found = files.list("dir").search("T").send().await.unwrap();
    assert_eq!(names(&found), ["two"]);
    let newest = files
        .list("")
        .sort_by(SortBy::CreatedAt)
        .desc()
        .send()
        .await
        .unwrap();
    assert_eq!(names(&newest), ["dir", "a.txt", "b.txt"]);
    assert!(
        live.client()
            .storage()
            .from("b")
            .list("")
            .send()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn long_lists_come_page_by_page() {
    let live = Live::start().await;
    let files = ada(&live).await;
    put(&files, &["a", "d/1", "d/2", "d/3", "e", "f"]).await;

    let page = files.list_v2().prefix("d/").limit(2).send().await.unwrap();
    assert_eq!(names(&page.objects), ["d/1", "d/2"]);
    assert!(page.has_next && page.folders.is_empty());
    let cursor = page.next_cursor.unwrap();
    let page = files
        .list_v2()
        .prefix("d/")
        .limit(2)
        .cursor(&cursor)
        .send()
        .await
        .unwrap();
    assert_eq!(names(&page.objects), ["d/3"]);
    assert_eq!((page.has_next, page.next_cursor), (false, None));

    let pages: Vec<_> = files
        .list_v2()
        .limit(2)
        .stream()
        .try_collect()
        .await
        .unwrap();
    let all: Vec<&str> = pages.iter().flat_map(|page| names(&page.objects)).collect();
    assert_eq!(
        (pages.len(), all),
        (3, vec!["a", "d/1", "d/2", "d/3", "e", "f"])
    );
    let folded = files
        .list_v2()
        .with_delimiter(true)
        .desc()
        .send()
        .await
        .unwrap();
    assert_eq!(names(&folded.objects), ["f", "e", "a"]);
    assert_eq!(
        (names(&folded.folders), folded.folders[0].key.as_deref()),
        (vec!["d/"], Some("d"))
    );
    let bad = files.list_v2().cursor("nonsense").send().await;
    assert_eq!(code(bad), StorageErrorCode::InvalidParameter);
}

#[tokio::test]
async fn files_are_moved_and_copied_within_a_bucket_and_to_another() {
    let live = Live::start().await;
    let files = ada(&live).await;
    live.bucket("c").await;
    let upload = files.upload("a", "1").metadata(&json!({ "n": 1 }));
    upload.send().await.unwrap();

    let copied = files.copy("a", "x/b").send().await.unwrap();
    assert_eq!(
        (copied.path.as_str(), copied.full_path.as_str()),
        ("x/b", "b/x/b")
    );
    assert!(copied.id.is_some());
    assert_eq!(
        code(files.copy("a", "x/b").send().await),
        StorageErrorCode::KeyAlreadyExists
    );
    let changed = files.copy("a", "x/b").upsert(true).copy_metadata(false);
    let changed = changed.content_type("text/x-b").cache_control(9);
    changed.metadata(&json!({ "n": 2 })).send().await.unwrap();
    let info = files.info("x/b").send().await.unwrap();
    assert_eq!(info.content_type.as_deref(), Some("text/x-b"));
    assert_eq!(info.cache_control.as_deref(), Some("max-age=9"));
    assert_eq!(info.metadata, Some(json!({ "n": 2 })));
    let other = files.copy("a", "d").to_bucket("c").send().await.unwrap();
    assert_eq!(other.full_path, "c/d");

    files.move_("a", "z").send().await.unwrap();
    assert!(!files.exists("a").send().await.unwrap());
    assert_eq!(
        code(files.move_("z", "x/b").send().await),
        StorageErrorCode::ResourceAlreadyExists
    );
    assert_eq!(
        code(files.move_("a", "y").send().await),
        StorageErrorCode::NoSuchKey
    );
    assert_eq!(
        code(files.copy("a", "y").send().await),
        StorageErrorCode::NoSuchKey
    );
    files.move_("z", "z").to_bucket("c").send().await.unwrap();
    let moved = live
        .with_secret_key()
        .storage()
        .from("c")
        .info("z")
        .send()
        .await;
    assert_eq!(moved.unwrap().metadata, Some(json!({ "n": 1 })));
}

#[tokio::test]
async fn removing_returns_what_was_there() {
    let live = Live::start().await;
    let files = ada(&live).await;
    put(&files, &["a", "b c?&+.txt"]).await;

    let removed = files
        .remove(["a", "b c?&+.txt", "nothing"])
        .send()
        .await
        .unwrap();
    let mut removed_names = names(&removed);
    removed_names.sort();
    assert_eq!(removed_names, ["a", "b c?&+.txt"]);
    assert_eq!(removed[0].bucket_id.as_deref(), Some("b"));
    assert!(removed[0].version.is_some() && removed[0].owner_id.is_some());
    assert!(files.list("").send().await.unwrap().is_empty());
    let nothing: [&str; 0] = [];
    assert_eq!(
        code(files.remove(nothing).send().await),
        StorageErrorCode::InvalidRequest
    );
}
