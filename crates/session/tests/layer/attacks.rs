//! The attacks of client contract §4.5, one test or more for each row.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::ConnectInfo;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use plinth_client::ManualClock;
use plinth_session::cookie::CookieOptions;
use plinth_session::{SessionLayer, SessionRuntime};
use plinth_testkit::Traces;
use plinth_token::Algorithm;
use serde_json::{Value, json};

use crate::support::{
    APP_URL, App, Browser, KEY, NOW_MS, NOW_S, PROJECT_URL, Tokens, USER, Upstream, claims,
    on_refresh, routes, session_json,
};

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// The key id that the auth service's tokens carry.
fn kid(tokens: &Tokens) -> String {
    tokens.0.kid().unwrap().to_owned()
}

fn holding(app: &App, token: &str) -> Browser {
    app.browser()
        .holding(&session_json(token, "first", NOW_S + 3600))
}

// A24

#[tokio::test]
async fn a24_an_edited_cookie_changes_nothing_but_what_is_shown() {
    let app = App::new();
    let mut session: Value =
        serde_json::from_str(&app.upstream.tokens().session(3600, "r")).unwrap();
    session["user"] = json!({
        "id": "00000000-0000-0000-0000-000000000000",
        "role": "service_role",
        "aal": "aal2",
        "factors": [{ "status": "verified" }],
        "user_metadata": { "name": "Mallory" },
    });
    session["aal"] = json!("aal2");
    session["expires_at"] = json!(NOW_S + 999_999);
    let mut browser = app.browser().holding(&session.to_string());

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(browser.get("/aal2").await.status.as_u16(), 403);
    assert_eq!(browser.get("/editor").await.status.as_u16(), 403);
    assert_eq!(browser.get("/name").await.short(), (200, "\"Mallory\""));
}

#[tokio::test]
async fn a24_an_edited_token_is_rejected() {
    let app = App::new();
    let token = app.upstream.tokens().token(3600);
    let parts: Vec<&str> = token.split('.').collect();
    let mut edited = claims(3600);
    edited["aal"] = json!("aal2");
    let forged = format!("{}.{}.{}", parts[0], part(&edited), parts[2]);

    assert_eq!(
        holding(&app, &forged).get("/state").await.short(),
        (200, "anonymous")
    );
    assert_eq!(app.upstream.refreshes(), 0);
}

// A25

#[tokio::test]
async fn a25_no_algorithm_and_strange_ones_are_rejected() {
    let app = App::new();
    let kid = kid(&app.upstream.tokens());
    for alg in [
        "none", "None", "NONE", "", "HS384", "HS512", "PS256", "ES384", "es256", "RS1",
    ] {
        for signature in ["", "c2ln"] {
            let header = part(&json!({ "alg": alg, "kid": kid, "typ": "JWT" }));
            let token = format!("{header}.{}.{signature}", part(&claims(3600)));
            let reply = holding(&app, &token).get("/state").await;
            assert_eq!(reply.short(), (200, "anonymous"), "{alg} {signature}");
        }
    }
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (0, 0));
}

#[tokio::test]
async fn a25_a_public_key_is_no_shared_secret() {
    let upstream = Upstream::new();
    let app = App::with(upstream.clone(), |builder| {
        builder.hs256_secret("the real secret, which is long enough")
    });
    let tokens = upstream.tokens();
    let public = tokens.0.public_jwk().unwrap();
    for material in [public.to_string(), public["x"].as_str().unwrap().to_owned()] {
        let key =
            plinth_token::SigningKey::from_shared_secret(material.as_bytes(), Some(kid(&tokens)));
        let token = Tokens(key.unwrap()).token(3600);
        assert_eq!(
            holding(&app, &token).get("/state").await.short(),
            (200, "anonymous")
        );
    }
}

#[tokio::test]
async fn a25_keys_that_a_token_brings_along_are_ignored() {
    let app = App::new();
    let own = Tokens::new(Algorithm::Es256);
    let ours = kid(&app.upstream.tokens());
    for extra in [
        json!({ "jwk": own.0.public_jwk().unwrap() }),
        json!({ "jku": "https://evil.example/jwks.json" }),
        json!({ "x5u": "https://evil.example/cert" }),
    ] {
        let mut header = json!({ "alg": "ES256", "kid": ours, "typ": "JWT" });
        for (name, value) in extra.as_object().unwrap() {
            header[name] = value.clone();
        }
        // Signed properly by the attacker over this very header.
        let token = own.sign_with_header(&header, &claims(3600));
        assert_eq!(
            holding(&app, &token).get("/state").await.short(),
            (200, "anonymous"),
            "{extra}"
        );
    }
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn a25_a_foreign_token_under_our_key_id_is_rejected_without_a_refresh() {
    let app = App::new();
    let ours = app.upstream.tokens().token(3600);
    let theirs = Tokens::new(Algorithm::Es256).token(3600);
    let header = ours.split('.').next().unwrap();
    let (_, rest) = theirs.split_once('.').unwrap();

    let reply = holding(&app, &format!("{header}.{rest}"))
        .get("/state")
        .await;

    assert_eq!(reply.short(), (200, "anonymous"));
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn a25_a_token_without_a_key_id_is_rejected() {
    let app = App::new();
    let header = part(&json!({ "alg": "ES256" }));
    let token = format!("{header}.{}.c2ln", part(&claims(3600)));

    assert_eq!(
        holding(&app, &token).get("/state").await.short(),
        (200, "anonymous")
    );
    assert_eq!((app.upstream.refreshes(), app.upstream.users()), (0, 0));
}

// A26

#[tokio::test]
async fn a26_random_key_ids_cost_one_fetch_in_thirty_seconds() {
    let app = App::new();
    for _ in 0..50 {
        let token = Tokens::new(Algorithm::Es256).token(3600);
        assert_eq!(
            holding(&app, &token).get("/state").await.short(),
            (200, "anonymous")
        );
    }
    assert_eq!(app.upstream.key_fetches(), 1);

    app.clock.advance(Duration::from_secs(30));
    holding(&app, &Tokens::new(Algorithm::Es256).token(3600))
        .get("/state")
        .await;
    assert_eq!(app.upstream.key_fetches(), 2);
}

// A27

#[tokio::test]
async fn a27_a_token_that_a_known_key_rejects_never_refreshes() {
    let app = App::new();
    let token = app.upstream.tokens().token(-10);
    let (message, signature) = token.rsplit_once('.').unwrap();
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let forged = format!("{message}.{flipped}{}", &signature[1..]);

    assert_eq!(
        holding(&app, &forged).get("/state").await.short(),
        (200, "anonymous")
    );
    assert_eq!(app.upstream.refreshes(), 0);
}

#[tokio::test]
async fn a27_one_refresh_token_is_tried_once_a_minute() {
    let app = App::new();
    for _ in 0..20 {
        app.signed_in_for(-10).get("/state").await;
    }
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a27_at_most_64_refreshes_are_under_way() {
    let app = App::with(Upstream::new(), |builder| {
        builder.refresh_wait(Duration::from_millis(200))
    });
    app.upstream.close();
    let tokens = app.upstream.tokens();
    let mut browsers: Vec<Browser> = (0..100)
        .map(|number| {
            app.browser()
                .holding(&tokens.session(-10, &format!("r{number}")))
        })
        .collect();

    let asking = browsers.iter_mut().map(|browser| browser.get("/state"));
    let replies = futures_util::future::join_all(asking).await;

    assert!(replies.iter().all(|reply| reply.body == "unavailable"));
    assert_eq!(app.upstream.refreshes(), 64);
}

// A28

#[tokio::test]
async fn a28_of_two_cookies_with_one_name_the_first_counts_and_the_second_never() {
    let traces = Traces::capture();
    let app = App::new();
    let good = app
        .browser()
        .holding(&app.upstream.tokens().session(3600, "r"));
    let value = good.cookie_header();
    let ask = async |header: &str| {
        let mut browser = app.browser().with("cookie", Some(header));
        browser.get("/state").await.body
    };

    assert_eq!(
        ask(&format!("{value}; {KEY}=base64-dG9zc2Vk")).await,
        "signed in"
    );
    let said = traces.text();
    assert_eq!(
        said.matches("conflicting session cookies").count(),
        1,
        "{said}"
    );
    assert!(said.contains(KEY) && !said.contains("dG9zc2Vk"), "{said}");
    assert_eq!(
        ask(&format!("{KEY}=base64-dG9zc2Vk; {value}")).await,
        "anonymous"
    );
}

#[tokio::test]
async fn a28_with_a_domain_both_cookies_are_removed() {
    let app = App::with(Upstream::new(), |builder| {
        builder.cookie_options(CookieOptions::default().domain("app.test"))
    });

    let reply = app.signed_in_for(-10).get("/state").await;

    assert_eq!(
        reply.set_cookies(),
        [
            format!("{KEY}=; Max-Age=0; Path=/; Secure; SameSite=Lax"),
            format!("{KEY}=; Max-Age=0; Domain=app.test; Path=/; Secure; SameSite=Lax"),
        ]
    );
}

// A29

#[tokio::test]
async fn a29_no_user_is_signed_in_by_another_site() {
    let app = App::new();
    let session = app.upstream.tokens().session(3600, "attackers");
    for site in ["cross-site", "same-site"] {
        let mut victim = app.browser().with("sec-fetch-site", Some(site));
        let reply = victim.post("/sign-in", &session).await;
        assert_eq!(
            (reply.status.as_u16(), reply.code()),
            (403, "csrf_rejected".to_owned())
        );
        assert_eq!(victim.cookie_names(), [""; 0]);
    }
}

#[tokio::test]
async fn a29_a_callback_works_only_where_the_sign_in_began() {
    let app = App::new();
    app.upstream.verifying(on_refresh::json(
        app.upstream.tokens().session(3600, "attackers"),
    ));
    let mut victim = app.browser();

    let reply = victim.get("/auth/callback?code=of-the-attacker").await;

    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (400, "pkce_code_verifier_not_found".to_owned())
    );
    assert_eq!(victim.cookie_names(), [""; 0]);
    assert_eq!(app.upstream.seen(), Vec::<Value>::new());
}

#[tokio::test]
async fn a29_a_change_of_user_is_reported() {
    let app = App::new();
    let mut other = claims(3600);
    other["sub"] = json!("11111111-1111-4111-8111-111111111111");
    let other = session_json(&app.upstream.tokens().sign(&other), "r2", NOW_S + 3600);
    let mut browser = app.browser();

    let first = browser
        .post("/sign-in", &app.upstream.tokens().session(3600, "r1"))
        .await;
    assert_eq!(first.short(), (200, "other user: false"));
    let again = browser
        .post("/sign-in", &app.upstream.tokens().session(3601, "r3"))
        .await;
    assert_eq!(again.short(), (200, "other user: false"));
    assert_eq!(
        browser.post("/replace", &other).await.body,
        "the session's access token is not acceptable here"
    );
    assert_eq!(browser.refresh_token().as_deref(), Some("r3"));
    assert_eq!(
        browser.post("/sign-in", &other).await.short(),
        (200, "other user: true")
    );
    assert_eq!(browser.refresh_token().as_deref(), Some("r2"));
}

#[tokio::test]
async fn a29_a_host_prefix_keeps_neighbours_out() {
    let app = App::with(Upstream::new(), |builder| {
        builder.cookie_name("__Host-session")
    });
    let mut browser = app.browser();

    let reply = browser
        .post("/sign-in", &app.upstream.tokens().session(3600, "r"))
        .await;

    let [cookie] = reply.set_cookies()[..] else {
        panic!("{reply:?}");
    };
    assert!(cookie.starts_with("__Host-session=base64-"));
    assert!(cookie.ends_with("; Max-Age=34560000; Path=/; Secure; SameSite=Lax"));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
}

// A30

#[tokio::test]
async fn a30_too_many_bytes_of_cookies_are_no_session() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);
    browser.set("filler", &"x".repeat(64 * 1024));

    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
}

#[tokio::test]
async fn a30_chunks_beyond_the_limit_are_not_read_but_removed() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);
    browser.set(&format!("{KEY}.24"), "x");
    browser.set(&format!("{KEY}.99999999999999999999"), "x");
    assert_eq!(browser.get("/private").await.short(), (200, USER));

    browser.post("/clear", "").await;

    assert_eq!(browser.cookie_names(), [""; 0]);
}

#[tokio::test]
async fn a30_a_json_bomb_is_no_session() {
    let app = App::new();
    let mut session: Value =
        serde_json::from_str(&app.upstream.tokens().session(3600, "r")).unwrap();
    let nested = |depth: usize| -> Value {
        serde_json::from_str(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))).unwrap()
    };
    session["user"]["user_metadata"]["deep"] = nested(29);
    let fits = app
        .browser()
        .holding(&session.to_string())
        .get("/state")
        .await;
    assert_eq!(fits.short(), (200, "signed in"));
    session["user"]["user_metadata"]["deep"] = nested(30);
    let bomb = app
        .browser()
        .holding(&session.to_string())
        .get("/state")
        .await;
    assert_eq!(bomb.short(), (200, "anonymous"));
}

#[tokio::test]
async fn a30_thousands_of_cookies_are_handled_in_no_time() {
    let app = App::new();
    let header: Vec<String> = (0..2_000)
        .map(|number| format!("{KEY}.{number}=x{number}"))
        .collect();
    let mut browser = app.browser().with("cookie", Some(&header.join("; ")));

    let begun = std::time::Instant::now();
    assert_eq!(browser.get("/state").await.short(), (200, "anonymous"));
    let reply = browser.post("/clear", "").await;

    assert_eq!(reply.set_cookies().len(), 2_000);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a30_a_token_that_is_too_long_is_rejected() {
    let app = App::new();
    let mut claims = claims(3600);
    claims["padding"] = json!("x".repeat(16 * 1024));
    let token = app.upstream.tokens().sign(&claims);

    assert_eq!(
        holding(&app, &token).get("/state").await.short(),
        (200, "anonymous")
    );
}

// A31: the configuration is checked in `builder`, options in `cookie::options`.

#[tokio::test]
async fn a31_nothing_in_a_session_can_write_a_header() {
    let app = App::with(Upstream::new(), |builder| {
        builder.encoding(plinth_session::cookie::Encoding::Raw)
    });
    let mut session: Value =
        serde_json::from_str(&app.upstream.tokens().session(3600, "r")).unwrap();
    session["user"]["user_metadata"]["name"] =
        json!("a; Domain=evil.example\r\nSet-Cookie: x=y\u{0}é");
    let mut browser = app.browser();

    let reply = browser.post("/sign-in", &session.to_string()).await;

    let [cookie] = reply.set_cookies()[..] else {
        panic!("{reply:?}");
    };
    assert_eq!(cookie.matches(';').count(), 4, "{cookie}");
    assert!(cookie.is_ascii());
    assert_eq!(
        browser.item(KEY).as_deref(),
        Some(session.to_string().as_str())
    );
}

// A32

#[tokio::test]
async fn a32_changes_come_from_our_own_pages() {
    let app = App::with(Upstream::new(), |builder| {
        builder.allowed_origins(["https://admin.test"])
    });
    let check = async |headers: &[(&'static str, &str)], expected: u16| {
        let mut browser = app.signed_in_for(3600).with("sec-fetch-site", None);
        for (name, value) in headers {
            browser = browser.with(name, Some(value));
        }
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let reply = browser.send(method.clone(), "/private", "").await;
            let expected = match (expected, method == Method::POST) {
                (200, false) => 405,
                (status, _) => status,
            };
            assert_eq!(reply.status.as_u16(), expected, "{method} {headers:?}");
        }
        assert_eq!(
            browser.get("/private").await.status.as_u16(),
            200,
            "{headers:?}"
        );
    };

    check(&[("sec-fetch-site", "same-origin")], 200).await;
    check(&[("sec-fetch-site", "none")], 200).await;
    check(&[("origin", APP_URL)], 200).await;
    check(&[("origin", "https://admin.test")], 200).await;
    check(&[("referer", "https://app.test/form")], 200).await;
    check(&[("sec-fetch-site", "same-site")], 403).await;
    check(
        &[
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.test"),
        ],
        403,
    )
    .await;
    check(&[("origin", "null")], 403).await;
    check(&[("origin", "https://app.test.evil.test")], 403).await;
    check(
        &[("host", "app.test"), ("origin", "https://app.test:8443")],
        403,
    )
    .await;
    check(&[], 403).await;
}

#[tokio::test]
async fn a32_the_error_names_itself_and_the_handler_never_runs() {
    let app = App::new();
    let mut browser = app
        .signed_in_for(3600)
        .with("sec-fetch-site", Some("cross-site"));

    let reply = browser.post("/clear", "").await;

    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (403, "csrf_rejected".to_owned())
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(browser.cookie_names(), [KEY]);
}

#[tokio::test]
async fn a32_a_web_socket_is_a_change() {
    let app = App::new();
    let mut browser = app
        .signed_in_for(3600)
        .with("sec-fetch-site", Some("cross-site"))
        .with("upgrade", Some("websocket"));

    assert_eq!(browser.get("/private").await.status.as_u16(), 403);
    let mut own = browser.with("sec-fetch-site", Some("same-origin"));
    assert_eq!(own.get("/private").await.status.as_u16(), 200);
}

#[tokio::test]
async fn a32_who_is_not_recognised_by_cookie_is_not_held_up() {
    let app = App::new();
    let mut stranger = app.browser().with("sec-fetch-site", Some("cross-site"));
    assert_eq!(
        stranger.post("/state", "").await.short(),
        (200, "anonymous")
    );

    let off = App::with(Upstream::new(), |builder| {
        builder.csrf(plinth_session::CsrfPolicy::Off)
    });
    let mut browser = off
        .signed_in_for(3600)
        .with("sec-fetch-site", Some("cross-site"));
    assert_eq!(browser.post("/private", "").await.short(), (200, USER));
}

// A33

#[tokio::test]
async fn a33_shipped_handlers_change_nothing_on_get() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);

    assert_eq!(browser.get("/auth/sign-out").await.status.as_u16(), 405);
    let page = browser.get("/auth/confirm?token_hash=abc&type=email").await;
    assert_eq!(page.status.as_u16(), 200);
    assert_eq!(
        browser
            .send(Method::HEAD, "/auth/callback?code=x", "")
            .await
            .status
            .as_u16(),
        405
    );

    assert_eq!(browser.cookie_names(), [KEY]);
    assert_eq!((app.upstream.logouts(), app.upstream.seen().len()), (0, 0));
}

// A34

#[tokio::test]
async fn a34_people_are_sent_to_paths_of_this_host_only() {
    let app = App::with(Upstream::new(), |builder| {
        builder.allowed_redirects(["https://docs.test/start"])
    });
    let check = async |next: &str, expected: &str| {
        let mut browser = app.signed_in_for(3600);
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let reply = browser
            .post("/auth/sign-out", &format!("next={next}"))
            .await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("location")),
            (303, Some(expected)),
            "{next}"
        );
    };

    check("/orders?page=2", "/orders?page=2").await;
    check("https://docs.test/start", "https://docs.test/start").await;
    for elsewhere in [
        "https://evil.test",
        "//evil.test",
        "/\\evil.test",
        "\\\\evil.test",
        "javascript:alert(1)",
        "/a\r\nLocation: https://evil.test",
        "/\t/evil.test",
        "https://docs.test/other",
        "",
        &format!("/{}", "a".repeat(2048)),
    ] {
        check(elsewhere, "/").await;
    }
}

// A35

#[tokio::test]
async fn a35_no_cache_keeps_what_belongs_to_one_user() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let private = "private, no-cache, no-store, must-revalidate, max-age=0";

    let mut browser = app
        .signed_in_for(-10)
        .with("if-modified-since", Some("Thu, 01 Jan 2026 00:00:00 GMT"));
    let written = browser.get("/cached").await;
    assert_eq!(written.header("cache-control"), Some(private));
    let read = browser.get("/private").await;
    assert_eq!(read.header("cache-control"), Some("private, no-store"));
    let stranger = app.browser().get("/maybe").await;
    assert_eq!(stranger.header("cache-control"), Some("private, no-store"));
    assert_eq!(stranger.header("vary"), Some("Cookie"));
}

// A36

#[tokio::test]
async fn a36_a_callback_leaves_no_trace_of_its_code() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::json(app.upstream.tokens().session(3600, "r")));
    let mut browser = app.browser();
    browser.post("/begin", "").await;

    let reply = browser.get("/auth/callback?code=secret&next=/home").await;

    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, Some("/home"))
    );
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    assert!(reply.header("cache-control").unwrap().contains("no-store"));
    assert_eq!(reply.body, "");
}

// A37

#[tokio::test]
async fn a37_a_verifier_is_used_once() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::error(400, "bad_code_verifier"));
    let mut browser = app.browser();
    browser.post("/begin", "").await;
    assert_eq!(browser.cookie_names().len(), 3);

    let failed = browser.get("/auth/callback?code=x").await;
    assert_eq!(failed.code(), "bad_code_verifier");
    let again = browser.get("/auth/callback?code=x").await;
    assert_eq!(again.code(), "pkce_code_verifier_not_found");

    assert_eq!(app.upstream.seen().len(), 1);
}

#[tokio::test]
async fn a37_a_flow_id_leads_to_its_own_slot_and_nowhere_else() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::json(app.upstream.tokens().session(3600, "r")));
    let mut browser = app.browser();
    let begun = browser.post("/begin", "").await.body;
    let (flow, _) = begun.split_once(' ').unwrap();

    for wrong in ["0123456789abcdef", "short", "..%2F..%2F", "x%22%3B"] {
        let reply = browser
            .get(&format!("/auth/callback?code=x&sb_flow_id={wrong}"))
            .await;
        assert_eq!(reply.status.as_u16(), 400, "{wrong}");
    }
    assert_eq!(app.upstream.seen().len(), 0);
    let right = browser
        .get(&format!("/auth/callback?code=x&sb_flow_id={flow}"))
        .await;
    assert_eq!(right.status.as_u16(), 303);
    assert_eq!(browser.cookie_names(), [KEY]);
}

#[tokio::test]
async fn a37_a_sign_in_that_began_here_takes_ten_minutes_at_most() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::json(app.upstream.tokens().session(7200, "r")));
    let mut in_time = app.browser();
    in_time.post("/begin", "").await;
    let mut late = app.browser();
    late.post("/begin", "").await;

    app.clock.advance(Duration::from_secs(600));
    assert_eq!(
        in_time.get("/auth/callback?code=x").await.status.as_u16(),
        303
    );
    app.clock.advance(Duration::from_millis(1));
    assert_eq!(
        late.get("/auth/callback?code=x").await.code(),
        "pkce_code_verifier_not_found"
    );
}

// A38

#[tokio::test]
async fn a38_the_host_header_decides_nothing() {
    let app = App::with(Upstream::new(), |builder| builder.sign_in_path("/sign-in"));
    let mut browser = app
        .browser()
        .with("host", Some("evil.test"))
        .with("x-forwarded-host", Some("evil.test"))
        .with("accept", Some("text/html"));

    let reply = browser.get("/private").await;
    assert_eq!(reply.header("location"), Some("/sign-in?next=%2Fprivate"));

    let mut browser = app
        .signed_in_for(3600)
        .with("sec-fetch-site", None)
        .with("host", Some("evil.test"))
        .with("origin", Some("https://evil.test"));
    assert_eq!(browser.post("/private", "").await.status.as_u16(), 403);
}

#[tokio::test]
async fn a38_a_trusted_proxy_may_say_where_we_are() {
    let upstream = Upstream::new();
    let session = upstream.tokens().session(3600, "r");
    let router = |trusted: &str| {
        let layer = plinth_session::SessionLayer::builder("http://auth.test", "anon")
            .http(upstream.http())
            .clock(plinth_client::ManualClock::at(crate::support::NOW_MS))
            .runtime(plinth_session::SessionRuntime::new())
            .trusted_proxies([trusted])
            .build()
            .unwrap();
        let peer: SocketAddr = "10.0.0.7:4000".parse().unwrap();
        crate::support::routes()
            .layer(layer)
            .layer(axum::Extension(ConnectInfo(peer)))
    };
    let ask = async |trusted: &str| {
        let mut browser = Browser::new(router(trusted))
            .holding(&session)
            .with("sec-fetch-site", None)
            .with("x-forwarded-proto", Some("https"))
            .with("x-forwarded-host", Some("app.test"))
            .with("origin", Some("https://app.test"));
        browser.post("/private", "").await.status.as_u16()
    };

    assert_eq!(ask("10.0.0.0/8").await, 200);
    assert_eq!(ask("192.168.0.0/16").await, 403);
}

// A39 is documentation and an option.

#[tokio::test]
async fn a39_cookies_can_be_hidden_from_scripts() {
    let app = App::with(Upstream::new(), |builder| {
        builder.cookie_options(CookieOptions::default().http_only(true))
    });

    let reply = app
        .browser()
        .post("/sign-in", &app.upstream.tokens().session(3600, "r"))
        .await;

    assert!(
        reply.set_cookies()[0]
            .ends_with("; Max-Age=34560000; Path=/; HttpOnly; Secure; SameSite=Lax")
    );
}

// A40

#[tokio::test]
async fn a40_nothing_prints_a_secret() {
    let app = App::new();
    let token = app.upstream.tokens().token(3600);
    let stored =
        plinth_client::Session::from_json(&session_json(&token, "very-secret", 1)).unwrap();
    let mut changes = plinth_session::cookie::Changes::default();
    changes.set("k", stored.to_json());
    let options = CookieOptions::default();
    let writes = changes.plan(
        &plinth_session::cookie::Cookies::default(),
        &options,
        plinth_session::cookie::Encoding::Raw,
        plinth_session::cookie::Side::Server,
    );

    let printed = format!(
        "{stored:?} {changes:?} {writes:?} {:?}",
        plinth_session::Secret::new("very-secret")
    );

    assert!(
        !printed.contains("very-secret") && !printed.contains(&token),
        "{printed}"
    );
}

#[tokio::test]
async fn a40_cookies_are_marked_so_that_others_do_not_log_them() {
    let app = App::new();
    let mut browser = app.browser();
    let reply = browser
        .post("/sign-in", &app.upstream.tokens().session(3600, "r"))
        .await;

    assert!(
        reply
            .headers
            .get_all("set-cookie")
            .iter()
            .all(http::HeaderValue::is_sensitive)
    );
}

// A41

#[tokio::test]
async fn a41_no_cookie_is_written_over_plain_http() {
    let sign_in = async |url: &str, insecure: bool| {
        let app = App::with(Upstream::new(), |builder| {
            builder.public_url(url).allow_insecure(insecure)
        });
        let mut browser = app.browser();
        let reply = browser
            .post("/sign-in", &app.upstream.tokens().session(3600, "r"))
            .await;
        let cookies = reply.set_cookies();
        cookies.first().map(|cookie| cookie.contains("; Secure"))
    };

    assert_eq!(sign_in("https://app.test", false).await, Some(true));
    assert_eq!(sign_in("http://app.test", false).await, None);
    assert_eq!(sign_in("http://app.test", true).await, Some(false));
    assert_eq!(sign_in("http://localhost:3000", false).await, Some(false));
    assert_eq!(sign_in("http://127.0.0.1:3000", false).await, Some(false));
}

#[tokio::test]
async fn c18_cookies_are_secure_where_the_origin_is_unknown_except_on_loopback() {
    let upstream = Upstream::new();
    let app = |options: CookieOptions| {
        let layer = SessionLayer::builder(PROJECT_URL, "anon")
            .http(upstream.http())
            .clock(ManualClock::at(NOW_MS))
            .runtime(SessionRuntime::new())
            .cookie_options(options)
            .build();
        routes().layer(layer.unwrap())
    };
    let is_secure = async |options: CookieOptions, host: &str, forwarded: Option<&str>| {
        let mut browser = Browser::new(app(options))
            .with("host", Some(host))
            .with("x-forwarded-proto", forwarded);
        let session = upstream.tokens().session(3600, "r");
        let reply = browser.post("/sign-in", &session).await;
        reply.set_cookies()[0].contains("; Secure")
    };
    let default = CookieOptions::default;

    assert!(is_secure(default(), "app.test", None).await);
    assert!(!is_secure(default(), "localhost:3000", None).await);
    assert!(!is_secure(default(), "127.0.0.1:3000", None).await);
    // A proxy that passes its own idea of the host on.
    assert!(is_secure(default(), "127.0.0.1:3000", Some("https")).await);
    // The configuration takes precedence.
    assert!(is_secure(default().secure(true), "localhost:3000", None).await);
    assert!(!is_secure(default().secure(false), "app.test", None).await);
}

#[tokio::test]
async fn a41_where_no_cookie_can_be_written_no_refresh_token_is_spent() {
    let app = App::with(Upstream::new(), |builder| {
        builder.public_url("http://app.test")
    });
    app.upstream.refreshing_for(3600);

    assert_eq!(
        app.signed_in_for(30).get("/private").await.short(),
        (200, USER)
    );
    assert_eq!(
        app.signed_in_for(-10).get("/state").await.short(),
        (200, "anonymous")
    );

    assert_eq!(app.upstream.refreshes(), 0);
}
