//! Tokens for a code or a refresh token.

use serde_json::{Value, json};

use super::{CHALLENGE, Fixture, URI, VERIFIER, expect_oauth_error, parameter, register};
use crate::support::{AuthCall, AuthReply, Requests, Sql, claims};

#[tokio::test]
async fn an_application_signs_its_user_in() {
    let fixture = Fixture::new().await;
    let user = &fixture.user["user"];

    let id = fixture.begin("openid email").await;
    let question = fixture.show(&id).await.ok();
    assert_eq!(
        question,
        json!({
            "authorization_id": id, "redirect_uri": URI,
            "client": { "id": fixture.client["client_id"], "name": "App" },
            "user": { "id": user["id"], "email": "ann@mail.dev" }, "scope": "openid email",
        })
    );
    let response = fixture.decide(&id, "approve").await.ok();
    let url = &response["redirect_url"];
    assert_eq!(parameter(url, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(url, "kept").as_deref(), Some("1"));
    let code = parameter(url, "code").expect("a code");
    let reply = fixture.exchange(&code).await;
    let tokens = reply.ok();

    let mut names: Vec<&String> = tokens.as_object().expect("one").keys().collect();
    names.sort();
    let expected = [
        "access_token",
        "expires_in",
        "id_token",
        "refresh_token",
        "token_type",
    ];
    assert_eq!(names, expected);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let access = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(access["sub"], user["id"]);
    assert_eq!(access["client_id"], fixture.client["client_id"]);
    assert_eq!(access["scope"], "openid email");
    assert_eq!(
        access["amr"][0]["method"],
        "oauth_provider/authorization_code"
    );
    assert_eq!(access["role"], "authenticated");
    let audit = fixture.api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("login"));
    // The grant is stored.
    assert_eq!(
        fixture.api.get("/user").session(&tokens).await.ok()["id"],
        user["id"]
    );
}

#[tokio::test]
async fn an_id_token_says_what_the_scopes_allow() {
    let fixture = Fixture::new().await;
    fixture
        .api
        .execute(
            "update auth.users set phone = '15550001',
               raw_user_meta_data = '{\"name\":\"Ann\",\"avatar_url\":\"http://a/b\"}'",
        )
        .await;
    let id_token = async |scope: &str| {
        let changes = [("scope", scope), ("nonce", "n-1")];
        let reply = fixture.authorize(&changes).await;
        let (_, id) = reply.location().split_once('=').expect("an id");
        let shown = fixture.show(id).await.ok();
        let url = match shown.get("redirect_url") {
            Some(url) => url.clone(),
            None => fixture.decide(id, "approve").await.ok()["redirect_url"].clone(),
        };
        let code = parameter(&url, "code").expect("a code");
        let tokens = fixture.exchange(&code).await.ok();
        claims(tokens["id_token"].as_str().expect("an ID token"))
    };

    let all = id_token("openid email phone profile").await;
    let bare = id_token("openid").await;

    let now = fixture.api.now().unix_timestamp();
    assert_eq!(bare["iss"], "http://api.test/auth/v1");
    assert_eq!(bare["sub"], fixture.user["user"]["id"]);
    assert_eq!(bare["aud"], fixture.client["client_id"]);
    assert_eq!(bare["client_id"], fixture.client["client_id"]);
    assert_eq!(bare["nonce"], "n-1");
    let (iat, exp) = (bare["iat"].as_i64(), bare["exp"].as_i64());
    assert!(iat.is_some_and(|iat| (now - 60..=now).contains(&iat)));
    assert_eq!(exp, iat.map(|iat| iat + 3600));
    assert!(bare["auth_time"].is_i64());
    for absent in ["email", "phone_number", "name", "picture", "updated_at"] {
        assert_eq!(bare.get(absent), None, "{absent}");
    }
    assert_eq!(all["email"], "ann@mail.dev");
    assert_eq!(all["email_verified"], true);
    assert_eq!(all["phone_number"], "15550001");
    assert_eq!(all["phone_number_verified"], false);
    assert_eq!(all["name"], "Ann");
    assert_eq!(all["picture"], "http://a/b");
    assert!(all["updated_at"].is_i64());
}

#[tokio::test]
async fn without_an_asymmetric_key_there_is_no_id_token() {
    let fixture = Fixture::symmetric().await;

    let code = fixture.code("openid").await;
    let reply = fixture.exchange(&code).await;
    expect_oauth_error(&reply, "invalid_request");
    let sql = "select count(*) from auth.sessions where oauth_client_id is not null";
    assert_eq!(fixture.api.count(sql).await, 0);

    // Everything else works.
    let code = fixture.code("email").await;
    let tokens = fixture.exchange(&code).await.ok();
    assert_eq!(tokens.get("id_token"), None);
}

#[tokio::test]
async fn a_code_is_good_once_and_for_its_own_application() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let with = async |changes: &[(&str, &str)]| {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("code_verifier", VERIFIER),
        ];
        form.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        form.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        fixture.token(&form).await
    };

    expect_oauth_error(&with(&[("code_verifier", "")]).await, "invalid_grant");
    expect_oauth_error(
        &with(&[("code_verifier", CHALLENGE)]).await,
        "invalid_grant",
    );
    expect_oauth_error(
        &with(&[("redirect_uri", "https://evil.test")]).await,
        "invalid_grant",
    );
    expect_oauth_error(
        &with(&[("resource", "https://api.test")]).await,
        "invalid_grant",
    );
    expect_oauth_error(&with(&[("code", "x")]).await, "invalid_grant");
    expect_oauth_error(&with(&[("code", "")]).await, "invalid_request");
    expect_oauth_error(&with(&[("grant_type", "")]).await, "invalid_request");
    expect_oauth_error(
        &with(&[("grant_type", "password")]).await,
        "unsupported_grant_type",
    );
    let other = register(&fixture.api, json!({ "redirect_uris": [URI] })).await;
    let stranger = Fixture {
        client: other,
        user: Value::Null,
        api: fixture.api,
    };
    expect_oauth_error(&stranger.exchange(&code).await, "invalid_grant");
    let fixture = Fixture {
        client: fixture.client,
        user: fixture.user,
        api: stranger.api,
    };
    fixture.exchange(&code).await.ok();
    expect_oauth_error(&fixture.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn of_many_exchanges_of_one_code_one_succeeds() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;

    let all = (0..10).map(|_| fixture.exchange(&code));
    let replies = futures_util::future::join_all(all).await;

    let good = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(good, 1);
    let sql = "select count(*) from auth.sessions where oauth_client_id is not null";
    assert_eq!(fixture.api.count(sql).await, 1);
}

#[tokio::test]
async fn a_session_is_refreshed_by_its_own_application_only() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let tokens = fixture.exchange(&code).await.ok();
    let refresh_token = tokens["refresh_token"].as_str().expect("a token");
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token),
    ];

    let body = json!({ "refresh_token": refresh_token });
    let reply = fixture
        .api
        .post("/token?grant_type=refresh_token", body)
        .await;
    expect_oauth_error(&reply, "invalid_client");
    let own = fixture.user["refresh_token"].as_str().expect("a token");
    let reply = fixture
        .token(&[("grant_type", "refresh_token"), ("refresh_token", own)])
        .await;
    expect_oauth_error(&reply, "invalid_client");

    let next = fixture.token(&form).await.ok();
    assert_ne!(next["refresh_token"], tokens["refresh_token"]);
    assert_eq!(next.get("user"), None);
    let access = claims(next["access_token"].as_str().expect("a token"));
    assert_eq!(access["client_id"], fixture.client["client_id"]);
    assert_eq!(access["scope"], "email");
    expect_oauth_error(
        &fixture.token(&[("grant_type", "refresh_token")]).await,
        "invalid_request",
    );
}

#[tokio::test]
async fn a_banned_user_is_let_in_nowhere() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    fixture
        .api
        .execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;

    expect_oauth_error(&fixture.exchange(&code).await, "access_denied");
}
