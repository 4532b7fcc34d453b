//! Many concurrent callers, few connections.

use std::time::Duration;

use futures_util::future::join_all;
use plinth_db::PoolConfig;
use serde_json::{Value, json};

use crate::support::{Database, Requests, RestCall, RestReply, Sql, TestApi, sign};

async fn api() -> TestApi {
    let pool = PoolConfig {
        size: 4,
        acquire_timeout: Duration::from_secs(60),
        ..PoolConfig::default()
    };
    let db = Database::fresh().await;
    // Projects of the platform in other tests undo what holds for all databases.
    db.execute(
        "alter role anon in database DATABASE set statement_timeout = '3s'; \
         alter role authenticated in database DATABASE set statement_timeout = '8s'",
    )
    .await;
    TestApi::pooled(db, &[("db-schemas", "library")], pool).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_sees_its_own_claims_and_no_others() {
    let api = api().await;
    let ask = async |number: usize| {
        let role = ["anon", "authenticated"][number % 2];
        let zone = ["UTC", "Asia/Tokyo", "America/Lima"][number % 3];
        let token = sign(&json!({ "role": role, "sub": format!("caller {number}") }));
        let call = match number % 5 {
            0 => api.get("/rpc/context"),
            1 => api.get("/rpc/stable_context"),
            _ => api.post("/rpc/context", json!({})),
        };
        let call = call.header("X-Number", &number.to_string());
        let call = call.header("Cookie", &format!("number={number}"));
        let seen = match number % 7 {
            // A caller without a token must not inherit settings of the caller before.
            0 => call.await.json(),
            _ => call
                .bearer(&token)
                .prefer(&format!("timezone={zone}"))
                .await
                .json(),
        };
        let (user, claims, zone) = match number % 7 {
            0 => ("anon", json!({ "role": "anon" }), "UTC"),
            _ => (
                role,
                json!({ "role": role, "sub": format!("caller {number}") }),
                zone,
            ),
        };
        assert_eq!(seen["user"], user, "{number}");
        assert_eq!(seen["claims"], claims, "{number}");
        assert_eq!(seen["timezone"], zone, "{number}");
        assert_eq!(seen["headers"]["x-number"], number.to_string());
        assert_eq!(seen["cookies"], json!({ "number": number.to_string() }));
        let timeout = if user == "anon" { "3s" } else { "8s" };
        assert_eq!(seen["timeout"], timeout, "{number}");
    };

    join_all((0..200).map(ask)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_all_shapes_get_their_own_responses() {
    let api = api().await;
    let ask = async |number: usize| {
        let id = number % 4 + 1;
        let row = json!([{ "id": id }]);
        match number % 8 {
            0 => {
                api.get(&format!("/books?select=id&id=eq.{id}"))
                    .await
                    .expect_json(200, row);
            }
            1 => {
                let reply = api.get(&format!("/numbers?n=lte.{number}&limit=1"));
                let reply = reply.prefer("count=exact").await;
                let total = format!("0-0/{number}");
                reply.expect_header("content-range", &total);
            }
            2 => {
                let sum = api.post("/rpc/add", json!({ "a": number, "b": id })).await;
                sum.expect_json(200, json!(number + id));
            }
            3 => _ = api.get("/nowhere").await.expect_error_code(404, "PGRST205"),
            4 => {
                let state = json!({ "state": "PT418", "message": number.to_string() });
                let reply = api.post("/rpc/raise_error", state).await;
                assert_eq!(reply.json()["message"], number.to_string());
            }
            5 => {
                let csv = api.get(&format!("/numbers?select=n&n=eq.{number}"));
                assert_eq!(csv.accept("text/csv").await.text(), format!("n\n{number}"));
            }
            6 => {
                let path = "/authors?select=id,books(id)&books.order=id&order=id&limit=1";
                let ada = json!([{ "id": 1, "books": [{ "id": 1 }] }]);
                api.get(path).await.expect_json(200, ada);
            }
            _ => {
                let reply = api.get(&format!("/books?colour=eq.{number}")).await;
                reply.expect_error_code(400, "42703");
            }
        }
    };

    join_all((1..=240).map(ask)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_at_once_are_all_kept() {
    let pool = PoolConfig {
        size: 4,
        acquire_timeout: Duration::from_secs(60),
        ..PoolConfig::default()
    };
    let settings = [("db-schemas", "library")];
    let api = TestApi::pooled(Database::fresh().await, &settings, pool).await;
    let write = async |number: usize| {
        let reply = api
            .post(
                "/with_defaults?select=c",
                json!({ "c": number.to_string() }),
            )
            .prefer("return=representation")
            .await;
        reply.expect_json(201, json!([{ "c": number.to_string() }]));
    };

    join_all((0..100).map(write)).await;

    let kept: Value = api.get("/with_defaults?select=c").await.json();
    assert_eq!(kept.as_array().map(Vec::len), Some(100));
    let distinct = "select count(distinct c) from library.with_defaults";
    assert_eq!(api.db.count(distinct).await, 100);
}
