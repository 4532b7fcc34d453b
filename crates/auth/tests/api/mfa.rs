//! Second factors (auth contract §2.10, §4).

mod admin;
mod app;
mod enrol;
mod low_aal;
mod names;
mod phone;
mod remove;
mod security_key;

use std::time::Duration;

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};

use crate::support::{Api, AuthCall, Reply, Requests};

const PASSWORD: &str = "correct horse";

/// A new user.
async fn ann(settings: &[(&str, &str)]) -> (Api, Value) {
    let api = Api::start(settings).await;
    settle(&api);
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    (api, session)
}

/// Signs in again with the password only.
async fn sign_in(api: &Api) -> Value {
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok()
}

/// Moves the clock into the middle of a step, so that none ends while a test runs.
fn settle(api: &Api) {
    let second = api.now().unix_timestamp().rem_euclid(30);
    let ahead = (40 - second).rem_euclid(30);
    api.advance(Duration::from_secs(ahead.unsigned_abs()));
}

/// The code of an authenticator app, `steps` from now.
fn code(api: &Api, factor: &Value, steps: i64) -> String {
    let secret = factor["totp"]["secret"].as_str().expect("a secret");
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).expect("base32");
    let step = api.now().unix_timestamp() / 30 + steps;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let hash = hmac::sign(&key, &step.to_be_bytes());
    let hash = hash.as_ref();
    let at = usize::from(hash[19] & 0xf);
    let bytes: [u8; 4] = hash[at..at + 4].try_into().expect("four bytes");
    let number = u32::from_be_bytes(bytes) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

async fn enrol(api: &Api, session: &Value, name: &str) -> Value {
    let body = json!({ "factor_type": "totp", "friendly_name": name });
    api.post("/factors", body).session(session).await.ok()
}

fn path(factor: &Value, tail: &str) -> String {
    let id = factor["id"].as_str().expect("an id");
    format!("/factors/{id}{tail}")
}

async fn challenge(api: &Api, session: &Value, factor: &Value) -> Value {
    let call = api.post(&path(factor, "/challenge"), json!({}));
    call.session(session).await.ok()
}

async fn verify(
    api: &Api,
    session: &Value,
    factor: &Value,
    challenge: &Value,
    code: &str,
) -> Reply {
    let body = json!({ "challenge_id": challenge["id"], "code": code });
    api.post(&path(factor, "/verify"), body)
        .session(session)
        .await
}

/// Creates a challenge and verifies it.
async fn prove(api: &Api, session: &Value, factor: &Value, code: &str) -> Reply {
    let issued = challenge(api, session, factor).await;
    verify(api, session, factor, &issued, code).await
}

/// A verified app factor, and its session.
async fn with_app(api: &Api, session: &Value) -> (Value, Value) {
    let factor = enrol(api, session, "app").await;
    let code = code(api, &factor, -1);
    let session = prove(api, session, &factor, &code).await.ok();
    (factor, session)
}

async fn refresh(api: &Api, session: &Value) -> Reply {
    let body = json!({ "refresh_token": session["refresh_token"] });
    api.post("/token?grant_type=refresh_token", body).await
}

async fn statuses(api: &Api, session: &Value) -> Vec<(String, String)> {
    let user = api.get("/user").session(session).await.ok();
    let factors = user["factors"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let name = |factor: &Value| text(factor.get("friendly_name").unwrap_or(&json!("")));
    factors
        .iter()
        .map(|factor| (name(factor), text(&factor["status"])))
        .collect()
}
