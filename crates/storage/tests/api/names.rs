//! Names of objects and buckets, and paths (storage contract §1.1, §13).

use http::Method;
use serde_json::json;

use crate::support::{ErrorBody, Requests, Sql, StorageReply, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api
}

#[tokio::test]
async fn a_key_is_decoded_once_and_keeps_its_slashes() {
    let api = api().await;
    for (path, key) in [
        ("a%2Fb", "a/b"),
        ("a//b", "a//b"),
        ("/leading", "/leading"),
        ("trailing/", "trailing/"),
        ("plus+sign%20space", "plus+sign space"),
        ("a%3Fb", "a?b"),
        ("..a/b..", "..a/b.."),
        ("c/...", "c/..."),
    ] {
        let upload = api.upload(&format!("b/{path}"), key).service_role().await;
        let id = upload.json()["Id"].clone();
        upload.expect_json(200, json!({ "Key": format!("b/{key}"), "Id": id }));
        api.get(&format!("/object/public/b/{path}"))
            .await
            .expect_text(200, key);
        let sql = format!("select count(*) from storage.objects where name = '{key}'");
        assert_eq!(api.count(&sql).await, 1, "{key}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_its_bucket() {
    let api = api().await;
    api.has_bucket("secret", false).await;
    api.has_object("secret/x", "secret").await;
    for path in [
        "../secret/x",
        "%2e%2e/secret/x",
        "..%2fsecret%2fx",
        "%2e%2e%2fsecret%2fx",
        "%252e%252e%252fsecret%252fx",
        "..%5csecret%5cx",
        "..%c0%afsecret",
        "a/../../secret/x",
        "a/%2e%2e/b",
        "./a",
        "a/.",
        "a/..",
        "..",
        "%00",
        "a%00/../b",
        "%ef%bc%8e%ef%bc%8e/secret",
        "\u{2025}/secret",
        "/../secret",
        "//../../etc/passwd",
        "C:%5cWindows",
    ] {
        for prefix in [
            "/object/b/",
            "/object/public/b/",
            "/object/authenticated/b/",
            "/object/info/b/",
            "/object/info/public/b/",
        ] {
            let reply = api.get(&format!("{prefix}{path}")).service_role().await;
            assert_eq!(reply.status, 400, "{reply:#?}");
        }
        for method in [Method::POST, Method::PUT] {
            let reply = api
                .call(method, &format!("/object/b/{path}"))
                .service_role();
            let reply = reply.body("text/plain", "evil").await;
            assert_eq!(reply.status, 400, "{reply:#?}");
        }
        let sign = api.post(&format!("/object/sign/b/{path}"), json!({ "expiresIn": 9 }));
        assert_eq!(sign.service_role().await.status, 400, "{path}");
        let sign = api.post(&format!("/object/upload/sign/b/{path}"), json!({}));
        assert_eq!(sign.service_role().await.status, 400, "{path}");
        let delete = api
            .delete(&format!("/object/b/{path}"))
            .service_role()
            .await;
        assert_eq!(delete.status, 400, "{delete:#?}");
    }
    for bucket in [
        "..",
        "%2e%2e",
        "b%2f..%2fsecret",
        "..%2fsecret",
        ".%00",
        "%ff",
    ] {
        let reply = api.get(&format!("/object/public/{bucket}/x")).await;
        assert_eq!(reply.status, 400, "{reply:#?}");
        let reply = api
            .delete(&format!("/bucket/{bucket}"))
            .service_role()
            .await;
        assert_eq!(reply.status, 400, "{reply:#?}");
    }
    assert_eq!(api.count("select count(*) from storage.objects").await, 1);
    assert_eq!(api.blobs().len(), 1);
    let entries = std::fs::read_dir(api.folder()).expect("a folder").count();
    assert_eq!(entries, 1, "the files, and nothing beside them");
}

#[tokio::test]
async fn a_rejected_key_does_not_reveal_where_blobs_are() {
    let api = api().await;
    let reply = api.upload("b/a/../b", "x").service_role().await;
    reply.fails_with(ErrorBody(
        400,
        "InvalidKey",
        "InvalidKey",
        "Invalid key: a/../b",
    ));
}

#[tokio::test]
async fn keys_have_an_alphabet_and_a_length() {
    let api = api().await;
    for key in [
        "a~b", "a[b", "a{b", "a^b", "a|b", "a\\b", "a`b", "a<b", "a%23b", "a%25b", "\u{fc}",
    ] {
        let reply = api.upload(&format!("b/{key}"), "x").service_role().await;
        reply.fails_with_code(400, "InvalidKey");
    }
    let longest = "k".repeat(1024);
    api.has_object(&format!("b/{longest}"), "x").await;
    api.get(&format!("/object/public/b/{longest}"))
        .await
        .expect_ok();
    let longer = api
        .upload(&format!("b/{longest}k"), "x")
        .service_role()
        .await;
    longer.fails_with_code(400, "InvalidKey");
}

#[tokio::test]
async fn an_invalid_bucket_is_rejected_before_it_is_looked_up() {
    let api = api().await;
    let long = "b".repeat(101);
    for bucket in ["a%2Fb", "a~b", "%C3%BC", &long, "a%00b"] {
        for call in [
            api.get(&format!("/object/public/{bucket}/k")),
            api.get(&format!("/bucket/{bucket}")).service_role(),
            api.upload(&format!("{bucket}/k"), "x").service_role(),
            api.delete(&format!("/object/{bucket}/k")).service_role(),
            api.post(&format!("/object/list/{bucket}"), json!({ "prefix": "" }))
                .service_role(),
            api.post(&format!("/object/list-v2/{bucket}"), json!({}))
                .service_role(),
        ] {
            call.await.fails_with(ErrorBody::BAD_BUCKET_NAME);
        }
    }
    for path in ["/object/public/b/%zz", "/object/public/%/k", "/bucket/%ff"] {
        let reply = api.get(path).service_role().await;
        assert_eq!(reply.status, 400, "{reply:#?}");
    }
}

#[tokio::test]
async fn words_of_routes_are_buckets_where_they_are_no_routes() {
    let api = api().await;
    api.has_bucket("list", true).await;
    api.has_bucket("public", true).await;
    let upload = api.call(Method::POST, "/object/list/b/").service_role();
    let reply = upload.body("text/plain", "x").await;
    assert_eq!(reply.json()["Key"], "list/b/");
    api.has_object("public/k", "in public").await;
    api.get("/object/public/public/k")
        .await
        .expect_text(200, "in public");
    let reply = api.get("/bucket/").service_role().await;
    assert_eq!(reply.json().as_array().map(Vec::len), Some(3));
}
