//! Flows that end with the exchange of a code (auth contract §2.3, §5.4).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql, claims};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
/// Of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

async fn signed_up() -> Api {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({
        "email": "ann@mail.dev", "password": "correct horse",
        "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });
    api.post("/signup", body).await.ok();
    api
}

/// Follows the link of the newest mail; returns the code.
async fn code(api: &Api) -> String {
    let mail = api.mail_to("ann@mail.dev").await;
    assert!(mail.token_hash().starts_with("pkce_"));
    let reply = api.get(&mail.link()).without_key().await;
    let location = reply.location().to_owned();
    assert!(!location.contains("access_token"), "{location}");
    let (_, code) = location.split_once("?code=").expect("a code");
    code.to_owned()
}

async fn exchange(api: &Api, code: &str, verifier: &str) -> Reply {
    let body = json!({ "auth_code": code, "code_verifier": verifier });
    api.post("/token?grant_type=pkce", body).await
}

fn method(tokens: &Value) -> Value {
    claims(tokens["access_token"].as_str().expect("a token"))["amr"][0]["method"].clone()
}

#[tokio::test]
async fn a_link_gives_a_code_that_only_its_asker_can_use_and_only_once() {
    let api = signed_up().await;
    let code = code(&api).await;

    exchange(
        &api,
        &code,
        "somebody-else-has-only-the-code-from-the-url-here",
    )
    .await
    .expect_error(400, "bad_code_verifier");
    let tokens = exchange(&api, &code, VERIFIER).await.ok();

    assert_eq!(method(&tokens), "email/signup");
    exchange(&api, &code, VERIFIER)
        .await
        .expect_error(404, "flow_state_not_found");
}

#[tokio::test]
async fn codes_grow_old_but_mails_may_be_read_late() {
    let api = signed_up().await;
    api.advance(Duration::from_secs(3000));
    let code = code(&api).await;
    api.advance(Duration::from_secs(301));

    exchange(&api, &code, VERIFIER)
        .await
        .expect_error(422, "flow_state_expired");

    let api = signed_up().await;
    api.advance(Duration::from_secs(3000));
    let code = self::code(&api).await;
    api.advance(Duration::from_secs(200));
    exchange(&api, &code, VERIFIER).await.ok();
}

#[tokio::test]
async fn other_flows_remember_what_they_were() {
    let api = signed_up().await;
    let first = code(&api).await;
    exchange(&api, &first, VERIFIER).await.ok();
    for (path, expected) in [("/recover", "recovery"), ("/otp", "magiclink")] {
        api.advance(Duration::from_secs(120));
        let body = json!({
            "email": "ann@mail.dev",
            "code_challenge": VERIFIER, "code_challenge_method": "plain",
        });
        api.post(path, body).await.ok();
        let code = code(&api).await;
        let tokens = exchange(&api, &code, VERIFIER).await.ok();
        assert_eq!(method(&tokens), expected);
    }
}

#[tokio::test]
async fn a_session_is_given_directly_where_there_is_nothing_to_confirm() {
    let api = Api::start(&[]).await;
    let body = json!({
        "email": "ann@mail.dev", "password": "correct horse",
        "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });

    assert!(api.post("/signup", body).await.ok()["access_token"].is_string());
    assert_eq!(api.count("select count(*) from auth.flow_state").await, 0);
}

/// Server-side rendering has the hash, but not the verifier.
#[tokio::test]
async fn a_hash_of_such_a_flow_may_be_posted() {
    let api = signed_up().await;
    let hash = api.mail_to("ann@mail.dev").await.token_hash();

    let body = json!({ "type": "signup", "token_hash": hash });
    assert!(api.post("/verify", body).await.ok()["access_token"].is_string());
}

/// Removing the PKCE prefix from a link must not make the verifier unnecessary.
#[tokio::test]
async fn a_flow_cannot_be_made_weaker() {
    let api = signed_up().await;
    let hash = api.mail_to("ann@mail.dev").await.token_hash();
    let bare = hash.strip_prefix("pkce_").expect("the mark");

    let reply = api.get(&format!("/verify?type=signup&token={bare}")).await;

    assert!(reply.location().contains("otp_expired"), "{reply:?}");
    assert!(!reply.location().contains("access_token"));
}

#[tokio::test]
async fn both_halves_are_needed() {
    let api = Api::start(&[]).await;

    exchange(&api, "", VERIFIER)
        .await
        .expect_error(400, "validation_failed");
    exchange(&api, "code", "")
        .await
        .expect_error(400, "validation_failed");
    exchange(&api, "code", VERIFIER)
        .await
        .expect_error(404, "flow_state_not_found");
}

#[tokio::test]
async fn a_change_of_address_is_such_a_flow_too() {
    let api = Api::start(&[("auth.email.double_confirm_changes", "false")]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let body = json!({
        "email": "new@mail.dev",
        "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });
    api.put("/user", body).session(&tokens).await.ok();
    let mail = api.mail_to("new@mail.dev").await;
    assert!(mail.token_hash().starts_with("pkce_"));

    let reply = api.get(&mail.link()).without_key().await;
    let (_, code) = reply.location().split_once("?code=").expect("a code");
    let tokens = exchange(&api, code, VERIFIER).await.ok();

    assert_eq!(method(&tokens), "email_change");
    assert_eq!(tokens["user"]["email"], "new@mail.dev");
}

#[tokio::test]
async fn a_link_without_its_flow_fails_and_is_not_consumed() {
    let api = signed_up().await;
    let mail = api.mail_to("ann@mail.dev").await;
    api.execute("create table public.kept as table auth.flow_state; delete from auth.flow_state")
        .await;

    let reply = api.get(&mail.link()).without_key().await;

    assert_eq!(reply.status, 303, "{reply:?}");
    let said = "error=invalid_request&error_code=flow_state_not_found&\
                error_description=No+associated+flow+state+found";
    let expected = format!("http://localhost:3000?{said}#{said}&sb=");
    assert_eq!(reply.location(), expected);
    let confirmed = "select count(*) from auth.users where email_confirmed_at is not null";
    assert_eq!(api.count(confirmed).await, 0);
    api.execute("insert into auth.flow_state table public.kept")
        .await;
    let code = code(&api).await;
    exchange(&api, &code, VERIFIER).await.ok();
}
