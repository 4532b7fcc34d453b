//! `/verify` (auth contract §2.5): by code and by link.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const LISTED: (&str, &str) = (
    "auth.additional_redirect_urls",
    "https://app.test/**,myapp://**",
);

async fn with_pending_sign_up(settings: &[(&str, &str)], query: &str, more: Value) -> Api {
    let api = Api::start(settings).await;
    let mut body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    for (key, value) in more.as_object().expect("an object") {
        body[key] = value.clone();
    }
    api.post(&format!("/signup{query}"), body).await.ok();
    api
}

async fn follow(api: &Api) -> Reply {
    let link = api.mail_to("ann@mail.dev").await.link();
    let reply = api.get(&link).without_key().await;
    assert_eq!(reply.status, 303, "{reply:?}");
    reply
}

fn fragment(location: &str) -> Value {
    let (_, fragment) = location.split_once('#').expect("a fragment");
    let pairs = url::form_urlencoded::parse(fragment.as_bytes());
    pairs
        .map(|(key, value)| (key.into_owned(), Value::from(value.into_owned())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn a_link_ends_at_the_site_with_the_session_in_its_fragment() {
    let api = with_pending_sign_up(&[CONFIRM], "", json!({})).await;

    let reply = follow(&api).await;

    assert!(
        reply.location().starts_with("http://localhost:3000#"),
        "{reply:?}"
    );
    let fragment = fragment(reply.location());
    assert_eq!(fragment["type"], "signup");
    assert_eq!(fragment["token_type"], "bearer");
    assert_eq!(fragment["expires_in"], "3600");
    assert_eq!(fragment["sb"], "");
    let token = fragment["access_token"].as_str().expect("a token");
    let user = api.get("/user").bearer(token).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
    let log = api.audit().await;
    assert_eq!(log.last().map(String::as_str), Some("user_signedup"));
    let body = json!({ "refresh_token": fragment["refresh_token"] });
    api.post("/token?grant_type=refresh_token", body).await.ok();
}

#[tokio::test]
async fn people_are_sent_where_they_asked_to_be_if_that_is_listed() {
    let target = "?redirect_to=https%3A%2F%2Fapp.test%2Fwelcome%3Fx%3D1";
    let api = with_pending_sign_up(&[CONFIRM, LISTED], target, json!({})).await;
    let location = follow(&api).await.location().to_owned();
    assert!(
        location.starts_with("https://app.test/welcome?x=1#access_token="),
        "{location}"
    );

    let api = with_pending_sign_up(
        &[CONFIRM, LISTED],
        "?redirect_to=https%3A%2F%2Fevil.test%2F",
        json!({}),
    )
    .await;
    let location = follow(&api).await.location().to_owned();
    assert!(location.starts_with("http://localhost:3000#"), "{location}");
}

#[tokio::test]
async fn a_link_may_not_be_bent_to_another_place() {
    let api = with_pending_sign_up(&[CONFIRM, LISTED], "", json!({})).await;
    let link = api.mail_to("ann@mail.dev").await.link();
    let (path, _) = link.split_once("&redirect_to").unwrap_or((&link, ""));

    let reply = api
        .get(&format!("{path}&redirect_to=https://app.test@evil.test/"))
        .await;

    assert!(
        reply.location().starts_with("http://localhost:3000#"),
        "{reply:?}"
    );
}

#[tokio::test]
async fn what_is_missing_is_an_error_and_what_is_wrong_a_redirect() {
    let api = Api::start(&[]).await;

    api.get("/verify?type=signup")
        .await
        .expect_error(400, "validation_failed");
    api.get("/verify?token=x")
        .await
        .expect_error(400, "validation_failed");
    let reply = api.get("/verify?type=signup&token=nothing").await;
    assert_eq!(reply.status, 303);
    let fragment = fragment(reply.location());
    assert_eq!(
        fragment,
        json!({
            "error": "access_denied",
            "error_code": "otp_expired",
            "error_description": "Email link is invalid or has expired",
            "sb": "",
        })
    );
    let reply = api.get("/verify?type=signup&token=pkce_nothing").await;
    let (before, _) = reply.location().split_once('#').expect("a fragment");
    assert!(before.contains("?error=access_denied&error_code=otp_expired"));
    assert!(!before.contains("sb="));
}

#[tokio::test]
async fn a_hash_may_be_posted_alone() {
    let api = with_pending_sign_up(&[CONFIRM], "", json!({})).await;
    let hash = api.mail_to("ann@mail.dev").await.token_hash();

    let with_more = json!({ "type": "signup", "token_hash": hash, "email": "ann@mail.dev" });
    api.post("/verify", with_more)
        .await
        .expect_error(400, "validation_failed");
    let body = json!({ "type": "email", "token_hash": hash });
    let tokens = api.post("/verify", body).await.ok();
    assert_eq!(tokens["user"]["email"], "ann@mail.dev");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let api = Api::start(&[]).await;
    let email = "a@b.c";
    let cases = [
        (json!({ "token": "1", "email": email }), 400),
        (json!({ "type": "signup", "email": email }), 400),
        (
            json!({ "type": "signup", "token": "1", "token_hash": "x", "email": email }),
            400,
        ),
        (json!({ "type": "signup", "token": "1" }), 400),
        (
            json!({ "type": "signup", "token": "1", "email": email, "phone": "123" }),
            400,
        ),
        (
            json!({ "type": "magic", "token": "1", "email": email }),
            400,
        ),
        (json!({ "type": "sms", "token": "1", "phone": "0" }), 400),
        (json!({ "type": "sms", "token": "1", "email": email }), 400),
        (
            json!({ "type": "signup", "token": "1", "email": "nobody" }),
            422,
        ),
    ];
    for (body, status) in cases {
        api.post("/verify", body)
            .await
            .expect_error(status, "validation_failed");
    }
    api.post(
        "/verify",
        json!({ "type": "email", "token": "123456", "email": email }),
    )
    .await
    .expect_error(403, "otp_expired");
}

#[tokio::test]
async fn a_banned_user_is_rejected() {
    let api = with_pending_sign_up(&[CONFIRM], "", json!({})).await;
    api.execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;
    let code = api.mail_to("ann@mail.dev").await.otp();

    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    api.post("/verify", body)
        .await
        .expect_error(403, "user_banned");
}

/// A change of address takes two links; the first gives no session.
#[tokio::test]
async fn the_first_of_two_links_ends_with_a_message() {
    let said = "message=Confirmation+link+accepted.+Please+proceed+to+confirm+link+sent+to+the+\
                other+email";
    let challenge = json!({
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "s256",
    });
    for (more, query, next) in [
        (json!({}), String::new(), "#access_token="),
        (challenge, format!("?{said}"), "?code="),
    ] {
        let api = with_pending_sign_up(&[CONFIRM], "", json!({})).await;
        let token = fragment(follow(&api).await.location())["access_token"].clone();
        let mut change = more;
        change["email"] = "new@mail.dev".into();
        let token = token.as_str().expect("a token");
        api.put("/user", change).bearer(token).await.ok();

        let link = api.mail_to("new@mail.dev").await.link();
        let first = api.get(&link).without_key().await;

        assert_eq!(first.status, 303, "{first:?}");
        let expected = format!("http://localhost:3000{query}#{said}&sb=");
        assert_eq!(first.location(), expected);
        let user = api.get("/user").bearer(token).await.ok();
        assert_eq!(user["email"], "ann@mail.dev");
        let second = follow(&api).await;
        let location = second.location();
        let expected = format!("http://localhost:3000{next}");
        assert!(location.starts_with(&expected), "{location}");
        let user = api.get("/user").bearer(token).await.ok();
        assert_eq!(user["email"], "new@mail.dev");
    }
}

/// As mail scanners do.
#[tokio::test]
async fn looking_at_a_link_does_not_use_it_up() {
    let api = with_pending_sign_up(&[CONFIRM], "", json!({})).await;
    let link = api.mail_to("ann@mail.dev").await.link();

    let reply = api.call(Method::HEAD, &link).without_key().await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.header("location"), None);
    assert!(follow(&api).await.location().contains("access_token="));
}

/// A link must redirect to the site, even on a timeout.
#[tokio::test]
async fn a_link_that_takes_too_long_ends_at_the_site_too() {
    let short = ("plinth.auth.request_timeout", "10s");
    let api = with_pending_sign_up(&[CONFIRM, short], "", json!({})).await;
    let mut other = api.admin().await;
    let held = other.transaction().await.expect("a transaction");
    let sql = "select 1 from auth.users for update";
    held.execute(sql, &[]).await.expect("locked rows");

    let reply = follow(&api).await;

    let params = fragment(reply.location());
    assert_eq!(params["error_code"], "request_timeout");
    held.rollback().await.expect("let go");
    assert!(follow(&api).await.location().contains("access_token="));
}
