//! `Range`, limits and counts (§3.3, §1.5).

use serde_json::json;

use crate::support::{Database, Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn the_range_header_and_limits_meet() {
    let api = TestApi::library().await;
    let cases = [
        ("/numbers?select=n", "0-9", "0-9/500"),
        ("/numbers?select=n", "495-", "495-499/500"),
        ("/numbers?select=n&limit=3", "0-9", "0-2/500"),
        ("/numbers?select=n&offset=5", "0-9", "5-9/500"),
        ("/numbers?select=n", "500-510", "*/500"),
    ];

    for (path, range, content_range) in cases {
        let reply = api
            .get(path)
            .header("Range", range)
            .prefer("count=exact")
            .await;

        assert_eq!(reply.status, 206, "{reply:#?}");
        reply
            .expect_header("content-range", content_range)
            .expect_no_header("range-unit");
    }
}

#[tokio::test]
async fn ranges_in_another_form_or_of_other_methods_are_ignored() {
    let api = TestApi::own_library().await;

    for range in ["items=0-1", "a-b", "-5", "0-1,3-4"] {
        let reply = api.get("/books").header("Range", range).await;
        reply.expect_header("content-range", "0-3/*");
    }
    let head = api.head("/books").header("Range", "0-1").await;
    head.expect_header("content-range", "0-3/*");
    let call = api
        .post("/rpc/all_books", json!({}))
        .header("Range", "0-1")
        .await;
    call.expect_header("content-range", "0-3/*");
}

#[tokio::test]
async fn limits_at_their_edges_behave_as_upstream() {
    let api = TestApi::library().await;
    let cases = [
        ("/books?limit=0", "", 200, "*/*"),
        ("/books?limit=0", "count=exact", 206, "*/4"),
        ("/books?offset=4", "count=exact", 206, "*/4"),
        ("/books?offset=-3", "", 200, "0-3/*"),
        ("/books?limit=99", "count=exact", 200, "0-3/4"),
        ("/books?limit=many", "", 200, "0-3/*"),
        ("/books?limit=1&limit=2", "", 200, "0-1/*"),
        ("/books?id=gt.99", "count=exact", 200, "*/0"),
    ];

    for (path, prefer, status, range) in cases {
        let call = api.get(path);
        let reply = match prefer {
            "" => call.await,
            prefer => call.prefer(prefer).await,
        };
        assert_eq!(reply.status.as_u16(), status, "{reply:#?}");
        reply.expect_header("content-range", range);
    }
    api.get("/books?limit=0&offset=5")
        .await
        .expect_error_code(416, "PGRST103");
}

#[tokio::test]
async fn at_most_max_rows_are_read_on_every_level_and_never_changed() {
    let settings = [("db-schemas", "library"), ("db-max-rows", "2")];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;

    let read = api.get("/books?select=id&order=id").await;
    let embedded = api.get("/numbers?select=n&limit=5").await;
    let called = api
        .get("/rpc/all_books?select=id")
        .prefer("count=exact")
        .await;
    let changed = api
        .patch("/numbers?n=lt.6&select=n", json!({ "even": null }))
        .prefer("return=representation")
        .await;

    read.expect_json(200, json!([{ "id": 1 }, { "id": 2 }]));
    embedded.expect_header("content-range", "0-1/*");
    assert_eq!(called.status, 206);
    called.expect_header("content-range", "0-1/4");
    changed.expect_header("content-range", "0-4/*");
}

#[tokio::test]
async fn counts_are_exact_planned_or_as_good_as_needed() {
    let settings = [("db-schemas", "library"), ("db-max-rows", "100")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;
    let total = async |path: &str, prefer: &str| {
        let reply = api.get(path).prefer(prefer).await;
        let range = reply.header("content-range").expect("a range").to_owned();
        let (_, total) = range.split_once('/').expect("a total");
        total.parse::<i64>().expect("a number")
    };

    assert_eq!(total("/numbers?limit=1", "count=exact").await, 500);
    assert_eq!(total("/numbers?limit=1", "count=planned").await, 500);
    assert_eq!(total("/numbers?limit=1", "count=estimated").await, 500);
    assert_eq!(
        total("/numbers?n=lt.4", "count=estimated").await,
        3,
        "few rows are counted"
    );
    let head = api.head("/numbers?limit=1").prefer("count=exact").await;
    head.expect_header("content-range", "0-0/500");
}
