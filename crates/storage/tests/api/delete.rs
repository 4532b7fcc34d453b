//! Deleting objects (storage contract §3.9).

use serde_json::{Value, json};

use crate::support::{ErrorBody, Requests, StorageReply, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    for name in ["a", "folder/b", "folder/c"] {
        api.has_object(&format!("b/{name}"), name).await;
    }
    api
}

#[tokio::test]
async fn one_object_goes_and_its_bytes_follow() {
    let api = api().await;
    let delete = api.delete("/object/b/a").service_role();
    let reply = delete.header("content-type", "application/json").await;
    reply.expect_json(200, json!({ "message": "Successfully deleted" }));
    api.get("/object/public/b/a")
        .await
        .fails_with(ErrorBody::NO_SUCH_KEY);
    assert_eq!(api.ledger().await, (0, 1));
    assert_eq!(
        api.files(),
        (0, 3),
        "bytes stay for downloads that have begun"
    );
    assert_eq!(api.collect_garbage().await, 0);
    assert_eq!(api.collect_garbage_later().await, 1);
    assert_eq!(api.files(), (0, 2));
    for path in [
        "/object/b/a",
        "/object/b/bad~key",
        "/object/none/a",
        "/object/b/",
    ] {
        api.delete(path)
            .service_role()
            .await
            .fails_with(ErrorBody::NO_SUCH_KEY);
    }
}

#[tokio::test]
async fn many_go_by_their_exact_names() {
    let api = api().await;
    let delete = async |body: Value| api.delete("/object/b").json(&body).service_role().await;
    let names = json!(["a", "folder", "folder/b", "none", "nul\0", "a"]);

    let reply = delete(json!({ "prefixes": names })).await;

    let rows = reply.expect_ok().json();
    let rows = rows.as_array().expect("a list");
    let mut found: Vec<_> = rows.iter().map(|row| row["name"].as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, [Some("a"), Some("folder/b")]);
    let keys: Vec<_> = rows[0]
        .as_object()
        .expect("a row")
        .keys()
        .cloned()
        .collect();
    let expected = [
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
    assert_eq!(rows[0]["owner"], "");
    assert_eq!(rows[0]["owner_id"], "");
    assert_eq!(api.ledger().await, (0, 2));
    delete(json!({ "prefixes": [] }))
        .await
        .rejects_field("body/prefixes must NOT have fewer than 1 items");
    delete(json!({}))
        .await
        .rejects_field("body must have required property 'prefixes'");
    let many = delete(json!({ "prefixes": vec!["x"; 1001] })).await;
    many.fails_with(ErrorBody(
        400,
        "InvalidRequest",
        "InvalidRequest",
        "Bulk object requests are limited to 1000 objects per request.",
    ));
    let nowhere = api
        .delete("/object/none")
        .json(&json!({ "prefixes": ["a"] }));
    nowhere.service_role().await.expect_json(200, json!([]));
}
