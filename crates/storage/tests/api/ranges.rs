//! Parts of objects (storage contract §3.3).

use http::Method;

use crate::support::{ErrorBody, Reply, Requests, StorageReply, TestApi};

const ETAG: &str = "\"781e5e245d69b566979b86e28d23f2c7\"";

async fn ten_digits() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.has_object("b/a", "0123456789").await;
    api.has_object("b/nothing", "").await;
    api
}

async fn range(api: &TestApi, range: &str) -> Reply {
    api.get("/object/public/b/a").header("range", range).await
}

#[tokio::test]
async fn one_range_is_cut_out() {
    let api = ten_digits().await;
    let check = async |asked: &str, body: &str, found: &str| {
        let reply = range(&api, asked).await;
        reply
            .expect_text(206, body)
            .expect_header("content-range", &format!("bytes {found}/10"))
            .expect_header("content-length", &body.len().to_string())
            .expect_header("etag", ETAG);
    };
    check("bytes=0-3", "0123", "0-3").await;
    check("bytes=4-", "456789", "4-9").await;
    check("bytes=-3", "789", "7-9").await;
    check("bytes=-300", "0123456789", "0-9").await;
    check("bytes=8-100", "89", "8-9").await;
    check("bytes=9-9", "9", "9-9").await;
}

#[tokio::test]
async fn what_cannot_be_met_is_rejected_with_its_own_status() {
    let api = ten_digits().await;
    let rejected = || {
        ErrorBody(
            416,
            "InvalidRange",
            "invalid_range",
            "invalid range provided",
        )
    };
    for asked in [
        "bytes=10-",
        "bytes=5-4",
        "bytes=a-b",
        "bytes=-0",
        "bytes=",
        "nonsense",
    ] {
        range(&api, asked).await.fails_with_status(416, rejected());
    }
    let nothing = api
        .get("/object/public/b/nothing")
        .header("range", "bytes=0-");
    nothing.await.fails_with_status(416, rejected());
    api.get("/object/public/b/nothing")
        .await
        .expect_text(200, "");
}

#[tokio::test]
async fn several_ranges_and_other_units_give_everything() {
    let api = ten_digits().await;
    for asked in ["bytes=0-1,3-4", "rows=0-1"] {
        let reply = range(&api, asked).await;
        reply
            .expect_text(200, "0123456789")
            .expect_no_header("content-range");
    }
}

#[tokio::test]
async fn a_range_is_for_the_very_bytes_that_the_client_has() {
    let api = ten_digits().await;
    let modified = api.get("/object/public/b/a").await;
    let modified = modified.header("last-modified").expect("a date").to_owned();
    let get = async |condition: &str| {
        let get = api.get("/object/public/b/a").header("range", "bytes=0-3");
        get.header("if-range", condition).await.status.as_u16()
    };
    assert_eq!(get(ETAG).await, 206);
    assert_eq!(get("\"other\"").await, 200);
    assert_eq!(get(&format!("W/{ETAG}")).await, 200);
    assert_eq!(get(&modified).await, 206);
    assert_eq!(get("Fri, 02 Jan 2026 03:04:05 GMT").await, 200);
    assert_eq!(get("nonsense").await, 200);
}

#[tokio::test]
async fn a_large_part_of_a_large_object_comes_whole() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let large: String = (0..400_000).map(|i| format!("{i:07},")).collect();
    api.call(Method::POST, "/object/b/a")
        .service_role()
        .body("text/plain", &large)
        .await
        .expect_ok();
    let get = api.get("/object/b/a").service_role();

    let reply = get.header("range", "bytes=1000001-3000000").await;

    assert_eq!(reply.status, 206);
    assert!(reply.text() == &large[1_000_001..=3_000_000]);
    let head = api
        .head("/object/b/a")
        .service_role()
        .header("range", "bytes=0-1")
        .await;
    head.expect_ok()
        .expect_header("content-length", "3200000")
        .expect_no_header("content-range");
}
