//! The metadata of an object (storage contract §3.4).

use serde_json::{Value, json};

use crate::support::{ANN, ErrorBody, Listener, Requests, Sql, StorageReply, TestApi};

async fn two_buckets() -> TestApi {
    let api = TestApi::start().await;
    for (bucket, is_public) in [("open", true), ("shut", false)] {
        api.has_bucket(bucket, is_public).await;
        let upload = api
            .upload(&format!("{bucket}/a.txt"), "hello")
            .service_role();
        upload
            .header("cache-control", "max-age=60")
            .await
            .expect_ok();
    }
    api
}

#[tokio::test]
async fn info_says_what_the_row_says() {
    let api = two_buckets().await;
    let row: Value = api
        .query_one("select to_jsonb(o) from storage.objects o where bucket_id = 'shut'")
        .await
        .get(0);

    for path in [
        "/object/info/shut/a.txt",
        "/object/info/authenticated/shut/a.txt",
    ] {
        let reply = api.get(path).service_role().await;
        let mut body = reply.expect_ok().json();
        for time in ["last_modified", "created_at"] {
            let text = body[time].as_str().expect("a time");
            assert!(text.len() == 24 && text.ends_with('Z'), "{text}");
            body[time] = Value::Null;
        }
        let expected = json!({
            "id": row["id"],
            "name": "a.txt",
            "version": row["version"],
            "bucket_id": "shut",
            "size": 5,
            "content_type": "text/plain",
            "cache_control": "max-age=60",
            "etag": "\"5d41402abc4b2a76b9719d911017c592\"",
            "metadata": {},
            "last_modified": null,
            "created_at": null,
        });
        assert_eq!(body, expected);
        reply
            .expect_header("content-type", "application/json")
            .expect_header("etag", "\"5d41402abc4b2a76b9719d911017c592\"")
            .expect_header("cache-control", "max-age=60");
    }
}

#[tokio::test]
async fn info_of_a_bare_row_has_nothing_to_say() {
    let api = two_buckets().await;
    api.execute("insert into storage.objects (bucket_id, name) values ('open', 'bare')")
        .await;

    let body = api.get("/object/info/public/open/bare").await.json();

    for field in [
        "version",
        "size",
        "content_type",
        "cache_control",
        "etag",
        "metadata",
    ] {
        assert_eq!(body[field], Value::Null, "{field}");
    }
    let head = api.head("/object/public/open/bare").await;
    head.expect_ok().expect_no_header("etag");
}

#[tokio::test]
async fn head_responds_as_a_download_would_but_never_partially() {
    let api = two_buckets().await;
    for path in [
        "/object/public/open/a.txt",
        "/object/open/a.txt",
        "/object/info/open/a.txt",
    ] {
        let head = api.head(path).header("if-none-match", "*");
        let reply = head.header("range", "bytes=0-1").await;
        reply
            .expect_text(200, "")
            .expect_header("content-length", "5")
            .expect_header("content-type", "text/plain")
            .expect_header("etag", "\"5d41402abc4b2a76b9719d911017c592\"")
            .expect_header("accept-ranges", "bytes");
        assert!(reply.header("last-modified").is_some());
        api.head(path)
            .await
            .expect_header("cache-control", "max-age=60");
    }
    for path in [
        "/object/shut/a.txt",
        "/object/authenticated/shut/a.txt",
        "/object/info/authenticated/shut/a.txt",
    ] {
        api.head(path)
            .service_role()
            .await
            .expect_ok()
            .expect_header("content-length", "5");
    }
}

#[tokio::test]
async fn head_of_a_missing_object_is_400_for_every_role() {
    let api = two_buckets().await;
    for path in [
        "/object/public/open/none",
        "/object/open/none",
        "/object/public/shut/a.txt",
        "/object/shut/a.txt",
        "/object/none/a.txt",
        "/object/authenticated/shut/a.txt",
        "/object/info/shut/a.txt",
        "/object/public/open/bad~key",
    ] {
        assert_eq!(api.head(path).await.status, 400, "{path}");
        let reply = api.head(path).bearer("nonsense").await;
        assert_eq!(reply.status, 400, "{path}");
        reply.expect_header("content-type", "application/json");
    }
    assert_eq!(api.head("/object/shut/a.txt").user(ANN).await.status, 400);
    let get = api.get("/object/info/shut/a.txt").user(ANN).await;
    get.fails_with(ErrorBody::NO_SUCH_KEY);
}

#[tokio::test]
async fn head_has_no_body_on_the_wire() {
    let api = two_buckets().await;
    let listener = Listener::start(api.router()).await;
    let ask = async |path: &str| {
        let text = format!("HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        listener.exchange(&text).await
    };

    let found = ask("/object/public/open/a.txt").await;
    assert!(found.starts_with("HTTP/1.1 200"), "{found}");
    assert!(found.contains("content-length: 5\r\n"), "{found}");
    assert!(found.ends_with("\r\n\r\n"), "{found}");
    let missing = ask("/object/public/open/none").await;
    assert!(missing.starts_with("HTTP/1.1 400"), "{missing}");
    assert!(missing.ends_with("\r\n\r\n"), "{missing}");
}
