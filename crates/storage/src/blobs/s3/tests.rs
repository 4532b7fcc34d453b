//! On a real S3 server, with and without faults. What both backends must do alike is tested with
//! `Blobs`, and over HTTP in `tests/`.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Method;
use http_body_util::BodyExt as _;
use md5::{Digest as _, Md5};
use plinth_settings::Secret;
use plinth_teststore::{ACCESS_KEY, BUCKET, Fault, FaultInjector, SECRET_KEY, TestStore};
use tokio_util::task::TaskTracker;

use super::*;
use crate::{
    blobs::{Version, model::BlobState},
    hex::hex,
};

/// The smallest part of S3.
const PART_BYTES: usize = 5 * 1024 * 1024;

/// A server and a project's blobs on it.
pub(crate) struct S3Fixture {
    server: TestStore,
    pub(crate) blobs: S3Blobs,
}

impl S3Fixture {
    pub(crate) async fn start() -> Self {
        let server = TestStore::start().await.expect("a server");
        let store = S3Store::new(&config(&server)).expect("good settings");
        let blobs = S3Blobs::new(store, "project", TaskTracker::new());
        Self { server, blobs }
    }

    /// Injects faults into the server.
    pub(crate) fn faults(&self) -> &FaultInjector {
        self.server.faults()
    }

    async fn blob(&self, bytes: &Bytes) -> Version {
        let version = Version::generate();
        let mut writer = self.blobs.create(&version, 1 << 30);
        for chunk in bytes.chunks(1_000_000) {
            let chunk = Bytes::copy_from_slice(chunk);
            writer.write(chunk).await.expect("written");
        }
        writer.finish().await.expect("finished");
        version
    }

    async fn content(&self, version: &Version, range: Range<u64>) -> Option<Bytes> {
        let body = self.blobs.read(version, range).await.expect("read")?;
        Some(body.collect().await.expect("bytes").to_bytes())
    }

    async fn append(&self, version: &Version, offset: u64, bytes: &[u8]) {
        let appender = self.blobs.append(version, offset, 1 << 30).await;
        let mut appender = appender.expect("opened").expect("bytes before these");
        for chunk in bytes.chunks(1_000_000) {
            let chunk = Bytes::copy_from_slice(chunk);
            appender.write(chunk).await.expect("written");
        }
        appender.close().await.expect("durable");
    }

    /// What the store has besides complete blobs: records of uploads, and their parts.
    async fn leftovers(&self) -> (usize, usize) {
        // Dropped writers clean up in tasks.
        self.blobs.0.tasks.close();
        self.blobs.0.tasks.wait().await;
        let records: Vec<_> = self
            .blobs
            .list_records()
            .try_collect()
            .await
            .expect("a list");
        (records.len(), self.server.unfinished_parts())
    }
}

fn config(server: &TestStore) -> S3StoreConfig {
    S3StoreConfig {
        endpoint: Some(server.url().parse().expect("a URL")),
        region: None,
        bucket: BUCKET.to_owned(),
        prefix: Some("/in/a/shared/bucket/".to_owned()),
        forces_path_style: false,
        access_key: Secret::new(ACCESS_KEY),
        secret_key: Secret::new(SECRET_KEY),
        part_size: PART_BYTES as u64,
        timeout: Duration::from_secs(10),
    }
}

/// Pseudo-random bytes.
fn noise(length: usize) -> Bytes {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[tokio::test]
async fn what_is_longer_than_a_part_arrives_in_parts() {
    let fixture = S3Fixture::start().await;
    for length in [
        0,
        1,
        PART_BYTES - 1,
        PART_BYTES,
        PART_BYTES + 1,
        2 * PART_BYTES,
        2 * PART_BYTES + 7,
    ] {
        let bytes = noise(length);
        let version = Version::generate();
        let mut writer = fixture.blobs.create(&version, 1 << 30);
        writer.write(bytes.clone()).await.expect("written");
        let written = writer.finish().await.expect("finished");

        let md5 = hex(&Md5::digest(&bytes));
        assert_eq!((written.size, written.md5), (length as u64, md5));
        let content = fixture.content(&version, 0..length as u64).await;
        assert!(content.as_ref() == Some(&bytes), "{length} bytes differ");
    }
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn ranges_are_read_and_ends_are_noticed() {
    let fixture = S3Fixture::start().await;
    let version = fixture.blob(&Bytes::from_static(b"0123456789")).await;
    let check = async |range, expected: Option<&'static str>| {
        let found = fixture.content(&version, range).await;
        assert_eq!(found, expected.map(Bytes::from));
    };
    check(0..10, Some("0123456789")).await;
    check(3..5, Some("34")).await;
    check(9..10, Some("9")).await;
    check(4..4, Some("")).await;
    check(5..11, None).await;
    check(20..30, None).await;
    check(11..11, None).await;
    assert_eq!(
        fixture.blobs.size(&version).await.expect("a result"),
        Some(10)
    );

    fixture.blobs.remove(&version).await.expect("removed");
    fixture.blobs.remove(&version).await.expect("gone already");
    check(0..10, None).await;
    check(0..0, None).await;
    assert_eq!(fixture.blobs.size(&version).await.expect("a result"), None);
}

#[tokio::test]
async fn copies_are_blobs_of_their_own_however_long() {
    let mut fixture = S3Fixture::start().await;
    let bytes = noise(PART_BYTES + 3);
    let original = fixture.blob(&bytes).await;
    let (short, long) = (Version::generate(), Version::generate());

    assert!(fixture.blobs.copy(&original, &short).await.expect("copied"));
    let inner = Arc::get_mut(&mut fixture.blobs.0).expect("the only reference");
    inner.max_copy_bytes = PART_BYTES as u64;
    assert!(fixture.blobs.copy(&original, &long).await.expect("copied"));
    fixture.blobs.remove(&original).await.expect("removed");

    for copy in [short, long] {
        assert!(fixture.content(&copy, 0..bytes.len() as u64).await.as_ref() == Some(&bytes));
    }
    let nothing = fixture.blobs.copy(&original, &Version::generate()).await;
    assert!(!nothing.expect("no failure"));
}

#[tokio::test]
async fn several_blobs_are_concatenated() {
    let fixture = S3Fixture::start().await;
    let bytes = noise(2 * PART_BYTES + 10);
    let (first, second) = (bytes.slice(..PART_BYTES + 5), bytes.slice(PART_BYTES + 5..));
    let parts = [fixture.blob(&first).await, fixture.blob(&second).await];
    let whole = Version::generate();
    let size = bytes.len() as u64;

    let joined = fixture.blobs.concatenate(&parts, &whole, size).await;
    assert_eq!(joined.expect("joined"), Some(size));
    assert!(fixture.content(&whole, 0..size).await == Some(bytes));

    let lacking = [parts[0], Version::generate()];
    let other = Version::generate();
    let joined = fixture.blobs.concatenate(&lacking, &other, size).await;
    assert_eq!(joined.expect("no failure"), None);
    assert_eq!(fixture.blobs.size(&other).await.expect("a result"), None);
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_dropped_writer_leaves_nothing() {
    let fixture = S3Fixture::start().await;
    let version = Version::generate();
    let mut writer = fixture.blobs.create(&version, 1 << 30);
    writer.write(noise(2 * PART_BYTES)).await.expect("written");
    let records: Vec<_> = fixture
        .blobs
        .list_records()
        .try_collect()
        .await
        .expect("a list");
    assert_eq!(records.len(), 1);

    drop(writer);

    assert_eq!(fixture.leftovers().await, (0, 0));
    assert_eq!(fixture.blobs.size(&version).await.expect("a result"), None);
}

#[tokio::test]
async fn uploads_that_a_crash_left_are_found_and_removed() {
    let fixture = S3Fixture::start().await;
    let version = Version::generate();
    let mut writer = fixture.blobs.create(&version, 1 << 30);
    writer.write(noise(2 * PART_BYTES)).await.expect("written");
    let upload = writer.upload.as_mut().expect("more than a part");
    upload.wait_for_all().await.expect("arrived");
    std::mem::forget(writer);
    let growing = Version::generate();
    fixture.append(&growing, 0, b"not all").await;
    assert_eq!(fixture.leftovers().await, (2, 2));

    let day = Duration::from_secs(86_400);
    fixture
        .blobs
        .remove_stale_uploads(day)
        .await
        .expect("cleaned up");
    assert_eq!(fixture.leftovers().await, (2, 2), "it may be in flight");

    fixture
        .blobs
        .remove_stale_uploads(Duration::ZERO)
        .await
        .expect("cleaned up");
    assert_eq!(fixture.leftovers().await, (1, 0), "a growing blob is kept");
    fixture.blobs.remove(&growing).await.expect("removed");
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_blob_grows_by_parts_and_remainders() {
    let fixture = S3Fixture::start().await;
    let bytes = noise(3 * PART_BYTES + 11);
    let version = Version::generate();
    let cuts = [
        0,
        100,
        PART_BYTES + 7,
        PART_BYTES + 8,
        3 * PART_BYTES,
        bytes.len(),
    ];
    for cut in cuts.windows(2) {
        // As if a crash had lost a chunk, which is sent again.
        fixture
            .append(&version, cut[0] as u64, &noise(PART_BYTES))
            .await;
        fixture
            .append(&version, cut[0] as u64, &bytes[cut[0]..cut[1]])
            .await;
        let has = fixture.blobs.has_staged(&version, cut[1] as u64).await;
        assert!(has.expect("a result"));
    }
    let size = bytes.len() as u64;
    assert_eq!(fixture.blobs.size(&version).await.expect("a result"), None);

    fixture
        .blobs
        .assemble(&version, size)
        .await
        .expect("complete");
    fixture.blobs.assemble(&version, size).await.expect("again");

    assert!(fixture.content(&version, 0..size).await == Some(bytes));
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_long_blob_that_became_no_object_takes_its_last_chunk_again() {
    let fixture = S3Fixture::start().await;
    let bytes = noise(2 * PART_BYTES + 11);
    let (size, cut) = (bytes.len() as u64, PART_BYTES + 1);
    let version = Version::generate();
    fixture.append(&version, 0, &bytes[..cut]).await;
    fixture
        .append(&version, cut as u64, &noise(PART_BYTES))
        .await;
    let other = (cut + PART_BYTES) as u64;
    fixture
        .blobs
        .assemble(&version, other)
        .await
        .expect("complete");

    fixture.append(&version, cut as u64, &bytes[cut..]).await;
    assert_eq!(fixture.blobs.size(&version).await.expect("a result"), None);
    fixture
        .blobs
        .assemble(&version, size)
        .await
        .expect("complete");

    assert!(fixture.content(&version, 0..size).await == Some(bytes));
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn the_inventory_has_everything_and_nothing_of_other_projects() {
    let fixture = S3Fixture::start().await;
    let store = fixture.blobs.0.store.clone();
    let neighbour = S3Blobs::new(store, "project-two", TaskTracker::new());
    let theirs = neighbour.create(&Version::generate(), 1);
    theirs.finish().await.expect("finished");
    let whole = fixture.blob(&noise(9)).await;
    let growing = Version::generate();
    fixture.append(&growing, 0, b"1234").await;
    fixture.append(&growing, 4, b"567").await;
    let unfinished = Version::generate();
    let mut writer = fixture.blobs.create(&unfinished, 1 << 30);
    writer.write(noise(PART_BYTES)).await.expect("written");

    let found = fixture.blobs.inventory().try_collect::<Vec<_>>().await;

    let mut found: Vec<_> = found
        .expect("a list")
        .into_iter()
        .inspect(|stored| {
            assert!(
                stored
                    .modified
                    .elapsed()
                    .is_ok_and(|age| age.as_secs() < 60)
            );
        })
        .map(|stored| (stored.version, stored.state, stored.size))
        .collect();
    found.sort_by_key(|(_, state, _)| *state as u8);
    assert_eq!(
        found,
        [
            (whole, BlobState::Complete, 9),
            (growing, BlobState::Resumable, 7),
            (unfinished, BlobState::InFlight, 0),
        ]
    );
}

#[tokio::test]
async fn many_blobs_are_removed_with_few_requests() {
    let fixture = S3Fixture::start().await;
    let mut versions = Vec::new();
    for _ in 0..30 {
        versions.push(fixture.blob(&noise(3)).await);
    }
    let growing = Version::generate();
    fixture.append(&growing, 0, &noise(PART_BYTES + 1)).await;
    versions.push(growing);
    let before = fixture.server.faults().request_count();

    let removal = fixture.blobs.remove_all(&versions).await;

    assert!(removal.failure.is_none(), "{removal:?}");
    assert_eq!(removal.removed, versions);
    let requests = fixture.server.faults().request_count() - before;
    // A list, the records of the growing one, and one bulk deletion.
    assert!(requests < 10, "{requests} requests");
    let left: Vec<_> = fixture
        .blobs
        .inventory()
        .try_collect()
        .await
        .expect("a list");
    assert_eq!(left, []);
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_store_without_bulk_deletion_gets_single_requests() {
    let fixture = S3Fixture::start().await;
    let versions = [fixture.blob(&noise(3)).await, fixture.blob(&noise(3)).await];
    let faults = fixture.server.faults();
    faults.inject_for_method(Method::POST, Fault::Unavailable);

    let removal = fixture.blobs.remove_all(&versions).await;

    assert!(removal.failure.is_none(), "{removal:?}");
    assert_eq!(removal.removed, versions);
    let left: Vec<_> = fixture
        .blobs
        .inventory()
        .try_collect()
        .await
        .expect("a list");
    assert_eq!(left, []);
}

#[tokio::test]
async fn clearing_removes_one_project_and_nothing_of_others() {
    let fixture = S3Fixture::start().await;
    let mine = fixture.blob(&noise(3)).await;
    let other = S3Blobs::new(fixture.blobs.0.store.clone(), "other", TaskTracker::new());
    let theirs = Version::generate();
    other.create(&theirs, 1).finish().await.expect("finished");

    fixture.blobs.clear().await.expect("cleared");

    assert_eq!(fixture.blobs.size(&mine).await.expect("a result"), None);
    assert_eq!(other.size(&theirs).await.expect("a result"), Some(0));
}

/// As if parts had arrived after the first attempt.
#[tokio::test]
async fn an_upload_is_aborted_until_the_store_does_not_know_it() {
    let fixture = S3Fixture::start().await;
    let version = Version::generate();
    let upload = multipart::MultipartUpload::start(&fixture.blobs, &version).await;
    let mut upload = upload.expect("an upload");
    upload
        .send_part(noise(PART_BYTES).into())
        .await
        .expect("sent");
    upload.wait_for_all().await.expect("arrived");
    drop(upload);
    assert_eq!(fixture.leftovers().await, (1, 1));
    let faults = fixture.server.faults();
    faults.inject_next_for_method(Method::DELETE, 2, Fault::FakeSuccess);

    fixture.blobs.remove(&version).await.expect("removed");

    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_busy_store_is_retried() {
    let fixture = S3Fixture::start().await;
    fixture.server.faults().inject_next(2, Fault::Unavailable);
    let bytes = noise(PART_BYTES + 1);

    let version = fixture.blob(&bytes).await;

    let size = bytes.len() as u64;
    assert!(fixture.content(&version, 0..size).await == Some(bytes));
    assert_eq!(fixture.leftovers().await, (0, 0));
}

#[tokio::test]
async fn retries_of_an_unavailable_store_end_and_nothing_is_lost() {
    let fixture = S3Fixture::start().await;
    let kept = fixture.blob(&noise(3)).await;
    let began = Instant::now();
    fixture.server.faults().inject(Fault::Unavailable);

    let version = Version::generate();
    let mut writer = fixture.blobs.create(&version, 1 << 30);
    let failed = writer.write(noise(PART_BYTES)).await;
    let text = failed.expect_err("unavailable").to_string();
    assert!(text.contains("503") && text.contains("SlowDown"), "{text}");
    assert!(fixture.blobs.read(&kept, 0..3).await.is_err());
    assert!(fixture.blobs.size(&kept).await.is_err());
    assert!(fixture.blobs.remove(&kept).await.is_err());
    assert!(fixture.blobs.copy(&kept, &version).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(30), "{began:?}");
    let requests = fixture.server.faults().request_count();
    assert!(requests < 40, "{requests} requests");

    fixture.server.faults().inject(Fault::None);
    assert_eq!(fixture.content(&kept, 0..3).await, Some(noise(3)));
    assert_eq!(fixture.blobs.size(&version).await.expect("a result"), None);
}

#[tokio::test]
async fn parts_that_the_store_rejects_leave_earlier_bytes() {
    let fixture = S3Fixture::start().await;
    let bytes = noise(2 * PART_BYTES);
    let version = Version::generate();
    fixture.append(&version, 0, &bytes[..PART_BYTES + 9]).await;

    fixture
        .server
        .faults()
        .inject_for_method(Method::PUT, Fault::Unavailable);
    let offset = (PART_BYTES + 9) as u64;
    let appender = fixture.blobs.append(&version, offset, 1 << 30).await;
    let mut appender = appender.expect("opened").expect("bytes before these");
    appender.write(noise(9)).await.expect("buffered");
    assert!(appender.close().await.is_err());

    fixture.server.faults().inject(Fault::None);
    fixture
        .append(&version, offset, &bytes[PART_BYTES + 9..])
        .await;
    let size = bytes.len() as u64;
    fixture
        .blobs
        .assemble(&version, size)
        .await
        .expect("complete");
    assert!(fixture.content(&version, 0..size).await == Some(bytes));
}

#[tokio::test]
async fn a_store_that_hangs_times_out() {
    let fixture = S3Fixture::start().await;
    let config = S3StoreConfig {
        timeout: Duration::from_millis(200),
        ..config(&fixture.server)
    };
    let store = S3Store::new(&config).expect("good settings");
    let blobs = S3Blobs::new(store, "project", TaskTracker::new());
    fixture.server.faults().inject(Fault::Hang);
    let began = Instant::now();

    assert!(blobs.size(&Version::generate()).await.is_err());
    let writer = blobs.create(&Version::generate(), 1);
    assert!(writer.finish().await.is_err());

    assert!(began.elapsed() < Duration::from_secs(8), "{began:?}");
}

#[tokio::test]
async fn the_check_reports_what_is_wrong_with_the_settings() {
    let fixture = S3Fixture::start().await;
    let check = async |config: S3StoreConfig| {
        let store = S3Store::new(&config).expect("good settings");
        store.check().await.map_err(|error| error.to_string())
    };
    let good = || config(&fixture.server);
    assert_eq!(check(good()).await, Ok(()));

    let bucket = "another".to_owned();
    let missing = check(S3StoreConfig { bucket, ..good() }).await;
    let missing = missing.expect_err("there is no such bucket");
    assert!(missing.contains("no bucket named another"), "{missing}");

    let secret_key = Secret::new("wrong");
    let denied = check(S3StoreConfig {
        secret_key,
        ..good()
    })
    .await;
    let denied = denied.expect_err("another signature");
    assert!(denied.contains("SignatureDoesNotMatch"), "{denied}");
    assert!(!denied.contains(SECRET_KEY) && !denied.contains(ACCESS_KEY));

    fixture.server.faults().inject(Fault::Unavailable);
    assert_eq!(check(good()).await, Ok(()), "it may recover later");
    let endpoint = Some("http://127.0.0.1:1".parse().expect("a URL"));
    let unreachable = check(S3StoreConfig { endpoint, ..good() }).await;
    assert_eq!(unreachable, Ok(()), "it may be there later");
}
