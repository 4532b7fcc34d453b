use serde_json::json;

use super::{A, B, api, ids};
use crate::support::{Database, Requests, RestCall, RestReply, Sql};

#[tokio::test]
async fn no_user_inserts_for_another_user() {
    let api = api(Database::fresh().await).await;
    let insert = |id: i64, owner: &str| api.post("/notes", json!({ "id": id, "owner": owner }));

    let anonymous = insert(10, A).await;
    let for_other = insert(11, B).user(A).await;
    let own = insert(12, A).user(A).prefer("return=representation").await;
    let by_default = api.post("/notes?select=owner", json!({ "id": 13 })).user(B);
    let by_default = by_default.prefer("return=representation").await;
    let stolen = api
        .post("/notes", json!({ "id": 3, "owner": A, "body": "stolen" }))
        .user(A)
        .prefer("resolution=merge-duplicates")
        .await;
    let probed = api
        .post("/notes?select=id", json!({ "id": 3, "owner": A }))
        .user(A)
        .prefer("resolution=ignore-duplicates, return=representation")
        .await;

    let message = "new row violates row-level security policy for table \"notes\"";
    anonymous.expect_error(401, "42501", message);
    for_other.expect_error(403, "42501", message);
    assert_eq!(own.status, 201);
    by_default.expect_json(201, json!([{ "owner": B }]));
    stolen.expect_error_code(403, "42501");
    probed.expect_json(201, json!([]));
    assert_eq!(
        api.db
            .count("select count(*) from library.notes where body = 'stolen'")
            .await,
        0
    );
}

#[tokio::test]
async fn updates_and_deletes_reach_own_rows_only() {
    let api = api(Database::fresh().await).await;
    let change = || {
        api.patch(
            "/notes?id=gt.0&select=id&order=id",
            json!({ "body": "new" }),
        )
    };

    let anonymous = change().prefer("return=representation").await;
    let user = change()
        .user(A)
        .prefer("return=representation, count=exact")
        .await;
    let given = api
        .patch("/notes?id=eq.1", json!({ "owner": B }))
        .user(A)
        .await;
    let put = api
        .put("/notes?id=eq.3", json!({ "id": 3, "owner": A }))
        .user(A)
        .await;
    let deleted = api
        .delete("/notes?id=gt.0")
        .user(B)
        .prefer("count=exact")
        .await;
    let by_anonymous = api.delete("/notes?id=gt.0").prefer("count=exact").await;

    anonymous.expect_json(200, json!([]));
    assert_eq!(ids(&user), [1, 2]);
    user.expect_header("content-range", "0-1/2");
    given.expect_error_code(403, "42501");
    put.expect_error_code(403, "42501");
    deleted.expect_header("content-range", "*/2");
    by_anonymous.expect_header("content-range", "*/0");
    let rest = "select count(*) from library.notes where owner::text like 'a%' and body = 'new'";
    assert_eq!(api.db.count(rest).await, 2);
}
