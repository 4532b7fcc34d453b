//! Buckets of `config.toml`, and their files.

use std::{fs, fs::File, path::Path};

use plinth_storage::SeedBucket;
use tempfile::TempDir;

use crate::support::{Requests, TestApi};

fn bucket(folder: &Path) -> SeedBucket {
    SeedBucket {
        id: "seeded".to_owned(),
        is_public: true,
        file_size_limit: None,
        allowed_mime_types: Vec::new(),
        files: Some(folder.to_owned()),
    }
}

#[tokio::test]
async fn files_are_put_once_and_again_when_they_change() {
    let api = TestApi::start().await;
    let folder = TempDir::new().expect("a folder");
    // Longer than a chunk, and no multiple of it.
    let long = "0123456789".repeat(70_000) + "end";
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    fs::write(folder.path().join("sub/long.txt"), &long).expect("a file");
    fs::write(folder.path().join("empty.txt"), "").expect("a file");

    assert_eq!(api.seed(&bucket(folder.path())).await, Ok(2));
    api.get("/object/public/seeded/sub/long.txt")
        .await
        .expect_text(200, &long);
    api.get("/object/public/seeded/empty.txt")
        .await
        .expect_text(200, "");
    assert_eq!(
        api.seed(&bucket(folder.path())).await,
        Ok(0),
        "nothing is new"
    );

    fs::write(folder.path().join("empty.txt"), "no more").expect("a file");
    assert_eq!(api.seed(&bucket(folder.path())).await, Ok(1));
    api.get("/object/public/seeded/empty.txt")
        .await
        .expect_text(200, "no more");
    api.collect_garbage_later().await;
    api.is_clean().await;
    assert_eq!(api.files(), (0, 2));
}

#[tokio::test]
async fn a_file_that_no_memory_could_hold_is_rejected_without_reading_it() {
    let api = TestApi::start().await;
    let folder = TempDir::new().expect("a folder");
    let file = File::create(folder.path().join("vast.bin")).expect("a file");
    file.set_len(1 << 42).expect("it takes no space");

    let rejected = api.seed(&bucket(folder.path())).await;

    let reason = rejected.expect_err("too large");
    assert!(reason.contains("seeded"), "{reason}");
    assert!(
        reason.contains("exceeded the maximum allowed size"),
        "{reason}"
    );
    assert_eq!(api.ledger().await, (0, 0));
}
