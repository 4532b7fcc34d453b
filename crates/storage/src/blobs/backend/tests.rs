//! Blobs that grow, in both backends: they must be alike.

use http_body_util::BodyExt;

use super::*;
use crate::blobs::s3::tests::S3Fixture;

struct Store {
    blobs: Blobs,
    version: Version,
    _folder: Option<tempfile::TempDir>,
    _server: Option<S3Fixture>,
}

impl Store {
    /// One of each backend.
    async fn each() -> [Self; 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let local = LocalBlobs::new(folder.path().to_owned(), true);
        let server = S3Fixture::start().await;
        [
            Self {
                blobs: Blobs::Local(local),
                version: Version::generate(),
                _folder: Some(folder),
                _server: None,
            },
            Self {
                blobs: Blobs::S3(server.blobs.clone()),
                version: Version::generate(),
                _folder: None,
                _server: Some(server),
            },
        ]
    }

    async fn add(&self, offset: u64, bytes: &'static str) -> Option<WrittenChunk> {
        let appender = self.blobs.append(&self.version, offset, 1000).await;
        let mut appender = appender.expect("opened")?;
        appender.write(Bytes::from(bytes)).await.expect("written");
        Some(appender.close().await.expect("durable"))
    }

    async fn assemble(&self, size: u64) {
        let assembled = self.blobs.assemble(&self.version, size).await;
        assembled.expect("complete");
    }

    async fn content(&self) -> Option<Bytes> {
        let body = self.blobs.read(&self.version, 0..7).await.expect("read")?;
        Some(body.collect().await.expect("bytes").to_bytes())
    }
}

#[tokio::test]
async fn a_blob_grows_and_is_readable_once_it_is_complete() {
    for store in Store::each().await {
        assert_eq!(store.add(0, "abcd").await.map(|chunk| chunk.size), Some(4));
        assert_eq!(store.add(4, "efg").await.map(|chunk| chunk.size), Some(3));
        assert_eq!(store.content().await, None);

        store.assemble(7).await;
        store.assemble(7).await;
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }
}

#[tokio::test]
async fn a_blob_without_bytes_can_be_completed() {
    for store in Store::each().await {
        assert_eq!(store.add(0, "").await.map(|chunk| chunk.size), Some(0));

        store.assemble(0).await;

        let size = store.blobs.size(&store.version).await;
        assert_eq!(size.expect("known"), Some(0));
    }
}

#[tokio::test]
async fn bytes_that_do_not_count_are_overwritten() {
    for store in Store::each().await {
        store.add(0, "abcd").await.expect("appended");
        store.add(4, "-lost-in-a-crash").await.expect("appended");

        store.add(4, "efg").await.expect("appended");

        store.assemble(7).await;
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }
}

#[tokio::test]
async fn a_complete_blob_that_became_no_object_takes_its_last_chunk_again() {
    for store in Store::each().await {
        store.add(0, "abcd").await.expect("appended");
        store.add(4, "XYZ").await.expect("appended");
        store.assemble(7).await;

        store.add(4, "efg").await.expect("appended");
        assert_eq!(store.content().await, None);

        store.assemble(7).await;
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }
}

#[tokio::test]
async fn missing_bytes_are_noticed() {
    for store in Store::each().await {
        let has = async |offset| {
            let has = store.blobs.has_staged(&store.version, offset).await;
            has.expect("looked")
        };
        assert!(store.add(4, "efg").await.is_none());
        store.add(0, "abc").await.expect("appended");

        assert!(store.add(4, "efg").await.is_none());
        assert!(has(3).await);
        assert!(!has(4).await);

        store.blobs.remove(&store.version).await.expect("removed");
        assert!(!has(3).await);
        assert!(has(0).await);
    }
}
