//! The duration of a response does not reveal who is registered.
//!
//! The distribution of delays is tested in `src/timing.rs`. Here are lower bounds only, which load cannot
//! break.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, Behaviour, MailServer, Reply, Requests, TextServer};

/// Longer than any delay that is assumed before a message was sent.
const MAIL_SERVER_DELAY: Duration = Duration::from_millis(1000);
/// The shortest delay before a message was sent.
const SHORTEST_ASSUMED: Duration = Duration::from_millis(200);
const TEST_NUMBER: &str = "15551234567";

async fn api_with_slow_mail_server() -> (Api, MailServer) {
    let server = MailServer::start(Behaviour {
        delay: MAIL_SERVER_DELAY,
        ..Behaviour::default()
    })
    .await;
    let port = server.port.to_string();
    let api = Api::start(&[
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", "127.0.0.1"),
        ("auth.email.smtp.port", &port),
        ("auth.email.smtp.admin_email", "office@site.test"),
        ("auth.email.max_frequency", "0s"),
        ("auth.rate_limit.email_sent", "1000"),
        ("auth.email.enable_confirmations", "true"),
        ("auth.sms.enable_confirmations", "true"),
    ])
    .await;
    let admin = json!({ "email": "ann@mail.dev", "email_confirm": true });
    api.post("/admin/users", admin).service_role().await.ok();
    (api, server)
}

fn ann() -> Value {
    json!({ "email": "ann@mail.dev", "password": "correct horse" })
}

fn unknown_user() -> Value {
    json!({ "email": "nobody@mail.dev", "password": "correct horse" })
}

async fn duration(call: impl IntoFuture<Output = Reply>) -> Duration {
    let start = Instant::now();
    call.await.ok();
    start.elapsed()
}

#[tokio::test]
async fn requests_for_unknown_people_take_as_long_as_a_message() {
    let (api, _server) = api_with_slow_mail_server().await;
    api.post("/recover", ann()).await.ok();

    let recovery = duration(api.post("/recover", unknown_user())).await;
    assert!(recovery >= MAIL_SERVER_DELAY, "{recovery:?}");
    let body = json!({ "type": "signup", "email": "nobody@mail.dev" });
    let again = duration(api.post("/resend", body)).await;
    assert!(again >= MAIL_SERVER_DELAY, "as every mail: {again:?}");
    let sign_up = duration(api.post("/signup", ann())).await;
    assert!(sign_up >= MAIL_SERVER_DELAY, "{sign_up:?}");
}

/// Both get a mail: `/otp` creates a user where there is none.
#[tokio::test]
async fn a_code_for_an_unknown_address_takes_as_long_as_for_a_known_one() {
    let (api, _server) = api_with_slow_mail_server().await;
    let mut replies = Vec::new();

    for email in ["ann@mail.dev", "nobody@mail.dev"] {
        for path in ["/otp", "/magiclink"] {
            let start = Instant::now();
            let reply = api.post(path, json!({ "email": email })).await;
            let took = start.elapsed();
            assert!(took >= MAIL_SERVER_DELAY, "{path} {email}: {took:?}");
            replies.push((reply.status, reply.json()));
        }
    }

    replies.dedup();
    assert_eq!(replies.len(), 1, "the same for all: {replies:?}");
}

#[tokio::test]
async fn the_first_unknown_address_is_not_recognised_by_an_instant_response() {
    let (api, _server) = api_with_slow_mail_server().await;

    let first = duration(api.post("/recover", unknown_user())).await;

    assert!(first >= SHORTEST_ASSUMED, "{first:?}");
}

/// Nothing is sent to test numbers, so they say nothing about the duration of a message.
#[tokio::test]
async fn test_numbers_do_not_shorten_the_delay() {
    let server = TextServer::start().await;
    let api = Api::start(&server.settings(&[
        ("auth.sms.enable_confirmations", "true"),
        ("auth.sms.max_frequency", "0s"),
        ("auth.sms.test_otp", "15551234567=123456"),
    ]))
    .await;
    let resend =
        |kind: &str, phone: &str| api.post("/resend", json!({ "type": kind, "phone": phone }));
    let user =
        json!({ "phone": "15550000001", "phone_confirm": true, "password": "correct horse" });
    api.post("/admin/users", user.clone())
        .service_role()
        .await
        .ok();
    let tokens = api.post("/token?grant_type=password", user).await.ok();
    let change = json!({ "phone": TEST_NUMBER });
    api.put("/user", change).session(&tokens).await.ok();
    resend("phone_change", "15550000001").await.ok();
    api.post("/otp", json!({ "phone": TEST_NUMBER })).await.ok();
    resend("sms", TEST_NUMBER).await.ok();

    let delayed = duration(resend("sms", "15559999999")).await;

    assert!(delayed >= SHORTEST_ASSUMED, "{delayed:?}");
    assert_eq!(server.sent(), []);
}
