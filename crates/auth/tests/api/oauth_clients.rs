//! Applications of the OAuth server: registration and administration (auth contract §2.16).

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const ON: (&str, &str) = ("auth.oauth_server.enabled", "true");
const DYNAMIC: (&str, &str) = ("auth.oauth_server.allow_dynamic_registration", "true");
const PATH: &str = "/admin/oauth/clients";
const URI: &str = "https://app.example/callback";

async fn create(api: &Api, body: Value) -> Reply {
    api.post(PATH, body).service_role().await
}

async fn created(api: &Api) -> Value {
    let body = json!({ "client_name": "App", "redirect_uris": [URI] });
    let reply = create(api, body).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()
}

fn path(client: &Value) -> String {
    format!("{PATH}/{}", client["client_id"].as_str().expect("an id"))
}

#[tokio::test]
async fn nothing_is_there_while_the_server_is_off() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    let open = ["/oauth/authorize", "/oauth/authorizations/x"];
    for path in open {
        api.get(path).await.expect_error(404, "feature_disabled");
    }
    for path in ["/oauth/token", "/oauth/clients/register"] {
        let reply = api.post(path, json!({})).without_key().await;
        reply.expect_error(404, "feature_disabled");
    }
    let reply = api.get("/user/oauth/grants").session(&ann).await;
    reply.expect_error(404, "feature_disabled");
    let reply = api.get(PATH).service_role().await;
    reply.expect_error(404, "feature_disabled");
    api.get(PATH).await.expect_error(401, "no_authorization");
}

#[tokio::test]
async fn a_client_gets_its_secret_once() {
    let api = Api::start(&[ON]).await;
    let body = json!({
        "client_name": "App", "redirect_uris": [URI, "myapp://done"],
        "client_uri": "https://app.example", "logo_uri": null,
    });

    let reply = create(&api, body).await;

    assert_eq!(reply.status, 201);
    let mut client = reply.json();
    let secret = client.as_object_mut().expect("one").remove("client_secret");
    assert_eq!(
        secret.as_ref().and_then(Value::as_str).map(str::len),
        Some(43)
    );
    let found = api.get(&path(&client)).service_role().await.ok();
    assert_eq!(found, client);
    let expected = json!({
        "client_id": client["client_id"], "client_type": "confidential",
        "redirect_uris": [URI, "myapp://done"],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "client_name": "App", "client_uri": "https://app.example",
        "registration_type": "manual", "created_at": client["created_at"],
        "updated_at": client["updated_at"],
    });
    assert_eq!(client, expected);
    let stored = "select to_jsonb(client_secret_hash) from auth.oauth_clients";
    assert_ne!(api.value(stored, &[]).await, secret.expect("a secret"));
}

#[tokio::test]
async fn a_public_client_has_none() {
    let api = Api::start(&[ON]).await;
    let body = json!({ "redirect_uris": [URI], "token_endpoint_auth_method": "none" });

    let client = create(&api, body).await.json();

    assert_eq!(client["client_type"], "public");
    assert_eq!(client.get("client_secret"), None);
    assert_eq!(client.get("client_name"), None);
    let again = format!("{}/regenerate_secret", path(&client));
    let reply = api.post(&again, json!({})).service_role().await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn bad_clients_are_rejected() {
    let api = Api::start(&[ON]).await;
    for body in [
        json!({}),
        json!({ "redirect_uris": [] }),
        json!({ "redirect_uris": vec![URI; 11] }),
        json!({ "redirect_uris": ["http://app.example/cb"] }),
        json!({ "redirect_uris": ["javascript://x/%0aalert(1)"] }),
        json!({ "redirect_uris": ["https://app.example/#x"] }),
        json!({ "redirect_uris": ["https://a.example/,https://b.example/"] }),
        json!({ "redirect_uris": [URI], "grant_types": ["password"] }),
        json!({ "redirect_uris": [URI], "client_type": "other" }),
        json!({ "redirect_uris": [URI], "client_type": "public",
                "token_endpoint_auth_method": "client_secret_post" }),
        json!({ "redirect_uris": [URI], "client_name": "x".repeat(1025) }),
        json!({ "redirect_uris": [URI], "client_uri": "nowhere" }),
        json!({ "redirect_uris": [URI], "logo_uri": "javascript:alert(1)" }),
    ] {
        create(&api, body)
            .await
            .expect_error(400, "validation_failed");
    }
    for body in [
        json!({ "redirect_uris": "x" }),
        json!({ "redirect_uris": [URI], "client_name": "\u{0}" }),
    ] {
        create(&api, body).await.expect_error(400, "bad_json");
    }
    assert_eq!(
        api.count("select count(*) from auth.oauth_clients").await,
        0
    );
}

#[tokio::test]
async fn clients_are_listed_newest_first() {
    let api = Api::start(&[ON]).await;
    let reply = api.get(PATH).service_role().await;
    assert_eq!(reply.ok(), json!({ "clients": [] }));
    let first = created(&api).await;
    api.advance(std::time::Duration::from_secs(1));
    let second = created(&api).await;

    let reply = api.get(&format!("{PATH}?page=&per_page=")).service_role();
    let reply = reply.await;

    let ids = |reply: &Reply| -> Vec<Value> {
        let body = reply.ok();
        let clients = body["clients"].as_array().expect("a list");
        clients.iter().map(|it| it["client_id"].clone()).collect()
    };
    let expected = [second["client_id"].clone(), first["client_id"].clone()];
    assert_eq!(ids(&reply), expected);
    assert_eq!(reply.header("x-total-count"), Some("2"));
    let page = api.get(&format!("{PATH}?page=2&per_page=1")).service_role();
    assert_eq!(ids(&page.await), expected[1..]);
}

#[tokio::test]
async fn a_client_changes_in_part() {
    let api = Api::start(&[ON]).await;
    let client = created(&api).await;
    let put = async |body: Value| api.put(&path(&client), body).service_role().await;

    let body = json!({ "client_name": "New", "token_endpoint_auth_method": "client_secret_post" });
    let changed = put(body).await.ok();

    assert_eq!(changed["client_name"], "New");
    assert_eq!(changed["token_endpoint_auth_method"], "client_secret_post");
    assert_eq!(changed["redirect_uris"], client["redirect_uris"]);
    assert_eq!(changed.get("client_secret"), None);
    for body in [
        json!({}),
        json!({ "client_name": null }),
        json!({ "redirect_uris": [] }),
        json!({ "grant_types": [] }),
        json!({ "token_endpoint_auth_method": "none" }),
    ] {
        put(body).await.expect_error(400, "validation_failed");
    }
}

#[tokio::test]
async fn a_deleted_client_is_not_found() {
    let api = Api::start(&[ON]).await;
    let client = created(&api).await;

    let reply = api.delete(&path(&client)).service_role().await;

    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    for reply in [
        api.get(&path(&client)).service_role().await,
        api.delete(&path(&client)).service_role().await,
        api.put(&path(&client), json!({ "client_name": "x" }))
            .service_role()
            .await,
    ] {
        reply.expect_error(404, "oauth_client_not_found");
    }
    let reply = api.get(&format!("{PATH}/x")).service_role().await;
    reply.expect_error(400, "validation_failed");
    assert_eq!(
        api.get(PATH).service_role().await.ok(),
        json!({ "clients": [] })
    );
}

#[tokio::test]
async fn applications_register_themselves_where_they_may() {
    let api = Api::start(&[ON]).await;
    let body = json!({ "client_name": "App", "redirect_uris": [URI] });
    let reply = api.post("/oauth/clients/register", body.clone());
    let reply = reply.without_key().await;
    reply.expect_error(403, "oauth_dynamic_client_registration_disabled");

    let api = Api::start(&[ON, DYNAMIC]).await;
    let reply = api
        .post("/oauth/clients/register", body)
        .without_key()
        .await;

    assert_eq!(reply.status, 201, "{reply:?}");
    let client = reply.json();
    assert_eq!(client["registration_type"], "dynamic");
    assert!(client["client_secret"].is_string());
}

#[tokio::test]
async fn registrations_are_limited() {
    let api = Api::start(&[ON, DYNAMIC]).await;
    for _ in 0..30 {
        let call = api.post("/oauth/clients/register", json!({}));
        call.without_key()
            .await
            .expect_error(400, "validation_failed");
    }
    let call = api.post("/oauth/clients/register", json!({}));
    let reply = call.without_key().await;
    reply.expect_error(429, "over_request_rate_limit");
}
