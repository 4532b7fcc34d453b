//! How applications prove themselves.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};

use super::{URI, VERIFIER, World, fails, register};
use crate::support::Reply;

#[tokio::test]
async fn applications_prove_themselves_the_way_they_registered() {
    let world = World::new().await;
    let code = world.code("email").await;
    let (id, secret) = (world.client_id(), &world.client["client_secret"]);
    let secret = secret.as_str().expect("a secret");
    let send = async |body: Value| {
        let call = world.api.post("/oauth/token", body).without_key();
        call.await
    };
    let refuses = |reply: Reply| {
        reply.refuses(400, "invalid_credentials");
    };

    refuses(send(json!({})).await);
    refuses(send(json!({ "client_id": "x" })).await);
    refuses(send(json!({ "client_id": id })).await);
    refuses(send(json!({ "client_id": id, "client_secret": secret })).await);
    let call = world.api.post("/oauth/token", json!({}));
    let wrong = format!("Basic {}", BASE64.encode(format!("{id}:wrong").as_bytes()));
    refuses(call.header("authorization", &wrong).await);
    let call = world.api.post("/oauth/token", json!({}));
    refuses(call.header("authorization", "Basic ???").await);

    let path = format!("/admin/oauth/clients/{id}");
    let body = json!({ "token_endpoint_auth_method": "client_secret_post" });
    world.api.put(&path, body).service_role().await.ok();
    let body = json!({
        "client_id": id, "client_secret": secret, "grant_type": "authorization_code",
        "code": code, "code_verifier": VERIFIER,
    });
    send(body).await.ok();
}

#[tokio::test]
async fn a_new_secret_takes_the_place_of_the_old() {
    let world = World::new().await;
    let path = format!(
        "/admin/oauth/clients/{}/regenerate_secret",
        world.client_id()
    );

    let call = world.api.call(http::Method::POST, &path).service_role();
    let renewed = call.await.ok();

    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "aaaaaaaaaaaa"),
    ];
    let old = world.token(&form).await;
    old.refuses(400, "invalid_credentials");
    let world = World {
        client: renewed,
        ..world
    };
    fails(&world.token(&form).await, "invalid_grant");
}

#[tokio::test]
async fn a_public_application_has_its_challenge_alone() {
    let world = World::new().await;
    let body = json!({ "redirect_uris": [URI], "token_endpoint_auth_method": "none" });
    let client = register(&world.api, body).await;
    let world = World { client, ..world };
    let code = world.code("email").await;
    let body = |verifier: &str| {
        json!({
            "client_id": world.client["client_id"], "grant_type": "authorization_code",
            "code": code, "code_verifier": verifier,
        })
    };

    let reply = world.api.post("/oauth/token", body("wrong")).without_key();
    fails(&reply.await, "invalid_grant");
    let reply = world.api.post("/oauth/token", body(VERIFIER)).without_key();
    reply.await.ok();
}

#[tokio::test]
async fn a_form_that_is_none_is_refused() {
    let world = World::new().await;
    let call = world.api.post("/oauth/token", Value::Null);
    let call = call.body("application/json", "{").without_key();
    fails(&call.await, "invalid_request");
    let noise = BASE64URL_NOPAD.encode(&[0xff; 64]);
    let call = world.api.post("/oauth/token", Value::Null).form(&noise);
    call.without_key().await.refuses(400, "invalid_credentials");
}
