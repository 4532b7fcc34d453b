//! `GET /user/identities/authorize` (auth contract §2.9, §5.2).

use serde_json::json;

use super::{
    CHALLENGE, CONFIRM, LINKING, VERIFIER, finish_flow, idp::Idp, landing, providers, sign_in,
    start,
};
use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

const ANONYMOUS: (&str, &str) = ("auth.enable_anonymous_sign_ins", "true");

/// Starts the flow as a signed-in user.
async fn begin_flow(api: &Api, token: &str) -> String {
    let path = "/user/identities/authorize?provider=github&skip_http_redirect=true";
    let reply = api.get(path).bearer(token).await.ok();
    let url = url::Url::parse(reply["url"].as_str().expect("a URL")).expect("a URL");
    let mut pairs = url.query_pairs();
    let state = pairs.find(|(name, _)| name == "state").expect("a state");
    state.1.into_owned()
}

#[tokio::test]
async fn it_has_to_be_switched_on() {
    let (api, _idp) = start("github", &[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;

    let path = "/user/identities/authorize?provider=github";
    let reply = api.get(path).session(&tokens).await;
    reply.expect_error_text(404, "manual_linking_disabled", "Manual linking is disabled");
    api.get(path).await.expect_error(401, "no_authorization");
    let path = format!("/user/identities/{}", uuid::Uuid::nil());
    let reply = api.delete(&path).session(&tokens).await;
    reply.expect_error(404, "manual_linking_disabled");
}

#[tokio::test]
async fn an_identity_is_added_whatever_its_address() {
    let (api, idp) = start("github", &[LINKING]).await;
    idp.github(7, "other@mail.dev", true);
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let token = tokens["access_token"].as_str().expect("a token");

    let reply = api
        .get("/user/identities/authorize?provider=github")
        .bearer(token)
        .await;
    assert!(landing(&reply, 302).url.as_str().starts_with(&idp.url));
    let state = begin_flow(&api, token).await;
    let landed = landing(&finish_flow(&api, &state).await, 302);

    let user = api
        .get("/user")
        .bearer(landed.fragment("access_token"))
        .await
        .ok();
    assert_eq!(user["id"], tokens["user"]["id"]);
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(providers(&user), json!(["email", "github"]));
    assert_eq!(
        user["app_metadata"]["providers"],
        json!(["email", "github"])
    );
    assert!(user["user_metadata"].get("user_name").is_none());
    assert!(api.audit().await.contains(&"identity_linked".to_owned()));
    // The identity can now be used to sign in.
    let (_, again) = sign_in(&api, "github").await;
    assert_eq!(again["id"], user["id"]);
}

#[tokio::test]
async fn it_may_end_with_a_code() {
    let (api, idp) = start("github", &[LINKING]).await;
    idp.github(7, "other@mail.dev", true);
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let path = format!(
        "/user/identities/authorize?provider=github&code_challenge={CHALLENGE}\
         &code_challenge_method=s256"
    );

    let reply = api.get(&path).session(&tokens).await;
    let state = landing(&reply, 302).query("state").to_owned();
    let landed = landing(&finish_flow(&api, &state).await, 302);

    let body = json!({ "auth_code": landed.query("code"), "code_verifier": VERIFIER });
    let linked = api.post("/token?grant_type=pkce", body).await.ok();
    assert_eq!(linked["user"]["id"], tokens["user"]["id"]);
    assert_eq!(linked["provider_token"], "gho_access");
}

#[tokio::test]
async fn an_identity_belongs_to_one_account() {
    let (api, idp) = start("github", &[LINKING]).await;
    idp.github(7, "bob@mail.dev", true);
    let (bob, _) = sign_in(&api, "github").await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    let ann = ann["access_token"].as_str().expect("a token");

    for (token, text) in [
        (ann, "Identity is already linked to another user"),
        (&bob, "Identity is already linked"),
    ] {
        let state = begin_flow(&api, token).await;
        let landed = landing(&finish_flow(&api, &state).await, 302);
        landed.expect_error("server_error", "identity_already_exists");
        assert_eq!(landed.query("error_description"), text);
    }
}

#[tokio::test]
async fn an_account_that_ended_meanwhile_is_linked_to_nothing() {
    let (api, idp) = start("github", &[LINKING]).await;
    idp.github(7, "other@mail.dev", true);
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let state = begin_flow(&api, tokens["access_token"].as_str().expect("a token")).await;
    api.execute("delete from auth.users").await;

    let landed = landing(&finish_flow(&api, &state).await, 303);

    assert_eq!(landed.query("error"), "server_error");
    assert_eq!(landed.query("error_code"), "user_not_found");
}

#[tokio::test]
async fn anonymous_people_get_a_name_by_linking() {
    let (api, idp) = start("github", &[LINKING, ANONYMOUS, CONFIRM]).await;
    idp.github(7, "ann@mail.dev", true);
    let tokens = api.post("/signup", json!({})).await.ok();
    let token = tokens["access_token"].as_str().expect("a token");
    assert_eq!(tokens["user"]["is_anonymous"], true);

    let state = begin_flow(&api, token).await;
    let landed = landing(&finish_flow(&api, &state).await, 302);

    let user = api
        .get("/user")
        .bearer(landed.fragment("access_token"))
        .await
        .ok();
    assert_eq!(user["id"], tokens["user"]["id"]);
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["is_anonymous"], false);
    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "github", "providers": ["github"] })
    );
}

#[tokio::test]
async fn an_unverified_address_keeps_them_anonymous_until_it_is_confirmed() {
    let (api, idp) = start("github", &[LINKING, ANONYMOUS, CONFIRM]).await;
    idp.github(7, "ann@mail.dev", false);
    let tokens = api.post("/signup", json!({})).await.ok();
    let token = tokens["access_token"].as_str().expect("a token");

    let state = begin_flow(&api, token).await;
    let landed = landing(&finish_flow(&api, &state).await, 302);

    landed.expect_error("server_error", "email_not_confirmed");
    let user = api.get("/user").bearer(token).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["is_anonymous"], true);
    assert_eq!(providers(&user), json!(["github"]));
    assert!(user.get("email_confirmed_at").is_none());
    assert_eq!(api.mails().await.len(), 1);
}

#[tokio::test]
async fn no_user_takes_an_address_of_another_user() {
    let (api, idp) = start("github", &[LINKING, ANONYMOUS]).await;
    idp.github(7, "ann@mail.dev", true);
    api.sign_up("ann@mail.dev", "correct horse").await;
    let tokens = api.post("/signup", json!({})).await.ok();
    let token = tokens["access_token"].as_str().expect("a token");

    let state = begin_flow(&api, token).await;
    let landed = landing(&finish_flow(&api, &state).await, 302);

    landed.expect_error("invalid_request", "email_exists");
    let user = api.get("/user").bearer(token).await.ok();
    assert_eq!(user["identities"], json!([]));
}

#[tokio::test]
async fn owners_are_notified_if_the_project_wants_it() {
    let notices = ("auth.email.notification.identity_linked.enabled", "true");
    let idp = Idp::start().await;
    let api = super::start_with(&[("github", &idp)], &[LINKING, notices]).await;
    idp.github(7, "other@mail.dev", true);
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;

    let state = begin_flow(&api, tokens["access_token"].as_str().expect("a token")).await;
    landing(&finish_flow(&api, &state).await, 302);

    let mails = api.mails().await;
    assert_eq!(mails.len(), 1, "{mails:?}");
}
