//! What tools ask about the service (§1, §12).

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{NatsServer, TestRealtime, until};

async fn health(realtime: &TestRealtime) -> Value {
    let response = realtime.get("/api/tenants/anything/health").await;
    assert_eq!(response.status, StatusCode::OK, "{response:?}");
    response.json()
}

#[tokio::test]
async fn a_service_without_clients_is_healthy_and_follows_nothing() {
    let realtime = TestRealtime::with(&[("plinth.realtime.region", "eu-1")]).await;

    let expected = json!({"data": {
        "healthy": true,
        "db_connected": true,
        "replication_connected": false,
        "connected_cluster": 0,
        "region": "eu-1",
        "node": "plinth",
    }});
    assert_eq!(health(&realtime).await, expected);
    let pong = realtime.get("/api/ping").await;
    assert_eq!(pong.json(), json!({"message": "Success"}));
}

#[tokio::test]
async fn sockets_with_a_channel_are_counted_and_the_stream_is_named() {
    let realtime = TestRealtime::start().await;
    let (mut socket, _without_channel) = (realtime.socket().await, realtime.socket().await);
    let ready = json!({"config": {"broadcast": {"replication_ready": true}}});
    assert_eq!(socket.join("1", "realtime:r", ready).await["status"], "ok");
    assert_eq!(socket.next().await[4]["status"], "ok");

    let data = &health(&realtime).await["data"];
    assert_eq!(data["healthy"], true);
    assert_eq!(data["replication_connected"], true);
    assert_eq!(data["connected_cluster"], 1);
    assert_eq!(data["region"], "local");
}

#[tokio::test]
async fn a_database_that_is_away_harms_those_who_are_connected() {
    let realtime = TestRealtime::start().await;
    realtime.reject_connections().await;

    let alone = &health(&realtime).await["data"];
    assert_eq!(
        (&alone["healthy"], &alone["db_connected"]),
        (&json!(true), &json!(false))
    );

    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;
    let used = &health(&realtime).await["data"];
    assert_eq!(
        (&used["healthy"], &used["db_connected"]),
        (&json!(false), &json!(false))
    );
}

#[tokio::test]
async fn nodes_count_together_and_have_their_own_names() {
    let nats = NatsServer::start();
    let one = TestRealtime::node(&nats).await;
    let other = one.another(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.join_ok("1", "realtime:r").await;
    bob.join_ok("1", "realtime:r").await;

    until(async || health(&one).await["data"]["connected_cluster"] == 2).await;
    let names =
        [&one, &other].map(|node| async move { health(node).await["data"]["node"].clone() });
    let [first, second] = futures_util::future::join_all(names)
        .await
        .try_into()
        .expect("two");
    assert_ne!(first, second);
    assert!(
        first
            .as_str()
            .is_some_and(|name| name.starts_with("plinth@")),
        "{first}"
    );
    // Both nodes report the sum of both.
    one.wait_for_metric("realtime_connections_connected", |value| value == 2.0)
        .await;
    one.wait_for_metric("realtime_connections_connected_cluster", |number| {
        number == 4.0
    })
    .await;

    drop(bob);
    one.wait_for_metric("realtime_connections_connected_cluster", |number| {
        number == 2.0
    })
    .await;
}
