//! Uploads whose body is the file (storage contract §3.1).

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use serde_json::{Value, json};

use crate::support::{ANN, BOB, ErrorBody, Requests, Sql, StorageCall, StorageReply, TestApi};

/// The row of the only object.
async fn row(api: &TestApi) -> Value {
    let sql = "select to_jsonb(o) from storage.objects o";
    api.query_one(sql).await.get(0)
}

#[tokio::test]
async fn a_file_is_stored_with_what_the_headers_say() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;

    let reply = api
        .upload("b/folder/a.txt", "hello")
        .service_role()
        .header("content-type", "text/plain;charset=UTF-8")
        .header("cache-control", "max-age=3600")
        .header("x-metadata", &STANDARD.encode(r#"{"colour":"red"}"#))
        .header("x-robots-tag", "noindex")
        .await;

    let row = row(&api).await;
    reply.expect_json(200, json!({ "Key": "b/folder/a.txt", "Id": row["id"] }));
    let mut metadata = row["metadata"].clone();
    let modified = metadata["lastModified"].take();
    assert!(modified.as_str().is_some_and(|text| text.ends_with('Z')));
    assert_eq!(
        metadata,
        json!({
            "eTag": "\"5d41402abc4b2a76b9719d911017c592\"",
            "size": 5,
            "mimetype": "text/plain;charset=UTF-8",
            "cacheControl": "max-age=3600",
            "lastModified": null,
            "contentLength": 5,
            "httpStatusCode": 200,
            "xRobotsTag": "noindex",
        })
    );
    assert_eq!(row["user_metadata"], json!({ "colour": "red" }));
    assert_eq!(api.ledger().await, (0, 0));
    assert_eq!(api.files(), (0, 1));
}

#[tokio::test]
async fn undeclared_properties_have_defaults() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;

    let upload = api.call(Method::POST, "/object/b/a").service_role();
    upload.await.expect_ok();

    let row = row(&api).await;
    assert_eq!(row["metadata"]["mimetype"], "application/octet-stream");
    assert_eq!(row["metadata"]["cacheControl"], "no-cache");
    assert_eq!(row["metadata"]["size"], 0);
    assert_eq!(row["user_metadata"], json!({}));
    assert_eq!(row["metadata"].get("xRobotsTag"), None);
}

#[tokio::test]
async fn json_is_a_file_like_any_other() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;

    let upload = api.call(Method::POST, "/object/b/a.json").service_role();
    upload
        .body("application/json", "{ not json")
        .await
        .expect_ok();

    let reply = api.get("/object/public/b/a.json").await;
    reply
        .expect_text(200, "{ not json")
        .expect_header("content-type", "application/json");
}

#[tokio::test]
async fn a_stream_of_unknown_length_is_taken_up_to_the_limit() {
    let api = TestApi::with(&[("storage.file_size_limit", "1000000")]).await;
    api.has_bucket("b", true).await;
    let piece = "0123456789".repeat(10_000);
    let pieces = vec![piece.as_str(); 10];

    let upload = api.call(Method::POST, "/object/b/a").service_role();
    upload.stream("text/plain", &pieces).await.expect_ok();
    let reply = api.get("/object/public/b/a").await;
    assert_eq!(reply.body.len(), 1_000_000);
    assert!(reply.text() == pieces.concat());

    let pieces = [pieces, vec!["x"]].concat();
    let upload = api.call(Method::POST, "/object/b/c").service_role();
    let reply = upload.stream("text/plain", &pieces).await;
    reply
        .fails_with(ErrorBody::TOO_LARGE)
        .expect_header("connection", "close");
    assert_eq!(api.count("select count(*) from storage.objects").await, 1);
    assert_eq!(api.files(), (0, 1), "nothing of it is left");
}

#[tokio::test]
async fn the_smallest_of_all_limits_holds() {
    let api = TestApi::with(&[
        ("storage.file_size_limit", "100"),
        ("plinth.storage.file_size_limit_standard", "50"),
    ])
    .await;
    api.has_bucket("wide", false).await;
    let body = json!({ "name": "narrow", "file_size_limit": 10 });
    api.post("/bucket", body).service_role().await.expect_ok();
    let body = json!({ "name": "closed", "file_size_limit": 0 });
    api.post("/bucket", body).service_role().await.expect_ok();
    let upload = async |bucket: &str, bytes: usize| {
        let place = format!("{bucket}/{bytes}");
        api.upload(&place, &"x".repeat(bytes)).service_role().await
    };

    upload("wide", 50).await.expect_ok();
    upload("wide", 51).await.fails_with(ErrorBody::TOO_LARGE);
    upload("narrow", 10).await.expect_ok();
    upload("narrow", 11).await.fails_with(ErrorBody::TOO_LARGE);
    upload("closed", 0).await.expect_ok();
    upload("closed", 1).await.fails_with(ErrorBody::TOO_LARGE);
}

#[tokio::test]
async fn a_bucket_takes_the_types_that_it_lists() {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "allowed_mime_types": ["image/*", "text/plain"] });
    api.post("/bucket", body).service_role().await.expect_ok();
    let upload = async |kind: &str| {
        let upload = api.call(Method::PUT, "/object/b/a").service_role();
        upload.body(kind, "x").await
    };

    upload("image/png").await.expect_ok();
    upload("text/plain").await.expect_ok();
    upload("text/plain;charset=UTF-8").await.expect_ok();
    upload("text/html").await.fails_with(ErrorBody(
        415,
        "InvalidMimeType",
        "invalid_mime_type",
        "mime type text/html is not supported",
    ));
    upload("nonsense").await.fails_with(ErrorBody(
        415,
        "InvalidMimeType",
        "invalid_mime_type",
        "Invalid Content-Type header",
    ));
    let untyped = api.call(Method::POST, "/object/b/u").service_role();
    untyped.await.fails_with_code(415, "InvalidMimeType");
}

#[tokio::test]
async fn an_empty_list_of_types_means_all() {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "allowed_mime_types": [] });
    api.post("/bucket", body).service_role().await.expect_ok();

    api.has_object("b/a", "x").await;
}

#[tokio::test]
async fn a_placeholder_of_a_folder_has_any_type_and_no_bytes() {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "allowed_mime_types": ["image/png"] });
    api.post("/bucket", body).service_role().await.expect_ok();

    api.has_object("b/folder/.emptyFolderPlaceholder", "").await;
    let full = api
        .upload("b/other/.emptyFolderPlaceholder", "x")
        .service_role();
    full.await.fails_with(ErrorBody::TOO_LARGE);
}

#[tokio::test]
async fn without_upsert_a_name_is_taken_once() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.has_object("b/a", "first").await;

    for value in ["false", "TRUE", "1", "yes"] {
        let again = api.upload("b/a", "second").service_role();
        let reply = again.header("x-upsert", value).await;
        reply
            .fails_with(ErrorBody::KEY_EXISTS)
            .expect_header("connection", "close");
    }
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "first");
    assert_eq!(api.files(), (0, 1));
    assert_eq!(api.ledger().await, (0, 0));
    let upsert = api.upload("b/a", "second").service_role().upsert();
    upsert.await.expect_ok();
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "second");
}

#[tokio::test]
async fn put_creates_and_replaces() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let put = async |content: &str| {
        let put = api.call(Method::PUT, "/object/b/a").service_role();
        put.body("text/plain", content).await
    };

    put("first").await.expect_ok();
    let first = row(&api).await;
    let reply = put("second").await;

    let second = row(&api).await;
    reply.expect_json(200, json!({ "Key": "b/a", "Id": first["id"] }));
    assert_eq!(first["created_at"], second["created_at"]);
    assert_ne!(first["updated_at"], second["updated_at"]);
    assert_ne!(first["version"], second["version"]);
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "second");
    assert_eq!(api.ledger().await, (0, 1), "the old bytes are to go");
    assert_eq!(api.files(), (0, 2), "but not at once");
}

#[tokio::test]
async fn replacing_resets_user_metadata_and_keeps_the_owner_without_a_sub() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.execute("create policy everything on storage.objects using (true) with check (true)")
        .await;
    let upload = async |caller: Option<&str>, said: Option<&str>| {
        let mut call = api.upload("b/a", "x").upsert();
        call = match caller {
            Some(user) => call.user(user),
            None => call.service_role(),
        };
        if let Some(said) = said {
            call = call.header("x-metadata", &STANDARD.encode(said));
        }
        call.await.expect_ok();
        let row = row(&api).await;
        json!([row["owner"], row["owner_id"], row["user_metadata"]])
    };

    let said = r#"{"a":1}"#;
    assert_eq!(
        upload(Some(ANN), Some(said)).await,
        json!([ANN, ANN, { "a": 1 }])
    );
    assert_eq!(upload(None, None).await, json!([ANN, ANN, {}]));
    assert_eq!(upload(Some(BOB), None).await, json!([BOB, BOB, {}]));
    let named = upload(Some("not a uuid"), None).await;
    assert_eq!(named, json!([null, "not a uuid", {}]));
}

#[tokio::test]
async fn robots_tags_are_validated() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let upload = async |tag: &str| {
        let upload = api.upload("b/a", "x").service_role().upsert();
        upload.header("x-robots-tag", tag).await
    };

    upload("googlebot: noindex, max-snippet:-1")
        .await
        .expect_ok();
    let reply = api.get("/object/public/b/a").await;
    reply.expect_header("x-robots-tag", "googlebot: noindex, max-snippet:-1");
    for bad in ["nonsense", "max-snippet:-2", "", "nöindex"] {
        let reply = upload(bad).await;
        reply.fails_with_code(400, "InvalidRequest");
        assert_eq!(reply.json()["error"], "invalid_x_robots_tag", "{bad}");
        let message = reply.json()["message"].as_str().map(str::to_owned);
        assert!(message.is_some_and(|text| text.starts_with("Invalid X-Robots-Tag header: ")));
    }
}

#[tokio::test]
async fn checks_come_in_their_order_and_before_any_byte() {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "file_size_limit": 3, "allowed_mime_types": ["a/b"] });
    api.post("/bucket", body).service_role().await.expect_ok();
    let bad = || {
        let call = api.upload("b/bad~key", "too long");
        call.header("x-robots-tag", "nonsense")
    };

    // Everything is wrong; each correction brings the next error.
    bad().await.fails_with(ErrorBody::NO_AUTHORIZATION);
    let missing = api.upload("none/bad~key", "too long").user(ANN);
    missing.await.fails_with(ErrorBody::NO_SUCH_BUCKET);
    let reply = bad().user(ANN).await;
    assert_eq!(reply.json()["error"], "invalid_x_robots_tag");
    let good_robots = || api.upload("b/bad~key", "too long").user(ANN);
    good_robots().await.fails_with(ErrorBody::TOO_LARGE);
    let small = || api.upload("b/bad~key", "abc").user(ANN);
    small().await.fails_with_code(415, "InvalidMimeType");
    let typed = || small().header("content-type", "a/b");
    typed().await.fails_with(ErrorBody(
        400,
        "InvalidKey",
        "InvalidKey",
        "Invalid key: bad~key",
    ));
    let named = api.upload("b/key", "abc").user(ANN);
    let reply = named.header("content-type", "a/b").await;
    reply
        .fails_with(ErrorBody::RLS)
        .expect_header("connection", "close");
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn metadata_that_is_no_object_counts_as_none() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let upload = async |header: &str| {
        let upload = api.upload("b/a", "x").service_role().upsert();
        upload.header("x-metadata", header).await.expect_ok();
        row(&api).await["user_metadata"].clone()
    };

    assert_eq!(
        upload(&STANDARD.encode(r#"{"a":[1,null]}"#)).await,
        json!({ "a": [1, null] })
    );
    for text in ["null", "[1]", "\"text\"", "7", "{", "", "{\"a\":1e999}"] {
        assert_eq!(upload(&STANDARD.encode(text)).await, json!({}), "{text}");
    }
    assert_eq!(upload("%%% no base64").await, json!({}));
    let deep = format!("{}{}", "{\"a\":".repeat(5000), "1");
    assert_eq!(upload(&STANDARD.encode(deep)).await, json!({}));
}

#[tokio::test]
async fn a_nul_character_is_rejected() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let header = STANDARD.encode(r#"{"a":"\u0000"}"#);

    let reply = api
        .upload("b/a", "x")
        .service_role()
        .header("x-metadata", &header)
        .await;

    reply.fails_with_code(400, "InvalidParameter");
    assert_eq!(api.files(), (0, 0));
}
