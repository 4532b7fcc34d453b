//! `DELETE /user/identities/{identity_id}` (auth contract §2.9, §5.3).

use serde_json::{Value, json};

use super::{
    CONFIRM, LINKING, finish_flow, identity, idp::Idp, landing, providers, sign_in, start,
};
use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const PASSWORD: &str = "correct horse";

/// A user with a password and a GitHub identity.
async fn two_ways_in(email: &str, more: &[(&str, &str)]) -> (Api, Idp, Value) {
    let all: Vec<(&str, &str)> = [LINKING].into_iter().chain(more.iter().copied()).collect();
    let (api, idp) = start("github", &all).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    link(&api, &idp, &tokens, 7, email, true).await;
    (api, idp, tokens)
}

async fn link(api: &Api, idp: &Idp, tokens: &Value, id: u64, email: &str, is_verified: bool) {
    idp.github(id, email, is_verified);
    let reply = api
        .get("/user/identities/authorize?provider=github")
        .session(tokens)
        .await;
    let state = landing(&reply, 302).query("state").to_owned();
    landing(&finish_flow(api, &state).await, 302);
}

async fn unlink(api: &Api, tokens: &Value, provider: &str) -> Reply {
    let user = api.get("/user").session(tokens).await.ok();
    let id = identity(&user, provider)["identity_id"]
        .as_str()
        .expect("an id");
    api.delete(&format!("/user/identities/{id}"))
        .session(tokens)
        .await
}

/// Another user whose address one of Ann's identities has too.
async fn add_bob(api: &Api) {
    api.execute(
        "insert into auth.users (instance_id, id, aud, email)
         values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated',
           'bob@mail.dev')",
    )
    .await;
}

#[tokio::test]
async fn an_identity_goes_and_the_account_stays() {
    let (api, _idp, tokens) = two_ways_in("other@mail.dev", &[]).await;

    let reply = unlink(&api, &tokens, "github").await;

    assert_eq!(reply.ok(), json!({}));
    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(providers(&user), json!(["email"]));
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "email", "providers": ["email"] })
    );
    assert_eq!(
        api.audit().await.last().map(String::as_str),
        Some("identity_unlinked")
    );
    // The removed identity signs in as a new user.
    let (_, other) = sign_in(&api, "github").await;
    assert_ne!(other["id"], user["id"]);
}

#[tokio::test]
async fn the_last_identity_stays() {
    let (api, _idp, tokens) = two_ways_in("other@mail.dev", &[]).await;
    unlink(&api, &tokens, "github").await.ok();

    let reply = unlink(&api, &tokens, "email").await;

    let text = "User must have at least 1 identity after unlinking";
    reply.expect_error_text(422, "single_identity_not_deletable", text);
}

#[tokio::test]
async fn two_requests_at_once_leave_one_identity() {
    let (api, _idp, tokens) = two_ways_in("other@mail.dev", &[]).await;

    let (one, other) = tokio::join!(
        unlink(&api, &tokens, "github"),
        unlink(&api, &tokens, "email")
    );

    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
    assert_eq!(api.count("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn only_ones_own_identities_can_be_named() {
    let (api, idp, tokens) = two_ways_in("other@mail.dev", &[]).await;
    idp.github(8, "bob@mail.dev", true);
    let (_, bob) = sign_in(&api, "github").await;
    let bobs = identity(&bob, "github")["identity_id"]
        .as_str()
        .expect("an id");

    let nil = uuid::Uuid::nil().to_string();
    for (id, status, code) in [
        (bobs, 422, "identity_not_found"),
        (&nil, 422, "identity_not_found"),
        ("7", 404, "validation_failed"),
        ("%00", 404, "validation_failed"),
    ] {
        let reply = api
            .delete(&format!("/user/identities/{id}"))
            .session(&tokens)
            .await;
        reply.expect_error(status, code);
    }
    let path = format!("/user/identities/{nil}");
    api.delete(&path)
        .await
        .expect_error(401, "no_authorization");
    let reply = api
        .delete(&path)
        .session(&tokens)
        .header("x-jwt-aud", "else")
        .await;
    reply.expect_error(403, "unexpected_audience");
    let reply = api
        .delete(&path)
        .session(&tokens)
        .header("x-jwt-aud", "authenticated")
        .await;
    reply.expect_error(422, "identity_not_found");
    assert_eq!(api.count("select count(*) from auth.identities").await, 3);
}

#[tokio::test]
async fn the_address_is_kept_while_another_identity_has_it() {
    let (api, _idp, tokens) = two_ways_in("ann@mail.dev", &[]).await;

    unlink(&api, &tokens, "email").await.ok();

    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
}

#[tokio::test]
async fn another_address_takes_its_place_and_pending_tokens_are_void() {
    let (api, _idp, tokens) = two_ways_in("other@mail.dev", &[CONFIRM_LATER]).await;
    let change = json!({ "email": "third@mail.dev" });
    api.put("/user", change).session(&tokens).await.ok();
    assert_ne!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );

    unlink(&api, &tokens, "email").await.ok();

    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "other@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
    assert!(user.get("new_email").is_none());
    assert_eq!(providers(&user), json!(["github"]));
    assert_eq!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );
}

/// Addresses are autoconfirmed, as in all these tests.
const CONFIRM_LATER: (&str, &str) = ("auth.email.double_confirm_changes", "true");

#[tokio::test]
async fn an_address_that_no_identity_verifies_is_not_confirmed() {
    let (api, idp) = start("github", &[LINKING, CONFIRM]).await;
    idp.github(1, "ann@mail.dev", true);
    let (token, _) = sign_in(&api, "github").await;
    let tokens = json!({ "access_token": token });
    // Providers may claim this for unverified addresses.
    link(&api, &idp, &tokens, 2, "unproved@mail.dev", false).await;
    let user = api.get("/user").session(&tokens).await.ok();
    let all = user["identities"].as_array().expect("identities");
    let verified = all.iter().find(|one| one["id"] == "1").expect("the first");
    let id = verified["identity_id"].as_str().expect("an id");

    api.delete(&format!("/user/identities/{id}"))
        .session(&tokens)
        .await
        .ok();

    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "unproved@mail.dev");
    assert!(user.get("email_confirmed_at").is_none(), "{user}");
    assert_eq!(user["user_metadata"]["email_verified"], false);
}

#[tokio::test]
async fn verified_addresses_come_first_and_those_of_others_never() {
    let (api, idp, tokens) = two_ways_in("unproved@mail.dev", &[]).await;
    api.execute(
        "update auth.identities set identity_data = identity_data || '{\"email_verified\": false}'
         where provider = 'github'",
    )
    .await;
    link(&api, &idp, &tokens, 8, "bob@mail.dev", true).await;
    link(&api, &idp, &tokens, 9, "proved@mail.dev", true).await;
    add_bob(&api).await;

    unlink(&api, &tokens, "email").await.ok();

    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "proved@mail.dev");
}

#[tokio::test]
async fn an_identity_stays_where_nothing_else_can_be_the_address() {
    let (api, _idp, tokens) = two_ways_in("bob@mail.dev", &[]).await;
    add_bob(&api).await;

    let reply = unlink(&api, &tokens, "email").await;

    reply.expect_error(422, "email_conflict_identity_not_deletable");
    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(providers(&user), json!(["email", "github"]));
}

#[tokio::test]
async fn a_number_goes_with_its_identity() {
    let (api, _idp, tokens) = two_ways_in("ann@mail.dev", &[]).await;
    api.execute(
        "update auth.users set phone = '15551234567', phone_confirmed_at = now();
         insert into auth.identities (provider_id, user_id, provider, identity_data, created_at)
         select id::text, id, 'phone', '{\"phone\": \"15551234567\"}', now() from auth.users",
    )
    .await;

    unlink(&api, &tokens, "phone").await.ok();

    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["phone"], "");
    assert!(user.get("phone_confirmed_at").is_none());
    assert_eq!(user["email"], "ann@mail.dev");
}

#[tokio::test]
async fn owners_are_notified_at_their_former_address() {
    let notices = ("auth.email.notification.identity_unlinked.enabled", "true");
    let (api, _idp, tokens) = two_ways_in("other@mail.dev", &[notices]).await;

    unlink(&api, &tokens, "email").await.ok();

    let mails = api.mails().await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    let text = mails[0].to_string();
    assert!(text.contains("ann@mail.dev"), "{text}");
}
