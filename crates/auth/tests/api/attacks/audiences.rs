//! `X-JWT-AUD` selects the users of one audience; addresses are unique across audiences.

use serde_json::{Value, json};

use crate::support::{Api, Reply, Requests};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
/// If one kind of sign-up starts a session, existing users cannot be hidden.
const CONFIRM_NUMBERS: (&str, &str) = ("auth.sms.enable_confirmations", "true");

fn ann() -> Value {
    json!({ "email": "ann@mail.dev", "password": "correct horse" })
}

async fn sign_up_among_others(api: &Api, path: &str, body: Value) -> Reply {
    api.post(path, body).header("x-jwt-aud", "others").await
}

#[tokio::test]
async fn an_audience_does_not_reveal_who_is_registered() {
    let api = Api::start(&[CONFIRM, CONFIRM_NUMBERS]).await;
    let body = json!({ "email": "ann@mail.dev", "email_confirm": true, "aud": "elsewhere" });
    api.post("/admin/users", body).service_role().await.ok();
    let body = json!({ "email": "bob@mail.dev", "email_confirm": true });
    api.post("/admin/users", body).service_role().await.ok();

    for email in ["ann@mail.dev", "bob@mail.dev", "new@mail.dev"] {
        let body = json!({ "email": email, "password": "correct horse" });
        let response = sign_up_among_others(&api, "/signup", body).await.ok();
        assert_eq!(response["email"], email);
        assert_eq!(response["aud"], "authenticated");
        assert!(response["confirmation_sent_at"].is_string(), "{response}");
        let body = json!({ "email": email });
        let response = sign_up_among_others(&api, "/otp", body).await;
        assert_ne!(response.status, 422, "{response:?}");
    }
}

#[tokio::test]
async fn an_address_cannot_be_taken_away_in_another_audience() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "0s")]).await;
    sign_up_among_others(&api, "/signup", ann()).await.ok();

    let user = api.post("/signup", ann()).await.ok();

    assert_eq!(user["identities"].as_array().map(Vec::len), Some(1));
    let mail = api.mail_to("ann@mail.dev").await;
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": mail.otp() });
    api.post("/verify", body).await.ok();
}

#[tokio::test]
async fn administrators_choose_the_audience() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let made = api.post("/admin/users", body).header("x-jwt-aud", "others");

    let made = made.service_role().await.ok();

    assert_eq!(made["aud"], "others");
    let invited = api.post("/invite", json!({ "email": "bob@mail.dev" }));
    let invited = invited.header("x-jwt-aud", "others").service_role();
    assert_eq!(invited.await.ok()["aud"], "others");
}
