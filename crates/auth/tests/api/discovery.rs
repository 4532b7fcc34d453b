//! Discovery (auth contract §2.1), and disabled features.

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Requests};

#[tokio::test]
async fn settings_say_which_ways_in_are_open() {
    let api = Api::start(&[]).await;

    let settings = api.get("/settings").await.ok();

    let external = settings["external"].as_object().expect("an object");
    let names: Vec<&str> = external.keys().map(String::as_str).collect();
    let mut expected = vec![
        "anonymous_users",
        "apple",
        "azure",
        "bitbucket",
        "discord",
        "email",
        "facebook",
        "figma",
        "fly",
        "github",
        "gitlab",
        "google",
        "kakao",
        "keycloak",
        "linkedin",
        "linkedin_oidc",
        "notion",
        "phone",
        "slack",
        "slack_oidc",
        "snapchat",
        "spotify",
        "twitch",
        "twitter",
        "workos",
        "zoom",
    ];
    let mut names_sorted = names.clone();
    names_sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names_sorted, expected);
    assert_eq!(external["email"], true);
    assert_eq!(external["google"], false);
    let mut rest = settings.clone();
    rest.as_object_mut().expect("an object").remove("external");
    assert_eq!(
        rest,
        json!({
            "disable_signup": false, "mailer_autoconfirm": true, "phone_autoconfirm": true,
            "sms_provider": "", "saml_enabled": false,
            "saml_private_key_next_configured": false, "passkeys_enabled": false,
        })
    );
}

#[tokio::test]
async fn settings_follow_the_project() {
    let api = Api::start(&[
        ("auth.enable_signup", "false"),
        ("auth.enable_anonymous_sign_ins", "true"),
        ("auth.email.enable_confirmations", "true"),
        ("auth.external.github.enabled", "true"),
        ("auth.external.github.client_id", "id"),
        ("auth.external.github.secret", "secret"),
    ])
    .await;

    let settings = api.get("/settings").await.ok();

    assert_eq!(settings["disable_signup"], true);
    assert_eq!(settings["mailer_autoconfirm"], false);
    assert_eq!(settings["external"]["anonymous_users"], true);
    assert_eq!(settings["external"]["github"], true);
    let reply = api.get("/settings").without_key().await;
    reply.expect_error(401, "no_authorization");
}

#[tokio::test]
async fn the_discovery_document_leads_to_every_endpoint() {
    let api = Api::start(&[]).await;
    let path = "/.well-known/openid-configuration";

    let reply = api.get(path).without_key().await;

    let document = reply.ok();
    let base = "http://api.test/auth/v1";
    let url = |path: &str| Value::from(format!("{base}{path}"));
    assert_eq!(document["issuer"], base);
    assert_eq!(document["authorization_endpoint"], url("/oauth/authorize"));
    assert_eq!(document["token_endpoint"], url("/oauth/token"));
    assert_eq!(document["jwks_uri"], url("/.well-known/jwks.json"));
    assert_eq!(document["userinfo_endpoint"], url("/oauth/userinfo"));
    assert_eq!(document.get("registration_endpoint"), None);
    let scopes = json!(["openid", "profile", "email", "phone", "offline_access"]);
    assert_eq!(document["scopes_supported"], scopes);
    assert_eq!(
        document["code_challenge_methods_supported"],
        json!(["S256", "plain"])
    );
    assert_eq!(reply.header("cache-control"), Some("public, max-age=600"));
    let other = api.get("/.well-known/oauth-authorization-server").await;
    other.expect_error(404, "feature_disabled");
}

#[tokio::test]
async fn an_oauth_server_has_its_own_document() {
    let api = Api::start(&[
        ("auth.oauth_server.enabled", "true"),
        ("auth.oauth_server.allow_dynamic_registration", "true"),
    ])
    .await;

    let openid = api.get("/.well-known/openid-configuration").without_key();
    let server = api
        .get("/.well-known/oauth-authorization-server")
        .without_key();
    let openid = openid.await.ok();

    assert_eq!(
        openid["registration_endpoint"],
        "http://api.test/auth/v1/oauth/clients/register"
    );
    assert_eq!(server.await.ok(), openid);
}

#[tokio::test]
async fn the_list_of_sso_providers_is_empty_for_administrators() {
    let api = Api::start(&[]).await;

    let reply = api.get("/admin/sso/providers").service_role().await;
    assert_eq!(reply.ok(), json!({ "items": [] }));

    let reply = api.get("/admin/sso/providers").await;
    reply.expect_error(401, "no_authorization");
}

#[tokio::test]
async fn unsupported_endpoints_respond_as_disabled() {
    let api = Api::start(&[]).await;

    let reply = api.post("/sso", json!({ "domain": "company.test" })).await;
    reply.expect_error_text(404, "saml_provider_disabled", "SAML 2.0 is disabled");
    let reply = api.get("/sso/saml/metadata").without_key().await;
    reply.expect_error(404, "saml_provider_disabled");
    let reply = api.post("/admin/sso/providers", json!({ "type": "saml" }));
    let reply = reply.service_role().await;
    reply.expect_error(404, "saml_provider_disabled");
    let reply = api.get("/admin/sso/providers/any").service_role().await;
    reply.expect_error(404, "saml_provider_disabled");
    let reply = api.get("/scim/v2/Schemas").without_key().await;
    reply.expect_error(404, "feature_disabled");
}
