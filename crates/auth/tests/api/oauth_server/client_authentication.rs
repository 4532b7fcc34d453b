//! Client authentication.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};

use super::{Fixture, URI, VERIFIER, expect_oauth_error, register};
use crate::support::{AuthCall, AuthReply, Reply, Requests};

#[tokio::test]
async fn applications_prove_themselves_the_way_they_registered() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let (id, secret) = (fixture.client_id(), &fixture.client["client_secret"]);
    let secret = secret.as_str().expect("a secret");
    let send = async |body: Value| {
        let call = fixture.api.post("/oauth/token", body).without_key();
        call.await
    };
    let expect_error = |reply: Reply| {
        reply.expect_error(400, "invalid_credentials");
    };

    expect_error(send(json!({})).await);
    expect_error(send(json!({ "client_id": "x" })).await);
    expect_error(send(json!({ "client_id": id })).await);
    expect_error(send(json!({ "client_id": id, "client_secret": secret })).await);
    let call = fixture.api.post("/oauth/token", json!({}));
    let wrong = format!("Basic {}", BASE64.encode(format!("{id}:wrong").as_bytes()));
    expect_error(call.header("authorization", &wrong).await);
    let call = fixture.api.post("/oauth/token", json!({}));
    expect_error(call.header("authorization", "Basic ???").await);

    let path = format!("/admin/oauth/clients/{id}");
    let body = json!({ "token_endpoint_auth_method": "client_secret_post" });
    fixture.api.put(&path, body).service_role().await.ok();
    let body = json!({
        "client_id": id, "client_secret": secret, "grant_type": "authorization_code",
        "code": code, "code_verifier": VERIFIER,
    });
    send(body).await.ok();
}

#[tokio::test]
async fn a_new_secret_takes_the_place_of_the_old() {
    let fixture = Fixture::new().await;
    let path = format!(
        "/admin/oauth/clients/{}/regenerate_secret",
        fixture.client_id()
    );

    let call = fixture.api.call(http::Method::POST, &path).service_role();
    let renewed = call.await.ok();

    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "aaaaaaaaaaaa"),
    ];
    let old = fixture.token(&form).await;
    old.expect_error(400, "invalid_credentials");
    let fixture = Fixture {
        client: renewed,
        ..fixture
    };
    expect_oauth_error(&fixture.token(&form).await, "invalid_grant");
}

#[tokio::test]
async fn a_public_application_has_its_challenge_alone() {
    let fixture = Fixture::new().await;
    let body = json!({ "redirect_uris": [URI], "token_endpoint_auth_method": "none" });
    let client = register(&fixture.api, body).await;
    let fixture = Fixture { client, ..fixture };
    let code = fixture.code("email").await;
    let body = |verifier: &str| {
        json!({
            "client_id": fixture.client["client_id"], "grant_type": "authorization_code",
            "code": code, "code_verifier": verifier,
        })
    };

    let reply = fixture
        .api
        .post("/oauth/token", body("wrong"))
        .without_key();
    expect_oauth_error(&reply.await, "invalid_grant");
    let reply = fixture
        .api
        .post("/oauth/token", body(VERIFIER))
        .without_key();
    reply.await.ok();
}

#[tokio::test]
async fn a_malformed_form_is_rejected() {
    let fixture = Fixture::new().await;
    let call = fixture.api.post("/oauth/token", Value::Null);
    let call = call.body("application/json", "{").without_key();
    expect_oauth_error(&call.await, "invalid_request");
    let noise = BASE64URL_NOPAD.encode(&[0xff; 64]);
    let call = fixture.api.post("/oauth/token", Value::Null).form(&noise);
    call.without_key()
        .await
        .expect_error(400, "invalid_credentials");
}
