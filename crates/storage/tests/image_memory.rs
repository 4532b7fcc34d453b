//! Many large images at once, in a process of its own: its memory is measured.

use std::{collections::HashMap, fs, io::Cursor, num::NonZeroUsize};

use futures_util::future::join_all;
use http::Method;
use image::{DynamicImage, ImageFormat};
use plinth_db::PoolConfig;
use plinth_storage::{BlobStore, ImageRendererConfig, StorageService, routes};
use plinth_testkit::{
    ProjectBuilder, ProjectLogins, Requests, TestDatabase, behind_gateway, load_settings, now,
};
use serde_json::json;
use tempfile::TempDir;

const MEGABYTE: u64 = 1 << 20;
/// Pixels of one image take 12 MB, and what is made of them before they are resized as much again.
const WIDTH: u32 = 2000;
const HEIGHT: u32 = 2000;
const BUDGET: u64 = 48 * MEGABYTE;
/// Threads and connections are not images.
const OTHERS: u64 = 32 * MEGABYTE;
/// The allocator keeps some of what its threads have freed. Without a budget it would be 240 MB in all.
const KEPT_BY_ALLOCATOR: u64 = 48 * MEGABYTE;

struct Router(axum::Router);

impl Requests for Router {
    fn router(&self) -> axum::Router {
        self.0.clone()
    }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(width, height)
        .write_to(&mut file, ImageFormat::Png)
        .expect("an image");
    file.into_inner()
}

/// The largest resident size since it was last reset.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = number.and_then(|text| text.parse().ok()).expect("a size");
    kilobytes * 1024
}

/// From here on the peak is that of what follows; gives the size now.
fn reset_peak() -> u64 {
    fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    peak()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_large_images_take_no_more_than_their_budget() {
    let db = TestDatabase::create().await;
    let folder = TempDir::new().expect("a folder");
    let store = BlobStore::Local {
        folder: folder.path().join("files"),
        fsync: false,
    };
    let images = ImageRendererConfig {
        folder: folder.path().join("renditions"),
        cache_bytes: MEGABYTE,
        workers: NonZeroUsize::new(16),
        max_memory: BUDGET,
    };
    let service = StorageService::new(store, &images);
    let logins = ProjectLogins::create(&db).await;
    let project = ProjectBuilder::new(logins.connect(&db, PoolConfig::default()).await)
        .reference(logins.reference)
        .settings(load_settings(&[]))
        .build();
    let api = Router(behind_gateway(routes(service), &project, now));
    let bucket = json!({ "name": "pictures", "public": true });
    api.post("/bucket", bucket).service_role().await.expect_ok();
    for (name, file) in [
        ("large.png", png(WIDTH, HEIGHT)),
        ("huge.png", png(10_000, 2000)),
    ] {
        let path = format!("/object/pictures/{name}");
        let upload = api.call(Method::POST, &path).body("image/png", file);
        upload.service_role().await.expect_ok();
    }

    let before = reset_peak();
    let rendering = (0..10).map(|index| {
        let path = format!(
            "/render/image/public/pictures/large.png?width={}",
            50 + index
        );
        let call = api.get(&path);
        async move {
            let reply = call.await;
            match reply.status.as_u16() {
                200 => "rendered".to_owned(),
                _ => reply.json()["message"].to_string(),
            }
        }
    });
    let mut outcomes = HashMap::<String, u32>::new();
    for outcome in join_all(rendering).await {
        *outcomes.entry(outcome).or_default() += 1;
    }

    let taken = peak() - before;
    let limit = BUDGET + OTHERS + KEPT_BY_ALLOCATOR;
    assert!(taken < limit, "{} MB", taken / MEGABYTE);
    // All wait for memory, and on a busy machine the last ones in vain.
    outcomes.remove("\"Image request timed out\"");
    assert!(
        outcomes.len() == 1 && outcomes.contains_key("rendered"),
        "{outcomes:?}"
    );

    // One that alone would take more is rejected, and takes nothing.
    let before = reset_peak();
    let huge = api.get("/render/image/public/pictures/huge.png?width=50");
    let reply = huge.await;
    assert_eq!(reply.status.as_u16(), 400);
    assert_eq!(
        reply.json(),
        json!({
            "statusCode": "400",
            "error": "InvalidRequest",
            "message": "The source image resolution is too large to process",
            "code": "InvalidRequest",
        })
    );
    let taken = peak() - before;
    assert!(taken < OTHERS, "{} MB", taken / MEGABYTE);
}
