//! A stolen old session must not help to guess passwords.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Remote, Requests};

const REAUTHENTICATE: (&str, &str) = ("auth.email.secure_password_change", "true");
const CURRENT: (&str, &str) = ("auth.email.require_current_password", "true");

async fn old_session(settings: &[(&str, &str)]) -> (Api, Value) {
    let mut all = vec![("auth.jwt_expiry", "604800")];
    all.extend_from_slice(settings);
    let api = Api::start(&all).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    api.advance(Duration::from_secs(2 * 24 * 3600));
    (api, tokens)
}

#[tokio::test]
async fn passwords_are_compared_only_after_reauthentication() {
    let (api, tokens) = old_session(&[REAUTHENTICATE, CURRENT]).await;
    let change = |body: Value| {
        let call = api.put("/user", body).session(&tokens);
        async move { call.await }
    };

    // A wrong current password and the same new password give the same error.
    for current in ["wrong", "correct horse"] {
        let body = json!({ "password": "correct horse", "current_password": current });
        change(body)
            .await
            .expect_error(400, "reauthentication_needed");
    }
    api.get("/reauthenticate").session(&tokens).await.ok();
    let nonce = api.mail_to("ann@mail.dev").await.otp();
    let body = json!({
        "password": "another horse", "current_password": "wrong", "nonce": nonce,
    });
    change(body)
        .await
        .expect_error(400, "current_password_invalid");
    let body = json!({
        "password": "another horse", "current_password": "correct horse", "nonce": nonce,
    });
    change(body).await.ok();
}

#[tokio::test]
async fn whose_an_address_is_comes_before_all_of_that() {
    let (api, tokens) = old_session(&[REAUTHENTICATE]).await;
    api.sign_up("bob@mail.dev", "correct horse").await;

    let body = json!({ "email": "bob@mail.dev", "password": "another horse" });
    let reply = api.put("/user", body).session(&tokens).await;

    reply.expect_error(422, "email_exists");
}

/// A sign-in succeeds while the leak check is unavailable.
#[tokio::test]
async fn a_sign_in_does_not_depend_on_the_leak_check() {
    let hibp = Remote::start(200, "").await;
    let api = Api::start(&[
        ("plinth.auth.password.hibp.enabled", "true"),
        ("plinth.auth.password.hibp.fail_closed", "true"),
        ("plinth.auth.password.hibp.url", hibp.url.as_str()),
    ])
    .await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    hibp.set_response(503, "text/plain", "");

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let tokens = api.post("/token?grant_type=password", body).await.ok();

    assert!(tokens.get("weak_password").is_none());
    assert_eq!(hibp.received().len(), 2);
}
