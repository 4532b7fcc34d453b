//! Text messages: requests to each provider, and how responses are handled (auth contract §7.5).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Remote, Requests, Sql};

const PHONE: (&str, &str) = ("auth.sms.enable_signup", "true");

const TWILIO: &[(&str, &str)] = &[
    ("auth.sms.twilio.enabled", "true"),
    ("auth.sms.twilio.account_sid", "AC1"),
    ("auth.sms.twilio.auth_token", "token"),
    ("auth.sms.twilio.message_service_sid", "MG1"),
];

const TWILIO_VERIFY: &[(&str, &str)] = &[
    ("auth.sms.twilio_verify.enabled", "true"),
    ("auth.sms.twilio_verify.account_sid", "AC1"),
    ("auth.sms.twilio_verify.auth_token", "token"),
    ("auth.sms.twilio_verify.message_service_sid", "VA1"),
];

/// `AC1:token`
const BASIC: &str = "Basic QUMxOnRva2Vu";

async fn with_provider(remote: &Remote, provider: &[(&str, &str)], more: &[(&str, &str)]) -> Api {
    let mut settings = vec![
        PHONE,
        ("auth.sms.enable_confirmations", "true"),
        ("auth.sms.template", "Code: {{ .Code }}"),
        ("plinth.auth.sms.base_url", remote.url.as_str()),
    ];
    settings.extend_from_slice(provider);
    settings.extend_from_slice(more);
    Api::start(&settings).await
}

fn ann() -> Value {
    json!({ "phone": "+1 555 123 4567" })
}

/// Only confirmed users get the message id.
async fn confirmed(api: &Api) {
    let body = json!({ "phone": "15551234567", "phone_confirm": true });
    api.post("/admin/users", body).service_role().await.ok();
}

#[track_caller]
fn check_form(form: &[(String, String)], expected: &[(&str, &str)]) {
    let form: Vec<(&str, &str)> = form
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(form, expected);
}

/// The only request to the provider.
#[track_caller]
fn only(remote: &Remote) -> crate::support::ReceivedRequest {
    let received = remote.received();
    assert_eq!(received.len(), 1, "{received:?}");
    assert_eq!(received[0].method, "POST");
    assert_eq!(
        received[0].header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    received[0].clone()
}

fn field(form: &[(String, String)], name: &str) -> String {
    let found = form.iter().find(|(found, _)| found == name);
    found
        .unwrap_or_else(|| panic!("{name} in {form:?}"))
        .1
        .clone()
}

#[tokio::test]
async fn twilio_is_asked_as_it_documents() {
    let remote = Remote::start(201, r#"{"sid":"SM1","status":"queued"}"#).await;
    let api = with_provider(&remote, TWILIO, &[]).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "SM1");
    let received = only(&remote);
    assert_eq!(received.path, "/2010-04-01/Accounts/AC1/Messages.json");
    assert_eq!(received.header("authorization"), Some(BASIC));
    let form = received.form();
    let text = field(&form, "Body");
    assert!(text.starts_with("Code: "), "{text}");
    check_form(
        &form,
        &[
            ("To", "+15551234567"),
            ("Channel", "sms"),
            ("From", "MG1"),
            ("Body", &text),
        ],
    );
    let code = text.trim_start_matches("Code: ");
    let body = json!({ "type": "sms", "phone": "15551234567", "token": code });
    api.post("/verify", body).await.ok();
}

#[tokio::test]
async fn whatsapp_goes_through_twilio_with_an_approved_template() {
    let remote = Remote::start(201, r#"{"sid":"SM1","status":"queued"}"#).await;
    let more = [
        ("auth.sms.twilio.content_sid", "HX1"),
        ("auth.sms.twilio.message_service_sid", "+15550001111"),
    ];
    let api = with_provider(&remote, TWILIO, &more).await;

    let mut body = ann();
    body["channel"] = "whatsapp".into();
    api.post("/otp", body).await.ok();

    let form = only(&remote).form();
    let variables = field(&form, "ContentVariables");
    let code: Value = serde_json::from_str(&variables).expect("JSON");
    assert_eq!(code["1"].as_str().map(str::len), Some(6));
    check_form(
        &form,
        &[
            ("To", "whatsapp:+15551234567"),
            ("Channel", "whatsapp"),
            ("From", "whatsapp:+15550001111"),
            ("ContentSid", "HX1"),
            ("ContentVariables", &variables),
        ],
    );
}

#[tokio::test]
async fn twilio_verify_makes_and_checks_the_code() {
    let remote = Remote::start(201, r#"{"sid":"VE1","status":"pending"}"#).await;
    let api = with_provider(&remote, TWILIO_VERIFY, &[]).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "VE1");
    let received = only(&remote);
    assert_eq!(received.path, "/v2/Services/VA1/Verifications");
    assert_eq!(received.header("authorization"), Some(BASIC));
    check_form(
        &received.form(),
        &[("To", "+15551234567"), ("Channel", "sms")],
    );

    let verify = async || {
        let body = json!({ "type": "sms", "phone": "15551234567", "token": "987654" });
        api.post("/verify", body).await
    };
    remote.set_response(
        404,
        "application/json",
        r#"{"status":404,"message":"gone"}"#,
    );
    verify().await.expect_error(403, "otp_expired");
    remote.set_response(
        200,
        "application/json",
        r#"{"status":"approved","valid":true}"#,
    );
    verify().await.ok();

    let received = remote.received();
    let last = received.last().expect("a check");
    assert_eq!(last.path, "/v2/Services/VA1/VerificationCheck");
    assert_eq!(last.header("authorization"), Some(BASIC));
    check_form(&last.form(), &[("To", "+15551234567"), ("Code", "987654")]);
}

#[tokio::test]
async fn messagebird_is_asked_as_it_documents() {
    let remote = Remote::start(201, r#"{"id":"mb1","recipients":{"totalSentCount":1}}"#).await;
    let provider = [
        ("auth.sms.messagebird.enabled", "true"),
        ("auth.sms.messagebird.access_key", "key"),
        ("auth.sms.messagebird.originator", "Site"),
    ];
    let api = with_provider(&remote, &provider, &[]).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "mb1");
    let received = only(&remote);
    assert_eq!(received.path, "/messages");
    assert_eq!(received.header("authorization"), Some("AccessKey key"));
    let form = received.form();
    check_form(
        &form,
        &[
            ("originator", "Site"),
            ("body", &field(&form, "body")),
            ("recipients", "15551234567"),
            ("type", "sms"),
            ("datacoding", "unicode"),
        ],
    );
}

#[tokio::test]
async fn textlocal_is_asked_as_it_documents() {
    let remote = Remote::start(200, r#"{"status":"success","messages":[{"id":"11"}]}"#).await;
    let provider = [
        ("auth.sms.textlocal.enabled", "true"),
        ("auth.sms.textlocal.api_key", "key"),
        ("auth.sms.textlocal.sender", "Site"),
    ];
    let api = with_provider(&remote, &provider, &[]).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "11");
    let received = only(&remote);
    assert_eq!(received.path, "/send");
    assert_eq!(received.header("authorization"), None);
    let form = received.form();
    check_form(
        &form,
        &[
            ("sender", "Site"),
            ("apikey", "key"),
            ("message", &field(&form, "message")),
            ("numbers", "15551234567"),
        ],
    );
}

#[tokio::test]
async fn vonage_is_asked_as_it_documents() {
    let remote = Remote::start(200, r#"{"messages":[{"status":"0","message-id":"v1"}]}"#).await;
    let provider = [
        ("auth.sms.vonage.enabled", "true"),
        ("auth.sms.vonage.api_key", "key"),
        ("auth.sms.vonage.api_secret", "secret"),
        ("auth.sms.vonage.from", "Site"),
        ("auth.sms.template", "Dein Schlüssel: {{ .Code }}"),
    ];
    let api = with_provider(&remote, &provider, &[]).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "v1");
    let received = only(&remote);
    assert_eq!(received.path, "/sms/json");
    assert_eq!(received.header("authorization"), None);
    let form = received.form();
    check_form(
        &form,
        &[
            ("from", "Site"),
            ("to", "15551234567"),
            ("text", &field(&form, "text")),
            ("api_key", "key"),
            ("api_secret", "secret"),
            ("type", "unicode"),
        ],
    );
}

#[tokio::test]
async fn a_rejected_message_rolls_back_the_request() {
    let remote = Remote::start(400, r#"{"message":"Bad number.","code":21211}"#).await;
    let api = with_provider(&remote, TWILIO, &[]).await;

    api.post("/otp", ann()).await.expect_error_text(
        422,
        "sms_send_failed",
        "Error sending OTP to provider: Bad number.",
    );
    remote.set_response(200, "text/html", "<h1>down</h1>");
    api.post("/otp", ann())
        .await
        .expect_error(422, "sms_send_failed");

    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_no_fault_of_ours() {
    let remote = Remote::start(200, "{}").await;
    let api = with_provider(&remote, TWILIO, &[]).await;
    drop(remote);
    tokio::task::yield_now().await;

    api.post("/otp", ann())
        .await
        .expect_error(422, "sms_send_failed");
}

#[tokio::test]
async fn test_numbers_get_no_message_but_keep_to_the_interval() {
    let remote = Remote::start(500, "{}").await;
    let more = [("auth.sms.test_otp", "15551234567=123456")];
    let api = with_provider(&remote, TWILIO, &more).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();
    assert_eq!(response["message_id"], "test-otp");
    api.post("/otp", ann())
        .await
        .expect_error(429, "over_sms_send_rate_limit");
    api.advance(Duration::from_secs(3600));
    let body = json!({ "type": "sms", "phone": "15551234567", "token": "123456" });
    api.post("/verify", body).await.ok();

    assert!(remote.received().is_empty());
}

#[tokio::test]
async fn test_numbers_are_ordinary_ones_after_their_time() {
    let remote = Remote::start(201, r#"{"sid":"SM1"}"#).await;
    let more = [
        ("auth.sms.test_otp", "15551234567=123456"),
        (
            "plinth.auth.sms.test_otp_valid_until",
            "2020-01-01T00:00:00Z",
        ),
    ];
    let api = with_provider(&remote, TWILIO, &more).await;
    confirmed(&api).await;

    let response = api.post("/otp", ann()).await.ok();

    assert_eq!(response["message_id"], "SM1");
    assert_eq!(remote.received().len(), 1);
}

#[tokio::test]
async fn a_project_sends_so_many_messages_an_hour() {
    let remote = Remote::start(201, r#"{"sid":"SM1"}"#).await;
    let more = [("auth.rate_limit.sms_sent", "1")];
    let api = with_provider(&remote, TWILIO, &more).await;

    api.post("/otp", ann()).await.ok();
    let rejected = api.post("/otp", json!({ "phone": "15559876543" })).await;

    rejected.expect_error_text(429, "over_sms_send_rate_limit", "SMS rate limit exceeded");
    assert_eq!(remote.received().len(), 1);
}

#[tokio::test]
async fn whatsapp_needs_a_provider_that_can() {
    let remote = Remote::start(200, "{}").await;
    let provider = [
        ("auth.sms.textlocal.enabled", "true"),
        ("auth.sms.textlocal.api_key", "key"),
        ("auth.sms.textlocal.sender", "Site"),
    ];
    let api = with_provider(&remote, &provider, &[]).await;

    for channel in ["whatsapp", "pigeon"] {
        let body = json!({ "phone": "15551234567", "channel": channel });
        let reply = api.post("/otp", body).await;
        reply.expect_error(400, "validation_failed");
    }
    assert!(remote.received().is_empty());
}

/// The provider generates the code, so only it can check it.
#[tokio::test]
async fn a_code_that_the_provider_made_reauthenticates() {
    let remote = Remote::start(201, r#"{"sid":"VE1","status":"pending"}"#).await;
    let more = [
        ("auth.email.secure_password_change", "true"),
        ("auth.jwt_expiry", "604800"),
    ];
    let api = with_provider(&remote, TWILIO_VERIFY, &more).await;
    let body = json!({
        "phone": "15551234567", "phone_confirm": true, "password": "correct horse",
    });
    api.post("/admin/users", body.clone())
        .service_role()
        .await
        .ok();
    let tokens = api.post("/token?grant_type=password", body).await.ok();
    api.advance(Duration::from_secs(2 * 24 * 3600));
    api.get("/reauthenticate").session(&tokens).await.ok();
    let change = || {
        let body = json!({ "password": "another horse", "nonce": "123456" });
        api.put("/user", body).session(&tokens)
    };

    change()
        .await
        .expect_error(422, "reauthentication_not_valid");
    remote.set_response(
        200,
        "application/json",
        r#"{"sid":"VE1","status":"approved","to":"+15551234567","channel":"sms","valid":true}"#,
    );
    change().await.ok();

    let received = remote.received();
    let last = received.last().expect("a question");
    assert!(last.path.contains("/VerificationCheck"), "{last:?}");
    assert!(
        last.form()
            .contains(&("Code".to_owned(), "123456".to_owned()))
    );
}
