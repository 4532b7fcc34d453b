use serde_json::json;

use crate::support::{JSON, Requests, RestCall, RestReply, TestApi};

/// Vector 27.
#[tokio::test]
async fn a_scalar_function_returns_its_bare_value() {
    let api = TestApi::chat().await;
    let call = || api.post("/rpc/get_status", json!({ "name_param": "supabot" }));

    let plain = call().await;
    let counted = call().prefer("count=exact").await;

    let headers = [("content-type", JSON), ("content-range", "0-0/*")];
    plain.expect_whole(200, &headers, "\"ONLINE\"");
    let headers = [
        ("content-type", JSON),
        ("content-range", "0-0/1"),
        ("preference-applied", "count=exact"),
    ];
    counted.expect_whole(200, &headers, "\"ONLINE\"");
}

/// Vector 28.
#[tokio::test]
async fn a_void_function_has_an_empty_response() {
    let api = TestApi::chat().await;

    let reply = api.post("/rpc/void_func", json!({})).await;

    reply
        .expect_whole(204, &[("content-range", "0-0/*")], "")
        .expect_no_header("content-length");
}

/// Vector 29.
#[tokio::test]
async fn overloads_that_all_fit_are_ambiguous() {
    let api = TestApi::chat().await;

    let reply = api.post("/rpc/chosen", json!({})).await;

    let message = "Could not choose the best candidate function between: \
                   public.chosen(a => integer), public.chosen(b => text)";
    let hint = "Try renaming the parameters or the function itself in the database \
                so function overloading can be resolved";
    reply.expect_error_with(300, "PGRST203", message, json!(null), json!(hint));
}

/// Vector 30.
#[tokio::test]
async fn arguments_and_filters_share_the_query_string() {
    let api = TestApi::chat().await;

    let reply = api
        .get(
            "/rpc/get_messages_by_username?search_username=supabot&select=id&id=gt.1&order=id.desc",
        )
        .await;

    let headers = [("content-type", JSON), ("content-range", "0-2/*")];
    reply.expect_whole_json(
        200,
        &headers,
        json!([{ "id": 4 }, { "id": 3 }, { "id": 2 }]),
    );
}
