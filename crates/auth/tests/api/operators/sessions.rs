//! One user, and its sessions.

use plinth_testkit::Reply;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PASSWORD, expect_not_found};
use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

fn id(value: &Value) -> Uuid {
    let text = value.as_str().expect("an id");
    text.parse().expect("an id")
}

async fn sign_in(api: &Api) -> Value {
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok()
}

async fn me(api: &Api, tokens: &Value) -> Reply {
    api.get("/user").session(tokens).await
}

#[tokio::test]
async fn a_user_is_shown_with_what_the_object_lacks() {
    let api = Api::start(&[]).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let user = id(&session["user"]["id"]);
    let (users, call) = api.administration();

    let details = users.details(&call, user).await.expect("a user");

    assert_eq!(details.user.0["email"], "ann@mail.dev");
    assert!(details.has_password && !details.is_banned && !details.is_sso_user);
    assert_eq!((details.sessions, details.passkeys), (1, 0));
    expect_not_found(users.details(&call, Uuid::nil()).await);
    expect_not_found(users.sessions(&call, Uuid::nil()).await);
}

#[tokio::test]
async fn one_session_ends_or_all() {
    let api = Api::start(&[]).await;
    let first = api.sign_up("ann@mail.dev", PASSWORD).await;
    let second = sign_in(&api).await;
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let (ann, eve_id) = (id(&first["user"]["id"]), id(&eve["user"]["id"]));
    let (users, call) = api.administration();

    let listed = users.sessions(&call, ann).await.expect("a list").sessions;
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&*listed[0].aal, &listed[0].methods[..]),
        ("aal1", &["password".to_owned()][..])
    );
    assert!(listed.iter().all(|session| !session.is_impersonation));
    let newest: Uuid = listed[0].id.parse().expect("an id");

    // Another user's session is unknown.
    expect_not_found(users.end_sessions(&call, eve_id, Some(newest)).await);
    assert_eq!(
        users
            .end_sessions(&call, ann, Some(newest))
            .await
            .expect("ended"),
        1
    );
    me(&api, &second)
        .await
        .expect_error(403, "session_not_found");
    me(&api, &first).await.ok();

    assert_eq!(
        users.end_sessions(&call, ann, None).await.expect("ended"),
        1
    );
    me(&api, &first)
        .await
        .expect_error(403, "session_not_found");
    me(&api, &eve).await.ok();
    assert_eq!(
        users.end_sessions(&call, ann, None).await.expect("ended"),
        0
    );

    let sql = "select to_jsonb(payload->>'actor_username') from auth.audit_log_entries
               where payload->>'action' = 'logout' limit 1";
    assert_eq!(api.value(sql, &[]).await, "operator: ops");
    assert_eq!(
        api.count("select count(*) from auth.refresh_tokens").await,
        1
    );
}
