//! How responses are read. Requests are tested over HTTP in `tests/`.

use plinth_token::Secret;
use serde_json::json;

use super::*;

fn twilio() -> SmsProvider {
    SmsProvider::Twilio {
        base_url: String::new(),
        account_sid: "AC1".to_owned(),
        auth_token: Secret::new("t"),
        message_service_sid: "MG1".to_owned(),
        content_sid: None,
    }
}

fn messagebird() -> SmsProvider {
    SmsProvider::MessageBird {
        base_url: String::new(),
        access_key: Secret::new("k"),
        originator: "me".to_owned(),
    }
}

fn textlocal() -> SmsProvider {
    SmsProvider::Textlocal {
        base_url: String::new(),
        api_key: Secret::new("k"),
        sender: "me".to_owned(),
    }
}

fn vonage() -> SmsProvider {
    SmsProvider::Vonage {
        base_url: String::new(),
        api_key: Secret::new("k"),
        api_secret: Secret::new("s"),
        from: "me".to_owned(),
    }
}

#[track_caller]
fn check_response(provider: &SmsProvider, status: u16, body: Value, expected: Result<&str, &str>) {
    let response = ProviderResponse { status, body };
    let found = message_id(provider, &response);
    assert_eq!(
        found.as_deref().map_err(String::as_str),
        expected,
        "{response:?}"
    );
}

#[test]
fn twilio_rejects_at_once_or_reports_a_failure() {
    let provider = twilio();
    check_response(
        &provider,
        201,
        json!({ "sid": "SM1", "status": "queued" }),
        Ok("SM1"),
    );
    check_response(
        &provider,
        400,
        json!({ "code": 21211, "message": "Bad number.", "more_info": "https://t.test/21211" }),
        Err("Bad number. More information: https://t.test/21211"),
    );
    check_response(
        &provider,
        201,
        json!({ "sid": "SM1", "status": "failed", "error_message": "No route", "error_code": 30003 }),
        Err("No route"),
    );
    check_response(
        &provider,
        500,
        json!({}),
        Err("the provider responded with 500"),
    );
}

#[test]
fn messagebird_must_have_sent_one_message() {
    let provider = messagebird();
    let sent = json!({ "id": "mb1", "recipients": { "totalSentCount": 1 } });
    check_response(&provider, 201, sent, Ok("mb1"));
    let unsent = json!({ "id": "mb1", "recipients": { "totalSentCount": 0 } });
    check_response(
        &provider,
        201,
        unsent,
        Err("the provider responded with 201"),
    );
    let rejected = json!({ "errors": [{ "code": 2, "description": "Request not allowed" }] });
    check_response(&provider, 401, rejected, Err("Request not allowed"));
}

#[test]
fn textlocal_reports_failure_by_its_status() {
    let provider = textlocal();
    let sent = json!({ "status": "success", "messages": [{ "id": "11" }] });
    check_response(&provider, 200, sent, Ok("11"));
    let rejected =
        json!({ "status": "failure", "errors": [{ "code": 80, "message": "Template" }] });
    check_response(&provider, 200, rejected, Err("Template"));
    check_response(
        &provider,
        200,
        json!([]),
        Err("the provider responded with 200"),
    );
}

#[test]
fn vonage_reports_failure_for_each_message() {
    let provider = vonage();
    let sent = json!({ "messages": [{ "status": "0", "message-id": "v1" }] });
    check_response(&provider, 200, sent, Ok("v1"));
    let rejected = json!({ "messages": [{ "status": "4", "error-text": "Bad Credentials" }] });
    check_response(&provider, 200, rejected, Err("Bad Credentials"));
    check_response(
        &provider,
        200,
        json!({ "messages": [] }),
        Err("the provider responded with 200"),
    );
}

#[test]
fn a_code_counts_only_when_it_was_approved() {
    let approved = |status: u16, body: Value| is_approved(&ProviderResponse { status, body });
    assert!(approved(
        200,
        json!({ "status": "approved", "valid": true })
    ));
    assert!(!approved(
        200,
        json!({ "status": "pending", "valid": false })
    ));
    assert!(!approved(200, json!({ "status": "approved" })));
    assert!(!approved(404, json!({ "status": 404 })));
}
