//! Lists by limit and offset (storage contract §3.5).

use serde_json::{Value, json};

use crate::support::{Reply, Requests, Sql, StorageReply, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.execute(
        "insert into storage.objects (bucket_id, name, created_at, updated_at, metadata) values
         ('b', 'a+b.txt', '2020-01-03 00:00:00.123999Z', '2020-01-01', '{\"size\": 1}'),
         ('b', 'a/one', '2020-01-01', '2020-01-01', null),
         ('b', 'A/Two', '2020-01-02', '2020-01-02', null),
         ('b', 'z/.emptyFolderPlaceholder', '2020-01-01', '2020-01-01', null),
         ('b', 'b.txt', '2020-01-01', '2020-01-03', null),
         ('b', 'per%cent', '2020-01-02', '2020-01-02', null)",
    )
    .await;
    api
}

async fn list(api: &TestApi, body: Value) -> Reply {
    api.post("/object/list/b", body).service_role().await
}

async fn names(api: &TestApi, body: Value) -> Vec<String> {
    let rows = list(api, body).await.expect_ok().json();
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| row["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[tokio::test]
async fn folders_and_files_are_one_sequence_by_name() {
    let api = api().await;
    let all = names(&api, json!({ "prefix": "" })).await;
    assert_eq!(all, ["a+b.txt", "a", "b.txt", "per%cent", "z"]);
    let rows = list(&api, json!({ "prefix": "", "limit": "2" }))
        .await
        .json();
    let id = rows[0]["id"].clone();
    assert_eq!(
        rows,
        json!([
            {
                "name": "a+b.txt",
                "id": id,
                "updated_at": "2020-01-01T00:00:00.000Z",
                "created_at": "2020-01-03T00:00:00.123Z",
                "last_accessed_at": rows[0]["last_accessed_at"],
                "metadata": { "size": 1 },
            },
            {
                "name": "a",
                "id": null,
                "updated_at": null,
                "created_at": null,
                "last_accessed_at": null,
                "metadata": null,
            },
        ])
    );
    let page = names(&api, json!({ "prefix": "", "limit": 2, "offset": 3 })).await;
    assert_eq!(page, ["per%cent", "z"]);
    let far = names(&api, json!({ "prefix": "", "offset": 9_999_999_999_i64 })).await;
    assert!(far.is_empty());
}

#[tokio::test]
async fn a_prefix_is_a_folder_and_a_search_begins_there() {
    let api = api().await;
    for prefix in ["a", "a/", "A"] {
        assert_eq!(
            names(&api, json!({ "prefix": prefix })).await,
            ["one", "Two"]
        );
    }
    let found = names(&api, json!({ "prefix": "a", "search": "T" })).await;
    assert_eq!(found, ["Two"]);
    let found = names(&api, json!({ "prefix": "", "search": "a/o" })).await;
    assert_eq!(found, ["a/one"], "relative to the prefix alone");
    assert!(
        names(&api, json!({ "prefix": "", "search": "%" }))
            .await
            .is_empty()
    );
    let found = names(&api, json!({ "prefix": "", "search": "per%" })).await;
    assert_eq!(found, ["per%cent"]);
    let found = names(&api, json!({ "prefix": "z" })).await;
    assert_eq!(found, [".emptyFolderPlaceholder"]);
}

#[tokio::test]
async fn by_time_folders_come_first() {
    let api = api().await;
    let by = async |column: &str, order: &str| {
        let sort = json!({ "column": column, "order": order });
        names(&api, json!({ "prefix": "", "sortBy": sort })).await
    };
    assert_eq!(
        by("created_at", "asc").await,
        ["a", "z", "b.txt", "per%cent", "a+b.txt"]
    );
    assert_eq!(
        by("updated_at", "desc").await,
        ["z", "a", "b.txt", "per%cent", "a+b.txt"]
    );
    assert_eq!(by("name", "desc").await[0], "z");
}

#[tokio::test]
async fn bad_fields_are_named_and_an_unknown_bucket_is_empty() {
    let api = api().await;
    let rejected = async |body: Value, message: &str| {
        list(&api, body).await.rejects_field(message);
    };
    rejected(json!({}), "body must have required property 'prefix'").await;
    rejected(json!({ "prefix": [] }), "body/prefix must be string").await;
    rejected(
        json!({ "prefix": "", "limit": 0 }),
        "body/limit must be >= 1",
    )
    .await;
    rejected(
        json!({ "prefix": "", "offset": -1 }),
        "body/offset must be >= 0",
    )
    .await;
    rejected(
        json!({ "prefix": "", "sortBy": { "order": "asc" } }),
        "body/sortBy must have required property 'column'",
    )
    .await;
    rejected(
        json!({ "prefix": "", "sortBy": { "column": "size" } }),
        "body/sortBy/column must be equal to one of the allowed values",
    )
    .await;
    rejected(
        json!({ "prefix": "", "sortBy": "name" }),
        "body/sortBy must be object",
    )
    .await;
    let none = api
        .post("/object/list/none", json!({ "prefix": "" }))
        .service_role();
    none.await.expect_json(200, json!([]));
    let nul = list(&api, json!({ "prefix": "\0" })).await;
    nul.fails_with_code(400, "InvalidParameter");
}
