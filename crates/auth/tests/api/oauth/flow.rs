//! `GET /authorize` and `GET|POST /callback` (auth contract §2.8).

use std::time::Duration;

use http::Method;
use plinth_testkit::bind_loopback;
use serde_json::json;

use super::{
    CHALLENGE, CONFIRM, VERIFIER, begin_flow, finish_flow, identity,
    idp::{CLIENT_ID, Idp},
    landing, run_flow, sign_in, start, start_with,
};
use crate::support::{AuthCall, AuthReply, Requests, Sql, claims};

#[tokio::test]
async fn an_implicit_flow_ends_with_tokens_in_the_fragment() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    idp.github(7, "Ann@Mail.dev", true);

    let reply = api
        .get("/authorize?provider=GitHub&redirect_to=http%3A%2F%2Flocalhost%3A3000%2Fin%3Fx%3D1")
        .without_key()
        .await;
    let there = landing(&reply, 302);
    assert!(
        there
            .url
            .as_str()
            .starts_with(&format!("{}/login/oauth/authorize?", idp.url))
    );
    assert_eq!(there.query("client_id"), CLIENT_ID);
    assert_eq!(
        there.query("redirect_uri"),
        "http://api.test/auth/v1/callback"
    );
    assert_eq!(there.query("response_type"), "code");
    let state = there.query("state");

    let landed = landing(&finish_flow(&api, state).await, 302);
    assert_eq!(
        landed.url.as_str().split('#').next(),
        Some("http://localhost:3000/in?x=1")
    );
    assert_eq!(landed.fragment("provider_token"), "gho_access");
    assert_eq!(landed.fragment("token_type"), "bearer");
    assert_eq!(landed.fragment("expires_in"), "3600");
    assert!(!landed.fragment("refresh_token").is_empty());
    assert!(landed.fragment.contains_key("sb"));
    assert!(!landed.fragment.contains_key("provider_refresh_token"));
    assert!(!landed.fragment.contains_key("type"));

    let token = landed.fragment("access_token");
    assert_eq!(claims(token)["amr"][0]["method"], "oauth");
    let user = api.get("/user").bearer(token).await.ok();
    let said = json!({
        "iss": format!("{}/api/v3", idp.url), "sub": "7", "provider_id": "7", "name": "Ann Lee",
        "full_name": "Ann Lee", "preferred_username": "ann", "user_name": "ann",
        "avatar_url": "https://a.test/p", "email": "ann@mail.dev", "email_verified": true,
        "phone_verified": false,
    });
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(user["user_metadata"], said);
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "github", "providers": ["github"] })
    );
    assert_eq!(identity(&user, "github")["id"], "7");
    assert_eq!(identity(&user, "github")["identity_data"], said);
    assert_eq!(api.audit().await, ["user_signedup"]);
    assert_eq!(api.count("select count(*) from auth.flow_state").await, 0);
}

#[tokio::test]
async fn a_pkce_flow_ends_with_a_code_that_only_the_verifier_opens() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let pkce = format!("provider=github&code_challenge={CHALLENGE}&code_challenge_method=s256");

    let landed = run_flow(&api, &pkce).await;
    assert!(landed.fragment.is_empty(), "{}", landed.url);
    let code = landed.query("code");
    let exchange = async |verifier: &str| {
        let body = json!({ "auth_code": code, "code_verifier": verifier });
        api.post("/token?grant_type=pkce", body).await
    };
    exchange("").await.expect_error(400, "validation_failed");
    exchange("wrong")
        .await
        .expect_error(400, "bad_code_verifier");
    exchange(CHALLENGE)
        .await
        .expect_error(400, "bad_code_verifier");
    let tokens = exchange(VERIFIER).await.ok();
    assert_eq!(tokens["provider_token"], "gho_access");
    assert_eq!(tokens["user"]["email"], "ann@mail.dev");
    exchange(VERIFIER)
        .await
        .expect_error(404, "flow_state_not_found");
}

#[tokio::test]
async fn a_code_is_invalid_before_the_callback() {
    let (api, _idp) = start("github", &[]).await;
    let pkce = format!("provider=github&code_challenge={CHALLENGE}&code_challenge_method=s256");
    begin_flow(&api, &pkce).await;
    let code = api
        .value("select to_jsonb(auth_code) from auth.flow_state", &[])
        .await;

    let body = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let reply = api.post("/token?grant_type=pkce", body).await;
    reply.expect_error(404, "flow_state_not_found");
}

#[tokio::test]
async fn what_a_provider_says_is_renewed_at_each_sign_in() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let (token, first) = sign_in(&api, "github").await;
    let data = json!({ "data": { "full_name": "Mine", "nick": "kept" } });
    api.put("/user", data).bearer(&token).await.ok();
    idp.set_response(
        "/api/v3/user",
        json!({ "id": 7, "login": "ann", "name": "Ann Smith" }),
    );

    let (_, again) = sign_in(&api, "github").await;

    assert_eq!(again["id"], first["id"]);
    assert_eq!(again["user_metadata"]["full_name"], "Ann Smith");
    assert_eq!(again["user_metadata"]["nick"], "kept");
    let data = &identity(&again, "github")["identity_data"];
    assert_eq!(data["name"], "Ann Smith");
    assert!(data.get("avatar_url").is_none());
}

#[tokio::test]
async fn disabled_providers_are_rejected_before_any_redirect() {
    let (api, _idp) = start("github", &[]).await;

    for (query, text) in [
        (
            "provider=gitlab",
            "Unsupported provider: provider is not enabled",
        ),
        (
            "provider=nobody",
            "Unsupported provider: Provider nobody could not be found",
        ),
        (
            "provider=",
            "Unsupported provider: Provider  could not be found",
        ),
        (
            "provider=email",
            "Unsupported provider: Provider email could not be found",
        ),
        (
            "provider=custom:x",
            "Unsupported provider: custom provider custom:x not found",
        ),
    ] {
        let reply = api.get(&format!("/authorize?{query}")).without_key().await;
        reply.expect_error_text(400, "validation_failed", text);
    }
    for query in [
        format!("provider=github&code_challenge={CHALLENGE}"),
        "provider=github&code_challenge_method=s256".to_owned(),
        format!("provider=github&code_challenge={CHALLENGE}&code_challenge_method=md5"),
        "provider=github&code_challenge=short&code_challenge_method=plain".to_owned(),
    ] {
        let reply = api.get(&format!("/authorize?{query}")).without_key().await;
        reply.expect_error(400, "validation_failed");
    }
    let reply = api
        .get("/authorize?provider=github&invite_token=none")
        .without_key()
        .await;
    reply.expect_error(404, "user_not_found");
    let reply = api
        .get("/authorize?provider=github&invite_token=%00")
        .without_key()
        .await;
    reply.expect_error(404, "user_not_found");
    assert_eq!(api.count("select count(*) from auth.flow_state").await, 0);
}

#[tokio::test]
async fn a_target_that_is_not_listed_becomes_the_site() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);

    for target in [
        "https%3A%2F%2Fevil.test%2F",
        "javascript%3Aalert(1)",
        "%00",
        "",
    ] {
        let landed = run_flow(&api, &format!("provider=github&redirect_to={target}")).await;
        assert_eq!(landed.url.host_str(), Some("localhost"), "{}", landed.url);
        assert_eq!(landed.url.path(), "/");
    }
}

#[tokio::test]
async fn a_providers_own_error_is_passed_on() {
    let (api, _idp) = start("github", &[]).await;
    let state = begin_flow(&api, "provider=github").await;

    let path = format!("/callback?state={state}&error=access_denied&error_description=No%20way");
    let landed = landing(&api.get(&path).without_key().await, 302);

    for pairs in [&landed.query, &landed.fragment] {
        assert_eq!(pairs["error"], "access_denied");
        assert_eq!(pairs["error_description"], "No way");
        assert!(!pairs.contains_key("error_code"));
    }
    assert_eq!(landed.fragment["sb"], "");
}

#[tokio::test]
async fn later_failures_are_reported_to_the_redirect_target() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);

    let state = begin_flow(&api, "provider=github").await;
    let reply = api
        .get(&format!("/callback?state={state}"))
        .without_key()
        .await;
    landing(&reply, 302).expect_error("invalid_request", "bad_oauth_callback");

    idp.set_response(
        "/login/oauth/access_token",
        json!({ "error": "bad_verification_code" }),
    );
    let landed = run_flow(&api, "provider=github").await;
    landed.expect_error("server_error", "unexpected_failure");
    let text = "Unable to exchange external code: a-co";
    assert_eq!(landed.query("error_description"), text);

    idp.github(7, "ann@mail.dev", true)
        .set_response_with_status("/api/v3/user", 500, json!({}));
    let landed = run_flow(&api, "provider=github").await;
    landed.expect_error("server_error", "unexpected_failure");
    let text = "Error getting user profile from external provider";
    assert_eq!(landed.query("error_description"), text);

    idp.github(7, "ann@mail.dev", true)
        .set_response("/api/v3/user/emails", json!([]));
    let landed = run_flow(&api, "provider=github").await;
    landed.expect_error("server_error", "unexpected_failure");
    let text = "Error getting user email from external provider";
    assert_eq!(landed.query("error_description"), text);
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_provider_that_is_switched_off_meanwhile_is_not_believed() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let state = begin_flow(&api, "provider=github").await;
    api.execute("update auth.flow_state set provider_type = 'gitlab'")
        .await;

    let landed = landing(&finish_flow(&api, &state).await, 302);

    landed.expect_error("invalid_request", "oauth_provider_not_supported");
}

#[tokio::test]
async fn addresses_may_be_optional() {
    let optional = ("auth.external.github.email_optional", "true");
    let (api, idp) = start("github", &[CONFIRM, optional]).await;
    idp.github(7, "", true)
        .set_response("/api/v3/user/emails", json!([]));

    let (_, user) = sign_in(&api, "github").await;
    assert_eq!(user["email"], "");
    let (_, again) = sign_in(&api, "github").await;
    assert_eq!(again["id"], user["id"]);
    assert_eq!(api.audit().await, ["login", "login"]);
}

#[tokio::test]
async fn no_new_user_signs_in_while_sign_ups_are_off() {
    let (api, idp) = start("github", &[("auth.enable_signup", "false")]).await;
    idp.github(7, "ann@mail.dev", true);

    let landed = run_flow(&api, "provider=github").await;

    landed.expect_error("access_denied", "signup_disabled");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn the_banned_are_turned_away() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    sign_in(&api, "github").await;
    api.execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;

    run_flow(&api, "provider=github")
        .await
        .expect_error("access_denied", "user_banned");

    api.advance(Duration::from_secs(2 * 86_400));
    sign_in(&api, "github").await;
}

#[tokio::test]
async fn a_trigger_that_rejects_ends_in_an_error_and_leaves_nothing() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    api.execute(
        "create function public.refuse() returns trigger language plpgsql as
           $$ begin raise exception 'not you'; end $$;
         create trigger refuse after insert on auth.users
           for each row execute function public.refuse()",
    )
    .await;

    let landed = run_flow(&api, "provider=github").await;

    landed.expect_error("server_error", "unexpected_failure");
    assert_eq!(
        landed.query("error_description"),
        "Database error saving new user"
    );
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn concurrent_sign_ins_of_one_identity_make_one_user() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let mut states = Vec::new();
    for _ in 0..8 {
        states.push(begin_flow(&api, "provider=github").await);
    }

    let visits = states.iter().map(|state| finish_flow(&api, state));
    for reply in futures_util::future::join_all(visits).await {
        assert!(!landing(&reply, 302).fragment("access_token").is_empty());
    }

    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    assert_eq!(api.count("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn an_invitation_may_be_accepted_through_a_provider() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    idp.github(7, "Ann@mail.dev", true);
    let invited = api.post("/invite", json!({ "email": "ann@mail.dev" }));
    let invited = invited.service_role().await.ok();
    let token = api.link_token("confirmation_token").await;

    idp.github(8, "other@mail.dev", true);
    let landed = run_flow(&api, &format!("provider=github&invite_token={token}")).await;
    landed.expect_error("invalid_request", "validation_failed");

    idp.github(7, "Ann@mail.dev", true);
    let landed = run_flow(&api, &format!("provider=github&invite_token={token}")).await;
    let user = api
        .get("/user")
        .bearer(landed.fragment("access_token"))
        .await
        .ok();
    assert_eq!(user["id"], invited["id"]);
    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "github", "providers": ["github"] })
    );
    assert!(api.audit().await.contains(&"invite_accepted".to_owned()));

    let path = format!("/authorize?provider=github&invite_token={token}");
    api.get(&path)
        .without_key()
        .await
        .expect_error(404, "user_not_found");
}

#[tokio::test]
async fn an_invitation_that_ended_meanwhile_is_not_found() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    idp.github(7, "ann@mail.dev", true);
    api.post("/invite", json!({ "email": "ann@mail.dev" }))
        .service_role()
        .await
        .ok();
    let token = api.link_token("confirmation_token").await;
    let state = begin_flow(&api, &format!("provider=github&invite_token={token}")).await;
    api.execute("delete from auth.one_time_tokens").await;

    let landed = landing(&finish_flow(&api, &state).await, 302);

    landed.expect_error("server_error", "invite_not_found");
}

/// An invitation belongs to one user, and checking one counts as an attempt.
#[tokio::test]
async fn tokens_cannot_be_tried_as_invitations() {
    let few = ("auth.rate_limit.token_verifications", "30");
    let shared = ("plinth.auth.rate_limit.shared", "true");
    let (api, idp) = start("github", &[CONFIRM, few, shared]).await;
    idp.github(7, "ann@mail.dev", true);
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let token = api.link_token("confirmation_token").await;

    let path = format!("/authorize?provider=github&invite_token={token}");
    api.get(&path)
        .without_key()
        .await
        .expect_error(404, "user_not_found");
    let path = "/authorize?provider=github&invite_token=guessed";
    for _ in 1..30 {
        let reply = api.get(path).without_key().await;
        reply.expect_error(404, "user_not_found");
    }
    api.get(path)
        .without_key()
        .await
        .expect_error(429, "over_request_rate_limit");
    let by_all_nodes = "select count(*) from plinth.auth_rate_limits where bucket = 'verify'";
    assert_eq!(api.count(by_all_nodes).await, 1);
}

#[tokio::test]
async fn one_address_may_end_all_flows() {
    let everywhere = (
        "plinth.auth.external.redirect_url",
        "https://app.test/done?x=1",
    );
    let (api, idp) = start("github", &[everywhere]).await;
    idp.github(7, "ann@mail.dev", true);

    let landed = run_flow(&api, "provider=github").await;

    assert!(
        landed
            .url
            .as_str()
            .starts_with("https://app.test/done?x=1#access_token=")
    );
}

#[tokio::test]
async fn a_hook_may_reject_a_new_user() {
    let hook = "pg-functions://postgres/public/hook";
    let (api, idp) = start(
        "github",
        &[
            ("auth.hook.before_user_created.enabled", "true"),
            ("auth.hook.before_user_created.uri", hook),
        ],
    )
    .await;
    idp.github(7, "ann@evil.test", true);
    api.execute(
        "create function public.hook(event jsonb) returns jsonb language sql as $$
           select case when event -> 'user' ->> 'email' like '%@evil.test'
             then '{\"error\": {\"http_code\": 403, \"message\": \"Not from there\"}}'::jsonb
             else '{}'::jsonb end $$;
         grant execute on function public.hook to supabase_auth_admin",
    )
    .await;

    let landed = run_flow(&api, "provider=github").await;
    assert_eq!(landed.query("error"), "access_denied");
    assert_eq!(landed.query("error_description"), "Not from there");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
    idp.github(7, "ann@mail.dev", true);
    sign_in(&api, "github").await;
}

#[tokio::test]
async fn a_hook_is_called_once_for_each_new_user() {
    let hook = "pg-functions://postgres/public/hook";
    let (api, idp) = start(
        "github",
        &[
            ("auth.hook.after_user_created.enabled", "true"),
            ("auth.hook.after_user_created.uri", hook),
        ],
    )
    .await;
    idp.github(7, "ann@mail.dev", true);
    api.execute(
        "create table public.hook_calls (provider text);
         create function public.hook(event jsonb) returns jsonb language sql security definer as $$
           insert into public.hook_calls select event -> 'user' -> 'identities' -> 0 ->> 'provider';
           select '{}'::jsonb $$;
         grant execute on function public.hook to supabase_auth_admin",
    )
    .await;

    sign_in(&api, "github").await;
    sign_in(&api, "github").await;

    let sql = "select count(*) from public.hook_calls where provider = 'github'";
    assert_eq!(api.count(sql).await, 1);
}

#[tokio::test]
async fn looking_at_where_a_flow_passes_moves_nothing() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let look = async |path: &str| {
        let reply = api.call(Method::HEAD, path).without_key().await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.header("location"), None);
    };

    look("/authorize?provider=github").await;
    let flows = "select count(*) from auth.flow_state";
    assert_eq!(api.count(flows).await, 0);

    let state = begin_flow(&api, "provider=github").await;
    look(&format!("/callback?state={state}&code=a-code")).await;
    assert_eq!(idp.seen("/login/oauth/access_token").len(), 0);
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
    let landed = landing(&finish_flow(&api, &state).await, 302);
    assert!(!landed.fragment("access_token").is_empty());
}

#[tokio::test]
async fn a_provider_that_never_responds_ends_in_a_timeout() {
    let short = ("plinth.auth.request_timeout", "10s");
    // Accepts connections and never responds.
    let (_silent, address) = bind_loopback().await;
    let mut idp = Idp::start().await;
    idp.url = format!("http://{address}");
    let api = start_with(&[("github", &idp)], &[short]).await;
    let state = begin_flow(&api, "provider=github").await;

    let landed = landing(&finish_flow(&api, &state).await, 302);

    landed.expect_error("server_error", "request_timeout");
    assert_eq!(landed.url.host_str(), Some("localhost"));
}

#[tokio::test]
async fn a_flow_that_cannot_be_read_in_time_ends_at_the_site() {
    let short = ("plinth.auth.request_timeout", "10s");
    let (api, _idp) = start("github", &[short]).await;
    let state = begin_flow(&api, "provider=github").await;
    let mut other = api.admin().await;
    let held = other.transaction().await.expect("a transaction");
    let sql = "select 1 from auth.flow_state for update";
    held.execute(sql, &[]).await.expect("locked rows");

    let landed = landing(&finish_flow(&api, &state).await, 303);

    assert_eq!(landed.query("error_code"), "request_timeout");
}
