//! `/admin/custom-providers`, and sign-ins through them (auth contract §2.15).

use serde_json::{Value, json};

use super::{
    identity,
    idp::{CLIENT_ID, CLIENT_SECRET, Idp},
    landing, run_flow, sign_in,
};
use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const LOCAL: (&str, &str) = ("plinth.auth.custom_providers.allow_local_urls", "true");
const ADMIN: &str = "/admin/custom-providers";

/// The table requires https; loopback addresses are called without TLS all the same.
fn https(idp: &Idp) -> String {
    idp.url.replace("http://", "https://")
}

async fn openid(more: &[(&str, &str)]) -> (Api, Idp) {
    let idp = Idp::start().await;
    idp.publish(&https(&idp));
    let all: Vec<(&str, &str)> = [LOCAL].into_iter().chain(more.iter().copied()).collect();
    (Api::start(&all).await, idp)
}

fn oidc_body(idp: &Idp) -> Value {
    json!({
        "provider_type": "oidc", "identifier": "custom:acme", "name": "Acme",
        "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "issuer": https(idp),
        "scopes": ["email"],
    })
}

fn oauth2_body(idp: &Idp) -> Value {
    json!({
        "provider_type": "oauth2", "identifier": "custom:old", "name": "Old",
        "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
        "authorization_url": format!("{}/authorize", https(idp)),
        "token_url": format!("{}/token", https(idp)),
        "userinfo_url": format!("{}/userinfo", https(idp)),
    })
}

async fn create(api: &Api, body: Value) -> Reply {
    api.post(ADMIN, body).service_role().await
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

#[tokio::test]
async fn a_provider_is_made_shown_changed_and_removed() {
    let (api, idp) = openid(&[]).await;

    let reply = create(&api, oidc_body(&idp)).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    let made = reply.json();
    assert_eq!(made["identifier"], "custom:acme");
    assert_eq!(made["provider_type"], "oidc");
    assert_eq!(made["scopes"], json!(["openid", "email"]));
    assert_eq!(made["pkce_enabled"], true);
    assert_eq!(made["enabled"], true);
    assert_eq!(made["email_optional"], false);
    assert_eq!(made["attribute_mapping"], json!({}));
    assert_eq!(made["authorization_params"], json!({}));
    assert_eq!(made["acceptable_client_ids"], json!([]));
    assert_eq!(
        made["discovery_document"]["jwks_uri"],
        format!("{}/keys", https(&idp))
    );
    assert!(made.get("client_secret").is_none(), "{made}");
    assert!(!reply.body.windows(10).any(|part| part == b"our secret"));

    let path = format!("{ADMIN}/custom:acme");
    assert_eq!(api.get(&path).service_role().await.ok(), made);
    let listed = api.get(ADMIN).service_role().await.ok();
    assert_eq!(listed, json!({ "providers": [made] }));
    let of_type = |kind: &str| api.get(&format!("{ADMIN}?type={kind}")).service_role();
    assert_eq!(
        of_type("oidc").await.ok()["providers"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(of_type("oauth2").await.ok(), json!({ "providers": [] }));
    of_type("saml").await.expect_error(400, "validation_failed");

    let change = json!({ "name": "Acme 2", "scopes": ["profile"], "enabled": false });
    let changed = api.put(&path, change).service_role().await.ok();
    assert_eq!(changed["name"], "Acme 2");
    assert_eq!(changed["scopes"], json!(["openid", "profile"]));
    assert_eq!(changed["enabled"], false);
    assert_eq!(changed["issuer"], made["issuer"]);
    assert_eq!(changed["created_at"], made["created_at"]);
    let secret = "select to_jsonb(client_secret) from auth.custom_oauth_providers";
    assert_eq!(api.value(secret, &[]).await, CLIENT_SECRET);

    let gone = api.delete(&path).service_role().await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
    for reply in [
        api.get(&path).service_role().await,
        api.put(&path, json!({})).service_role().await,
        api.delete(&path).service_role().await,
    ] {
        reply.expect_error(404, "custom_provider_not_found");
    }
}

#[tokio::test]
async fn only_administrators_and_only_where_it_is_on() {
    let (api, idp) = openid(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    api.get(ADMIN).await.expect_error(401, "no_authorization");
    api.get(ADMIN)
        .session(&tokens)
        .await
        .expect_error(403, "not_admin");
    let reply = api.post(ADMIN, oidc_body(&idp)).session(&tokens).await;
    reply.expect_error(403, "not_admin");

    let (off, _) = openid(&[("plinth.auth.custom_providers.enabled", "false")]).await;
    off.get(ADMIN)
        .service_role()
        .await
        .expect_error(404, "feature_disabled");
    off.get("/authorize?provider=custom:acme")
        .await
        .expect_error(400, "validation_failed");
}

#[tokio::test]
async fn invalid_providers_are_rejected() {
    let (api, idp) = openid(&[]).await;
    let (oidc, oauth2) = (oidc_body(&idp), oauth2_body(&idp));
    let long = "x".repeat(3000);
    for body in [
        json!({}),
        with(oidc.clone(), "provider_type", json!("saml")),
        with(oidc.clone(), "identifier", json!("acme")),
        with(oidc.clone(), "identifier", json!("custom:A B")),
        with(oidc.clone(), "identifier", json!("")),
        with(oidc.clone(), "name", json!("")),
        with(oidc.clone(), "name", json!("x".repeat(101))),
        with(oidc.clone(), "client_id", json!("")),
        with(oidc.clone(), "client_id", json!("x".repeat(513))),
        with(oidc.clone(), "client_secret", json!("")),
        with(oidc.clone(), "issuer", json!("")),
        with(oidc.clone(), "issuer", json!("http://127.0.0.1")),
        with(oidc.clone(), "issuer", json!("not a url")),
        with(oidc.clone(), "issuer", json!(format!("https://{long}"))),
        with(
            oidc.clone(),
            "discovery_url",
            json!(format!("{}/none", https(&idp))),
        ),
        with(
            oidc.clone(),
            "authorization_params",
            json!({ "state": "x" }),
        ),
        with(
            oidc.clone(),
            "authorization_params",
            json!({ "Nonce": "x" }),
        ),
        with(
            oidc.clone(),
            "authorization_params",
            json!({ "max_age": 7 }),
        ),
        with(oidc.clone(), "attribute_mapping", json!({ "role": "x" })),
        with(
            oidc.clone(),
            "attribute_mapping",
            json!({ "email_verified": true }),
        ),
        with(oidc.clone(), "custom_claims_allowlist", json!([" "])),
        with(oauth2.clone(), "authorization_url", json!("")),
        with(oauth2.clone(), "token_url", json!(null)),
        with(oauth2.clone(), "userinfo_url", json!("ftp://x")),
    ] {
        create(&api, body)
            .await
            .expect_error(400, "validation_failed");
    }
    for (name, value) in [("scopes", json!("email")), ("name", json!("a\u{0}"))] {
        let body = with(oidc.clone(), name, value);
        create(&api, body).await.expect_error(400, "bad_json");
    }
    idp.publish("https://another.test");
    create(&api, oidc)
        .await
        .expect_error(400, "validation_failed");
    assert_eq!(
        api.count("select count(*) from auth.custom_oauth_providers")
            .await,
        0
    );
}

#[tokio::test]
async fn private_addresses_are_rejected() {
    let idp = Idp::start().await;
    idp.publish(&https(&idp));
    let api = Api::start(&[]).await;
    for host in [
        "localhost",
        "x.localhost",
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[::1]",
        "[fd00::1]",
        "0x7f000001",
        "2130706433",
        "no-such-host.invalid",
    ] {
        let body = with(oidc_body(&idp), "issuer", json!(format!("https://{host}")));
        create(&api, body)
            .await
            .expect_error(400, "validation_failed");
        let body = with(
            oauth2_body(&idp),
            "userinfo_url",
            json!(format!("https://{host}/u")),
        );
        create(&api, body)
            .await
            .expect_error(400, "validation_failed");
    }
    assert!(idp.seen("/.well-known/openid-configuration").is_empty());
}

#[tokio::test]
async fn names_are_unique_and_their_number_may_be_limited() {
    let (api, idp) = openid(&[("plinth.auth.custom_providers.max", "1")]).await;
    create(&api, oidc_body(&idp)).await;
    let another = with(oidc_body(&idp), "identifier", json!("custom:other"));
    create(&api, another)
        .await
        .expect_error(400, "over_custom_provider_quota");

    let (api, idp) = openid(&[]).await;
    create(&api, oidc_body(&idp)).await;
    create(&api, oidc_body(&idp))
        .await
        .expect_error(400, "conflict");
}

fn user_claims(api: &Api, idp: &Idp) -> Value {
    let now = api.now().unix_timestamp();
    json!({
        "iss": https(idp), "aud": CLIENT_ID, "sub": "p1", "exp": now + 600,
        "email": "ann@mail.dev", "email_verified": true, "name": "Ann", "groups": ["staff"],
    })
}

fn set_id_token(idp: &Idp, claims: &Value) {
    let response = json!({ "access_token": "a", "id_token": idp.sign(claims) });
    idp.set_response("/token", response);
}

#[tokio::test]
async fn people_sign_in_through_it() {
    let (api, idp) = openid(&[]).await;
    let body = with(
        oidc_body(&idp),
        "authorization_params",
        json!({ "acr_values": "high" }),
    );
    let body = with(body, "custom_claims_allowlist", json!(["groups"]));
    let body = with(body, "attribute_mapping", json!({ "nickname": "name" }));
    create(&api, body).await;
    set_id_token(&idp, &user_claims(&api, &idp));

    let reply = api
        .get("/authorize?provider=custom:acme&scopes=profile%20email")
        .await;
    let there = landing(&reply, 302);
    assert_eq!(there.query("scope"), "openid profile email");
    assert_eq!(there.query("acr_values"), "high");
    assert_eq!(there.query("code_challenge_method"), "S256");
    assert_eq!(
        there.query("redirect_uri"),
        "http://api.test/auth/v1/callback"
    );
    let (_, user) = sign_in(&api, "custom:acme").await;

    let data = &identity(&user, "custom:acme")["identity_data"];
    assert_eq!(data["custom_claims"], json!({ "groups": ["staff"] }));
    assert_eq!(data["nickname"], "Ann");
    assert_eq!(user["app_metadata"]["provider"], "custom:acme");
    assert!(idp.seen("/token")[0].field("code_verifier").is_some());

    let bad = with(user_claims(&api, &idp), "aud", json!("else"));
    set_id_token(&idp, &bad);
    run_flow(&api, "provider=custom:acme")
        .await
        .expect_error("server_error", "unexpected_failure");
    let path = format!("{ADMIN}/custom:acme");
    let change = json!({ "acceptable_client_ids": ["else"] });
    api.put(&path, change).service_role().await.ok();
    sign_in(&api, "custom:acme").await;
    api.put(&path, json!({ "enabled": false }))
        .service_role()
        .await
        .ok();
    let reply = api.get("/authorize?provider=custom:acme").await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn without_an_id_token_the_userinfo_endpoint_is_asked() {
    let (api, idp) = openid(&[]).await;
    create(&api, oidc_body(&idp)).await;
    idp.set_response("/token", json!({ "access_token": "a" }));
    idp.set_response(
        "/userinfo",
        json!({ "sub": "p1", "email": "ann@mail.dev", "email_verified": true }),
    );

    let (_, user) = sign_in(&api, "custom:acme").await;

    assert_eq!(identity(&user, "custom:acme")["id"], "p1");
    assert_eq!(idp.seen("/userinfo")[0].authorization, "Bearer a");
}

#[tokio::test]
async fn a_plain_oauth_provider_works_too() {
    let (api, idp) = openid(&[super::CONFIRM]).await;
    let body = with(
        oauth2_body(&idp),
        "attribute_mapping",
        json!({ "sub": "id", "email": "mail" }),
    );
    let body = with(body, "pkce_enabled", json!(false));
    let body = with(body, "email_optional", json!(true));
    create(&api, body).await;
    idp.set_response("/token", json!({ "access_token": "a" }));
    idp.set_response("/userinfo", json!({ "id": 42, "name": "Ann" }));

    let (_, user) = sign_in(&api, "custom:old").await;

    assert_eq!(identity(&user, "custom:old")["id"], "42");
    assert_eq!(user["email"], "");
    assert_eq!(idp.seen("/token")[0].field("code_verifier"), None);
    idp.set_response("/userinfo", json!({ "name": "Nobody" }));
    run_flow(&api, "provider=custom:old")
        .await
        .expect_error("server_error", "unexpected_failure");
}

#[tokio::test]
async fn id_tokens_may_be_brought() {
    let (api, idp) = openid(&[]).await;
    create(&api, oidc_body(&idp)).await;
    create(&api, oauth2_body(&idp)).await;
    let sign_in_with = async |provider: &str, claims: &Value| {
        let body = json!({ "provider": provider, "id_token": idp.sign(claims) });
        api.post("/token?grant_type=id_token", body).await
    };
    let good = user_claims(&api, &idp);

    let tokens = sign_in_with("custom:acme", &good).await.ok();
    assert_eq!(identity(&tokens["user"], "custom:acme")["id"], "p1");
    assert_eq!(
        sign_in_with("custom:acme", &with(good.clone(), "aud", json!("x")))
            .await
            .status,
        400
    );
    sign_in_with("custom:old", &good)
        .await
        .expect_error(400, "validation_failed");
    let path = format!("{ADMIN}/custom:acme");
    api.put(&path, json!({ "enabled": false }))
        .service_role()
        .await
        .ok();
    sign_in_with("custom:acme", &good)
        .await
        .expect_error(400, "provider_disabled");
}

#[tokio::test]
async fn people_come_back_to_the_address_that_the_settings_name() {
    let elsewhere = (
        "plinth.auth.custom_providers.external_url",
        "https://login.site.test/auth/v1/",
    );
    let (api, idp) = openid(&[elsewhere]).await;
    create(&api, oauth2_body(&idp)).await;
    idp.set_response("/token", json!({ "access_token": "a" }))
        .set_response("/userinfo", json!({ "sub": "1", "email": "ann@mail.dev" }));
    let expected = "https://login.site.test/auth/v1/callback";

    let reply = api
        .get("/authorize?provider=custom:old")
        .without_key()
        .await;
    assert_eq!(landing(&reply, 302).query("redirect_uri"), expected);
    sign_in(&api, "custom:old").await;

    let exchange = &idp.seen("/token")[0];
    assert_eq!(exchange.field("redirect_uri"), Some(expected));
}
