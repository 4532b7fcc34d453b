//! Downloads (storage contract §3.3).

use http::Method;
use serde_json::json;

use crate::support::{ANN, ErrorBody, Listener, Requests, Sql, StorageReply, TestApi, sign};

/// A public bucket and a private one, with the same object in each.
async fn two_buckets() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("open", true).await;
    api.has_bucket("shut", false).await;
    for bucket in ["open", "shut"] {
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
async fn a_response_has_all_its_headers() {
    let api = two_buckets().await;

    let reply = api.get("/object/public/open/a.txt").await;

    reply
        .expect_text(200, "hello")
        .expect_header("accept-ranges", "bytes")
        .expect_header("content-type", "text/plain")
        .expect_header("content-length", "5")
        .expect_header("etag", "\"5d41402abc4b2a76b9719d911017c592\"")
        .expect_header("cache-control", "max-age=60")
        .expect_header("x-robots-tag", "none")
        .expect_header("x-content-type-options", "nosniff")
        .expect_no_header("expires")
        .expect_no_header("content-disposition")
        .expect_no_header("content-encoding");
    let modified = reply.header("last-modified").expect("a date");
    assert!(modified.ends_with(" GMT"), "{modified}");
}

#[tokio::test]
async fn a_public_bucket_is_open_on_every_way() {
    let api = two_buckets().await;
    for path in ["/object/public/open/a.txt", "/object/open/a.txt"] {
        api.get(path).await.expect_text(200, "hello");
        api.get(path)
            .bearer("nonsense")
            .await
            .expect_text(200, "hello");
        api.get(path).user(ANN).await.expect_text(200, "hello");
    }
    let reply = api.get("/object/authenticated/open/a.txt").user(ANN).await;
    reply.expect_text(200, "hello");
    api.get("/object/public/open/none")
        .await
        .fails_with(ErrorBody::NO_SUCH_KEY);
}

#[tokio::test]
async fn responses_do_not_reveal_a_private_bucket() {
    let api = two_buckets().await;
    for place in ["shut/a.txt", "shut/none", "missing/a.txt"] {
        let path = format!("/object/public/{place}");
        api.get(&path).await.fails_with(ErrorBody::NO_SUCH_BUCKET);
        api.get(&path)
            .service_role()
            .await
            .fails_with(ErrorBody::NO_SUCH_BUCKET);
        let path = format!("/object/{place}");
        api.get(&path).await.fails_with(ErrorBody::NO_SUCH_BUCKET);
        api.get(&path)
            .bearer("nonsense")
            .await
            .fails_with(ErrorBody::NO_SUCH_BUCKET);
        let expired = sign(&json!({ "role": "service_role", "exp": 1 }));
        api.get(&path)
            .bearer(&expired)
            .await
            .fails_with(ErrorBody::NO_SUCH_BUCKET);
        let path = format!("/object/info/{place}");
        api.get(&path).await.fails_with(ErrorBody::NO_SUCH_BUCKET);
        let path = format!("/object/info/public/{place}");
        api.get(&path)
            .service_role()
            .await
            .fails_with(ErrorBody::NO_SUCH_BUCKET);
    }
}

#[tokio::test]
async fn a_private_object_is_shown_to_whom_policies_let() {
    let api = two_buckets().await;
    let path = "/object/authenticated/shut/a.txt";
    for path in [path, "/object/shut/a.txt"] {
        api.get(path).service_role().await.expect_text(200, "hello");
        api.get(path)
            .user(ANN)
            .await
            .fails_with(ErrorBody::NO_SUCH_KEY);
    }
    api.execute(
        "create policy anns on storage.objects for select
         using (auth.uid() = '00000000-0000-0000-0000-00000000000a')",
    )
    .await;
    for path in [path, "/object/shut/a.txt"] {
        api.get(path).user(ANN).await.expect_text(200, "hello");
        api.get(path)
            .role("anon")
            .await
            .fails_with(ErrorBody::NO_SUCH_KEY);
    }
    api.get(path).await.fails_with(ErrorBody::NO_AUTHORIZATION);
    api.get(path).bearer("nonsense").await.fails_with(ErrorBody(
        403,
        "AccessDenied",
        "Unauthorized",
        "Invalid Compact JWS",
    ));
}

#[tokio::test]
async fn pages_are_shown_as_text_and_drawings_in_a_sandbox() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    for (key, kind) in [
        ("page", "text/html; charset=utf-8"),
        ("drawing", "image/svg+xml"),
    ] {
        let upload = api.call(Method::POST, &format!("/object/b/{key}"));
        upload.service_role().body(kind, "<x/>").await.expect_ok();
    }

    let page = api.get("/object/public/b/page").await;
    page.expect_header("content-type", "text/plain")
        .expect_header("x-content-type-options", "nosniff");
    let info = api.get("/object/info/public/b/page").await;
    assert_eq!(info.json()["content_type"], "text/html; charset=utf-8");
    api.get("/object/public/b/drawing")
        .await
        .expect_header("content-type", "image/svg+xml")
        .expect_header("content-security-policy", "sandbox");
}

#[tokio::test]
async fn a_download_can_be_named_and_other_parameters_do_not_matter() {
    let api = two_buckets().await;
    let get = async |query: &str| api.get(&format!("/object/public/open/a.txt?{query}")).await;

    get("download")
        .await
        .expect_header("content-disposition", "attachment;");
    get("download=")
        .await
        .expect_header("content-disposition", "attachment;");
    get("download=m%C3%BCsli%20%22x%22.txt").await.expect_header(
        "content-disposition",
        "attachment; filename=m%C3%BCsli%20%22x%22.txt; filename*=UTF-8''m%C3%BCsli%20%22x%22.txt",
    );
    get("cacheNonce=1&v=2&width=x&download=a")
        .await
        .expect_text(200, "hello");
    get("download=%0d%0aSet-Cookie:a=b")
        .await
        .expect_ok()
        .expect_no_header("set-cookie");
    let private = api
        .get("/object/shut/a.txt?download=a")
        .service_role()
        .await;
    private.expect_header(
        "content-disposition",
        "attachment; filename=a; filename*=UTF-8''a",
    );
}

#[tokio::test]
async fn a_row_without_bytes_says_so() {
    let api = two_buckets().await;
    api.execute("insert into storage.objects (bucket_id, name) values ('open', 'bare')")
        .await;
    api.execute(
        "insert into storage.objects (bucket_id, name, version, metadata) values
         ('open', 'lost', gen_random_uuid()::text, '{\"size\": 5}'),
         ('open', '../../etc/passwd', '../../etc/passwd', '{\"size\": 5}')",
    )
    .await;

    for name in ["bare", "lost"] {
        let reply = api.get(&format!("/object/public/open/{name}")).await;
        reply.fails_with(ErrorBody::NO_BYTES);
    }
}

#[tokio::test]
async fn rows_that_users_wrote_are_served_as_well_as_they_can_be() {
    let api = two_buckets().await;
    let get = async |metadata: &str| {
        let sql =
            format!("update storage.objects set metadata = {metadata} where bucket_id = 'open'");
        api.execute(&sql).await;
        api.get("/object/public/open/a.txt").await
    };

    get("'{\"size\":\"5\"}'")
        .await
        .expect_text(200, "hello")
        .expect_no_header("etag");
    get("'{}'")
        .await
        .expect_text(200, "hello")
        .expect_header("content-length", "5");
    get("null").await.expect_text(200, "hello");
    get("'[1]'").await.expect_text(200, "hello");
    get("'{\"eTag\":7,\"mimetype\":null,\"cacheControl\":[]}'")
        .await
        .expect_text(200, "hello")
        .expect_header("cache-control", "no-cache")
        .expect_header("content-type", "application/octet-stream");
    // A row that claims more bytes than there are must not hang the download.
    get("'{\"size\":500}'")
        .await
        .fails_with(ErrorBody::NO_BYTES);
    get("'{\"size\":50000000}'")
        .await
        .fails_with(ErrorBody::NO_BYTES);
}

#[tokio::test]
async fn metadata_that_fits_no_header_is_a_client_error() {
    let api = two_buckets().await;
    for (name, value) in [
        ("mimetype", "text/plain\\u0001"),
        ("cacheControl", "a\\r\\nb: c"),
        ("eTag", "\\\"\u{4e2d}\\\""),
        ("xRobotsTag", "\\u007f"),
    ] {
        let sql = format!(
            "update storage.objects set metadata = '{{\"size\":5,\"{name}\":\"{value}\"}}'
             where bucket_id = 'open'"
        );
        api.execute(&sql).await;
        let reply = api.get("/object/public/open/a.txt").await;
        reply.fails_with_code(400, "InvalidRequest");
        assert_eq!(reply.json()["error"], "invalid_header_char", "{name}");
        let head = api.head("/object/public/open/a.txt").await;
        assert_eq!(head.status, 400, "{name}");
    }
    // Headers are Latin-1.
    api.execute(
        "update storage.objects set metadata = '{\"size\":5,\"cacheControl\":\"\u{e9}\"}'
         where bucket_id = 'open'",
    )
    .await;
    let reply = api.get("/object/public/open/a.txt").await;
    assert_eq!(reply.headers["cache-control"].as_bytes(), b"\xe9");
}

#[tokio::test]
async fn times_that_no_calendar_has_are_no_times() {
    let api = two_buckets().await;
    api.execute(
        "update storage.objects set
            created_at = 'infinity', last_accessed_at = '-infinity', metadata = metadata - 'lastModified'",
    )
    .await;
    api.get("/object/public/open/a.txt")
        .await
        .expect_text(200, "hello");
    let info = api.get("/object/info/public/open/a.txt").await;
    assert_eq!(info.expect_ok().json()["created_at"], json!(null));
    let list = api
        .post("/object/list-v2/open", json!({}))
        .service_role()
        .await;
    assert_eq!(list.expect_ok().json()["objects"][0]["name"], "a.txt");
    let list = api
        .post("/object/list/open", json!({ "prefix": "" }))
        .service_role()
        .await;
    assert_eq!(list.expect_ok().json()[0]["name"], "a.txt");
    let delete = api
        .delete("/object/open")
        .json(&json!({ "prefixes": ["a.txt"] }));
    let gone = delete.service_role().await;
    assert_eq!(gone.expect_ok().json()[0]["created_at"], json!(null));
}

#[tokio::test]
async fn reading_changes_nothing() {
    let api = two_buckets().await;
    let before =
        api.query_one("select to_jsonb(o) from storage.objects o where bucket_id = 'open'");
    let before: serde_json::Value = before.await.get(0);
    api.get("/object/public/open/a.txt").await.expect_ok();
    let after = api.query_one("select to_jsonb(o) from storage.objects o where bucket_id = 'open'");
    let after: serde_json::Value = after.await.get(0);
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_download_that_has_begun_outlives_its_object() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let large = "0123456789".repeat(300_000);
    api.has_object("b/a", &large).await;
    let listener = Listener::start(api.router()).await;
    let request = "GET /object/public/b/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let mut stream = listener.send(request).await;
    let mut first = [0; 64];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut first)
        .await
        .expect("the response begins");

    api.delete("/object/b/a").service_role().await.expect_ok();
    api.collect_garbage_later().await;

    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest)
        .await
        .expect("the response ends");
    assert!(rest.ends_with(&large.as_bytes()[1000..]));
    assert_eq!(api.files(), (0, 0));
}
