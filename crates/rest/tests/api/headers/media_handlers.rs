//! Media handlers of the schema (§3.5).

use crate::support::{Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn a_function_responds_in_the_type_that_it_returns() {
    let api = TestApi::library().await;

    let text = api.get("/rpc/greeting?name=Ada").accept("text/plain").await;
    let bytes = api
        .get("/rpc/pixels")
        .accept("application/octet-stream")
        .await;
    let none = api
        .get("/rpc/no_pixels")
        .accept("application/octet-stream")
        .await;
    let other = api.get("/rpc/greeting").accept("image/png").await;

    let headers = [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-range", "0-0/*"),
    ];
    text.expect_whole(200, &headers, "Hello, Ada");
    assert_eq!(&bytes.body[..], [0, 1, 255]);
    bytes.expect_header("content-type", "application/octet-stream");
    assert_eq!((none.status.as_u16(), none.body.len()), (200, 0));
    other.expect_error_code(406, "PGRST107");
}

#[tokio::test]
async fn an_aggregate_serves_its_table_or_all() {
    let api = TestApi::library().await;

    let of_table = api
        .get("/books?order=id")
        .accept("application/vnd.titles")
        .await;
    let of_function = api
        .get("/rpc/all_books")
        .accept("application/vnd.titles")
        .await;
    let of_all = api.get("/authors").accept("application/vnd.rows").await;
    let elsewhere = api.get("/authors").accept("application/vnd.titles").await;
    let in_part = api
        .get("/books?select=id")
        .accept("application/vnd.titles")
        .await;

    assert_eq!(of_table.text(), "Engines;Germinal;Nana;Edda;");
    of_table.expect_header("content-type", "application/vnd.titles");
    assert_eq!(of_function.text(), "Engines;Germinal;Nana;Edda;");
    assert_eq!(of_all.text(), "rows...");
    elsewhere.expect_error_code(406, "PGRST107");
    in_part.expect_error_code(406, "PGRST107");
}

#[tokio::test]
async fn a_function_for_anything_names_the_type_itself() {
    let api = TestApi::library().await;

    let reply = api.get("/rpc/anything").accept("image/whatever").await;

    assert_eq!((reply.status.as_u16(), reply.text()), (200, "any"));
    reply.expect_header("content-type", "image/x-any");
}
