//! `POST /invite` and `POST /admin/generate_link` (auth contract §2.13).

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const PASSWORD: &str = "correct horse";

async fn invite(api: &Api, body: Value) -> Reply {
    api.post("/invite", body).service_role().await
}

async fn link(api: &Api, body: Value) -> Reply {
    api.post("/admin/generate_link", body).service_role().await
}

async fn verify(api: &Api, kind: &str, link: &Value) -> Reply {
    let body = json!({ "type": kind, "token_hash": link["hashed_token"] });
    api.post("/verify", body).await
}

#[tokio::test]
async fn an_invitation_makes_the_account_and_sends_the_mail() {
    let api = Api::start(&[CONFIRM]).await;

    let body = json!({ "email": "Ann@Mail.dev", "data": { "team": "blue" } });
    let user = invite(&api, body).await.ok();

    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["user_metadata"], json!({ "team": "blue" }));
    assert!(user["invited_at"].is_string() && user["confirmation_sent_at"].is_string());
    assert_eq!(user.get("email_confirmed_at"), None);
    assert_eq!(user["identities"].as_array().map(Vec::len), Some(1));
    assert_eq!(api.audit().await, ["user_invited"]);
    let mail = api.mail_to("ann@mail.dev").await;
    assert_eq!(mail.template(), "invite");
    assert!(mail.link().contains("type=invite"));

    let body = json!({ "type": "invite", "token_hash": mail.token_hash() });
    let tokens = api.post("/verify", body).await.ok();
    assert!(tokens["user"]["email_confirmed_at"].is_string());
}

#[tokio::test]
async fn an_invitation_can_be_repeated_until_it_is_accepted() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "email": "ann@mail.dev" });
    let first = invite(&api, body.clone()).await.ok();
    let old = api.mail_to("ann@mail.dev").await;

    let second = invite(&api, body.clone()).await.ok();

    assert_eq!(second["id"], first["id"]);
    assert_eq!(api.mails().await.len(), 2);
    let stale = json!({ "type": "invite", "token_hash": old.token_hash() });
    api.post("/verify", stale)
        .await
        .expect_error(403, "otp_expired");
    let mail = api.mail_to("ann@mail.dev").await;
    let good = json!({ "type": "invite", "email": "ann@mail.dev", "token": mail.otp() });
    api.post("/verify", good).await.ok();
    invite(&api, body).await.expect_error(422, "email_exists");
}

#[tokio::test]
async fn invitations_are_for_administrators_and_addresses() {
    let api = Api::start(&[]).await;
    let body = json!({ "email": "ann@mail.dev" });

    let reply = api.post("/invite", body).await;
    reply.expect_error(401, "no_authorization");
    for email in ["", "ann", "a@b\r\nBcc: x@y.z"] {
        let reply = invite(&api, json!({ "email": email })).await;
        reply.expect_error(400, "validation_failed");
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_hook_may_reject_new_users() {
    let hook = [
        ("auth.hook.before_user_created.enabled", "true"),
        (
            "auth.hook.before_user_created.uri",
            "pg-functions://postgres/public/hook",
        ),
    ];
    let api = Api::start(&hook).await;
    api.execute(
        "create function public.hook(event jsonb) returns jsonb language sql as
           $$ select '{\"error\": {\"http_code\": 403, \"message\": \"not you\"}}'::jsonb $$;
         grant execute on function public.hook to supabase_auth_admin",
    )
    .await;

    let reply = invite(&api, json!({ "email": "ann@mail.dev" })).await;
    reply.expect_error_text(403, "unknown", "not you");
    for kind in ["signup", "invite", "magiclink"] {
        let body = json!({ "type": kind, "email": "ann@mail.dev", "password": PASSWORD });
        link(&api, body)
            .await
            .expect_error_text(403, "unknown", "not you");
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
    assert_eq!(api.mails().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_signup_link_makes_the_account_and_sends_nothing() {
    let api = Api::start(&[CONFIRM]).await;

    let body = json!({
        "type": "signup", "email": "Ann@Mail.dev", "password": PASSWORD, "data": { "a": 1 },
    });
    let made = link(&api, body).await.ok();

    assert_eq!(made["email"], "ann@mail.dev");
    assert_eq!(made["user_metadata"], json!({ "a": 1 }));
    assert_eq!(made["verification_type"], "signup");
    assert_eq!(made["redirect_to"], "http://localhost:3000");
    let hash = made["hashed_token"].as_str().expect("a hash");
    assert_eq!(hash.len(), 56);
    let expected = format!(
        "http://api.test/auth/v1/verify?token={hash}&type=signup&redirect_to=http://localhost:3000"
    );
    assert_eq!(made["action_link"], expected);
    assert_eq!(made["email_otp"].as_str().map(str::len), Some(6));
    assert_eq!(api.mails().await, [] as [Value; 0]);

    // Still unconfirmed: generated again, with more data.
    let body = json!({
        "type": "signup", "email": "ann@mail.dev", "password": PASSWORD, "data": { "b": 2 },
    });
    let again = link(&api, body.clone()).await.ok();
    assert_eq!(again["id"], made["id"]);
    assert_eq!(again["user_metadata"], json!({ "a": 1, "b": 2 }));
    verify(&api, "signup", &made)
        .await
        .expect_error(403, "otp_expired");
    let tokens = verify(&api, "signup", &again).await.ok();
    assert_eq!(tokens["user"]["id"], made["id"]);
    link(&api, body).await.expect_error(422, "email_exists");
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
}

#[tokio::test]
async fn a_signup_link_needs_a_good_password() {
    let api = Api::start(&[]).await;
    let body = json!({ "type": "signup", "email": "ann@mail.dev" });
    link(&api, body)
        .await
        .expect_error(400, "validation_failed");
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "password": "x" });
    link(&api, body).await.expect_error(422, "weak_password");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn an_invite_link_marks_the_user_as_invited() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "type": "invite", "email": "ann@mail.dev" });

    let made = link(&api, body.clone()).await.ok();

    assert!(made["invited_at"].is_string());
    assert_eq!(made["verification_type"], "invite");
    assert_eq!(api.audit().await, ["user_invited"]);
    verify(&api, "invite", &made).await.ok();
    link(&api, body).await.expect_error(422, "email_exists");
}

#[tokio::test]
async fn a_magic_link_signs_in_and_signs_up_who_is_new() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "type": "magiclink", "email": "ann@mail.dev" });

    let first = link(&api, body.clone()).await.ok();
    assert_eq!(first["verification_type"], "signup");
    verify(&api, "signup", &first).await.ok();

    let second = link(&api, body).await.ok();
    assert_eq!(second["verification_type"], "magiclink");
    assert_eq!(second["id"], first["id"]);
    let url = second["action_link"].as_str().expect("a link");
    assert!(url.contains("&type=magiclink&"), "{url}");
    let path = url.strip_prefix("http://api.test/auth/v1").expect("ours");
    let reply = api.get(path).without_key().await;
    assert_eq!(reply.status, 303);
    assert!(
        reply
            .location()
            .starts_with("http://localhost:3000#access_token=")
    );
    verify(&api, "magiclink", &second)
        .await
        .expect_error(403, "otp_expired");
}

#[tokio::test]
async fn a_recovery_link_is_for_those_who_exist() {
    let api = Api::start(&[]).await;
    let body = json!({ "type": "recovery", "email": "ann@mail.dev" });
    link(&api, body.clone())
        .await
        .expect_error(404, "user_not_found");
    api.sign_up("ann@mail.dev", PASSWORD).await;

    let made = link(&api, body).await.ok();

    assert_eq!(made["verification_type"], "recovery");
    assert!(made["recovery_sent_at"].is_string());
    assert!(
        api.audit()
            .await
            .contains(&"user_recovery_requested".to_owned())
    );
    let otp = json!({
        "type": "recovery", "email": "ann@mail.dev", "token": made["email_otp"],
    });
    api.post("/verify", otp).await.ok();
}

#[tokio::test]
async fn an_address_changes_when_both_links_were_followed() {
    let api = Api::start(&[CONFIRM]).await;
    let ann = json!({ "email": "ann@mail.dev", "email_confirm": true });
    api.post("/admin/users", ann).service_role().await.ok();
    let body =
        |kind: &str| json!({ "type": kind, "email": "ann@mail.dev", "new_email": "New@mail.dev" });

    let current = link(&api, body("email_change_current")).await.ok();
    let new = link(&api, body("email_change_new")).await.ok();

    assert_eq!(new["new_email"], "new@mail.dev");
    assert_eq!(new["verification_type"], "email_change_new");
    let url = new["action_link"].as_str().expect("a link");
    let hash = new["hashed_token"].as_str().expect("a hash");
    assert!(
        url.contains(&format!("token={hash}&type=email_change&")),
        "{url}"
    );
    let first = verify(&api, "email_change", &current).await.ok();
    assert_eq!(first["code"], "200");
    let second = verify(&api, "email_change", &new).await.ok();
    assert_eq!(second["user"]["email"], "new@mail.dev");
}

#[tokio::test]
async fn a_change_of_address_has_its_conditions() {
    let api = Api::start(&[("auth.email.double_confirm_changes", "false")]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    api.sign_up("bob@mail.dev", PASSWORD).await;
    let body = |kind: &str, email: &str, new: &str| json!({ "type": kind, "email": email, "new_email": new });

    let reply = link(
        &api,
        body("email_change_current", "ann@mail.dev", "n@mail.dev"),
    )
    .await;
    reply.expect_error(400, "validation_failed");
    let reply = link(
        &api,
        body("email_change_new", "ann@mail.dev", "bob@mail.dev"),
    )
    .await;
    reply.expect_error(422, "email_exists");
    let reply = link(&api, body("email_change_new", "ann@mail.dev", "bob")).await;
    reply.expect_error(400, "validation_failed");
    let reply = link(&api, body("email_change_new", "eve@mail.dev", "n@mail.dev")).await;
    reply.expect_error(404, "user_not_found");
    let made = link(&api, body("email_change_new", "ann@mail.dev", "n@mail.dev")).await;
    let tokens = verify(&api, "email_change", &made.ok()).await.ok();
    assert_eq!(tokens["user"]["email"], "n@mail.dev");
}

#[tokio::test]
async fn links_end_where_it_is_allowed() {
    let settings = [("auth.additional_redirect_urls", "https://app.example/**")];
    let api = Api::start(&settings).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    let ends = async |query: &str, redirect_to: &str| {
        let path = format!("/admin/generate_link{query}");
        let body = json!({
            "type": "recovery", "email": "ann@mail.dev", "redirect_to": redirect_to,
        });
        let reply = api.post(&path, body).service_role().await;
        reply.ok()["redirect_to"]
            .as_str()
            .expect("a URL")
            .to_owned()
    };

    let (good, bad) = ("https://app.example/in", "https://evil.test/in");
    assert_eq!(ends("", good).await, good);
    assert_eq!(ends("", bad).await, "http://localhost:3000");
    let query = "?redirect_to=https%3A%2F%2Fapp.example%2Fq";
    assert_eq!(ends(query, "").await, "https://app.example/q");
    assert_eq!(ends(query, bad).await, "https://app.example/q");
    assert_eq!(ends(query, good).await, good);
}

#[tokio::test]
async fn other_types_are_rejected() {
    let api = Api::start(&[]).await;
    for kind in ["", "sms", "email_change", "SIGNUP"] {
        let body = json!({ "type": kind, "email": "ann@mail.dev", "password": PASSWORD });
        link(&api, body)
            .await
            .expect_error(400, "validation_failed");
    }
    let body = json!({ "type": "signup", "email": "ann", "password": PASSWORD });
    link(&api, body)
        .await
        .expect_error(400, "validation_failed");
}
