//! By what clients are counted: not by what they can change at will.

use serde_json::json;

use crate::support::{Api, Call};

const MAX: usize = 30;

fn recover(api: &Api) -> Call {
    api.post("/recover", json!({ "email": "nobody@mail.dev" }))
}

#[tokio::test]
async fn all_addresses_of_a_network_of_ipv6_count_as_one() {
    let api = Api::start(&[]).await;

    for n in 0..MAX {
        recover(&api)
            .from(&format!("2001:db8:0:1::{n:x}"))
            .await
            .ok();
    }

    let reply = recover(&api).from("2001:db8:0:1:ffff::1").await;
    reply.refuses(429, "over_request_rate_limit");
    recover(&api).from("2001:db8:0:2::1").await.ok();
}

/// In place of GoTrue nobody has checked what the request says of its origin.
#[tokio::test]
async fn alone_the_service_counts_by_who_connects() {
    let api = Api::start(&[]).await.alone();

    for n in 0..MAX {
        let call = recover(&api).from(&format!("192.0.2.{n}"));
        call.header("x-test-peer", "10.0.0.1").await.ok();
    }

    let call = recover(&api).from("198.51.100.1");
    let reply = call.header("x-test-peer", "10.0.0.1").await;
    reply.refuses(429, "over_request_rate_limit");
}
