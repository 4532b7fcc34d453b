//! Client contract S35 and R4: no piece of a credential in any trace, at any level, nor in `Debug`,
//! even where a server repeats in its response what it was sent.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use plinth_client::auth::{BusMessage, EmailOtp, LinkType, Otp, Provider, RedirectType, Scope};
use plinth_client::realtime::SocketMessage;
use plinth_client::{AdminClient, AuthEvent, Client, ClientBuilder, Session, SessionStore};
use plinth_testkit::{Traces, assert_no_secret};
use serde_json::{Value, json};

use crate::support::{Bench, KEY, NOW_S, Reply, jwt, rejected, settle};

const TOKEN: &str = "POST /auth/v1/token";
const API_KEY: &str = "Zk7qW2xN8vB4mJ6tR1yH";
const PASSWORD: &str = "Qp5-zV9!hX3_wL7";
const REFRESH_TOKENS: [&str; 2] = ["n3Kd8fQz0Ls5", "v7Tb2gRy4Mw9"];
const CODE: &str = "6b1f0c9e-77aa-4d3e";
const ONE_TIME_CODE: &str = "90417382";
const TOKEN_HASH: &str = "pkce_0a9s8d7f6g5h4j3k2l1q";
const TOTP_SECRET: &str = "JBSWY3DPEHPK3PXP";

/// A token response whose refresh token is one of ours.
fn token_response(at: usize, expires_in: i64) -> Value {
    let mark = ["Yh2Gs9Wd", "Uc6Ke1Np"][at];
    json!({
        "access_token": jwt(json!({ "sub": "u", "mark": mark, "exp": NOW_S + expires_in })),
        "refresh_token": REFRESH_TOKENS[at],
        "expires_in": 3600,
        "expires_at": NOW_S + expires_in,
        "provider_token": "Xf4Rm8Jk2Vb6",
        "user": { "id": "u", "email": "ada@example.com" },
    })
}

/// An error response that repeats everything it could have been sent.
fn repeating(status: u16) -> Reply {
    let sent = known_secrets().join(" ");
    Reply::json(
        status,
        json!({ "code": "validation_failed", "message": format!("not understood: {sent}") }),
    )
    .header("x-supabase-api-version", "2024-01-01")
}

fn known_secrets() -> Vec<String> {
    let tokens = [0, 1].map(|at| {
        token_response(at, 3600)["access_token"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let short = [0, 1].map(|at| {
        token_response(at, 30)["access_token"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let others = [
        API_KEY,
        PASSWORD,
        CODE,
        ONE_TIME_CODE,
        TOKEN_HASH,
        TOTP_SECRET,
        "Xf4Rm8Jk2Vb6",
    ];
    let others = others.into_iter().chain(REFRESH_TOKENS).map(str::to_owned);
    tokens.into_iter().chain(short).chain(others).collect()
}

/// Everything that is a secret by the end, those that the client made itself included.
fn check(text: &str, verifiers: &[String]) {
    let known = known_secrets();
    let secrets: Vec<&str> = known.iter().chain(verifiers).map(String::as_str).collect();
    assert_no_secret(text, &secrets);
}

async fn verifier(bench: &Bench) -> String {
    let key = format!("{KEY}-code-verifier");
    let text = bench.store.get(&key).await.unwrap().expect("a flow");
    serde_json::from_str(&text).unwrap()
}

fn builder(bench: &Bench) -> ClientBuilder {
    Client::builder("https://abc.example.co", API_KEY)
        .http_service(bench.server.clone())
        .clock(bench.clock.clone())
        .session_store(bench.store.clone())
}

fn client(bench: &Bench) -> Client {
    builder(bench).auto_refresh(false).build().unwrap()
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_from_sign_up_to_sign_out() {
    let traces = Traces::capture();
    let bench = Bench::auto_advancing();
    let server = &bench.server;
    let auth = client(&bench).auth().clone();
    let mut verifiers = Vec::new();

    server.on(
        "POST /auth/v1/signup",
        [Reply::json(200, json!({ "id": "u" }))],
    );
    let sign_up = auth.sign_up().email("a@b.c").password(PASSWORD);
    sign_up.send().await.unwrap();
    verifiers.push(verifier(&bench).await);
    server.on(
        "POST /auth/v1/verify",
        [repeating(403), Reply::json(200, token_response(0, 3600))],
    );
    let otp = || Otp::TokenHash {
        token_hash: TOKEN_HASH.to_owned(),
        kind: EmailOtp::Signup,
    };
    auth.verify_otp(otp()).send().await.unwrap_err();
    auth.verify_otp(otp()).send().await.unwrap();

    server.on(
        TOKEN,
        [repeating(400), Reply::json(200, token_response(0, 3600))],
    );
    let sign_in = || {
        auth.sign_in_with_password()
            .email("a@b.c")
            .password(PASSWORD)
    };
    sign_in().send().await.unwrap_err();
    sign_in().send().await.unwrap();

    auth.sign_in_with_oauth(Provider::Github)
        .build()
        .await
        .unwrap();
    verifiers.push(verifier(&bench).await);
    server.on(
        TOKEN,
        [repeating(400), Reply::json(200, token_response(0, 3600))],
    );
    auth.exchange_code(CODE).send().await.unwrap_err();
    auth.sign_in_with_oauth(Provider::Github)
        .build()
        .await
        .unwrap();
    verifiers.push(verifier(&bench).await);
    let back = format!("https://app.test/?code={CODE}");
    auth.session_from_redirect(&back).await.unwrap();

    server.on("PUT /auth/v1/user", [repeating(422)]);
    let update = auth.update_user().password(PASSWORD).nonce(ONE_TIME_CODE);
    update.send().await.unwrap_err();

    server.on(
        TOKEN,
        [repeating(503), Reply::json(200, token_response(1, 3600))],
    );
    auth.refresh().await.unwrap();
    server.on(
        "POST /auth/v1/logout",
        [repeating(500), Reply::text(204, "")],
    );
    auth.sign_out(Scope::Global).await.unwrap_err();
    auth.sign_out(Scope::Global).await.unwrap();

    let text = traces.text();
    assert!(text.contains("the session was refreshed"), "{text}");
    check(&text, &verifiers);
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_when_refreshes_fail() {
    for status in [400, 401, 403, 429, 500, 503] {
        let traces = Traces::capture();
        let bench = Bench::new();
        bench
            .store
            .set(KEY, token_response(0, 30).to_string())
            .await
            .unwrap();
        bench.server.on(TOKEN, [repeating(status)]);
        // The start refreshes, and then the ticker.
        let client = builder(&bench).build().unwrap();

        let calls = async {
            client.auth().session().await.ok();
            client.auth().refresh().await.ok();
            client.auth().refresh_with(REFRESH_TOKENS[1]).await.ok();
        };
        let passing_time = async {
            loop {
                settle().await;
                bench.advance(1);
            }
        };
        tokio::select! {
            () = calls => {}
            () = passing_time => {}
        }

        let text = traces.text();
        assert!(text.contains("the refresh failed"), "{status}: {text}");
        assert!(text.contains("cannot be re"), "{status}: {text}");
        check(&text, &[]);
    }
}

#[tokio::test]
async fn s35_nothing_secret_is_traced_about_claims_and_factors() {
    let traces = Traces::capture();
    let bench = Bench::auto_advancing();
    let server = &bench.server;
    bench
        .store
        .set(KEY, token_response(0, 3600).to_string())
        .await
        .unwrap();
    let auth = client(&bench).auth().clone();
    let foreign = jwt(json!({ "sub": "u", "exp": NOW_S + 60 }));
    let (_, rest) = foreign.split_once('.').unwrap();
    // {"alg":"ES256","kid":"k"}
    let signed = format!("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.{rest}");

    server.on("GET /auth/v1/.well-known/jwks.json", [repeating(500)]);
    server.on("GET /auth/v1/user", [repeating(403)]);
    auth.claims_for(&signed).send().await.unwrap_err();
    auth.claims().await.unwrap_err();
    let totp = json!({ "qr_code": "<svg/>", "secret": TOTP_SECRET, "uri": "otpauth://totp/x" });
    let factor = json!({ "id": "f", "type": "totp", "totp": totp });
    server.on("POST /auth/v1/factors", [Reply::json(200, factor)]);
    let enrolled = auth.mfa().enroll_totp("app").await.unwrap();
    server.on(
        "POST /auth/v1/factors/f/challenge",
        [rejected(422, "mfa_factor_not_found")],
    );
    auth.mfa()
        .challenge_and_verify("f", ONE_TIME_CODE)
        .await
        .unwrap_err();
    // The factor goes, but the token that claims it stays.
    server.on(
        "DELETE /auth/v1/factors/f",
        [Reply::json(200, json!({ "id": "f" }))],
    );
    server.on(TOKEN, [repeating(400)]);
    auth.mfa().unenroll("f").await.unwrap();

    let text = traces.text();
    assert!(text.contains("the key set cannot be fetched"), "{text}");
    assert!(text.contains("the factor was removed"), "{text}");
    check(&text, &[signed]);
    check(&format!("{enrolled:?}"), &[]);
}

#[tokio::test]
async fn s35_debug_shows_no_credential() {
    let bench = Bench::new();
    let server = &bench.server;
    let client = client(&bench);
    let auth = client.auth();
    server.on(TOKEN, [Reply::json(200, token_response(0, 3600))]);
    let signed_in = auth
        .sign_in_with_password()
        .email("a@b.c")
        .password(PASSWORD);
    let signed_in = signed_in.send().await.unwrap();
    let session = signed_in.session.clone();
    let flow = auth
        .sign_in_with_oauth(Provider::Github)
        .build()
        .await
        .unwrap();
    let verifiers = [verifier(&bench).await];
    let flows =
        plinth_client::auth::PendingFlows::new(std::sync::Arc::new(bench.store.clone()), KEY);
    let begun = flows.begin(RedirectType::Recovery).await.unwrap();
    let message = BusMessage {
        event: AuthEvent::SignedIn,
        session: Some(session.clone()),
    };
    let link = LinkType::Signup {
        email: "a@b.c".to_owned(),
        password: PASSWORD.to_owned(),
    };
    let with_header = client.auth().header("authorization", API_KEY);
    let admin = AdminClient::new("https://abc.example.co", API_KEY).unwrap();
    let rpc = client.rpc("sign", &json!({ "password": PASSWORD }));
    let row = client.from("t").insert(&json!({ "password": PASSWORD }));
    let filtered = client.from("t").select("*").eq("token", TOKEN_HASH);
    let frame = SocketMessage::Text(format!(r#"{{"access_token":"{API_KEY}"}}"#));
    let stored = Session::from_json(&bench.stored().await.unwrap()).unwrap();

    let shown = [
        format!("{client:?} {auth:?} {with_header:?} {:?}", auth.api()),
        format!("{signed_in:?} {session:#?} {stored:?} {:?}", session.user()),
        format!("{flow:?} {begun:?} {flows:?} {message:?}"),
        format!("{:?} {:?}", bench.store, auth.mfa()),
        format!("{link:?} {admin:?} {:?}", admin.users()),
        format!("{rpc:?} {row:?} {filtered:?} {frame:?}"),
    ];

    for text in shown {
        check(&text, &verifiers);
    }
}
