//! Security keys as factors.

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Authenticator, Requests, claims};

const ON: [(&str, &str); 2] = [
    ("auth.mfa.web_authn.enroll_enabled", "true"),
    ("auth.mfa.web_authn.verify_enabled", "true"),
];

async fn enrol_key(api: &Api, session: &Value, name: &str) -> Value {
    let body = json!({ "factor_type": "webauthn", "friendly_name": name });
    api.post("/factors", body).session(session).await.ok()
}

fn options(issued: &Value) -> &Value {
    &issued["webauthn"]["credential_options"]["publicKey"]
}

async fn respond(
    api: &Api,
    session: &Value,
    factor: &Value,
    issued: &Value,
    kind: &str,
    response: &Value,
) -> Reply {
    let body = json!({
        "challenge_id": issued["id"],
        "webauthn": {
            "type": kind,
            "credential_response": response,
            "rpId": "evil.test",
            "rpOrigins": ["https://evil.test"],
        },
    });
    api.post(&path(factor, "/verify"), body)
        .session(session)
        .await
}

/// A registered key, and the session that registered it.
async fn with_key(api: &Api, session: &Value, key: &Authenticator) -> (Value, Value) {
    let factor = enrol_key(api, session, "key").await;
    let issued = challenge(api, session, &factor).await;
    let response = key.create(options(&issued));
    let reply = respond(api, session, &factor, &issued, "create", &response).await;
    (factor, reply.ok())
}

#[tokio::test]
async fn a_key_is_registered_and_raises_the_session() {
    let (api, session) = ann(&ON).await;
    let key = Authenticator::new();
    let factor = enrol_key(&api, &session, "key").await;
    assert_eq!(
        factor,
        json!({ "id": factor["id"], "type": "webauthn", "friendly_name": "key" })
    );

    let issued = challenge(&api, &session, &factor).await;

    assert_eq!(issued["type"], "webauthn");
    assert_eq!(issued["expires_at"], api.now().unix_timestamp() + 300);
    assert_eq!(issued["webauthn"]["type"], "create");
    let user = session["user"]["id"].as_str().expect("an id");
    let created = options(&issued);
    assert_eq!(
        created["rp"],
        json!({ "id": "localhost", "name": "localhost" })
    );
    assert_eq!(
        created["user"],
        json!({
            "id": data_encoding::BASE64URL_NOPAD.encode(user.as_bytes()),
            "name": "ann@mail.dev",
            "displayName": "ann@mail.dev",
        })
    );
    assert_eq!(created["excludeCredentials"], json!([]));
    let response = key.create(created);
    let reply = respond(&api, &session, &factor, &issued, "create", &response).await;
    let raised = reply.ok();
    let token = claims(raised["access_token"].as_str().expect("a token"));
    assert_eq!(token["aal"], "aal2");
    assert_eq!(token["amr"][0]["method"], "mfa/webauthn");
    let listed = &raised["user"]["factors"][0];
    assert_eq!(listed["status"], "verified");
    assert_eq!(
        listed["web_authn_aaguid"],
        "00000000-0000-0000-0000-000000000000"
    );
    assert_eq!(listed["last_webauthn_challenge_data"]["type"], "create");
    assert!(listed.get("web_authn_credential").is_none());
    let reply = respond(&api, &raised, &factor, &issued, "request", &response).await;
    reply.expect_error(422, "mfa_factor_not_found");
}

#[tokio::test]
async fn a_known_key_raises_a_later_session() {
    let (api, session) = ann(&ON).await;
    let mut key = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &key).await;
    let user = session["user"]["id"].as_str().expect("an id");
    let later = sign_in(&api).await;

    let issued = challenge(&api, &later, &factor).await;

    assert_eq!(issued["webauthn"]["type"], "request");
    let id = data_encoding::BASE64URL_NOPAD.encode(&key.id);
    assert_eq!(
        options(&issued)["allowCredentials"],
        json!([{ "type": "public-key", "id": id, "transports": ["usb"] }])
    );
    let response = key.get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &response).await;
    let raised = reply.ok();
    assert_eq!(
        claims(raised["access_token"].as_str().expect("it"))["aal"],
        "aal2"
    );
    // A challenge can be used once.
    let reply = respond(&api, &raised, &factor, &issued, "request", &response).await;
    reply.expect_error(422, "mfa_factor_not_found");
    // A cloned key is detected by its counter.
    key.sign_count -= 1;
    let issued = challenge(&api, &raised, &factor).await;
    let response = key.get(options(&issued), user);
    let reply = respond(&api, &raised, &factor, &issued, "request", &response).await;
    reply.expect_error(422, "mfa_verification_failed");
}

#[tokio::test]
async fn responses_for_others_are_rejected() {
    let (api, session) = ann(&ON).await;
    let factor = enrol_key(&api, &session, "key").await;
    let mut elsewhere = Authenticator::new();
    elsewhere.origin = "https://evil.test";
    let mut other_party = Authenticator::new();
    other_party.rp_id = "evil.test";
    let other_challenge = json!({ "challenge": "b2xk" });
    let responses: [&dyn Fn(&Value) -> Value; 3] = [
        &|good| elsewhere.create(good),
        &|good| other_party.create(good),
        &|_| Authenticator::new().create(&other_challenge),
    ];

    for verify in responses {
        let issued = challenge(&api, &session, &factor).await;
        let response = verify(options(&issued));
        let reply = respond(&api, &session, &factor, &issued, "create", &response).await;
        reply.expect_error(422, "mfa_verification_failed");
    }
    let user = api.get("/user").session(&session).await.ok();
    assert_eq!(user["factors"][0]["status"], "unverified");
}

#[tokio::test]
async fn a_wrong_response_consumes_the_challenge() {
    let (api, session) = ann(&ON).await;
    let mut key = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &key).await;
    let user = session["user"]["id"].as_str().expect("an id");
    let later = sign_in(&api).await;
    let issued = challenge(&api, &later, &factor).await;

    let wrong = Authenticator::new().get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &wrong).await;
    reply.expect_error(422, "mfa_verification_failed");
    let right = key.get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &right).await;
    reply.expect_error(422, "mfa_factor_not_found");

    let issued = challenge(&api, &later, &factor).await;
    let right = key.get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &right).await;
    reply.ok();
}

#[tokio::test]
async fn a_key_of_another_user_is_rejected() {
    let (api, session) = ann(&ON).await;
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let anns = Authenticator::new();
    let mut eves = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &anns).await;
    with_key(&api, &eve, &eves).await;
    let later = sign_in(&api).await;
    let user = session["user"]["id"].as_str().expect("an id");

    let issued = challenge(&api, &later, &factor).await;
    let response = eves.get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &response).await;
    reply.expect_error(422, "mfa_verification_failed");

    // Nor with the id of the right one.
    eves.id = anns.id;
    let issued = challenge(&api, &later, &factor).await;
    let response = eves.get(options(&issued), user);
    let reply = respond(&api, &later, &factor, &issued, "request", &response).await;
    reply.expect_error(422, "mfa_verification_failed");
}

#[tokio::test]
async fn malformed_responses_are_rejected() {
    let (api, session) = ann(&ON).await;
    let factor = enrol_key(&api, &session, "key").await;
    let issued = challenge(&api, &session, &factor).await;
    let good = Authenticator::new().create(options(&issued));
    let bare = json!({ "challenge_id": issued["id"] });
    let reply = api
        .post(&path(&factor, "/verify"), bare)
        .session(&session)
        .await;
    reply.expect_error(400, "validation_failed");
    for (kind, response) in [
        ("", &good),
        ("delete", &good),
        ("request", &good),
        ("create", &Value::Null),
        ("create", &json!("text")),
        ("create", &json!({ "rawId": "?" })),
        ("create", &json!({ "x": "y".repeat(70_000) })),
    ] {
        let issued = challenge(&api, &session, &factor).await;
        let reply = respond(&api, &session, &factor, &issued, kind, response).await;
        reply.expect_error(400, "validation_failed");
    }

    let (api, session) = ann(&[ON[0]]).await;
    let factor = enrol_key(&api, &session, "key").await;
    for tail in ["/challenge", "/verify"] {
        let call = api.post(&path(&factor, tail), json!({}));
        let reply = call.session(&session).await;
        reply.expect_error(422, "mfa_webauthn_verify_not_enabled");
    }
}

/// An attacker with the password may have enrolled a factor before the owner did.
#[tokio::test]
async fn a_factor_that_was_left_behind_is_no_way_round_the_confirmed_one() {
    let (api, session) = ann(&ON).await;
    let left = enrol_key(&api, &session, "left behind").await;
    let issued = challenge(&api, &session, &left).await;
    let (_, owner) = with_app(&api, &session).await;
    let thief = sign_in(&api).await;

    let call = api.post(&path(&left, "/challenge"), json!({}));
    call.session(&thief)
        .await
        .expect_error(403, "insufficient_aal");
    let response = Authenticator::new().create(options(&issued));
    let reply = respond(&api, &thief, &left, &issued, "create", &response).await;
    reply.expect_error(403, "insufficient_aal");

    respond(&api, &owner, &left, &issued, "create", &response)
        .await
        .ok();
}
