//! Concurrent requests: a message with a minimum interval is sent once.

use serde_json::json;

use crate::support::{Api, Requests};

#[tokio::test]
async fn many_who_ask_at_once_get_one_mail() {
    let api = Api::start(&[("auth.rate_limit.sign_in_sign_ups", "1000")]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    let calls = (0..8).map(|_| {
        let call = api.post("/recover", json!({ "email": "ann@mail.dev" }));
        async move { call.await.status }
    });
    let statuses = futures_util::future::join_all(calls).await;

    assert_eq!(api.mails().await.len(), 1, "{statuses:?}");
    let rejected = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!(rejected, 7, "{statuses:?}");
}
