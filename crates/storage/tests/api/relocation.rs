//! Moving and copying (storage contract §3.8).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{ANN, ErrorBody, Reply, Requests, Sql, StorageCall, StorageReply, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.has_bucket("c", true).await;
    let upload = api.upload("b/a", "hello").service_role();
    let upload = upload.header("x-metadata", &STANDARD.encode(r#"{"n":1}"#));
    upload
        .header("cache-control", "max-age=60")
        .await
        .expect_ok();
    api.execute(
        "create policy o on storage.objects to authenticated using (true) with check (true)",
    )
    .await;
    api
}

fn ways(to: &str) -> Value {
    json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": to })
}

async fn move_to(api: &TestApi, body: Value) -> Reply {
    api.post("/object/move", body).user(ANN).await
}

async fn row(api: &TestApi, name: &str) -> Value {
    let sql = format!("select to_jsonb(o) from storage.objects o where name = '{name}'");
    api.query_one(&sql).await.get(0)
}

#[tokio::test]
async fn a_move_changes_the_name_and_the_owner_and_no_byte() {
    let api = api().await;
    let before = row(&api, "a").await;

    let reply = move_to(&api, ways("folder/b")).await;

    reply.expect_json(200, json!({ "message": "Successfully moved" }));
    let after = row(&api, "folder/b").await;
    for kept in ["id", "created_at", "user_metadata"] {
        assert_eq!(before[kept], after[kept], "{kept}");
    }
    assert_ne!(
        before["metadata"]["lastModified"],
        after["metadata"]["lastModified"]
    );
    assert_eq!(before["metadata"]["eTag"], after["metadata"]["eTag"]);
    assert_eq!(after["owner_id"], ANN);
    api.get("/object/public/b/folder/b")
        .await
        .expect_text(200, "hello");
    api.get("/object/public/b/a")
        .await
        .fails_with(ErrorBody::NO_SUCH_KEY);
    assert_eq!(api.ledger().await, (0, 0));
    let mut body = json!({ "bucketId": "b", "sourceKey": "folder/b", "destinationKey": "x" });
    body["destinationBucket"] = json!("c");
    move_to(&api, body).await.expect_ok();
    api.get("/object/public/c/x")
        .await
        .expect_text(200, "hello");
    let service = json!({ "bucketId": "c", "sourceKey": "x", "destinationKey": "y" });
    api.post("/object/move", service)
        .service_role()
        .await
        .expect_ok();
    assert_eq!(
        row(&api, "y").await["owner_id"],
        ANN,
        "one without a name keeps it"
    );
}

#[tokio::test]
async fn a_move_that_cannot_be_is_rejected() {
    let api = api().await;
    api.has_object("b/taken", "x").await;
    let taken = move_to(&api, ways("taken")).await;
    taken.fails_with(ErrorBody(
        409,
        "ResourceAlreadyExists",
        "Duplicate",
        "The resource already exists",
    ));
    let mut away = ways("a");
    away["destinationBucket"] = json!("none");
    move_to(&api, away)
        .await
        .fails_with(ErrorBody::RELATED_MISSING);
    let missing = json!({ "bucketId": "b", "sourceKey": "none", "destinationKey": "x" });
    move_to(&api, missing)
        .await
        .fails_with(ErrorBody::NO_SUCH_KEY);
    for bad in ["", "../x", "a/../../x", "x~", "\u{fc}", "x\0"] {
        move_to(&api, ways(bad))
            .await
            .fails_with_code(400, "InvalidKey");
    }
    move_to(&api, ways("a"))
        .await
        .expect_json(200, json!({ "message": "Successfully moved" }));
    for field in ["bucketId", "sourceKey", "destinationKey"] {
        let mut body = ways("x");
        body.as_object_mut().expect("an object").remove(field);
        let message = format!("body must have required property '{field}'");
        move_to(&api, body).await.rejects_field(&message);
    }
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "hello");
}

#[tokio::test]
async fn an_object_with_an_invalid_name_can_be_moved() {
    let api = api().await;
    api.execute("update storage.objects set name = 'b\u{fc}cher#1' where name = 'a'")
        .await;
    let body = json!({ "bucketId": "b", "sourceKey": "b\u{fc}cher#1", "destinationKey": "a" });
    move_to(&api, body).await.expect_ok();
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "hello");
}

#[tokio::test]
async fn a_copy_has_the_same_bytes_and_a_life_of_its_own() {
    let api = api().await;
    let mut body = ways("copy");
    body["destinationBucket"] = json!("c");
    body["metadata"] = json!({ "mimetype": "image/png" });

    let reply = api.post("/object/copy", body).user(ANN).await;

    let response = reply.expect_ok().json();
    let copy = row(&api, "copy").await;
    assert_eq!(response["Key"], "c/copy");
    assert_eq!(response["Id"], copy["id"]);
    let keys: Vec<_> = response
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    let expected = [
        "Id",
        "Key",
        "bucket_id",
        "created_at",
        "id",
        "last_accessed_at",
        "metadata",
        "name",
        "owner",
        "owner_id",
        "updated_at",
        "user_metadata",
        "version",
    ];
    assert_eq!(keys, expected);
    assert_eq!(copy["owner_id"], ANN);
    assert_eq!(copy["user_metadata"], json!({ "n": 1 }));
    assert_eq!(
        copy["metadata"]["mimetype"], "text/plain",
        "as its source has it"
    );
    assert_eq!(copy["metadata"]["cacheControl"], "max-age=60");
    assert_ne!(copy["version"], row(&api, "a").await["version"]);
    api.delete("/object/b/a").service_role().await.expect_ok();
    api.collect_garbage_later().await;
    api.get("/object/public/c/copy")
        .await
        .expect_text(200, "hello");
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn a_copy_may_be_described_anew() {
    let api = api().await;
    let copy = async |to: &str, metadata: Value, header: Option<&str>| {
        let mut body = ways(to);
        body["copyMetadata"] = json!(false);
        body["metadata"] = metadata;
        let mut call = api.post("/object/copy", body).user(ANN).upsert();
        if let Some(header) = header {
            call = call.header("x-metadata", &STANDARD.encode(header));
        }
        call.await.expect_ok();
        let row = row(&api, to).await;
        let metadata = &row["metadata"];
        json!([
            metadata["mimetype"],
            metadata["cacheControl"],
            row["user_metadata"]
        ])
    };
    let described = copy("x", json!({ "mimetype": "a/b" }), Some(r#"{"m":2}"#)).await;
    assert_eq!(described, json!(["a/b", "max-age=60", { "m": 2 }]));
    let described = copy("x", json!({ "cacheControl": "no-store" }), None).await;
    assert_eq!(
        described,
        json!(["text/plain", "no-store", { "m": 2 }]),
        "kept"
    );
    let described = copy("y", json!({}), None).await;
    assert_eq!(described, json!(["text/plain", "max-age=60", null]));
    let onto = copy("a", json!({ "mimetype": "c/d" }), None).await;
    assert_eq!(onto, json!(["c/d", "max-age=60", { "n": 1 }]));
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "hello");

    let mut body = ways("z");
    body["copyMetadata"] = json!(false);
    body["metadata"] = json!({ "mimetype": "a/b\r\nx: y" });
    let reply = api.post("/object/copy", body.clone()).user(ANN).await;
    reply.fails_with_code(415, "InvalidMimeType");
    body["metadata"] = json!({ "cacheControl": "\u{1}" });
    let reply = api.post("/object/copy", body).user(ANN).await;
    reply.fails_with_code(400, "InvalidRequest");
}

#[tokio::test]
async fn a_copy_that_cannot_be_is_rejected() {
    let api = api().await;
    api.has_object("b/taken", "taken").await;
    let copy = async |body: Value| api.post("/object/copy", body).user(ANN).await;

    copy(ways("taken")).await.fails_with(ErrorBody::KEY_EXISTS);
    copy(ways("a")).await.fails_with(ErrorBody::KEY_EXISTS);
    let mut away = ways("a");
    away["destinationBucket"] = json!("none");
    copy(away).await.fails_with(ErrorBody::RELATED_MISSING);
    let missing = json!({ "bucketId": "b", "sourceKey": "none", "destinationKey": "x" });
    copy(missing).await.fails_with(ErrorBody::NO_SUCH_KEY);
    let nowhere = json!({ "bucketId": "none", "sourceKey": "a", "destinationKey": "x" });
    copy(nowhere).await.fails_with(ErrorBody::NO_SUCH_KEY);
    copy(ways("../x")).await.fails_with_code(400, "InvalidKey");
    api.execute("insert into storage.objects (bucket_id, name, version) values ('b', 'bare', 'v')")
        .await;
    let bare = json!({ "bucketId": "b", "sourceKey": "bare", "destinationKey": "x" });
    copy(bare).await.fails_with(ErrorBody::NO_BYTES);
    api.execute("update storage.objects set version = gen_random_uuid()::text where name = 'bare'")
        .await;
    let lost = json!({ "bucketId": "b", "sourceKey": "bare", "destinationKey": "x" });
    copy(lost).await.fails_with(ErrorBody::NO_BYTES);
    assert_eq!(api.ledger().await.0, 0);
    assert_eq!(api.files(), (0, 2));
}
