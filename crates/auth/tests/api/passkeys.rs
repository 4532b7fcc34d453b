//! Passkeys (auth contract §2.11).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Authenticator, Reply, Requests, Sql, claims};

const PASSWORD: &str = "correct horse";
const ON: (&str, &str) = ("auth.passkey.enabled", "true");

async fn ann(settings: &[(&str, &str)]) -> (Api, Value) {
    let settings: Vec<_> = [ON].iter().chain(settings).copied().collect();
    let api = Api::start(&settings).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    (api, session)
}

async fn begin_registration(api: &Api, session: &Value) -> Value {
    let call = api.call(http::Method::POST, "/passkeys/registration/options");
    call.session(session).await.ok()
}

async fn verify_registration(
    api: &Api,
    session: &Value,
    issued: &Value,
    credential: &Value,
) -> Reply {
    let body = json!({ "challenge_id": issued["challenge_id"], "credential": credential });
    let call = api.post("/passkeys/registration/verify", body);
    call.session(session).await
}

async fn register(api: &Api, session: &Value, key: &Authenticator) -> Reply {
    let issued = begin_registration(api, session).await;
    verify_registration(api, session, &issued, &key.create(&issued["options"])).await
}

async fn begin_sign_in(api: &Api) -> Value {
    api.post("/passkeys/authentication/options", json!({}))
        .await
        .ok()
}

async fn verify_sign_in(api: &Api, issued: &Value, credential: &Value) -> Reply {
    let body = json!({ "challenge_id": issued["challenge_id"], "credential": credential });
    api.post("/passkeys/authentication/verify", body).await
}

async fn sign_in(api: &Api, key: &mut Authenticator, user: &Value) -> Reply {
    let issued = begin_sign_in(api).await;
    let credential = key.get(&issued["options"], user.as_str().expect("an id"));
    verify_sign_in(api, &issued, &credential).await
}

#[tokio::test]
async fn a_passkey_is_registered_and_signs_in() {
    let (api, session) = ann(&[]).await;
    let mut key = Authenticator::new();
    key.aaguid = 0xbada5566_a7aa_401f_bd96_45619a55120d_u128.to_be_bytes();
    let user = session["user"]["id"].clone();

    let issued = begin_registration(&api, &session).await;
    assert_eq!(issued["expires_at"], api.now().unix_timestamp() + 300);
    let options = &issued["options"];
    assert_eq!(
        options["rp"],
        json!({ "id": "localhost", "name": "localhost" })
    );
    assert_eq!(options["attestation"], "none");
    assert_eq!(
        options["authenticatorSelection"],
        json!({
            "residentKey": "required", "requireResidentKey": true, "userVerification": "preferred",
        })
    );
    let made = verify_registration(&api, &session, &issued, &key.create(options))
        .await
        .ok();
    assert_eq!(
        made,
        json!({
            "id": made["id"], "friendly_name": "1Password", "created_at": made["created_at"],
        })
    );

    let issued = begin_sign_in(&api).await;
    assert_eq!(issued["options"]["allowCredentials"], json!([]));
    assert_eq!(issued["options"]["rpId"], "localhost");
    let credential = key.get(&issued["options"], user.as_str().expect("an id"));
    let tokens = verify_sign_in(&api, &issued, &credential).await.ok();

    assert_eq!(tokens["user"]["id"], user);
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(claims["aal"], "aal1");
    assert_eq!(claims["amr"][0]["method"], "passkey");
    let list = api.get("/passkeys").session(&tokens).await.ok();
    assert!(list[0]["last_used_at"].is_string());
    let audit = api.audit().await;
    assert!(audit.contains(&"passkey_created".to_owned()));
    assert_eq!(audit.last().map(String::as_str), Some("login"));
    // A response cannot be used twice.
    let reply = verify_sign_in(&api, &issued, &credential).await;
    reply.expect_error(400, "webauthn_challenge_not_found");
}

#[tokio::test]
async fn everything_is_off_unless_switched_on() {
    let api = Api::start(&[]).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let some = "00000000-0000-0000-0000-000000000001";
    for call in [
        api.post("/passkeys/authentication/options", json!({})),
        api.post("/passkeys/authentication/verify", json!({})),
        api.post("/passkeys/registration/options", json!({})),
        api.post("/passkeys/registration/verify", json!({})),
        api.get("/passkeys"),
        api.patch(
            &format!("/passkeys/{some}"),
            json!({ "friendly_name": "x" }),
        ),
        api.delete(&format!("/passkeys/{some}")),
    ] {
        call.session(&session)
            .await
            .expect_error(404, "passkey_disabled");
    }
    let user = session["user"]["id"].as_str().expect("an id");
    let list = api.get(&format!("/admin/users/{user}/passkeys"));
    assert_eq!(list.service_role().await.ok(), json!([]));
}

#[tokio::test]
async fn forged_sign_ins_are_rejected_and_consume_their_challenge() {
    let (api, session) = ann(&[]).await;
    let mut key = Authenticator::new();
    register(&api, &session, &key).await.ok();
    let user = session["user"]["id"].as_str().expect("an id");
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let eve = eve["user"]["id"].as_str().expect("an id");

    let issued = begin_sign_in(&api).await;
    let old = key.get(&issued["options"], user);
    let fresh = begin_sign_in(&api).await;
    let reply = verify_sign_in(&api, &fresh, &old).await;
    reply.expect_error(400, "webauthn_verification_failed");
    let right = key.get(&fresh["options"], user);
    let reply = verify_sign_in(&api, &fresh, &right).await;
    reply.expect_error(400, "webauthn_challenge_not_found");

    let issued = begin_sign_in(&api).await;
    let as_eve = key.get(&issued["options"], eve);
    let reply = verify_sign_in(&api, &issued, &as_eve).await;
    reply.expect_error(400, "webauthn_verification_failed");

    let issued = begin_sign_in(&api).await;
    let unknown = Authenticator::new().get(&issued["options"], user);
    let reply = verify_sign_in(&api, &issued, &unknown).await;
    reply.expect_error(400, "webauthn_verification_failed");

    let mut stolen = Authenticator::new();
    stolen.id = key.id.clone();
    let reply = sign_in(&api, &mut stolen, &json!(user)).await;
    reply.expect_error(400, "webauthn_verification_failed");

    key.origin = "https://evil.test";
    let reply = sign_in(&api, &mut key, &json!(user)).await;
    reply.expect_error(400, "webauthn_verification_failed");
    key.origin = "http://localhost:3000";
    key.rp_id = "evil.test";
    let reply = sign_in(&api, &mut key, &json!(user)).await;
    reply.expect_error(400, "webauthn_verification_failed");
    key.rp_id = "localhost";

    sign_in(&api, &mut key, &json!(user)).await.ok();
    key.sign_count -= 1;
    let reply = sign_in(&api, &mut key, &json!(user)).await;
    reply.expect_error(400, "webauthn_verification_failed");
}

#[tokio::test]
async fn challenges_expire_and_belong_to_their_user() {
    let (api, session) = ann(&[]).await;
    let key = Authenticator::new();
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;

    let issued = begin_registration(&api, &session).await;
    let credential = key.create(&issued["options"]);
    let reply = verify_registration(&api, &eve, &issued, &credential).await;
    reply.expect_error(400, "webauthn_challenge_not_found");
    let reply = verify_sign_in(&api, &issued, &credential).await;
    reply.expect_error(400, "webauthn_challenge_not_found");
    verify_registration(&api, &session, &issued, &credential)
        .await
        .ok();

    let issued = begin_sign_in(&api).await;
    api.advance(Duration::from_secs(301));
    let reply = verify_sign_in(&api, &issued, &json!({})).await;
    reply.expect_error(400, "webauthn_challenge_expired");
}

#[tokio::test]
async fn malformed_responses_are_rejected() {
    let (api, session) = ann(&[]).await;
    for path in [
        "/passkeys/authentication/verify",
        "/passkeys/registration/verify",
    ] {
        for body in [
            json!({}),
            json!({ "challenge_id": "x", "credential": {} }),
            json!({ "credential": {} }),
            json!({ "challenge_id": "00000000-0000-0000-0000-000000000001" }),
        ] {
            let reply = api.post(path, body).session(&session).await;
            reply.expect_error(400, "validation_failed");
        }
    }
    for credential in [
        json!("text"),
        json!([]),
        json!({ "rawId": "?", "type": "x" }),
    ] {
        let issued = begin_sign_in(&api).await;
        let reply = verify_sign_in(&api, &issued, &credential).await;
        reply.expect_error(400, "webauthn_verification_failed");
        let issued = begin_registration(&api, &session).await;
        let reply = verify_registration(&api, &session, &issued, &credential).await;
        reply.expect_error(400, "webauthn_verification_failed");
    }
}

#[tokio::test]
async fn a_credential_is_registered_once_and_there_are_limits() {
    let (api, session) = ann(&[("plinth.auth.webauthn.max_passkeys", "2")]).await;
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let key = Authenticator::new();
    register(&api, &session, &key).await.ok();

    let issued = begin_registration(&api, &session).await;
    let id = data_encoding::BASE64URL_NOPAD.encode(&key.id);
    assert_eq!(
        issued["options"]["excludeCredentials"],
        json!([{ "type": "public-key", "id": id, "transports": ["usb"] }])
    );
    register(&api, &eve, &key)
        .await
        .expect_error(422, "webauthn_credential_exists");

    let issued = begin_registration(&api, &session).await;
    register(&api, &session, &Authenticator::new()).await.ok();
    let call = api.post("/passkeys/registration/options", json!({}));
    call.session(&session)
        .await
        .expect_error(422, "too_many_passkeys");
    let third = Authenticator::new().create(&issued["options"]);
    let reply = verify_registration(&api, &session, &issued, &third).await;
    reply.expect_error(422, "too_many_passkeys");
}

#[tokio::test]
async fn some_people_cannot_register_any() {
    let (api, session) = ann(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let anonymous = api.post("/signup", json!({})).await.ok();
    let options = "/passkeys/registration/options";
    let reply = api.post(options, json!({})).session(&anonymous).await;
    reply.expect_error(403, "no_authorization");
    api.post(options, json!({}))
        .await
        .expect_error(401, "no_authorization");

    let user = session["user"]["id"].as_str().expect("an id");
    api.execute(&format!(
        "update auth.users set is_sso_user = true where id = '{user}'"
    ))
    .await;
    let reply = api.post(options, json!({})).session(&session).await;
    reply.expect_error(422, "validation_failed");
    api.execute("update auth.users set is_sso_user = false")
        .await;

    api.execute(&format!(
        "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
         values (gen_random_uuid(), '{user}', 'totp', 'verified', now(), now())"
    ))
    .await;
    let reply = api.post(options, json!({})).session(&session).await;
    reply.expect_error(403, "insufficient_aal");
    let some = "/passkeys/00000000-0000-0000-0000-000000000001";
    let reply = api.delete(some).session(&session).await;
    reply.expect_error(403, "insufficient_aal");
}

#[tokio::test]
async fn who_may_not_sign_in_otherwise_may_not_with_a_passkey() {
    let (api, session) = ann(&[]).await;
    let mut key = Authenticator::new();
    register(&api, &session, &key).await.ok();
    let user = session["user"]["id"].clone();
    for (column, value, code) in [
        ("email_confirmed_at", "null", "email_not_confirmed"),
        ("phone", "'15551234567'", "phone_not_confirmed"),
        ("banned_until", "now() + interval '1 day'", "user_banned"),
    ] {
        let now = match column {
            "email_confirmed_at" => "now()",
            _ => "null",
        };
        api.execute(&format!("update auth.users set {column} = {value}"))
            .await;
        sign_in(&api, &mut key, &user).await.expect_error(403, code);
        api.execute(&format!("update auth.users set {column} = {now}"))
            .await;
    }
    sign_in(&api, &mut key, &user).await.ok();
}

#[tokio::test]
async fn passkeys_are_listed_renamed_and_removed_by_their_owner() {
    let (api, session) = ann(&[]).await;
    let made = register(&api, &session, &Authenticator::new()).await.ok();
    assert_eq!(made["friendly_name"], "Passkey");
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;
    let path = format!("/passkeys/{}", made["id"].as_str().expect("an id"));

    assert_eq!(
        api.get("/passkeys").session(&session).await.ok(),
        json!([made])
    );
    assert_eq!(api.get("/passkeys").session(&eve).await.ok(), json!([]));
    let named = json!({ "friendly_name": "my phone" });
    let reply = api.patch(&path, named.clone()).session(&session).await;
    assert_eq!(reply.ok()["friendly_name"], "my phone");
    for name in ["", &"x".repeat(121)] {
        let reply = api.patch(&path, json!({ "friendly_name": name }));
        reply
            .session(&session)
            .await
            .expect_error(400, "validation_failed");
    }
    let theirs = api.patch(&path, named.clone()).session(&eve).await;
    theirs.expect_error(404, "validation_failed");
    api.delete(&path)
        .session(&eve)
        .await
        .expect_error(404, "validation_failed");
    let bad = api.patch("/passkeys/x", named).session(&session).await;
    bad.expect_error(404, "validation_failed");
    api.delete("/passkeys/x")
        .session(&session)
        .await
        .expect_error(404, "validation_failed");

    let gone = api.delete(&path).session(&session).await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
    api.delete(&path)
        .session(&session)
        .await
        .expect_error(404, "validation_failed");
    let audit = api.audit().await;
    let recorded = |action: &str| audit.iter().filter(|recorded| *recorded == action).count();
    assert_eq!(
        (recorded("passkey_updated"), recorded("passkey_deleted")),
        (1, 1)
    );
}

#[tokio::test]
async fn administrators_list_and_remove_passkeys_of_others() {
    let (api, session) = ann(&[]).await;
    let made = register(&api, &session, &Authenticator::new()).await.ok();
    let user = session["user"]["id"].as_str().expect("an id");
    let all = format!("/admin/users/{user}/passkeys");
    let one = format!("{all}/{}", made["id"].as_str().expect("an id"));

    assert_eq!(api.get(&all).service_role().await.ok(), json!([made]));
    api.get(&all)
        .session(&session)
        .await
        .expect_error(403, "not_admin");
    let reply = api.delete(&one).service_role().await;
    assert_eq!(reply.status, 204);
    api.delete(&one)
        .service_role()
        .await
        .expect_error(404, "validation_failed");
    api.delete(&format!("{all}/x"))
        .service_role()
        .await
        .expect_error(404, "validation_failed");
    let unknown_user = "/admin/users/00000000-0000-0000-0000-000000000001/passkeys";
    api.get(unknown_user)
        .service_role()
        .await
        .expect_error(404, "user_not_found");
    api.get("/admin/users/x/passkeys")
        .service_role()
        .await
        .expect_error(404, "validation_failed");
}

#[tokio::test]
async fn the_relying_party_is_what_the_project_says() {
    let (api, session) = ann(&[
        ("auth.webauthn.rp_id", "example.com"),
        ("auth.webauthn.rp_display_name", "Example"),
        ("auth.webauthn.rp_origins", "https://app.example.com"),
    ])
    .await;
    let mut key = Authenticator::new();
    key.rp_id = "example.com";
    key.origin = "https://app.example.com";

    let issued = begin_registration(&api, &session).await;
    assert_eq!(
        issued["options"]["rp"],
        json!({ "id": "example.com", "name": "Example" })
    );
    verify_registration(&api, &session, &issued, &key.create(&issued["options"]))
        .await
        .ok();

    sign_in(&api, &mut key, &session["user"]["id"]).await.ok();
    key.origin = "https://example.com";
    let reply = sign_in(&api, &mut key, &session["user"]["id"]).await;
    reply.expect_error(400, "webauthn_verification_failed");
}

#[tokio::test]
async fn a_key_of_the_project_is_needed_and_requests_are_limited() {
    let (api, _) = ann(&[]).await;
    let options = "/passkeys/authentication/options";
    let reply = api.post(options, json!({})).without_key().await;
    reply.expect_error(401, "no_authorization");
    let mut rejected = 0;
    for _ in 0..32 {
        let reply = api.post(options, json!({})).await;
        rejected += usize::from(reply.status == 429);
    }
    assert_eq!(rejected, 2);
}
