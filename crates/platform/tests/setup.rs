//! The first-run set-up: one owner, by a one-time link; and the way back in without a second factor.

mod support;

use http::Method;
use plinth_platform::members::{MemberScope, Role};
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body, operators::Answer};

async fn link(app: &TestPlatform) -> String {
    let link = app.platform.create_setup_link().await.expect("a link");
    let url = link.url.expose();
    assert!(
        url.starts_with("http://127.0.0.1:54321/console/setup#token="),
        "{url}"
    );
    url.split_once("#token=").expect("a token").1.to_owned()
}

async fn set_up(app: &TestPlatform, token: &str, email: &str) -> Answer {
    let body = json!({
        "token": token, "email": email, "password": "correct horse battery", "instance": "Ada's 😀",
    });
    app.call("", "POST", "/platform/setup", body).await
}

async fn state(app: &TestPlatform) -> Value {
    app.call("", "GET", "/platform/setup", Value::Null)
        .await
        .expect(200)
}

#[tokio::test]
async fn the_link_makes_the_owner_once() {
    let app = TestPlatform::start().await;
    assert_eq!(state(&app).await["needed"], true);
    assert_eq!(state(&app).await["mfa_required"], true);
    let token = link(&app).await;

    let weak = json!({ "token": token, "email": "ada@example.com", "password": "x" });
    app.call("", "POST", "/platform/setup", weak)
        .await
        .expect(400);
    let made = set_up(&app, &token, "Ada@Example.com").await.expect(201);
    assert_eq!(made["email"], "ada@example.com");

    let state = state(&app).await;
    assert_eq!(state["needed"], false);
    assert_eq!(state["instance"], "Ada's 😀");
    let again = set_up(&app, &token, "eve@example.com").await;
    assert_eq!((again.status, again.code()), (409, "setup_closed"));
    let another = app
        .request(Method::POST, "/platform/setup/link", None)
        .await;
    assert_eq!(another.status, 409, "closed for good");
    let sql = "select m.role, u.raw_app_meta_data ->> 'role', u.email_confirmed_at is not null
               from platform.members m join auth.users u on u.id = m.user_id
               where u.email = 'ada@example.com'";
    let row = app
        .tables()
        .await
        .query_one(sql, &[])
        .await
        .expect("the owner");
    assert_eq!(
        (row.get::<_, &str>(0), row.get::<_, &str>(1)),
        ("owner", "operator")
    );
    assert!(row.get::<_, bool>(2));
}

#[tokio::test]
async fn of_many_at_once_one_becomes_the_owner() {
    let app = TestPlatform::start().await;
    let (one, two) = (link(&app).await, link(&app).await);
    let emails: Vec<String> = (0..6).map(|n| format!("owner{n}@example.com")).collect();

    let calls = emails
        .iter()
        .enumerate()
        .map(|(n, email)| set_up(&app, if n % 2 == 0 { &one } else { &two }, email));
    let answers = futures_util::future::join_all(calls).await;

    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1, "{answers:?}");
    let sql = "select count(*) from platform.members";
    let row = app.tables().await.query_one(sql, &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn wrong_and_old_links_are_refused_and_not_for_ever_tried() {
    let app = TestPlatform::start().await;
    let token = link(&app).await;
    let expire = "update platform.setup_links set expires_at = now()";
    app.tables()
        .await
        .batch_execute(expire)
        .await
        .expect("expired");

    for token in [token.as_str(), "", "x", "\u{0}", "😀"] {
        assert_eq!(
            set_up(&app, token, "eve@example.com").await.status,
            403,
            "{token:?}"
        );
    }
    for body in [json!(null), json!({}), json!({ "token": 7 }), json!([])] {
        app.call("", "POST", "/platform/setup", body)
            .await
            .expect(400);
    }
    let mut last = 403;
    for _ in 0..8 {
        last = set_up(&app, "guess", "eve@example.com").await.status;
    }
    assert_eq!(last, 429);
    assert_eq!(state(&app).await["needed"], true);
    let sql = "select count(*) from auth.users";
    let row = app.tables().await.query_one(sql, &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0, "no account without a link");
    let stored = "select count(*) from platform.setup_links where hash = $1";
    let row = app
        .tables()
        .await
        .query_one(stored, &[&token])
        .await
        .expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0, "stored as a hash");
}

/// With the tokens that the auth service really makes.
#[tokio::test]
async fn the_owner_signs_in_and_has_to_enrol_a_second_factor() {
    let app = TestPlatform::start().await;
    let token = link(&app).await;
    set_up(&app, &token, "ada@example.com").await.expect(201);

    let bearer = app
        .password_sign_in("ada@example.com", "correct horse battery")
        .await;

    let me = app
        .call(&bearer, "GET", "/platform/me", Value::Null)
        .await
        .expect(200);
    assert_eq!(me["user"]["email"], "ada@example.com");
    assert_eq!(me["mfa"]["pending"], true);
    assert_eq!(me["mfa"]["enrolled"], false);
    assert_eq!(me["role"], Value::Null);
    let closed = app.call(&bearer, "GET", "/v1/projects", Value::Null).await;
    assert_eq!((closed.status, closed.code()), (403, "mfa_required"));
}

#[tokio::test]
async fn where_the_second_factor_is_optional_the_sign_in_counts() {
    let app = TestPlatform::start_without_second_factor().await;
    let token = link(&app).await;
    set_up(&app, &token, "ada@example.com").await.expect(201);
    let bearer = app
        .password_sign_in("ada@example.com", "correct horse battery")
        .await;

    let me = app
        .call(&bearer, "GET", "/platform/me", Value::Null)
        .await
        .expect(200);
    assert_eq!(
        (&me["mfa"]["pending"], &me["role"]),
        (&json!(false), &json!("owner"))
    );
    let made = json!({ "name": "ci" });
    app.call(&bearer, "POST", "/platform/tokens", made.clone())
        .await
        .expect(201);

    // A sign-in of an hour ago is not fresh; and whoever has a factor needs it.
    let tables = app.tables().await;
    tables
        .batch_execute("update auth.mfa_amr_claims set updated_at = now() - interval '1 hour'")
        .await
        .expect("an hour ago");
    let stale = app.call(&bearer, "POST", "/platform/tokens", made).await;
    assert_eq!(stale.code(), "step_up_required");
    tables
        .batch_execute(
            "insert into auth.mfa_factors
                (id, user_id, factor_type, status, created_at, updated_at, secret)
             select gen_random_uuid(), id, 'totp', 'verified', now(), now(), '' from auth.users",
        )
        .await
        .expect("a factor");
    let closed = app.call(&bearer, "GET", "/v1/projects", Value::Null).await;
    assert_eq!(closed.code(), "mfa_required");
}

/// The process ended between the account and the membership.
#[tokio::test]
async fn an_interrupted_set_up_can_be_repeated() {
    let app = TestPlatform::start().await;
    app.person("ada@example.com").await;
    let token = link(&app).await;

    set_up(&app, &token, "ada@example.com").await.expect(201);

    assert_eq!(state(&app).await["needed"], false);
}

#[tokio::test]
async fn a_lost_second_factor_is_reset_on_the_machine() {
    let app = TestPlatform::start().await;
    let owner = app
        .member("ada@example.com", &MemberScope::Instance, Role::Owner)
        .await;
    let reset = async |email: &str| {
        let body = json_body(json!({ "email": email }));
        app.request(Method::POST, "/platform/operators/mfa-reset", body)
            .await
    };

    assert_eq!(reset("nobody@example.com").await.status, 404);
    let done = reset("ADA@example.com").await.ok();
    assert_eq!(done["removed"], 1);

    app.call(&owner.token, "GET", "/platform/me", Value::Null)
        .await
        .expect(401);
    let sql = "select count(*) from auth.mfa_factors";
    let row = app.tables().await.query_one(sql, &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0);
}
