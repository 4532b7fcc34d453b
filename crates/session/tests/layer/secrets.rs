//! Client contract S35, A36, A40: no piece of a credential in any trace, at any level, nor in
//! `Debug`.

use std::time::Duration;

use http::StatusCode;
use plinth_session::SessionLayer;
use plinth_session::cookie::{Changes, CookieOptions, Cookies, Encoding, Side};
use plinth_testkit::{Traces, assert_no_secret};
use plinth_token::Algorithm;
use serde_json::Value;

use crate::support::{App, Browser, KEY, PROJECT_URL, Upstream, on_refresh};

const REFRESH_TOKENS: [&str; 3] = ["n3Kd8fQz0Ls5", "v7Tb2gRy4Mw9", "Hq6Wc1Xj3Zp0"];
const CODE: &str = "6b1f0c9e-77aa-4d3e";
const TOKEN_HASH: &str = "pkce_0a9s8d7f6g5h4j3k2l1q";

/// Collects secrets that must not be printed.
#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn session(&mut self, session: String) -> String {
        let read: Value = serde_json::from_str(&session).unwrap();
        for name in ["access_token", "refresh_token"] {
            self.0.push(read[name].as_str().unwrap().to_owned());
        }
        session
    }

    /// The values of a browser's cookies, as they travel and as they are meant.
    fn cookies_of(&mut self, browser: &Browser) {
        for cookie in Cookies::parse(&browser.cookie_header()).iter() {
            // Short ones are no secrets: they are marks of a test.
            let value = cookie
                .value
                .strip_prefix("base64-")
                .unwrap_or(&cookie.value);
            self.0.extend((value.len() > 20).then(|| value.to_owned()));
        }
        let verifier = browser.item(&format!("{KEY}-code-verifier"));
        self.0.extend(verifier.map(|text| text.replace('"', "")));
    }

    fn check(&self, text: &str) {
        let mut secrets: Vec<&str> = self.0.iter().map(String::as_str).collect();
        secrets.extend([CODE, TOKEN_HASH]);
        assert_no_secret(text, &secrets);
    }
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_from_sign_in_to_sign_out() {
    let traces = Traces::capture();
    let app = App::new();
    let mut secrets = Secrets::default();
    let tokens = app.upstream.tokens();
    let [first, second, third] = REFRESH_TOKENS.map(|token| tokens.session(3600, token));
    let session = secrets.session(first);
    let mut browser = app.browser();

    browser.post("/begin", "").await;
    secrets.cookies_of(&browser);
    app.upstream.verifying(on_refresh::json(session));
    let reply = browser.get(&format!("/auth/callback?code={CODE}")).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER);
    secrets.cookies_of(&browser);
    // The same once more, without the secret it needs.
    browser.get(&format!("/auth/callback?code={CODE}")).await;
    let form = format!("token_hash={TOKEN_HASH}&type=email");
    browser.get(&format!("/auth/confirm?{form}")).await;
    app.upstream
        .verifying(on_refresh::json(secrets.session(second)));
    browser.post("/auth/confirm", &form).await;
    secrets.cookies_of(&browser);
    assert_eq!(browser.refresh_token().as_deref(), Some(REFRESH_TOKENS[1]));

    app.upstream
        .refreshing(on_refresh::json(secrets.session(third)));
    browser.post("/renew", "").await;
    secrets.cookies_of(&browser);
    assert_eq!(browser.refresh_token().as_deref(), Some(REFRESH_TOKENS[2]));
    let shown = browser.get("/debug").await.body;
    assert!(
        shown.contains("SignedIn") && shown.contains("CookieStore"),
        "{shown}"
    );
    secrets.check(&shown);
    browser.post("/auth/sign-out", "").await;

    let text = traces.text();
    assert!(text.contains("the session was refreshed"), "{text}");
    secrets.check(&text);
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_when_cookies_are_rejected() {
    let traces = Traces::capture();
    let mut secrets = Secrets::default();
    let app = App::with(Upstream::new(), |builder| {
        builder.refresh_wait(Duration::from_millis(100))
    });
    let tokens = app.upstream.tokens();
    let ended = secrets.session(tokens.session(-10, REFRESH_TOKENS[0]));
    let foreign = secrets.session(Upstream::new().tokens().session(3600, REFRESH_TOKENS[1]));
    let rejected = |status| on_refresh::error(status, "refresh_token_not_found");

    for (session, response) in [(&ended, 503), (&ended, 400), (&foreign, 400)] {
        app.upstream.refreshing(rejected(response));
        let mut browser = app.browser().holding(session);
        secrets.cookies_of(&browser);
        browser.set(&format!("{KEY}.0"), "another");
        browser.get("/private").await;
        app.clock.advance(Duration::from_secs(61));
    }
    // A token that the layer rejects, though the service issued it.
    let mut wrong = crate::support::claims(3600);
    wrong["aud"] = "somebody else".into();
    let wrong = crate::support::session_json(&tokens.sign(&wrong), REFRESH_TOKENS[2], 0);
    app.upstream
        .refreshing(on_refresh::json(secrets.session(wrong)));
    app.browser().holding(&ended).get("/private").await;
    app.upstream.hide_keys();
    app.clock.advance(Duration::from_secs(601));
    app.browser().holding(&ended).get("/private").await;

    let text = traces.text();
    for expected in [
        "conflicting session cookies",
        "a token that this layer rejects",
        "the key set cannot be fetched",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    secrets.check(&text);
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_where_cookies_cannot_be_written() {
    let traces = Traces::capture();
    let mut secrets = Secrets::default();
    let app = App::with(Upstream::signing(Algorithm::Hs256), |builder| {
        builder.public_url("http://app.test")
    });
    let session = secrets.session(app.upstream.tokens().session(3600, REFRESH_TOKENS[0]));

    let reply = app.browser().post("/sign-in", &session).await;

    assert_eq!(reply.set_cookies(), [""; 0]);
    let text = traces.text();
    assert!(text.contains("not written over plain http"), "{text}");
    secrets.check(&text);
}

#[test]
fn s35_debug_shows_no_credential() {
    let mut secrets = Secrets::default();
    let item = secrets.session(Upstream::new().tokens().session(3600, REFRESH_TOKENS[0]));
    let mut changes = Changes::default();
    changes.set(KEY, &item);
    let options = CookieOptions::default();
    let writes = changes.plan(
        &Cookies::default(),
        &options,
        Encoding::Base64Url,
        Side::Server,
    );
    let pairs = writes
        .iter()
        .map(|write| (write.name.as_str(), write.value.as_str()));
    let cookies: Cookies = pairs.collect();
    secrets
        .0
        .extend(writes.iter().map(|write| write.value.clone()));
    secrets.0.push("hs256-aVq3Zt8Lw1".to_owned());
    let builder = SessionLayer::builder(PROJECT_URL, CODE).hs256_secret("hs256-aVq3Zt8Lw1");

    let shown = format!("{changes:?} {writes:?} {cookies:?} {builder:?}");
    let layer = builder.build().unwrap();

    secrets.check(&shown);
    secrets.check(&format!("{layer:?}"));
}
