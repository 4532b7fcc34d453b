//! Automatic linking, and what must not be linked (auth contract §5.1).

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    CONFIRM, LINKING, identity, idp::Idp, landing, providers, run_flow, sign_in, start, start_with,
};
use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

const PASSWORD: &str = "correct horse";

fn spotify(idp: &Idp, id: &str, email: &str) {
    idp.set_response("/api/token", json!({ "access_token": "s" }))
        .set_response(
            "/me",
            json!({ "id": id, "email": email, "display_name": "S" }),
        );
}

async fn user_of(api: &Api, email: &str) -> Value {
    let sql = "select to_jsonb(u) from auth.users u where u.email = $1";
    api.value(sql, &[&email]).await
}

#[tokio::test]
async fn a_verified_address_leads_to_the_account_that_has_it() {
    let (api, idp) = start("github", &[]).await;
    let known = api.sign_up("ann@mail.dev", PASSWORD).await;
    idp.github(7, "Ann@Mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(user["id"], known["user"]["id"]);
    assert_eq!(providers(&user), json!(["email", "github"]));
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "email", "providers": ["email", "github"] })
    );
    assert!(api.audit().await.contains(&"identity_linked".to_owned()));
    // The password of a confirmed account stays.
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
}

#[tokio::test]
async fn any_verified_address_of_the_provider_counts() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    api.execute("update auth.users set email_confirmed_at = now()")
        .await;
    idp.github(7, "x@mail.dev", true).set_response(
        "/api/v3/user/emails",
        json!([
            { "email": "new@mail.dev", "primary": true, "verified": true },
            { "email": "ann@mail.dev", "primary": false, "verified": true },
        ]),
    );

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(identity(&user, "github")["email"], "new@mail.dev");
}

#[tokio::test]
async fn an_unverified_address_never_leads_to_another_users_account() {
    let (api, idp) = start("spotify", &[CONFIRM]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    api.execute("update auth.users set email_confirmed_at = now()")
        .await;
    spotify(&idp, "evil", "ann@mail.dev");

    let landed = run_flow(&api, "provider=spotify").await;

    landed.expect_error("access_denied", "provider_email_needs_verification");
    assert_eq!(api.count("select count(*) from auth.users").await, 2);
    let sql = "select count(*) from auth.identities i join auth.users u on u.id = i.user_id
               where u.email = 'ann@mail.dev'";
    assert_eq!(api.count(sql).await, 1);
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
    // Nor does a second sign-in.
    let landed = run_flow(&api, "provider=spotify").await;
    landed.expect_error("access_denied", "provider_email_needs_verification");
    assert_eq!(api.mails().await.len(), 1, "only the sign-up's own letter");
}

#[tokio::test]
async fn an_unverified_address_has_to_be_confirmed_by_mail() {
    let (api, idp) = start("spotify", &[CONFIRM]).await;
    spotify(&idp, "s1", "ann@mail.dev");

    let landed = run_flow(&api, "provider=spotify").await;

    landed.expect_error("access_denied", "provider_email_needs_verification");
    assert_eq!(
        landed.query("error_description"),
        "Unverified email with spotify. A confirmation email has been sent to your spotify email"
    );
    let mails = api.mails().await;
    assert_eq!(mails.len(), 1);
    let token = api.link_token("confirmation_token").await;
    let reply = api
        .get(&format!("/verify?type=signup&token={token}"))
        .without_key()
        .await;
    assert!(landing(&reply, 303).fragment.contains_key("access_token"));
    let (_, user) = sign_in(&api, "spotify").await;
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
}

#[tokio::test]
async fn unverified_people_may_be_let_in_where_the_project_wants_it() {
    let allow = ("plinth.auth.email.allow_unverified_sign_ins", "true");
    let (api, idp) = start("spotify", &[CONFIRM, allow]).await;
    spotify(&idp, "s1", "ann@mail.dev");

    let (_, user) = sign_in(&api, "spotify").await;

    assert!(user.get("email_confirmed_at").is_none());
    assert_eq!(api.mails().await.len(), 1);
}

/// An attacker signs up with a victim's address and waits for the victim.
#[tokio::test]
async fn an_account_prepared_by_another_user_keeps_no_credential_of_theirs() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    let body = json!({
        "email": "ann@mail.dev", "password": PASSWORD, "data": { "planted": true },
    });
    api.post("/signup", body).await.ok();
    idp.github(7, "ann@mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(providers(&user), json!(["github"]));
    assert!(user["user_metadata"].get("planted").is_none());
    assert!(user["email_confirmed_at"].is_string());
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    let reply = api.post("/token?grant_type=password", body).await;
    reply.expect_error(400, "invalid_credentials");
    let row = user_of(&api, "ann@mail.dev").await;
    assert_eq!(row["confirmation_token"], "");
    assert_eq!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );
}

#[tokio::test]
async fn sessions_of_a_prepared_account_end_too() {
    let allow = ("plinth.auth.email.allow_unverified_sign_ins", "true");
    let (github, evil) = (Idp::start().await, Idp::start().await);
    let api = start_with(
        &[("github", &github), ("spotify", &evil)],
        &[CONFIRM, allow],
    )
    .await;
    spotify(&evil, "evil", "ann@mail.dev");
    let (evil_token, _) = sign_in(&api, "spotify").await;
    github.github(7, "ann@mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(providers(&user), json!(["github"]));
    api.get("/user")
        .bearer(&evil_token)
        .await
        .expect_error(403, "session_not_found");
}

#[tokio::test]
async fn nothing_of_a_prepared_account_is_left() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/signup", body).await.ok();
    api.execute(
        "update auth.users
           set phone = '15550000666', phone_confirmed_at = now(), phone_change = '15550000667',
             email_change = 'evil@mail.dev', email_change_confirm_status = 1;
         insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
           select gen_random_uuid(), id, 'email_change_token_new', 'x', 'evil@mail.dev'
           from auth.users;
         insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
           select gen_random_uuid(), id, 'totp', 'verified', now(), now() from auth.users;
         insert into auth.webauthn_credentials (user_id, credential_id, public_key)
           select id, '\\x01', '\\x02' from auth.users;",
    )
    .await;
    idp.github(7, "ann@mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(user["phone"], "");
    for name in ["factors", "new_email", "new_phone", "phone_confirmed_at"] {
        assert!(user.get(name).is_none(), "{name}: {user}");
    }
    for table in ["one_time_tokens", "mfa_factors", "webauthn_credentials"] {
        let sql = format!("select count(*) from auth.{table}");
        assert_eq!(api.count(&sql).await, 0, "{table}");
    }
}

/// A user who signs in again with the same identity keeps the account, though the address is
/// unverified.
#[tokio::test]
async fn second_factors_stay_when_their_owner_comes_back() {
    let allow = ("plinth.auth.email.allow_unverified_sign_ins", "true");
    for more in [&[CONFIRM][..], &[CONFIRM, allow][..]] {
        let (api, idp) = start("spotify", more).await;
        spotify(&idp, "s1", "ann@mail.dev");
        run_flow(&api, "provider=spotify").await;
        api.execute(
            "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
               select gen_random_uuid(), id, 'totp', 'verified', now(), now() from auth.users;
             insert into auth.webauthn_credentials (user_id, credential_id, public_key)
               select id, '\\x01', '\\x02' from auth.users;",
        )
        .await;

        api.advance(Duration::from_secs(600));
        run_flow(&api, "provider=spotify").await;

        assert_eq!(api.count("select count(*) from auth.users").await, 1);
        for table in ["mfa_factors", "webauthn_credentials"] {
            let sql = format!("select count(*) from auth.{table}");
            assert_eq!(api.count(&sql).await, 1, "{table}");
        }
    }
}

/// An attacker's account has an identity with the victim's unverified address. The victim must not
/// be linked to it.
#[tokio::test]
async fn an_unverified_identity_is_linked_to_no_user() {
    let (github, evil) = (Idp::start().await, Idp::start().await);
    let more = [CONFIRM, LINKING];
    let api = start_with(&[("github", &github), ("spotify", &evil)], &more).await;
    github.github(666, "evil@mail.dev", true);
    let (token, stranger) = sign_in(&api, "github").await;
    spotify(&evil, "evil", "ann@mail.dev");
    let path = "/user/identities/authorize?provider=spotify";
    let reply = api.get(path).bearer(&token).await;
    let state = landing(&reply, 302).query("state").to_owned();
    landing(&super::finish_flow(&api, &state).await, 302);

    github.github(7, "ann@mail.dev", true);
    let (_, victim) = sign_in(&api, "github").await;

    assert_ne!(victim["id"], stranger["id"]);
    assert_eq!(victim["email"], "ann@mail.dev");
}

/// The provider first sends an unverified address, then another verified one.
#[tokio::test]
async fn vouching_for_one_address_confirms_no_other() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    idp.github(666, "ann@mail.dev", false);
    let landed = run_flow(&api, "provider=github").await;
    landed.expect_error("access_denied", "provider_email_needs_verification");
    idp.github(666, "evil@mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_eq!(user["email"], "evil@mail.dev");
    let sql = "select count(*) from auth.users where email = 'ann@mail.dev'";
    assert_eq!(api.count(sql).await, 0);
    assert_eq!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );
}

#[tokio::test]
async fn providers_outside_of_the_default_domain_keep_to_themselves() {
    let own = ("plinth.auth.external.own_linking_domain", "github");
    let (api, idp) = start("github", &[own]).await;
    let known = api.sign_up("ann@mail.dev", PASSWORD).await;
    idp.github(7, "ann@mail.dev", true);

    let (_, user) = sign_in(&api, "github").await;

    assert_ne!(user["id"], known["user"]["id"]);
    assert_eq!(user["email"], "ann@mail.dev");
    let sql = "select count(*) from auth.users where is_sso_user";
    assert_eq!(api.count(sql).await, 1);
}

#[tokio::test]
async fn several_accounts_with_the_address_are_an_error() {
    let (api, idp) = start("github", &[]).await;
    idp.github(1, "a@mail.dev", true);
    sign_in(&api, "github").await;
    idp.github(2, "b@mail.dev", true);
    sign_in(&api, "github").await;
    idp.github(3, "", true).set_response(
        "/api/v3/user/emails",
        json!([
            { "email": "a@mail.dev", "primary": true, "verified": true },
            { "email": "b@mail.dev", "primary": false, "verified": true },
        ]),
    );

    let landed = run_flow(&api, "provider=github").await;

    landed.expect_error("server_error", "unexpected_failure");
    assert!(
        landed
            .query("error_description")
            .starts_with("Multiple accounts")
    );
}
