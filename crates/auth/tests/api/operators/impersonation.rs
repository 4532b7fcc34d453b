//! Tokens in place of a user (console contract N92, trap 14).

use std::time::Duration;

use plinth_project::{AdministrationError, Impersonation};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PASSWORD, expect_not_found};
use crate::support::{Api, AuthReply, Requests, Sql, claims};

async fn impersonated(api: &Api) -> (Value, Impersonation) {
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let impersonation = impersonate(api, &session).await.expect("a session");
    (session, impersonation)
}

fn user_id(session: &Value) -> Uuid {
    let id = session["user"]["id"].as_str().expect("an id");
    id.parse().expect("an id")
}

async fn impersonate(api: &Api, session: &Value) -> Result<Impersonation, AdministrationError> {
    let (users, call) = api.administration();
    users.impersonate(&call, user_id(session), "ticket 7").await
}

#[tokio::test]
async fn a_token_in_place_of_a_user_is_brief_and_marked() {
    let api = Api::start(&[]).await;
    let (session, impersonation) = impersonated(&api).await;

    let claims = claims(&impersonation.access_token);
    assert_eq!(claims["sub"], session["user"]["id"]);
    assert_eq!(claims["role"], "authenticated");
    assert_eq!(claims["plinth_impersonated_by"], "ops");
    assert_eq!(claims["act"], json!({ "sub": "ops" }));
    assert_eq!(claims["aal"], "aal1");
    assert_eq!(claims["session_id"], impersonation.session_id.as_str());
    assert_eq!(
        claims["exp"].as_i64(),
        Some(api.now().unix_timestamp() + 900)
    );
    assert_eq!(impersonation.expires_in, 900);
    assert_eq!(impersonation.user.0["email"], "ann@mail.dev");
    assert!(
        impersonation
            .url
            .starts_with("http://localhost:3000#access_token=ey")
    );

    let seen = api
        .get("/user")
        .bearer(&impersonation.access_token)
        .await
        .ok();
    assert_eq!(seen["id"], session["user"]["id"]);
    assert_eq!(seen["last_sign_in_at"], session["user"]["last_sign_in_at"]);
}

#[tokio::test]
async fn it_cannot_be_refreshed_and_ends_by_itself() {
    let api = Api::start(&[]).await;
    let (_, impersonation) = impersonated(&api).await;

    let body = json!({ "refresh_token": impersonation.refresh_token });
    let reply = api.post("/token?grant_type=refresh_token", body).await;
    reply.expect_error(400, "refresh_token_not_found");
    assert_eq!(
        api.count("select count(*) from auth.refresh_tokens").await,
        1
    );

    api.advance(Duration::from_secs(931));
    let late = api.get("/user").bearer(&impersonation.access_token).await;
    late.expect_error(403, "bad_jwt");
}

/// Everything that would change the account, or give out what lives longer.
#[tokio::test]
async fn it_changes_nothing_of_the_account() {
    let api = Api::start(&[
        ("auth.mfa.totp.enroll_enabled", "true"),
        ("auth.oauth_server.enabled", "true"),
        ("auth.enable_manual_linking", "true"),
        ("plinth.account.self_delete", "hard"),
    ])
    .await;
    let (_, impersonation) = impersonated(&api).await;
    let token = &impersonation.access_token;
    let id = Uuid::nil();

    for (path, body) in [
        ("/factors".to_owned(), json!({ "factor_type": "totp" })),
        (format!("/factors/{id}/challenge"), json!({})),
        (
            format!("/factors/{id}/verify"),
            json!({ "code": "123456", "challenge_id": id }),
        ),
        ("/passkeys/registration/options".to_owned(), json!({})),
        (
            "/oauth/authorizations/x/consent".to_owned(),
            json!({ "action": "approve" }),
        ),
        (
            "/admin/users".to_owned(),
            json!({ "email": "new@mail.dev" }),
        ),
    ] {
        let reply = api.post(&path, body).bearer(token).await;
        assert_eq!(reply.status, 403, "{path}: {reply:?}");
    }
    let password = json!({ "password": "another horse" });
    let reply = api.put("/user", password).bearer(token).await;
    reply.expect_error(403, "no_authorization");
    for path in [
        "/reauthenticate",
        "/user/identities/authorize?provider=google",
        "/oauth/authorizations/x",
    ] {
        let reply = api.get(path).bearer(token).await;
        reply.expect_error(403, "no_authorization");
    }
    for path in [
        "/user".to_owned(),
        format!("/factors/{id}"),
        format!("/user/sessions/{id}"),
    ] {
        let reply = api.delete(&path).bearer(token).await;
        reply.expect_error(403, "no_authorization");
    }
    assert_eq!(api.count("select count(*) from auth.mfa_factors").await, 0);
    api.get("/user/sessions").bearer(token).await.ok();
}

#[tokio::test]
async fn signing_out_ends_the_operators_session_alone() {
    let api = Api::start(&[]).await;
    let (session, impersonation) = impersonated(&api).await;
    let (users, call) = api.administration();
    let listed = users
        .sessions(&call, user_id(&session))
        .await
        .expect("a list");
    let marked = listed.sessions.iter().filter(|it| it.is_impersonation);
    let marked: Vec<&str> = marked.map(|it| it.id.as_str()).collect();
    assert_eq!(marked, [impersonation.session_id.as_str()]);

    for scope in ["global", "others", "local"] {
        let impersonation = impersonate(&api, &session).await.expect("a session");
        let path = format!("/logout?scope={scope}");
        let reply = api
            .post(&path, json!({}))
            .bearer(&impersonation.access_token)
            .await;
        reply.expect_status(204);
        let gone = api.get("/user").bearer(&impersonation.access_token).await;
        gone.expect_error(403, "session_not_found");
    }

    let own = session["access_token"].as_str().expect("a token");
    api.get("/user").bearer(own).await.ok();
}

#[tokio::test]
async fn an_operators_session_supersedes_none_of_the_user() {
    let api = Api::start(&[("plinth.auth.sessions.single_per_user", "true")]).await;
    let (session, _) = impersonated(&api).await;

    let body = json!({ "refresh_token": session["refresh_token"] });
    api.post("/token?grant_type=refresh_token", body).await.ok();
}

#[tokio::test]
async fn no_hook_removes_the_mark() {
    let api = Api::start(&[
        ("auth.hook.custom_access_token.enabled", "true"),
        (
            "auth.hook.custom_access_token.uri",
            "pg-functions://postgres/public/hook",
        ),
    ])
    .await;
    api.execute(
        "create function public.hook(event jsonb) returns jsonb language sql as $$
           select jsonb_build_object('claims', (event->'claims') - 'plinth_impersonated_by'
             || '{\"exp\": 9999999999, \"aal\": \"aal2\", \"tenant\": 7}') $$;
         grant execute on function public.hook to supabase_auth_admin",
    )
    .await;
    let (session, impersonation) = impersonated(&api).await;
    let (users, call) = api.administration();

    let own = claims(&impersonation.access_token);
    assert_eq!((&own["tenant"], &own["aal"]), (&json!(7), &json!("aal1")));
    assert_eq!(own["plinth_impersonated_by"], "ops");
    assert_eq!(own["exp"].as_i64(), Some(impersonation.expires_at));
    let bare = users
        .claims(&call, user_id(&session))
        .await
        .expect("claims");
    assert_eq!(bare["tenant"], 7);
    assert_eq!(bare["plinth_impersonated_by"], "ops");
    assert!(!bare.contains_key("exp") && !bare.contains_key("session_id"));
}

#[tokio::test]
async fn it_is_in_the_projects_audit_log() {
    let api = Api::start(&[]).await;
    let (session, impersonation) = impersonated(&api).await;

    let sql = "select to_jsonb(payload) from auth.audit_log_entries
               where payload->>'action' = 'user_impersonated'";
    let entry = api.value(sql, &[]).await;

    assert_eq!(entry["actor_username"], "operator: ops");
    let expected = json!({
        "user_id": session["user"]["id"],
        "session_id": impersonation.session_id,
        "reason": "ticket 7",
    });
    assert_eq!(entry["traits"], expected);
}

#[tokio::test]
async fn who_cannot_sign_in_cannot_be_impersonated() {
    let api = Api::start(&[]).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let (users, call) = api.administration();
    expect_not_found(users.impersonate(&call, Uuid::nil(), "x").await);

    for change in [
        "banned_until = '2999-01-01'",
        "banned_until = null, deleted_at = now()",
    ] {
        api.execute(&format!("update auth.users set {change}"))
            .await;
        let error = impersonate(&api, &session).await.err().expect("an error");
        assert!(
            matches!(error, AdministrationError::Conflict(_)),
            "{error:?}"
        );
    }
    assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
}
