//! On a real S3 server, well and unwell. What both kinds of stores must do alike is tested with
//! `Blobs`, and over HTTP in `tests/`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Method;
use http_body_util::BodyExt as _;
use md5::{Digest as _, Md5};
use plinth_settings::Secret;
use plinth_teststore::{ACCESS_KEY, BUCKET, Mood, SECRET_KEY, Switch, TestStore};

use super::*;
use crate::{blobs::inventory::Place, hex::hex};

/// The least that S3 takes as a part.
const PART: usize = 5 * 1024 * 1024;

/// A server and a project's blobs on it.
pub(crate) struct Stage {
    server: TestStore,
    pub(crate) blobs: S3Blobs,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let server = TestStore::start().await.expect("a server");
        let store = S3Store::new(&config(&server)).expect("good settings");
        let blobs = S3Blobs::new(store, "project", TaskTracker::new());
        Self { server, blobs }
    }

    /// How the server answers.
    pub(crate) fn switch(&self) -> &Switch {
        self.server.switch()
    }

    async fn blob(&self, bytes: &Bytes) -> Version {
        let version = Version::generate();
        let mut writer = self.blobs.create(&version, 1 << 30);
        for piece in bytes.chunks(1_000_000) {
            let piece = Bytes::copy_from_slice(piece);
            writer.write(piece).await.expect("taken");
        }
        writer.finish().await.expect("settled");
        version
    }

    async fn content(&self, version: &Version, range: Range<u64>) -> Option<Bytes> {
        let body = self.blobs.read(version, range).await.expect("read")?;
        Some(body.collect().await.expect("bytes").to_bytes())
    }

    async fn grow(&self, version: &Version, offset: u64, bytes: &[u8]) {
        let appender = self.blobs.append(version, offset, 1 << 30).await;
        let mut appender = appender.expect("opened").expect("bytes before these");
        for piece in bytes.chunks(1_000_000) {
            let piece = Bytes::copy_from_slice(piece);
            appender.write(piece).await.expect("taken");
        }
        appender.pause().await.expect("safe");
    }

    /// What the store has besides whole blobs: notes, and parts of uploads.
    async fn leftovers(&self) -> (usize, usize) {
        // Whoever was dropped cleans up behind itself.
        self.blobs.0.tasks.close();
        self.blobs.0.tasks.wait().await;
        let notes: Vec<_> = self.blobs.all_notes().try_collect().await.expect("a list");
        (notes.len(), self.server.unfinished_parts())
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
        part_size: PART as u64,
        timeout: Duration::from_secs(10),
    }
}

/// Bytes that are nowhere alike.
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
    let stage = Stage::start().await;
    for length in [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 7] {
        let bytes = noise(length);
        let version = Version::generate();
        let mut writer = stage.blobs.create(&version, 1 << 30);
        writer.write(bytes.clone()).await.expect("taken");
        let written = writer.finish().await.expect("settled");

        let md5 = hex(&Md5::digest(&bytes));
        assert_eq!((written.size, written.md5), (length as u64, md5));
        let content = stage.content(&version, 0..length as u64).await;
        assert!(content.as_ref() == Some(&bytes), "{length} bytes differ");
    }
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn ranges_are_read_and_ends_are_noticed() {
    let stage = Stage::start().await;
    let version = stage.blob(&Bytes::from_static(b"0123456789")).await;
    let check = async |range, expected: Option<&'static str>| {
        let found = stage.content(&version, range).await;
        assert_eq!(found, expected.map(Bytes::from));
    };
    check(0..10, Some("0123456789")).await;
    check(3..5, Some("34")).await;
    check(9..10, Some("9")).await;
    check(4..4, Some("")).await;
    check(5..11, None).await;
    check(20..30, None).await;
    check(11..11, None).await;
    assert_eq!(stage.blobs.size(&version).await.expect("told"), Some(10));

    stage.blobs.remove(&version).await.expect("removed");
    stage.blobs.remove(&version).await.expect("gone already");
    check(0..10, None).await;
    check(0..0, None).await;
    assert_eq!(stage.blobs.size(&version).await.expect("told"), None);
}

#[tokio::test]
async fn copies_are_blobs_of_their_own_however_long() {
    let mut stage = Stage::start().await;
    let bytes = noise(PART + 3);
    let original = stage.blob(&bytes).await;
    let (short, long) = (Version::generate(), Version::generate());

    assert!(stage.blobs.copy(&original, &short).await.expect("copied"));
    let shelf = Arc::get_mut(&mut stage.blobs.0).expect("nobody else has it");
    shelf.longest_copy = PART as u64;
    assert!(stage.blobs.copy(&original, &long).await.expect("copied"));
    stage.blobs.remove(&original).await.expect("removed");

    for copy in [short, long] {
        assert!(stage.content(&copy, 0..bytes.len() as u64).await.as_ref() == Some(&bytes));
    }
    let nothing = stage.blobs.copy(&original, &Version::generate()).await;
    assert!(!nothing.expect("no failure"));
}

#[tokio::test]
async fn parts_of_others_become_one_blob() {
    let stage = Stage::start().await;
    let bytes = noise(2 * PART + 10);
    let (first, second) = (bytes.slice(..PART + 5), bytes.slice(PART + 5..));
    let parts = [stage.blob(&first).await, stage.blob(&second).await];
    let whole = Version::generate();
    let size = bytes.len() as u64;

    let joined = stage.blobs.join(&parts, &whole, size).await;
    assert_eq!(joined.expect("joined"), Some(size));
    assert!(stage.content(&whole, 0..size).await == Some(bytes));

    let lacking = [parts[0], Version::generate()];
    let other = Version::generate();
    let joined = stage.blobs.join(&lacking, &other, size).await;
    assert_eq!(joined.expect("no failure"), None);
    assert_eq!(stage.blobs.size(&other).await.expect("told"), None);
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn whoever_leaves_half_way_leaves_nothing() {
    let stage = Stage::start().await;
    let version = Version::generate();
    let mut writer = stage.blobs.create(&version, 1 << 30);
    writer.write(noise(2 * PART)).await.expect("taken");
    let notes: Vec<_> = stage.blobs.all_notes().try_collect().await.expect("a list");
    assert_eq!(notes.len(), 1);

    drop(writer);

    assert_eq!(stage.leftovers().await, (0, 0));
    assert_eq!(stage.blobs.size(&version).await.expect("told"), None);
}

#[tokio::test]
async fn what_a_crash_left_is_found_and_let_go() {
    let stage = Stage::start().await;
    let version = Version::generate();
    let mut writer = stage.blobs.create(&version, 1 << 30);
    writer.write(noise(2 * PART)).await.expect("taken");
    let parts = writer.parts.as_mut().expect("more than a part");
    parts.arrive().await.expect("there");
    std::mem::forget(writer);
    let growing = Version::generate();
    stage.grow(&growing, 0, b"not all").await;
    assert_eq!(stage.leftovers().await, (2, 2));

    let day = Duration::from_secs(86_400);
    stage.blobs.forget_unfinished(day).await.expect("swept");
    assert_eq!(stage.leftovers().await, (2, 2), "it may be under way");

    stage
        .blobs
        .forget_unfinished(Duration::ZERO)
        .await
        .expect("swept");
    assert_eq!(
        stage.leftovers().await,
        (1, 0),
        "what grows is not forgotten"
    );
    stage.blobs.remove(&growing).await.expect("removed");
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_blob_grows_by_parts_and_remainders() {
    let stage = Stage::start().await;
    let bytes = noise(3 * PART + 11);
    let version = Version::generate();
    let cuts = [0, 100, PART + 7, PART + 8, 3 * PART, bytes.len()];
    for cut in cuts.windows(2) {
        // What a crash lost is sent again.
        stage.grow(&version, cut[0] as u64, &noise(PART)).await;
        stage
            .grow(&version, cut[0] as u64, &bytes[cut[0]..cut[1]])
            .await;
        let has = stage.blobs.has_staged(&version, cut[1] as u64).await;
        assert!(has.expect("told"));
    }
    let size = bytes.len() as u64;
    assert_eq!(stage.blobs.size(&version).await.expect("told"), None);

    stage.blobs.assemble(&version, size).await.expect("whole");
    stage.blobs.assemble(&version, size).await.expect("again");

    assert!(stage.content(&version, 0..size).await == Some(bytes));
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_long_blob_that_became_no_object_takes_its_last_piece_again() {
    let stage = Stage::start().await;
    let bytes = noise(2 * PART + 11);
    let (size, cut) = (bytes.len() as u64, PART + 1);
    let version = Version::generate();
    stage.grow(&version, 0, &bytes[..cut]).await;
    stage.grow(&version, cut as u64, &noise(PART)).await;
    let other = (cut + PART) as u64;
    stage.blobs.assemble(&version, other).await.expect("whole");

    stage.grow(&version, cut as u64, &bytes[cut..]).await;
    assert_eq!(stage.blobs.size(&version).await.expect("told"), None);
    stage.blobs.assemble(&version, size).await.expect("whole");

    assert!(stage.content(&version, 0..size).await == Some(bytes));
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn the_inventory_has_everything_and_nothing_of_other_projects() {
    let stage = Stage::start().await;
    let store = stage.blobs.0.store.clone();
    let neighbour = S3Blobs::new(store, "project-two", TaskTracker::new());
    let theirs = neighbour.create(&Version::generate(), 1);
    theirs.finish().await.expect("settled");
    let whole = stage.blob(&noise(9)).await;
    let growing = Version::generate();
    stage.grow(&growing, 0, b"1234").await;
    stage.grow(&growing, 4, b"567").await;
    let unfinished = Version::generate();
    let mut writer = stage.blobs.create(&unfinished, 1 << 30);
    writer.write(noise(PART)).await.expect("taken");

    let found = stage.blobs.inventory().try_collect::<Vec<_>>().await;

    let mut found: Vec<_> = found
        .expect("a list")
        .into_iter()
        .inspect(|stored| {
            assert!(
                stored
                    .modified
                    .elapsed()
                    .is_ok_and(|age| age.as_secs() < 60)
            )
        })
        .map(|stored| (stored.version, stored.place, stored.size))
        .collect();
    found.sort_by_key(|(_, place, _)| *place as u8);
    assert_eq!(
        found,
        [
            (whole, Place::Whole, 9),
            (growing, Place::Growing, 7),
            (unfinished, Place::Unfinished, 0),
        ]
    );
}

#[tokio::test]
async fn many_blobs_go_with_few_requests() {
    let stage = Stage::start().await;
    let mut versions = Vec::new();
    for _ in 0..30 {
        versions.push(stage.blob(&noise(3)).await);
    }
    let growing = Version::generate();
    stage.grow(&growing, 0, &noise(PART + 1)).await;
    versions.push(growing);
    let before = stage.server.switch().requests();

    let removal = stage.blobs.remove_all(&versions).await;

    assert!(removal.failure.is_none(), "{removal:?}");
    assert_eq!(removal.gone, versions);
    let requests = stage.server.switch().requests() - before;
    // A list, what is left of the one that grew, and all blobs at once.
    assert!(requests < 10, "{requests} requests");
    let left: Vec<_> = stage.blobs.inventory().try_collect().await.expect("a list");
    assert_eq!(left, []);
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_store_that_cannot_remove_several_is_asked_for_each() {
    let stage = Stage::start().await;
    let versions = [stage.blob(&noise(3)).await, stage.blob(&noise(3)).await];
    let switch = stage.server.switch();
    switch.set_for(Method::POST, Mood::Unavailable);

    let removal = stage.blobs.remove_all(&versions).await;

    assert!(removal.failure.is_none(), "{removal:?}");
    assert_eq!(removal.gone, versions);
    let left: Vec<_> = stage.blobs.inventory().try_collect().await.expect("a list");
    assert_eq!(left, []);
}

#[tokio::test]
async fn everything_of_a_project_goes_and_nothing_of_others() {
    let stage = Stage::start().await;
    let mine = stage.blob(&noise(3)).await;
    let other = S3Blobs::new(stage.blobs.0.store.clone(), "other", TaskTracker::new());
    let theirs = Version::generate();
    other.create(&theirs, 1).finish().await.expect("settled");

    stage.blobs.clear().await.expect("cleared");

    assert_eq!(stage.blobs.size(&mine).await.expect("told"), None);
    assert_eq!(other.size(&theirs).await.expect("told"), Some(0));
}

/// As if parts had arrived behind the first time.
#[tokio::test]
async fn an_upload_is_aborted_until_the_store_knows_it_no_more() {
    let stage = Stage::start().await;
    let version = Version::generate();
    let parts = parts::Parts::begin(&stage.blobs, &version).await;
    let mut parts = parts.expect("an upload");
    parts.send(noise(PART).into()).await.expect("sent");
    parts.arrive().await.expect("arrived");
    drop(parts);
    assert_eq!(stage.leftovers().await, (1, 1));
    let switch = stage.server.switch();
    switch.set_next_for(Method::DELETE, 2, Mood::Pretending);

    stage.blobs.remove(&version).await.expect("removed");

    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_busy_moment_is_waited_out() {
    let stage = Stage::start().await;
    stage.server.switch().set_next(2, Mood::Unavailable);
    let bytes = noise(PART + 1);

    let version = stage.blob(&bytes).await;

    let size = bytes.len() as u64;
    assert!(stage.content(&version, 0..size).await == Some(bytes));
    assert_eq!(stage.leftovers().await, (0, 0));
}

#[tokio::test]
async fn a_store_that_is_down_is_not_asked_for_ever_and_loses_nothing() {
    let stage = Stage::start().await;
    let kept = stage.blob(&noise(3)).await;
    let began = Instant::now();
    stage.server.switch().set(Mood::Unavailable);

    let version = Version::generate();
    let mut writer = stage.blobs.create(&version, 1 << 30);
    let refused = writer.write(noise(PART)).await;
    let text = refused.expect_err("nobody took it").to_string();
    assert!(text.contains("503") && text.contains("SlowDown"), "{text}");
    assert!(stage.blobs.read(&kept, 0..3).await.is_err());
    assert!(stage.blobs.size(&kept).await.is_err());
    assert!(stage.blobs.remove(&kept).await.is_err());
    assert!(stage.blobs.copy(&kept, &version).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(30), "{began:?}");
    let requests = stage.server.switch().requests();
    assert!(requests < 40, "{requests} requests");

    stage.server.switch().set(Mood::Good);
    assert_eq!(stage.content(&kept, 0..3).await, Some(noise(3)));
    assert_eq!(stage.blobs.size(&version).await.expect("told"), None);
}

#[tokio::test]
async fn parts_that_the_store_refuses_leave_what_counts() {
    let stage = Stage::start().await;
    let bytes = noise(2 * PART);
    let version = Version::generate();
    stage.grow(&version, 0, &bytes[..PART + 9]).await;

    stage
        .server
        .switch()
        .set_for(Method::PUT, Mood::Unavailable);
    let offset = (PART + 9) as u64;
    let appender = stage.blobs.append(&version, offset, 1 << 30).await;
    let mut appender = appender.expect("opened").expect("bytes before these");
    appender.write(noise(9)).await.expect("kept for now");
    assert!(appender.pause().await.is_err());

    stage.server.switch().set(Mood::Good);
    stage.grow(&version, offset, &bytes[PART + 9..]).await;
    let size = bytes.len() as u64;
    stage.blobs.assemble(&version, size).await.expect("whole");
    assert!(stage.content(&version, 0..size).await == Some(bytes));
}

#[tokio::test]
async fn a_store_that_says_nothing_is_given_up() {
    let stage = Stage::start().await;
    let config = S3StoreConfig {
        timeout: Duration::from_millis(200),
        ..config(&stage.server)
    };
    let store = S3Store::new(&config).expect("good settings");
    let blobs = S3Blobs::new(store, "project", TaskTracker::new());
    stage.server.switch().set(Mood::Silent);
    let began = Instant::now();

    assert!(blobs.size(&Version::generate()).await.is_err());
    let writer = blobs.create(&Version::generate(), 1);
    assert!(writer.finish().await.is_err());

    assert!(began.elapsed() < Duration::from_secs(8), "{began:?}");
}

#[tokio::test]
async fn a_start_learns_what_is_wrong_with_the_settings() {
    let stage = Stage::start().await;
    let check = async |config: S3StoreConfig| {
        let store = S3Store::new(&config).expect("good settings");
        store.check().await.map_err(|problem| problem.to_string())
    };
    let good = || config(&stage.server);
    assert_eq!(check(good()).await, Ok(()));

    let bucket = "another".to_owned();
    let missing = check(S3StoreConfig { bucket, ..good() }).await;
    let missing = missing.expect_err("there is no such bucket");
    assert!(missing.contains("no bucket named another"), "{missing}");

    let secret_key = Secret::new("wrong");
    let refused = check(S3StoreConfig {
        secret_key,
        ..good()
    })
    .await;
    let refused = refused.expect_err("another signature");
    assert!(refused.contains("SignatureDoesNotMatch"), "{refused}");
    assert!(!refused.contains(SECRET_KEY) && !refused.contains(ACCESS_KEY));

    stage.server.switch().set(Mood::Unavailable);
    assert_eq!(check(good()).await, Ok(()), "it may be well later");
    let endpoint = Some("http://127.0.0.1:1".parse().expect("a URL"));
    let unreachable = check(S3StoreConfig { endpoint, ..good() }).await;
    assert_eq!(unreachable, Ok(()), "it may be there later");
}
