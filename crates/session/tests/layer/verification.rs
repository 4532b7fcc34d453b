//! Which tokens are believed (client contract §4.3).

use std::time::Duration;

use plinth_token::Algorithm;
use serde_json::{Value, json};

use crate::support::{App, KEY, NOW_S, Tokens, USER, Upstream, claims, on_refresh, session_json};

const SECRET: &str = "a secret that is long enough for HMAC";

fn shared_secret() -> Tokens {
    Tokens(plinth_token::SigningKey::from_shared_secret(SECRET.as_bytes(), None).unwrap())
}

fn session(token: &str) -> String {
    session_json(token, "first", NOW_S + 3600)
}

async fn state_with(app: &App, token: &str) -> String {
    app.browser()
        .holding(&session(token))
        .get("/state")
        .await
        .body
}

#[tokio::test]
async fn rs256_is_checked_like_es256() {
    let app = App::with(Upstream::signing(Algorithm::Rs256), |builder| builder);

    assert_eq!(
        app.signed_in_for(3600).get("/private").await.short(),
        (200, USER)
    );
    assert_eq!((app.upstream.users(), app.upstream.key_fetches()), (0, 1));
}

#[tokio::test]
async fn other_algorithms_are_rejected_even_with_a_published_key() {
    let app = App::with(Upstream::signing(Algorithm::EdDsa), |builder| builder);

    assert_eq!(
        app.signed_in_for(3600).get("/state").await.short(),
        (200, "anonymous")
    );
    assert_eq!((app.upstream.users(), app.upstream.refreshes()), (0, 0));
}

#[tokio::test]
async fn hs256_is_checked_here_with_a_secret() {
    let app = App::with(Upstream::new(), |builder| builder.hs256_secret(SECRET));

    assert_eq!(
        state_with(&app, &shared_secret().token(3600)).await,
        "signed in"
    );
    let foreign =
        plinth_token::SigningKey::from_shared_secret(b"another secret that is long enough", None);
    assert_eq!(
        state_with(&app, &Tokens(foreign.unwrap()).token(3600)).await,
        "anonymous"
    );
    assert_eq!((app.upstream.users(), app.upstream.refreshes()), (0, 0));
}

#[tokio::test]
async fn hs256_without_a_secret_is_the_servers_business_for_thirty_seconds() {
    let app = App::new();
    let token = shared_secret().token(3600);

    for _ in 0..3 {
        assert_eq!(state_with(&app, &token).await, "signed in");
    }
    assert_eq!(app.upstream.users(), 1);
    app.clock.advance(Duration::from_secs(30));
    assert_eq!(state_with(&app, &token).await, "signed in");
    assert_eq!(app.upstream.users(), 2);
}

#[tokio::test]
async fn the_servers_word_is_not_good_past_the_end_of_the_token() {
    let app = App::new();
    let token = shared_secret().token(100);
    let bearer = format!("Bearer {token}");
    let mut browser = app.browser().with("authorization", Some(&bearer));

    assert_eq!(browser.get("/state").await.short(), (200, "signed in"));
    app.clock.advance(Duration::from_millis(99_999));
    assert_eq!(browser.get("/state").await.short(), (200, "signed in"));
    app.clock.advance(Duration::from_millis(1));
    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
}

#[tokio::test]
async fn the_servers_rejections_and_failures_are_distinguished() {
    let app = App::new();
    let token = |number: i64| shared_secret().token(3600 + number);

    app.upstream
        .knowing_users(on_refresh::error(403, "session_not_found"));
    let mut browser = app.browser().holding(&session(&token(1)));
    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
    assert_eq!(browser.cookie_names(), [""; 0], "the session is over");

    app.upstream
        .knowing_users(on_refresh::error(403, "bad_jwt"));
    let mut browser = app.browser().holding(&session(&token(2)));
    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
    assert_eq!(
        browser.cookie_names(),
        [KEY],
        "a token that is not ours says nothing"
    );

    app.upstream.knowing_users(on_refresh::error(503, "down"));
    let mut browser = app.browser().holding(&session(&token(3)));
    assert_eq!(browser.get("/state").await.short(), (200, "unavailable"));
    assert_eq!(browser.cookie_names(), [KEY]);
}

#[tokio::test]
async fn hs256_is_refreshed_and_the_new_token_is_asked_about() {
    let app = App::new();
    app.upstream.refreshing(move |number| {
        on_refresh::json(shared_secret().session(3600, &format!("next-{number}")))(number)
    });
    let mut browser = app
        .browser()
        .holding(&shared_secret().session(-10, "first"));

    assert_eq!(browser.get("/private").await.short(), (200, USER));

    assert_eq!(browser.refresh_token().as_deref(), Some("next-1"));
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (1, 1));
}

#[tokio::test]
async fn keys_are_fetched_once_and_kept_for_ten_minutes() {
    let app = App::new();

    for seconds in [3600, 3601, 3602] {
        app.signed_in_for(seconds).get("/private").await;
    }
    assert_eq!(app.upstream.key_fetches(), 1);
    app.clock.advance(Duration::from_millis(599_999));
    app.signed_in_for(3603).get("/private").await;
    assert_eq!(app.upstream.key_fetches(), 1);
    app.clock.advance(Duration::from_millis(1));
    app.signed_in_for(3604).get("/private").await;
    assert_eq!(app.upstream.key_fetches(), 2);
}

#[tokio::test]
async fn old_keys_serve_for_a_day_while_new_ones_cannot_be_fetched() {
    let app = App::new();
    app.signed_in_for(200_000).get("/private").await;
    app.upstream.hide_keys();

    app.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert_eq!(
        app.signed_in_for(200_001).get("/private").await.short(),
        (200, USER)
    );
    assert_eq!(app.upstream.key_fetches(), 2);
    app.clock.advance(Duration::from_secs(30));
    assert_eq!(
        app.signed_in_for(200_002).get("/state").await.short(),
        (200, "unavailable")
    );
}

#[tokio::test]
async fn without_any_keys_nothing_is_verified_and_nothing_is_spent_or_lost() {
    let app = App::new();
    app.upstream.hide_keys();
    app.upstream.refreshing_for(3600);
    let bearer = format!("Bearer {}", app.upstream.tokens().token(3600));

    for seconds in [3600, 60, -10] {
        let mut browser = app.signed_in_for(seconds);
        for _ in 0..3 {
            assert_eq!(browser.get("/state").await.short(), (200, "unavailable"));
        }
        assert_eq!(browser.refresh_token().as_deref(), Some("first"));
    }
    let mut program = app.browser().with("authorization", Some(&bearer));
    assert_eq!(program.get("/private").await.status.as_u16(), 503);
    assert_eq!(app.upstream.refreshes(), 0);
    assert_eq!(app.upstream.key_fetches(), 1, "at most one fetch in 30 s");

    app.upstream.show_keys();
    app.clock.advance(Duration::from_secs(30));
    let mut browser = app.signed_in_for(3600);
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(program.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn a_project_that_publishes_no_keys_has_said_so() {
    let app = App::new();
    app.upstream.unpublish();

    assert_eq!(
        app.signed_in_for(3600).get("/state").await.short(),
        (200, "anonymous")
    );
}

#[tokio::test]
async fn a_session_renewed_by_a_key_that_is_not_known_yet_is_renewed_once() {
    let app = App::new();
    app.signed_in_for(3600).get("/private").await;
    let mut browser = app.signed_in_for(-10);
    app.upstream.refreshing_for(3600);
    app.upstream.rotate(true);

    for _ in 0..5 {
        assert_eq!(browser.get("/private").await.short(), (200, USER));
    }
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (1, 1));
    assert_eq!(app.upstream.key_fetches(), 1);

    app.clock.advance(Duration::from_secs(30));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (1, 1));
    assert_eq!(app.upstream.key_fetches(), 2);
}

#[tokio::test]
async fn a_user_is_not_verified_by_a_response_about_another() {
    let app = App::new();
    app.signed_in_for(3600).get("/private").await;
    app.upstream.rotate(true);
    let session = app.upstream.tokens().session(3600, "mine");
    app.browser().post("/sign-in", &session).await;
    let foreign = Tokens::new(Algorithm::Es256).session(3600, "theirs");

    let mut stranger = app.browser().holding(&foreign);

    assert_eq!(stranger.get("/state").await.short(), (200, "anonymous"));
    assert_eq!(app.upstream.users(), 1, "only at the sign-in");
}

#[tokio::test]
async fn signing_in_by_a_key_that_is_not_known_yet_asks_the_server() {
    let app = App::new();
    app.signed_in_for(3600).get("/private").await;
    app.upstream.rotate(true);
    let session = app.upstream.tokens().session(3600, "mine");
    let mut browser = app.browser();

    let reply = browser.post("/sign-in", &session).await;

    assert_eq!(reply.short(), (200, "other user: false"));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (0, 1));

    app.upstream
        .knowing_users(on_refresh::error(403, "bad_jwt"));
    let forged = Tokens::new(Algorithm::Es256).session(3600, "theirs");
    let mut stranger = app.browser();
    stranger.post("/sign-in", &forged).await;
    assert_eq!(stranger.cookie_names(), [""; 0]);
}

#[tokio::test]
async fn a_sign_in_that_cannot_be_verified_yet_is_not_lost() {
    let app = App::new();
    app.upstream.hide_keys();
    app.upstream
        .knowing_users(on_refresh::error(503, "unavailable"));
    let session = app.upstream.tokens().session(3600, "mine");
    app.upstream.verifying(on_refresh::json(session));
    let mut browser = app.browser();
    browser.post("/begin", "").await;

    let reply = browser.get("/auth/callback?code=abc&next=/private").await;

    assert_eq!(reply.header("location"), Some("/private"));
    assert_eq!(browser.get("/private").await.status.as_u16(), 503);
    app.upstream.show_keys();
    app.clock.advance(Duration::from_secs(30));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn a_rotated_key_is_found() {
    let app = App::new();
    app.signed_in_for(3600).get("/private").await;
    app.upstream.rotate(true);
    let mut browser = app.signed_in_for(3600);

    app.clock.advance(Duration::from_millis(29_999));
    assert_eq!(
        browser.clone().get("/state").await.short(),
        (200, "anonymous")
    );
    assert_eq!(app.upstream.key_fetches(), 1, "at most one fetch in 30 s");
    app.clock.advance(Duration::from_millis(1));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.key_fetches(), 2);
}

#[tokio::test]
async fn an_unknown_key_allows_one_refresh() {
    let app = App::new();
    let gone = Tokens::new(Algorithm::Es256).session(3600, "first");
    app.upstream.refreshing_for(3600);
    let mut browser = app.browser().holding(&gone);

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(browser.refresh_token().as_deref(), Some("next-1"));

    app.upstream
        .refreshing(on_refresh::error(400, "refresh_token_not_found"));
    let other = Tokens::new(Algorithm::Es256).session(3600, "second");
    assert_eq!(
        app.browser().holding(&other).get("/state").await.short(),
        (200, "anonymous")
    );
}

#[tokio::test]
async fn a_token_stops_when_its_key_is_no_longer_published() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);
    assert_eq!(browser.get("/private").await.short(), (200, USER));

    app.upstream.unpublish();
    app.clock.advance(Duration::from_secs(600));

    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
}

#[tokio::test]
async fn claims_must_fit() {
    let app = App::new();
    let check = async |change: Value, expected: &str| {
        let mut claims = claims(3600);
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let token = app.upstream.tokens().sign(&claims);
        assert_eq!(state_with(&app, &token).await, expected, "{change}");
    };

    check(json!({}), "signed in").await;
    check(json!({ "iss": "https://other.test/auth/v1" }), "anonymous").await;
    check(json!({ "aud": "others" }), "anonymous").await;
    check(json!({ "sub": "ann" }), "anonymous").await;
    check(json!({ "session_id": null }), "anonymous").await;
    check(json!({ "exp": null }), "anonymous").await;
    check(json!({ "nbf": NOW_S + 5 }), "signed in").await;
    check(json!({ "nbf": NOW_S + 6 }), "anonymous").await;
    for role in ["anon", "service_role", "supabase_admin"] {
        check(json!({ "role": role }), "anonymous").await;
    }
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn the_issuer_may_be_another_or_any() {
    let named = App::with(Upstream::new(), |builder| {
        builder.issuer("https://public.test/auth/v1")
    });
    let any = App::with(Upstream::new(), |builder| builder.any_issuer());
    let from = |app: &App, issuer: &str| {
        let mut claims = claims(3600);
        claims["iss"] = json!(issuer);
        app.upstream.tokens().sign(&claims)
    };

    let token = from(&named, "https://public.test/auth/v1");
    assert_eq!(state_with(&named, &token).await, "signed in");
    let token = from(&named, "http://auth.test/auth/v1");
    assert_eq!(state_with(&named, &token).await, "anonymous");
    let token = from(&any, "https://anywhere.test");
    assert_eq!(state_with(&any, &token).await, "signed in");
}

#[tokio::test]
async fn strict_revocation_asks_before_changes_only() {
    let app = App::with(Upstream::new(), |builder| builder.strict_revocation(true));
    let mut browser = app.signed_in_for(3600);

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.users(), 0);
    assert_eq!(browser.post("/private", "").await.short(), (200, USER));
    assert_eq!(browser.post("/private", "").await.short(), (200, USER));
    assert_eq!(app.upstream.users(), 2, "a response is not kept");

    app.upstream.knowing_users(on_refresh::error(503, "down"));
    assert_eq!(
        browser.post("/state", "").await.short(),
        (200, "unavailable")
    );
    app.upstream
        .knowing_users(on_refresh::error(403, "session_not_found"));
    assert_eq!(browser.post("/private", "").await.status.as_u16(), 401);
    assert_eq!(browser.cookie_names(), [""; 0]);
}

#[tokio::test]
async fn a_refreshed_token_that_does_not_fit_is_not_used() {
    let app = App::new();
    let upstream = app.upstream.clone();
    app.upstream.refreshing(move |number| {
        let mut claims = claims(3600);
        claims["role"] = json!("service_role");
        let token = upstream.tokens().sign(&claims);
        on_refresh::json(session_json(&token, "next", NOW_S + 3600))(number)
    });
    let mut browser = app.signed_in_for(-10);

    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
    assert_eq!(browser.refresh_token().as_deref(), Some("first"));
}
