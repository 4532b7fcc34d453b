//! Rate limits count clients by what they cannot change.

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Call, Requests};

const MAX: usize = 30;

fn recover(api: &Api) -> Call {
    api.post("/recover", json!({ "email": "nobody@mail.dev" }))
}

#[tokio::test]
async fn all_addresses_of_a_network_of_ipv6_count_as_one() {
    let api = Api::start(&[]).await;

    for n in 0..MAX {
        recover(&api)
            .client_ip(&format!("2001:db8:0:1::{n:x}"))
            .await
            .ok();
    }

    let reply = recover(&api).client_ip("2001:db8:0:1:ffff::1").await;
    reply.expect_error(429, "over_request_rate_limit");
    recover(&api).client_ip("2001:db8:0:2::1").await.ok();
}

/// Standalone, forwarding headers are not trusted.
#[tokio::test]
async fn alone_the_service_counts_by_who_connects() {
    let api = Api::start(&[]).await.standalone();

    for n in 0..MAX {
        let call = recover(&api).client_ip(&format!("192.0.2.{n}"));
        call.header("x-test-peer", "10.0.0.1").await.ok();
    }

    let call = recover(&api).client_ip("198.51.100.1");
    let reply = call.header("x-test-peer", "10.0.0.1").await;
    reply.expect_error(429, "over_request_rate_limit");
}
