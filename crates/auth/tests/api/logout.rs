//! `POST /logout` (auth contract §2.7).

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Requests, sign};

async fn three_devices() -> (Api, Vec<Value>) {
    let api = Api::start(&[]).await;
    let mut devices = vec![api.sign_up("ann@mail.dev", "correct horse").await];
    for _ in 0..2 {
        let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
        let reply = api.post("/token?grant_type=password", body).await;
        devices.push(reply.ok());
    }
    (api, devices)
}

async fn are_in(api: &Api, devices: &[Value]) -> Vec<bool> {
    let mut are_in = Vec::new();
    for device in devices {
        are_in.push(api.get("/user").session(device).await.status == 200);
    }
    are_in
}

async fn logout(api: &Api, device: &Value, scope: &str) {
    let path = format!("/logout{scope}");
    let reply = api.post(&path, json!({})).session(device).await;
    assert_eq!(reply.status, 204, "{reply:?}");
    assert!(reply.body.is_empty());
}

#[tokio::test]
async fn scopes_end_all_this_or_the_other_sessions() {
    for (scope, expected) in [
        ("", [false, false, false]),
        ("?scope=global", [false, false, false]),
        ("?scope=local", [false, true, true]),
        ("?scope=others", [true, false, false]),
    ] {
        let (api, devices) = three_devices().await;
        logout(&api, &devices[0], scope).await;
        assert_eq!(are_in(&api, &devices).await, expected, "{scope}");
        let log = api.audit().await;
        assert_eq!(log.last().map(String::as_str), Some("logout"));
    }
}

#[tokio::test]
async fn after_it_the_session_is_not_found() {
    let (api, devices) = three_devices().await;
    logout(&api, &devices[0], "?scope=local").await;

    api.get("/user")
        .session(&devices[0])
        .await
        .expect_error(403, "session_not_found");
    let body = json!({ "refresh_token": devices[0]["refresh_token"] });
    api.post("/token?grant_type=refresh_token", body)
        .await
        .expect_error(400, "refresh_token_not_found");
}

#[tokio::test]
async fn other_scopes_are_rejected_and_end_nothing() {
    let (api, devices) = three_devices().await;

    api.post("/logout?scope=everywhere", json!({}))
        .session(&devices[0])
        .await
        .expect_error(400, "validation_failed");
    assert_eq!(are_in(&api, &devices).await, [true, true, true]);
}

#[tokio::test]
async fn no_body_is_needed() {
    let (api, devices) = three_devices().await;

    let reply = api
        .call(http::Method::POST, "/logout")
        .session(&devices[0])
        .await;

    assert_eq!(reply.status, 204);
    api.call(http::Method::POST, "/logout")
        .await
        .expect_error(401, "no_authorization");
}

/// Tools and hooks may create such tokens.
#[tokio::test]
async fn a_token_of_no_session_ends_them_all() {
    for scope in ["", "?scope=global", "?scope=local", "?scope=others"] {
        let (api, devices) = three_devices().await;
        let token = sign(&json!({
            "sub": devices[0]["user"]["id"], "role": "authenticated", "aud": "authenticated",
            "exp": api.now().unix_timestamp() + 60,
        }));

        let path = format!("/logout{scope}");
        let reply = api.post(&path, json!({})).bearer(&token).await;

        assert_eq!(reply.status, 204, "{reply:?}");
        assert_eq!(are_in(&api, &devices).await, [false; 3], "{scope}");
    }
}
