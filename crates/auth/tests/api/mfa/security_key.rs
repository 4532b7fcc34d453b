//! Factors that are a security key.

use serde_json::json;

use super::*;
use crate::support::{Authenticator, claims};

const ON: [(&str, &str); 2] = [
    ("auth.mfa.web_authn.enroll_enabled", "true"),
    ("auth.mfa.web_authn.verify_enabled", "true"),
];

async fn enrol_key(api: &Api, session: &Value, name: &str) -> Value {
    let body = json!({ "factor_type": "webauthn", "friendly_name": name });
    api.post("/factors", body).session(session).await.ok()
}

fn options(asked: &Value) -> &Value {
    &asked["webauthn"]["credential_options"]["publicKey"]
}

async fn respond(
    api: &Api,
    session: &Value,
    factor: &Value,
    asked: &Value,
    kind: &str,
    response: &Value,
) -> Reply {
    let body = json!({
        "challenge_id": asked["id"],
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
    let asked = challenge(api, session, &factor).await;
    let response = key.create(options(&asked));
    let reply = respond(api, session, &factor, &asked, "create", &response).await;
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

    let asked = challenge(&api, &session, &factor).await;

    assert_eq!(asked["type"], "webauthn");
    assert_eq!(asked["expires_at"], api.now().unix_timestamp() + 300);
    assert_eq!(asked["webauthn"]["type"], "create");
    let user = session["user"]["id"].as_str().expect("an id");
    let created = options(&asked);
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
    let reply = respond(&api, &session, &factor, &asked, "create", &response).await;
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
    let reply = respond(&api, &raised, &factor, &asked, "request", &response).await;
    reply.refuses(422, "mfa_factor_not_found");
}

#[tokio::test]
async fn a_known_key_raises_a_later_session() {
    let (api, session) = ann(&ON).await;
    let mut key = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &key).await;
    let user = session["user"]["id"].as_str().expect("an id");
    let later = sign_in(&api).await;

    let asked = challenge(&api, &later, &factor).await;

    assert_eq!(asked["webauthn"]["type"], "request");
    let id = data_encoding::BASE64URL_NOPAD.encode(&key.id);
    assert_eq!(
        options(&asked)["allowCredentials"],
        json!([{ "type": "public-key", "id": id, "transports": ["usb"] }])
    );
    let response = key.get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &response).await;
    let raised = reply.ok();
    assert_eq!(
        claims(raised["access_token"].as_str().expect("it"))["aal"],
        "aal2"
    );
    // The challenge is gone with its first use.
    let reply = respond(&api, &raised, &factor, &asked, "request", &response).await;
    reply.refuses(422, "mfa_factor_not_found");
    // A copy of the key is noticed by its counter.
    key.sign_count -= 1;
    let asked = challenge(&api, &raised, &factor).await;
    let response = key.get(options(&asked), user);
    let reply = respond(&api, &raised, &factor, &asked, "request", &response).await;
    reply.refuses(422, "mfa_verification_failed");
}

#[tokio::test]
async fn answers_for_others_are_refused() {
    let (api, session) = ann(&ON).await;
    let factor = enrol_key(&api, &session, "key").await;
    let mut elsewhere = Authenticator::new();
    elsewhere.origin = "https://evil.test";
    let mut other_party = Authenticator::new();
    other_party.rp_id = "evil.test";
    let other_challenge = json!({ "challenge": "b2xk" });
    let answers: [&dyn Fn(&Value) -> Value; 3] = [
        &|good| elsewhere.create(good),
        &|good| other_party.create(good),
        &|_| Authenticator::new().create(&other_challenge),
    ];

    for answer in answers {
        let asked = challenge(&api, &session, &factor).await;
        let response = answer(options(&asked));
        let reply = respond(&api, &session, &factor, &asked, "create", &response).await;
        reply.refuses(422, "mfa_verification_failed");
    }
    let user = api.get("/user").session(&session).await.ok();
    assert_eq!(user["factors"][0]["status"], "unverified");
}

#[tokio::test]
async fn a_wrong_answer_uses_the_challenge_up() {
    let (api, session) = ann(&ON).await;
    let mut key = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &key).await;
    let user = session["user"]["id"].as_str().expect("an id");
    let later = sign_in(&api).await;
    let asked = challenge(&api, &later, &factor).await;

    let wrong = Authenticator::new().get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &wrong).await;
    reply.refuses(422, "mfa_verification_failed");
    let right = key.get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &right).await;
    reply.refuses(422, "mfa_factor_not_found");

    let asked = challenge(&api, &later, &factor).await;
    let right = key.get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &right).await;
    reply.ok();
}

#[tokio::test]
async fn a_key_of_another_person_does_not_help() {
    let (api, session) = ann(&ON).await;
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let anns = Authenticator::new();
    let mut eves = Authenticator::new();
    let (factor, _) = with_key(&api, &session, &anns).await;
    with_key(&api, &eve, &eves).await;
    let later = sign_in(&api).await;
    let user = session["user"]["id"].as_str().expect("an id");

    let asked = challenge(&api, &later, &factor).await;
    let response = eves.get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &response).await;
    reply.refuses(422, "mfa_verification_failed");

    // Nor with the name of the right one on it.
    eves.id = anns.id;
    let asked = challenge(&api, &later, &factor).await;
    let response = eves.get(options(&asked), user);
    let reply = respond(&api, &later, &factor, &asked, "request", &response).await;
    reply.refuses(422, "mfa_verification_failed");
}

#[tokio::test]
async fn what_is_no_answer_is_refused() {
    let (api, session) = ann(&ON).await;
    let factor = enrol_key(&api, &session, "key").await;
    let asked = challenge(&api, &session, &factor).await;
    let good = Authenticator::new().create(options(&asked));
    let bare = json!({ "challenge_id": asked["id"] });
    let reply = api
        .post(&path(&factor, "/verify"), bare)
        .session(&session)
        .await;
    reply.refuses(400, "validation_failed");
    for (kind, response) in [
        ("", &good),
        ("delete", &good),
        ("request", &good),
        ("create", &Value::Null),
        ("create", &json!("text")),
        ("create", &json!({ "rawId": "?" })),
        ("create", &json!({ "x": "y".repeat(70_000) })),
    ] {
        let asked = challenge(&api, &session, &factor).await;
        let reply = respond(&api, &session, &factor, &asked, kind, response).await;
        reply.refuses(400, "validation_failed");
    }

    let (api, session) = ann(&[ON[0]]).await;
    let factor = enrol_key(&api, &session, "key").await;
    for tail in ["/challenge", "/verify"] {
        let call = api.post(&path(&factor, tail), json!({}));
        let reply = call.session(&session).await;
        reply.refuses(422, "mfa_webauthn_verify_not_enabled");
    }
}

/// Who has only the password may have left a factor of their own before the owner set up theirs.
#[tokio::test]
async fn a_factor_that_was_left_behind_is_no_way_round_the_confirmed_one() {
    let (api, session) = ann(&ON).await;
    let left = enrol_key(&api, &session, "left behind").await;
    let asked = challenge(&api, &session, &left).await;
    let (_, owner) = with_app(&api, &session).await;
    let thief = sign_in(&api).await;

    let call = api.post(&path(&left, "/challenge"), json!({}));
    call.session(&thief).await.refuses(403, "insufficient_aal");
    let response = Authenticator::new().create(options(&asked));
    let reply = respond(&api, &thief, &left, &asked, "create", &response).await;
    reply.refuses(403, "insufficient_aal");

    respond(&api, &owner, &left, &asked, "create", &response)
        .await
        .ok();
}
