//! From cookies to a session and back (client contract §4.2).

use http::Method;
use serde_json::json;

use crate::support::{App, KEY, NOW_S, USER, Upstream, on_refresh, session_json};

const NO_CACHE: &str = "private, no-cache, no-store, must-revalidate, max-age=0";

#[tokio::test]
async fn a_warm_session_is_read_and_nothing_is_written() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);

    let reply = browser.get("/private").await;

    assert_eq!(reply.short(), (200, USER));
    assert_eq!(reply.set_cookies(), [""; 0]);
    assert_eq!(reply.header("cache-control"), Some("private, no-store"));
    assert_eq!(reply.header("vary"), Some("Cookie"));
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn without_cookies_there_is_no_user() {
    let app = App::new();
    let mut browser = app.browser();

    assert_eq!(browser.get("/maybe").await.short(), (200, "anonymous"));
    let rejected = browser.get("/private").await;
    assert_eq!(
        (rejected.status.as_u16(), rejected.code()),
        (401, "session_missing".to_owned())
    );
}

#[tokio::test]
async fn what_does_not_ask_who_it_is_stays_cacheable() {
    let reply = App::new().signed_in_for(3600).get("/public").await;

    assert_eq!(reply.header("cache-control"), None);
    assert_eq!(reply.header("vary"), None);
}

#[tokio::test]
async fn a_handlers_own_cache_rules_count_where_nothing_is_written() {
    let reply = App::new().signed_in_for(3600).get("/cached").await;

    assert_eq!(reply.header("cache-control"), Some("public, max-age=60"));
    let vary: Vec<_> = reply.headers.get_all("vary").iter().collect();
    assert_eq!(vary, ["accept", "Cookie"]);
}

#[tokio::test]
async fn the_margin_is_ninety_seconds_of_the_tokens_own_time() {
    let app = App::new();
    app.upstream.refreshing_for(3600);

    app.signed_in_for(90).get("/private").await;
    assert_eq!(app.upstream.refreshes(), 0);
    app.signed_in_for(89).get("/private").await;
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn what_the_cookie_says_about_the_end_is_ignored() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let tokens = app.upstream.tokens();

    let fresh = session_json(&tokens.token(3600), "r1", NOW_S - 1000);
    assert_eq!(
        app.browser().holding(&fresh).get("/private").await.short(),
        (200, USER)
    );
    assert_eq!(app.upstream.refreshes(), 0);

    let ended = session_json(&tokens.token(-1000), "r2", NOW_S + 1000);
    assert_eq!(
        app.browser().holding(&ended).get("/private").await.short(),
        (200, USER)
    );
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a_refreshed_session_is_used_written_and_shown_to_inner_services() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let mut browser = app.signed_in_for(-10).with("if-none-match", Some("\"x\""));
    browser.set("theme", "dark");

    let reply = browser.get("/headers").await;

    let [cookie] = reply.set_cookies()[..] else {
        panic!("{reply:?}");
    };
    assert!(cookie.starts_with(&format!("{KEY}=base64-")), "{cookie}");
    assert!(
        cookie.ends_with("; Max-Age=34560000; Path=/; Secure; SameSite=Lax"),
        "{cookie}"
    );
    assert_eq!(browser.refresh_token().as_deref(), Some("next-1"));
    let value = cookie.split(';').next().unwrap();
    assert_eq!(reply.body, format!("theme=dark; {value} -"));
    assert_eq!(reply.header("cache-control"), Some(NO_CACHE));
    assert_eq!(
        (reply.header("expires"), reply.header("pragma")),
        (Some("0"), Some("no-cache"))
    );
    assert_eq!(reply.header("vary"), Some("Cookie"));

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn cookies_of_handlers_are_neither_replaced_nor_merged() {
    let app = App::new();
    app.upstream.refreshing_for(3600);

    let reply = app.signed_in_for(-10).get("/own-cookie").await;

    let cookies = reply.set_cookies();
    assert_eq!(cookies.len(), 2);
    assert_eq!(cookies[0], "theme=dark");
    assert!(cookies[1].starts_with(KEY));
}

#[tokio::test]
async fn new_cookies_outrank_a_handlers_cache_rules() {
    let app = App::new();
    app.upstream.refreshing_for(3600);

    let reply = app.signed_in_for(-10).get("/cached").await;

    let rules: Vec<_> = reply.headers.get_all("cache-control").iter().collect();
    assert_eq!(rules, [NO_CACHE]);
}

#[tokio::test]
async fn errors_carry_cookies_too() {
    let app = App::new();
    app.upstream.refreshing_for(3600);

    let mut browser = app.signed_in_for(-10);
    let reply = browser.get("/missing").await;
    assert_eq!((reply.status.as_u16(), reply.set_cookies().len()), (404, 1));
    assert_eq!(reply.header("cache-control"), Some(NO_CACHE));

    let mut browser = app
        .signed_in_for(-10)
        .with("sec-fetch-site", Some("cross-site"));
    let reply = browser.post("/private", "").await;
    assert_eq!((reply.status.as_u16(), reply.set_cookies().len()), (403, 1));
}

#[tokio::test]
async fn a_rejected_refresh_ends_the_session_and_clears_its_cookies() {
    let app = App::new();
    let mut browser = app.signed_in_for(-10);
    browser.set(&format!("{KEY}.7"), "stray");
    browser.set(&format!("{KEY}-code-verifier"), "base64-InYxIg");

    let reply = browser.get("/state").await;

    assert_eq!(reply.short(), (200, "anonymous"));
    assert_eq!(browser.cookie_names(), [format!("{KEY}-code-verifier")]);
    assert_eq!(reply.header("cache-control"), Some(NO_CACHE));
}

#[tokio::test]
async fn an_early_rejection_keeps_the_valid_session() {
    let app = App::new();
    let mut browser = app.signed_in_for(60);

    let reply = browser.get("/private").await;

    assert_eq!(reply.short(), (200, USER));
    assert_eq!(reply.set_cookies(), [""; 0]);
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a_failing_service_keeps_the_cookies() {
    let app = App::with(Upstream::new(), |builder| {
        builder.refresh_wait(std::time::Duration::from_millis(100))
    });
    app.upstream
        .refreshing(on_refresh::error(503, "unavailable"));
    let mut browser = app.signed_in_for(-10);
    let before = browser.cookie_header();

    let reply = browser.get("/private").await;
    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (503, "session_unavailable".to_owned())
    );
    assert_eq!(reply.header("retry-after"), Some("5"));
    assert_eq!(browser.get("/maybe").await.short(), (200, "anonymous"));
    assert_eq!(browser.get("/state").await.short(), (200, "unavailable"));
    assert_eq!(browser.cookie_header(), before);

    let early = app
        .browser()
        .holding(&app.upstream.tokens().session(60, "other"))
        .get("/private")
        .await;
    assert_eq!(early.short(), (200, USER));
}

#[tokio::test]
async fn too_many_requests_is_an_error_and_no_rejection() {
    let app = App::with(Upstream::new(), |builder| {
        builder.refresh_wait(std::time::Duration::from_millis(100))
    });
    app.upstream
        .refreshing(on_refresh::error(429, "over_request_rate_limit"));
    let mut browser = app.signed_in_for(-10);

    assert_eq!(browser.get("/state").await.short(), (200, "unavailable"));
    assert_eq!(browser.cookie_names(), [KEY]);
}

#[tokio::test]
async fn a_bearer_token_wins_over_cookies() {
    let app = App::new();
    let token = app.upstream.tokens().token(3600);
    let bearer = |token: &str| format!("Bearer {token}");

    let mut browser = app
        .signed_in_for(-10)
        .with("authorization", Some(&bearer(&token)));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    let cross_site = browser
        .clone()
        .with("sec-fetch-site", Some("cross-site"))
        .post("/private", "")
        .await;
    assert_eq!(cross_site.short(), (200, USER));
    assert_eq!(app.upstream.refreshes(), 0);

    for bad in ["", "garbage", "anon", &app.upstream.tokens().token(-1)] {
        let mut browser = app
            .signed_in_for(3600)
            .with("authorization", Some(&bearer(bad)));
        assert_eq!(
            browser.get("/state").await.short(),
            (200, "anonymous"),
            "{bad}"
        );
    }
    let reply = app
        .signed_in_for(3600)
        .with("authorization", Some("Basic eA=="))
        .get("/private")
        .await;
    assert_eq!(reply.short(), (200, USER));
}

#[tokio::test]
async fn a_bearer_request_has_no_cookies_to_write() {
    let app = App::new();
    let bearer = format!("Bearer {}", app.upstream.tokens().token(3600));
    let mut browser = app.signed_in_for(3600).with("authorization", Some(&bearer));

    let reply = browser.post("/clear", "").await;

    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (400, "bearer_request".to_owned())
    );
    assert_eq!(browser.cookie_names(), [KEY]);
}

#[tokio::test]
async fn unreadable_cookies_are_no_session_and_stay() {
    let app = App::new();
    let token = app.upstream.tokens().token(3600);
    let no_refresh_token = json!({ "access_token": token, "refresh_token": "", "expires_at": 1 });
    let numbers = json!({ "access_token": 1, "refresh_token": 2, "expires_at": 3 });

    for item in [
        "{}",
        "[]",
        "null",
        "\"text\"",
        "garbage",
        &no_refresh_token.to_string(),
        &numbers.to_string(),
    ] {
        let mut browser = app.browser();
        browser.set_item(KEY, item);
        let reply = browser.get("/state").await;
        assert_eq!(reply.short(), (200, "anonymous"), "{item}");
        assert_eq!(reply.set_cookies(), [""; 0], "{item}");
    }
}

#[tokio::test]
async fn old_raw_cookies_are_read() {
    let app = App::new();
    let session = app.upstream.tokens().session(3600, "r");
    let mut browser = app.browser();
    let encoded: String = session.bytes().map(|byte| format!("%{byte:02X}")).collect();
    browser.set(KEY, &encoded);

    assert_eq!(browser.get("/private").await.short(), (200, USER));
}

#[tokio::test]
async fn tokens_only_is_read_always_and_written_where_configured() {
    let app = App::with(Upstream::new(), |builder| {
        builder.encode(plinth_session::SessionEncoding::TokensOnly)
    });
    app.upstream.refreshing_for(3600);
    let mut browser = app.signed_in_for(-10);

    assert_eq!(browser.get("/private").await.short(), (200, USER));

    let item: serde_json::Value = serde_json::from_str(&browser.item(KEY).unwrap()).unwrap();
    assert_eq!(item["refresh_token"], "next-1");
    assert_eq!(item.get("user"), None);
    assert_eq!(browser.get("/name").await.short(), (200, ""));
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a_head_request_is_recognised_like_any_other() {
    let reply = App::new()
        .signed_in_for(3600)
        .send(Method::HEAD, "/private", "")
        .await;
    assert_eq!(reply.short(), (200, ""));
}

#[tokio::test]
async fn cookies_of_an_earlier_domain_are_removed_and_nothing_is_cached() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);

    let reply = browser.post("/clear-old", "").await;

    let expected = format!("{KEY}=; Max-Age=0; Domain=.old.test; Path=/; Secure; SameSite=Lax");
    assert_eq!(reply.set_cookies(), [expected]);
    assert_eq!(reply.header("cache-control"), Some(NO_CACHE));
}

#[tokio::test]
async fn cookies_may_come_in_several_headers() {
    let app = App::new();
    let mut session: serde_json::Value =
        serde_json::from_str(&app.upstream.tokens().session(3600, "r")).unwrap();
    session["user"]["user_metadata"]["bio"] = "x".repeat(3000).into();
    let whole = app.browser().holding(&session.to_string()).cookie_header();
    let (first, second) = whole.split_once("; ").unwrap();
    let mut browser = app.browser().with("cookie", Some(second));
    let (name, value) = first.split_once('=').unwrap();
    browser.set(name, value);

    assert_eq!(browser.get("/private").await.short(), (200, USER));
}
