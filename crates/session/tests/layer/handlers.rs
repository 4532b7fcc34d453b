//! The ready handlers (client contract A4).

use serde_json::json;

use crate::support::{App, Browser, KEY, USER, Upstream, on_refresh};

#[tokio::test]
async fn a_callback_completes_a_sign_in() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::json(app.upstream.tokens().session(3600, "r")));
    let mut browser = app.browser();
    let begun = browser.post("/begin", "").await.body;
    let (_, challenge) = begun.split_once(' ').unwrap();

    let reply = browser
        .get("/auth/callback?code=abc&next=%2Fhome%3Fa%3Db")
        .await;

    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, Some("/home?a=b"))
    );
    assert_eq!(browser.cookie_names().last(), Some(&KEY));
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    let [exchange] = &app.upstream.seen()[..] else {
        panic!("one exchange");
    };
    assert_eq!(exchange["auth_code"], "abc");
    let verifier = exchange["code_verifier"].as_str().unwrap();
    assert_eq!((verifier.len(), challenge.len()), (112, 43));
}

#[tokio::test]
async fn failures_elsewhere_are_reported_in_one_word() {
    let app = App::with(Upstream::new(), |builder| builder.sign_in_path("/sign-in"));
    let check = async |query: &str, expected: &str| {
        let reply = app.browser().get(&format!("/auth/callback?{query}")).await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("location")),
            (303, Some(expected)),
            "{query}"
        );
    };

    check(
        "error=access_denied&error_description=Call%20us",
        "/sign-in?error=access_denied",
    )
    .await;
    check(
        "error=server_error&error_code=otp_expired",
        "/sign-in?error=otp_expired",
    )
    .await;
    check("error=%3Cscript%3E", "/sign-in?error=unexpected_failure").await;
    check("", "/sign-in?error=bad_oauth_callback").await;
    check("code=x", "/sign-in?error=pkce_code_verifier_not_found").await;
}

#[tokio::test]
async fn a_failing_service_is_no_failed_sign_in() {
    let app = App::with(Upstream::new(), |builder| builder.sign_in_path("/sign-in"));
    app.upstream.verifying(on_refresh::error(503, "down"));
    let mut browser = app.browser();

    let reply = browser
        .post("/auth/confirm", "token_hash=abc&type=email")
        .await;

    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (503, "session_unavailable".to_owned())
    );
    assert_eq!(reply.header("retry-after"), Some("5"));
}

#[tokio::test]
async fn a_mailed_link_asks_first_and_signs_in_then() {
    let app = App::new();
    app.upstream
        .verifying(on_refresh::json(app.upstream.tokens().session(3600, "r")));
    let mut browser = app.browser();

    let page = browser
        .get("/auth/confirm?token_hash=abc&type=recovery&next=/new-password")
        .await;
    assert_eq!(page.status.as_u16(), 200);
    assert!(
        page.body
            .contains(r#"<form method="post" action="confirm">"#)
    );
    assert!(page.body.contains(r#"name="token_hash" value="abc""#));
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .starts_with("default-src 'none'")
    );
    assert_eq!(
        (app.upstream.seen().len(), browser.cookie_names().len()),
        (0, 0)
    );

    let form = "token_hash=abc&type=recovery&next=%2Fnew-password";
    let reply = browser.post("/auth/confirm", form).await;
    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, Some("/new-password"))
    );
    assert_eq!(
        app.upstream.seen(),
        [json!({ "type": "recovery", "token_hash": "abc" })]
    );
    assert_eq!(browser.get("/private").await.short(), (200, USER));
}

#[tokio::test]
async fn links_that_cannot_be_real_are_not_asked_about() {
    let app = App::new();

    for query in [
        "",
        "token_hash=abc",
        "type=email",
        "token_hash=abc&type=sms",
        "token_hash=&type=email",
    ] {
        let page = app.browser().get(&format!("/auth/confirm?{query}")).await;
        assert_eq!(
            (page.status.as_u16(), page.code()),
            (400, "validation_failed".to_owned()),
            "{query}"
        );
        let reply = app.browser().post("/auth/confirm", query).await;
        assert_eq!(reply.code(), "validation_failed", "{query}");
    }
    let spent = app
        .browser()
        .post("/auth/confirm", "token_hash=abc&type=email")
        .await;
    assert_eq!(
        (spent.status.as_u16(), spent.code()),
        (400, "otp_expired".to_owned())
    );
    let huge = app
        .browser()
        .post("/auth/confirm", &"x".repeat(17 * 1024))
        .await;
    assert_eq!(huge.status.as_u16(), 413);
}

#[tokio::test]
async fn the_first_half_of_a_change_of_address_signs_no_user_in() {
    let app = App::new();
    let response = json!({ "msg": "Confirmation link accepted", "code": 200 });
    app.upstream
        .verifying(on_refresh::json(response.to_string()));
    let mut browser = app.browser();

    let reply = browser
        .post("/auth/confirm", "token_hash=abc&type=email_change")
        .await;

    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, Some("/"))
    );
    assert_eq!(browser.cookie_names(), [""; 0]);
}

async fn sign_out(app: &App, form: &str) -> (u16, Option<String>, Browser) {
    let mut browser = app.signed_in_for(3600);
    let reply = browser.post("/auth/sign-out", form).await;
    (
        reply.status.as_u16(),
        reply.header("location").map(str::to_owned),
        browser,
    )
}

#[tokio::test]
async fn signing_out_clears_this_browser_when_the_server_agrees() {
    let app = App::new();

    let (status, location, browser) = sign_out(&app, "next=/bye").await;
    assert_eq!((status, location.as_deref()), (303, Some("/bye")));
    assert_eq!(browser.cookie_names(), [""; 0]);
    for code in [401, 403, 404] {
        app.upstream
            .signing_out(on_refresh::error(code, "session_not_found"));
        let (status, _, browser) = sign_out(&app, "").await;
        assert_eq!((status, browser.cookie_names().len()), (303, 0), "{code}");
    }
    for code in [400, 500, 503] {
        app.upstream.signing_out(on_refresh::error(code, "no"));
        let (_, location, browser) = sign_out(&app, "").await;
        assert_eq!(
            (location, browser.cookie_names()),
            (None, vec![KEY]),
            "{code}"
        );
    }
}

#[tokio::test]
async fn signing_out_here_always_works_and_signing_out_others_keeps_this_one() {
    let app = App::new();

    let (status, _, browser) = sign_out(&app, "scope=others").await;
    assert_eq!((status, browser.cookie_names()), (303, vec![KEY]));
    app.upstream.signing_out(on_refresh::error(500, "no"));
    let (status, _, browser) = sign_out(&app, "scope=local").await;
    assert_eq!((status, browser.cookie_names().len()), (303, 0));
    let (status, ..) = sign_out(&app, "scope=everything").await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_session_that_cannot_be_refreshed_is_not_said_to_have_ended() {
    let app = App::new();
    app.upstream.refreshing(on_refresh::error(503, "no"));
    // What a server makes of a token that has ended.
    app.upstream.signing_out(on_refresh::error(403, "bad_jwt"));
    for scope in ["global", "others"] {
        let mut browser = app.signed_in_for(-10);
        let form = format!("scope={scope}");
        let reply = browser.post("/auth/sign-out", &form).await;
        let location = reply.header("location");
        assert_eq!((reply.status.as_u16(), location), (503, None), "{scope}");
        assert_eq!(browser.cookie_names(), [KEY], "{scope}");
    }

    let mut browser = app.signed_in_for(-10);
    let reply = browser.post("/auth/sign-out", "scope=local").await;
    assert_eq!(reply.status.as_u16(), 303);
    assert_eq!(browser.cookie_names(), [""; 0]);
}

#[tokio::test]
async fn signing_out_takes_sign_ins_under_way_with_it() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);
    browser.post("/begin", "").await;
    browser.set("theme", "dark");
    assert_eq!(browser.cookie_names().len(), 5);

    browser.post("/auth/sign-out", "").await;

    assert_eq!(browser.cookie_names(), ["theme"]);
}
