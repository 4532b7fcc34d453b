use serde_json::json;

use crate::support::{Database, JSON, Requests, RestCall, RestReply, Sql, TestApi};

#[tokio::test]
async fn a_call_has_the_same_response_by_get_head_and_post() {
    let api = TestApi::library().await;
    let headers = [("content-type", JSON), ("content-range", "0-0/*")];

    let got = api.get("/rpc/add?a=1").await;
    let posted = api.post("/rpc/add", json!({ "a": 1 })).await;
    let head = api.head("/rpc/add?a=1").await;
    let nothing = api.get("/rpc/nothing").await;

    got.expect_whole(200, &headers, "11")
        .expect_no_header("content-location");
    posted.expect_whole(200, &headers, "11");
    head.expect_whole(200, &headers, "")
        .expect_no_header("content-length");
    nothing
        .expect_whole(204, &[("content-range", "0-0/*")], "")
        .expect_no_header("content-length");
}

#[tokio::test]
async fn options_lists_the_allowed_methods() {
    let api = TestApi::library().await;
    let cases = [
        ("/books", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/visits", "OPTIONS,GET,HEAD,POST,PATCH,DELETE"),
        ("/book_counts", "OPTIONS,GET,HEAD"),
        ("/shelf", "OPTIONS,GET,HEAD,POST"),
        ("/rpc/names", "OPTIONS,GET,HEAD,POST"),
        ("/rpc/context", "OPTIONS,POST"),
        ("/", "OPTIONS,GET,HEAD"),
    ];

    for (path, allowed) in cases {
        let headers = [
            ("allow", allowed),
            ("access-control-allow-origin", "*"),
            ("content-length", "0"),
        ];
        api.options(path).await.expect_whole(200, &headers, "");
    }
    let message = "Could not find the table 'library.nowhere' in the schema cache";
    api.options("/nowhere")
        .await
        .expect_error(404, "PGRST205", message);
}

#[tokio::test]
async fn plans_of_changes_and_calls_are_shown_without_doing_them() {
    let settings = [("db-schemas", "library"), ("db-plan-enabled", "true")];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;
    let accept = "application/vnd.pgrst.plan+json";

    for call in [
        api.post("/with_defaults", json!({ "id": 1, "c": "new" })),
        api.patch("/books?id=eq.1", json!({ "title": "x" })),
        api.delete("/loans?id=eq.1"),
        api.post("/rpc/add_one", json!({ "value": "x" })),
    ] {
        let reply = call.accept(accept).await;
        assert_eq!(reply.status, 200, "{reply:#?}");
        assert!(reply.json()[0]["Plan"].is_object(), "{reply:#?}");
    }

    assert_eq!(
        api.db
            .count("select count(*) from library.with_defaults")
            .await,
        0
    );
    assert_eq!(api.db.count("select count(*) from library.loans").await, 3);
}
