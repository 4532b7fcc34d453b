//! Conditional downloads (storage contract §3.3, RFC 9110 §13).

use crate::support::{Call, Requests, TestApi};

const ETAG: &str = "\"5d41402abc4b2a76b9719d911017c592\"";

async fn hello() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let upload = api.upload("b/a", "hello").service_role();
    upload
        .header("cache-control", "max-age=60")
        .await
        .expect_ok();
    api
}

fn get(api: &TestApi) -> Call {
    api.get("/object/public/b/a")
}

#[tokio::test]
async fn a_client_that_has_the_bytes_gets_304() {
    let api = hello().await;
    let weak = format!("W/{ETAG}");
    let list = format!("\"x\", {ETAG}");
    for tags in [ETAG, &weak, &list, "*"] {
        let reply = get(&api).header("if-none-match", tags).await;
        reply
            .expect_text(304, "")
            .expect_header("etag", ETAG)
            .expect_header("cache-control", "max-age=60")
            .expect_no_header("content-length");
        assert!(reply.header("last-modified").is_some());
    }
}

#[tokio::test]
async fn a_client_with_old_bytes_may_use_them_while_revalidating() {
    let api = hello().await;
    let reply = get(&api).header("if-none-match", "\"x\"").await;
    reply
        .expect_text(200, "hello")
        .expect_header("cache-control", "max-age=60, stale-while-revalidate=30");
}

#[tokio::test]
async fn a_date_counts_where_no_tag_is_given() {
    let api = hello().await;
    let modified = get(&api).await;
    let modified = modified.header("last-modified").expect("a date").to_owned();
    let since = |date: &str| get(&api).header("if-modified-since", date);

    since(&modified).await.expect_text(304, "");
    since("Fri, 02 Jan 2099 03:04:05 GMT")
        .await
        .expect_text(304, "");
    since("Thu, 02 Jan 2020 03:04:05 GMT")
        .await
        .expect_text(200, "hello");
    since("nonsense").await.expect_text(200, "hello");
    let both = since(&modified).header("if-none-match", "\"x\"").await;
    both.expect_text(200, "hello");
}

#[tokio::test]
async fn shared_caches_have_a_time_of_their_own() {
    let api = TestApi::with(&[("plinth.storage.s_maxage", "120")]).await;
    api.has_bucket("b", true).await;
    api.has_object("b/a", "hello").await;

    let reply = get(&api).header("if-none-match", "\"x\"").await;

    reply.expect_header(
        "cache-control",
        "no-cache, s-maxage=120, stale-while-revalidate=30",
    );
}
