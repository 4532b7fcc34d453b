//! Lists by cursor (storage contract §3.6).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{Reply, Requests, Sql, StorageReply, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.execute(
        "insert into storage.objects (bucket_id, name, created_at, updated_at) values
         ('b', 'B', '2020-01-03', '2020-01-03'),
         ('b', 'a', '2020-01-02 00:00:00.001001Z', '2020-01-02'),
         ('b', 'c', '2020-01-02 00:00:00.001999Z', '2020-01-02'),
         ('b', 'd/x', '2020-01-05', '2020-01-05'),
         ('b', 'd/y/z', '2020-01-01', '2020-01-06'),
         ('b', 'dd', '2020-01-04', '2020-01-04')",
    )
    .await;
    api
}

async fn list(api: &TestApi, body: Value) -> Reply {
    api.post("/object/list-v2/b", body).service_role().await
}

/// All names, page by page.
async fn walk(api: &TestApi, mut body: Value) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..20 {
        let page = list(api, body.clone()).await.expect_ok().json();
        let mut rows: Vec<Value> = page["folders"].as_array().expect("folders").clone();
        rows.extend(page["objects"].as_array().expect("objects").iter().cloned());
        names.extend(
            rows.iter()
                .map(|row| row["name"].as_str().expect("a name").to_owned()),
        );
        if page["hasNext"] == json!(false) {
            assert_eq!(page.get("nextCursor"), None);
            assert_eq!(page.get("nextCursorKey"), None);
            return names;
        }
        body["cursor"] = page["nextCursor"].clone();
    }
    panic!("the pages never end: {names:?}");
}

#[tokio::test]
async fn without_folders_everything_below_a_prefix_is_listed_in_byte_order() {
    let api = api().await;
    for limit in [1, 2, 1000, 5000] {
        let all = walk(&api, json!({ "limit": limit })).await;
        assert_eq!(all, ["B", "a", "c", "d/x", "d/y/z", "dd"]);
        let below = walk(&api, json!({ "prefix": "d", "limit": limit })).await;
        assert_eq!(below, ["d/x", "d/y/z", "dd"], "no slash is added");
        let none = walk(&api, json!({ "prefix": "D", "limit": limit })).await;
        assert!(none.is_empty(), "case counts");
        let sort = json!({ "column": "name", "order": "desc" });
        let down = walk(&api, json!({ "sortBy": sort, "limit": limit })).await;
        assert_eq!(down, ["dd", "d/y/z", "d/x", "c", "a", "B"]);
    }
    let page = list(&api, json!({ "limit": 1 })).await.json();
    let object = &page["objects"][0];
    assert_eq!(
        object,
        &json!({
            "id": object["id"],
            "name": "B",
            "metadata": null,
            "updated_at": "2020-01-03T00:00:00.000Z",
            "created_at": "2020-01-03T00:00:00.000Z",
            "last_accessed_at": object["last_accessed_at"],
        })
    );
    assert_eq!(page["nextCursorKey"], "B");
}

#[tokio::test]
async fn with_folders_one_level_is_listed() {
    let api = api().await;
    for limit in [1, 2, 1000] {
        let body = json!({ "with_delimiter": true, "limit": limit });
        let mut names = walk(&api, body).await;
        names.sort_unstable();
        assert_eq!(names, ["B", "a", "c", "d/", "dd"]);
        let body = json!({ "with_delimiter": "true", "prefix": "d/", "limit": limit });
        let mut names = walk(&api, body).await;
        names.sort_unstable();
        assert_eq!(names, ["d/x", "d/y/"]);
    }
    let page = list(&api, json!({ "with_delimiter": true, "prefix": "d/" }))
        .await
        .json();
    assert_eq!(
        page["folders"],
        json!([{
            "key": "y", "name": "d/y/", "id": null, "updated_at": null, "created_at": null,
            "last_accessed_at": null, "metadata": null,
        }])
    );
    assert_eq!(page["objects"][0]["key"], "x");
    assert_eq!(page["objects"][0]["name"], "d/x");
}

#[tokio::test]
async fn times_count_in_milliseconds_and_names_break_ties() {
    let api = api().await;
    for limit in [1, 2, 1000] {
        let sort = json!({ "column": "created_at", "order": "asc" });
        let names = walk(&api, json!({ "sortBy": sort, "limit": limit })).await;
        assert_eq!(names, ["d/y/z", "a", "c", "B", "dd", "d/x"]);
        let sort = json!({ "column": "created_at", "order": "desc" });
        let names = walk(&api, json!({ "sortBy": sort, "limit": limit })).await;
        assert_eq!(names, ["d/x", "dd", "B", "c", "a", "d/y/z"]);
        let sort = json!({ "column": "created_at", "order": "asc" });
        let body = json!({ "sortBy": sort, "limit": limit, "with_delimiter": true });
        let names = walk(&api, body).await;
        assert_eq!(names.len(), 5, "{names:?}");
    }
    let sort = json!({ "column": "created_at", "order": "asc" });
    let body = json!({ "sortBy": sort, "with_delimiter": true });
    let page = list(&api, body).await.json();
    assert_eq!(page["folders"][0]["created_at"], "2020-01-01T00:00:00.000Z");
    assert_eq!(page["folders"][0]["updated_at"], "2020-01-01T00:00:00.000Z");
}

#[tokio::test]
async fn a_cursor_knows_its_order_and_bad_ones_are_rejected() {
    let api = api().await;
    let sort = json!({ "column": "name", "order": "desc" });
    let page = list(&api, json!({ "sortBy": sort, "limit": 2 }))
        .await
        .json();
    let body = json!({
        "cursor": page["nextCursor"], "sortBy": { "column": "created_at", "order": "asc" },
    });
    let rest = walk(&api, body).await;
    assert_eq!(rest, ["d/x", "c", "a", "B"], "as it was begun");

    let encoded = |text: &str| STANDARD.encode(text);
    for bad in [
        "nonsense".to_owned(),
        encoded("x"),
        encoded("l:a\no:up"),
        encoded("l:a\nc:size"),
        encoded("l:a\nc:created_at\na:0000-01-01T00:00:00Z"),
        encoded("l:a\nc:created_at\na:9999-12-31T23:59:59-23:59"),
        encoded("l:a\0"),
    ] {
        let reply = list(&api, json!({ "cursor": bad })).await;
        reply.fails_with_code(400, "InvalidParameter");
        let message = "Invalid Parameter continuation token";
        assert_eq!(reply.json()["message"], message);
    }
    let reply = list(&api, json!({ "limit": 0 })).await;
    reply.rejects_field("body/limit must be >= 1");
    let none = api
        .post("/object/list-v2/none", json!({}))
        .service_role()
        .await;
    none.expect_json(
        200,
        json!({ "hasNext": false, "folders": [], "objects": [] }),
    );
}
