//! Hooks (auth contract §9).

mod texts;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, response::IntoResponse};
use http::StatusCode;
use plinth_testkit::{Listener, bind_loopback};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{Api, AuthCall, AuthReply, Remote, Requests, Sql, claims};

/// `v1,whsec_` and base64, twice.
const SECRETS: &str = "v1,whsec_c2VjcmV0LW9uZQ==|v1,whsec_c2VjcmV0LXR3bw==";
const PASSWORD: &str = "correct horse";

fn ann() -> Value {
    json!({ "email": "ann@mail.dev", "password": PASSWORD })
}

/// Settings that switch on the hook `name`.
fn settings<'a>(name: &str, uri: &'a str) -> [(String, &'a str); 3] {
    [
        (format!("auth.hook.{name}.enabled"), "true"),
        (format!("auth.hook.{name}.uri"), uri),
        (format!("auth.hook.{name}.secrets"), SECRETS),
    ]
}

async fn with_hook(name: &str, uri: &str, more: &[(&str, &str)]) -> Api {
    let hook = settings(name, uri);
    let hook = hook.iter().map(|(name, value)| (name.as_str(), *value));
    let all: Vec<(&str, &str)> = hook.chain(more.iter().copied()).collect();
    Api::start(&all).await
}

/// Creates a function `public.hook` with this body, which only the service may call.
async fn with_function(name: &str, body: &str, more: &[(&str, &str)]) -> Api {
    let api = with_hook(name, "pg-functions://postgres/public/hook", more).await;
    api.execute(&format!(
        "create table public.hook_calls (event jsonb, as_role text default current_user);
         grant insert on public.hook_calls to supabase_auth_admin;
         create function public.hook(event jsonb) returns jsonb language plpgsql as $body$
         begin
           insert into public.hook_calls (event) values (event);
           {body}
         end $body$;
         grant execute on function public.hook to supabase_auth_admin;
         revoke execute on function public.hook from public, anon, authenticated;"
    ))
    .await;
    api
}

async fn recorded_events(api: &Api) -> Value {
    let sql = "select coalesce(jsonb_agg(event), '[]') from public.hook_calls";
    api.value(sql, &[]).await
}

#[tokio::test]
async fn a_function_may_reject_new_users() {
    let body = "if event->'user'->>'email' like '%@blocked.dev' then
                  return '{\"error\": {\"http_code\": 403, \"message\": \"not you\"}}';
                end if;
                return '{}';";
    let api = with_function("before_user_created", body, &[]).await;

    let rejected = json!({ "email": "bob@blocked.dev", "password": PASSWORD });
    let reply = api.post("/signup", rejected).await;
    reply.expect_error_text(403, "unknown", "not you");
    api.post("/signup", ann()).client_ip("192.0.2.7").await.ok();

    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    let events = recorded_events(&api).await;
    assert_eq!(
        events[0]["user"]["email"], "bob@blocked.dev",
        "what it wrote stays"
    );
    let event = &events[1];
    assert_eq!(event["user"]["email"], "ann@mail.dev");
    let metadata = &event["metadata"];
    assert_eq!(metadata["name"], "before-user-created");
    assert_eq!(metadata["ip_address"], "192.0.2.7");
    for given in ["uuid", "time"] {
        assert!(metadata[given].is_string(), "{metadata}");
    }
    let roles = api
        .value(
            "select to_jsonb(as_role) from public.hook_calls limit 1",
            &[],
        )
        .await;
    assert_eq!(roles, "supabase_auth_admin");
}

#[tokio::test]
async fn administrators_create_users_without_asking_the_hook() {
    let body = "return '{\"error\": {\"message\": \"nobody\"}}';";
    let api = with_function("before_user_created", body, &[]).await;

    let made = api.post("/admin/users", ann()).service_role().await;
    made.ok();

    let reply = api.post(
        "/signup",
        json!({ "email": "b@b.dev", "password": PASSWORD }),
    );
    reply
        .await
        .expect_error_text(500, "unexpected_failure", "nobody");
}

#[tokio::test]
async fn a_function_is_called_with_created_users() {
    let api = with_function("after_user_created", "return '{}';", &[]).await;

    let id = api.sign_up("ann@mail.dev", PASSWORD).await["user"]["id"].clone();

    let events = recorded_events(&api).await;
    assert_eq!(events.as_array().map(Vec::len), Some(1), "{events}");
    assert_eq!(events[0]["user"]["id"], id);
    assert_eq!(events[0]["metadata"]["name"], "after-user-created");
}

#[tokio::test]
async fn a_function_changes_the_claims_of_every_token() {
    let body = "return jsonb_build_object('claims',
                  (event->'claims') || jsonb_build_object('plan', 'gold'));";
    let api = with_function("custom_access_token", body, &[]).await;

    let signed_in = api.sign_up("ann@mail.dev", PASSWORD).await;
    let refresh = json!({ "refresh_token": signed_in["refresh_token"] });
    let refreshed = api.post("/token?grant_type=refresh_token", refresh).await;

    for tokens in [&signed_in, &refreshed.ok()] {
        let claims = claims(tokens["access_token"].as_str().expect("a token"));
        assert_eq!(claims["plan"], "gold");
        assert_eq!(claims["role"], "authenticated");
    }
    let events = recorded_events(&api).await;
    assert_eq!(events[0]["user_id"], signed_in["user"]["id"]);
    assert_eq!(events[0]["authentication_method"], "password");
    assert_eq!(events[1]["authentication_method"], "token_refresh");
    api.get("/user").session(&signed_in).await.ok();
}

#[tokio::test]
async fn a_token_without_its_claims_is_not_issued() {
    let body = "return jsonb_build_object('claims', (event->'claims') - 'role');";
    let api = with_function("custom_access_token", body, &[]).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    let message = reply.json()["message"].as_str().map(str::to_owned);
    assert!(message.is_some_and(|text| text.contains("role is required")));
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_function_that_sleeps_is_ended() {
    let body = "perform pg_sleep(60); return '{}';";
    let patient = [("plinth.auth.request_timeout", "60s")];
    let api = with_function("custom_access_token", body, &patient).await;
    let began = Instant::now();

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "two seconds are enough"
    );
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up_and_leaves_nothing() {
    let body = "perform pg_sleep(1.5); return '{}';";
    let short = [("plinth.auth.request_timeout", "500ms")];
    let api = with_function("custom_access_token", body, &short).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(504, "request_timeout");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_rejected_password_attempt_fails_with_the_hooks_words() {
    let body = "if (event->>'valid')::boolean then return '{\"decision\": \"continue\"}'; end if;
                return '{\"decision\": \"reject\", \"message\": \"locked\",
                         \"should_logout_user\": true}';";
    let api = with_function("password_verification_attempt", body, &[]).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    let grant = "/token?grant_type=password";

    api.post(grant, ann()).await.ok();
    let wrong = json!({ "email": "ann@mail.dev", "password": "wrong horse" });
    let reply = api.post(grant, wrong).await;

    reply.expect_error_text(400, "invalid_credentials", "locked");
    let user = api.get("/user").session(&tokens).await;
    user.expect_error(403, "session_not_found");
}

#[tokio::test]
async fn a_hook_that_cannot_be_called_is_not_passed_by() {
    let api = with_hook("before_user_created", "http://elsewhere.dev/", &[]).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn calls_over_http_are_signed_with_every_secret() {
    let remote = Remote::start(200, "{}").await;
    let api = with_hook("before_user_created", &remote.url, &[]).await;

    api.post("/signup", ann()).await.ok();

    let received = &remote.received()[0];
    assert_eq!(received.header("content-type"), Some("application/json"));
    let id = received.header("webhook-id").expect("an id");
    id.parse::<uuid::Uuid>().expect("a UUID");
    let time = received.header("webhook-timestamp").expect("a time");
    let signed = format!("{id}.{time}.{}", received.body);
    let expected: Vec<String> = [b"secret-one", b"secret-two"]
        .iter()
        .map(|key| {
            let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, *key);
            let tag = aws_lc_rs::hmac::sign(&key, signed.as_bytes());
            format!("v1,{}", data_encoding::BASE64.encode(tag.as_ref()))
        })
        .collect();
    assert_eq!(
        received.header("webhook-signature"),
        Some(expected.join(", ").as_str())
    );
    let event: Value = serde_json::from_str(&received.body).expect("JSON");
    assert_eq!(event["user"]["email"], "ann@mail.dev");
}

#[tokio::test]
async fn unusable_http_responses_are_rejected() {
    let remote = Remote::start(200, "{}").await;
    let api = with_hook("before_user_created", &remote.url, &[]).await;
    let check =
        async |status: u16, content_type: &'static str, body: &str, expected: (u16, &str)| {
            remote.set_response(status, content_type, body);
            let reply = api.post("/signup", ann()).await;
            reply.expect_error(expected.0, expected.1);
        };
    const JSON: &str = "application/json; charset=utf-8";

    let bad_type = (400, "hook_payload_invalid_content_type");
    check(200, "text/plain", "{}", bad_type).await;
    let too_long = format!("\"{}\"", "x".repeat(200 * 1024));
    check(200, JSON, &too_long, (422, "hook_payload_over_size_limit")).await;
    check(200, JSON, "no JSON", (500, "unexpected_failure")).await;
    check(400, JSON, "{}", (500, "unexpected_failure")).await;
    check(401, JSON, "{}", (500, "unexpected_failure")).await;
    check(302, JSON, "{}", (500, "unexpected_failure")).await;
    check(503, JSON, "{}", (500, "unexpected_failure")).await;
    let teapot = json!({ "error": { "http_code": 418, "message": "tea" } }).to_string();
    check(200, JSON, &teapot, (418, "unknown")).await;
    assert_eq!(remote.received().len(), 8, "none of them is tried again");

    remote.set_response(204, JSON, "");
    api.post("/signup", ann()).await.ok();
}

/// A server that first responds with 503 and `retry-after`.
async fn busy_at_first(retry_after: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = ids.clone();
    let router = Router::new().fallback(move |headers: http::HeaderMap| {
        let seen = seen.clone();
        async move {
            let mut seen = seen.lock().expect("no panics");
            let id = headers["webhook-id"].to_str().expect("ASCII");
            seen.push(id.to_owned());
            match seen.len() {
                1 => (
                    StatusCode::SERVICE_UNAVAILABLE,
                    [("retry-after", retry_after)],
                )
                    .into_response(),
                _ => StatusCode::NO_CONTENT.into_response(),
            }
        }
    });
    (Listener::start(router).await.keep(), ids)
}

#[tokio::test]
async fn a_busy_hook_is_asked_again_under_another_id() {
    let (url, ids) = busy_at_first("1").await;
    let api = with_hook("before_user_created", &url, &[]).await;

    api.post("/signup", ann()).await.ok();

    let ids = ids.lock().expect("no panics").clone();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_hook_that_is_not_there_is_tried_three_times() {
    // Reserves a port without listening.
    let taken = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    taken.bind(any).expect("a free port");
    let url = format!("http://{}", taken.local_addr().expect("an address"));
    let api = with_hook("before_user_created", &url, &[]).await;
    let began = Instant::now();

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(422, "hook_timeout_after_retry");
    assert!(
        began.elapsed() >= Duration::from_secs(4),
        "two seconds apart"
    );
    drop(taken);
}

#[tokio::test]
async fn a_hook_that_never_responds_times_out_after_five_seconds() {
    // Accepts connections and never responds.
    let (silent, address) = bind_loopback().await;
    let url = format!("http://{address}");
    let api = with_hook("before_user_created", &url, &[]).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(422, "hook_timeout");
    drop(silent);
}

#[tokio::test]
async fn a_failing_mail_function_fails_the_sign_up() {
    let body = "raise exception 'no mail today';";
    let confirm = [("auth.email.enable_confirmations", "true")];
    let api = with_function("send_email", body, &confirm).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_failing_notice_fails_nothing() {
    let body = "if event->'email_data'->>'email_action_type' like '%_notification' then
                  raise exception 'no news today';
                end if;
                return '{}';";
    let notify = [("auth.email.notification.password_changed.enabled", "true")];
    let api = with_function("send_email", body, &notify).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;

    let change = json!({ "password": "another horse" });
    api.put("/user", change).session(&tokens).await.ok();

    let again = json!({ "email": "ann@mail.dev", "password": "another horse" });
    api.post("/token?grant_type=password", again).await.ok();
}

/// JSON numbers of PostgreSQL may exceed the range of f64.
#[tokio::test]
async fn an_unreadable_response_rejects() {
    let body = "return '{\"error\": 1e400}';";
    let api = with_function("before_user_created", body, &[]).await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}
