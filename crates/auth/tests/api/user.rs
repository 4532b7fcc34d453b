//! `/user` (auth contract §2.7, §7.4).

mod credentials;
mod phone;

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql, sign};

const OFTEN: (&str, &str) = ("auth.email.max_frequency", "0s");
const PASSWORD: &str = "correct horse";

async fn ann(settings: &[(&str, &str)]) -> (Api, Value) {
    let api = Api::start(settings).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    (api, tokens)
}

async fn put(api: &Api, tokens: &Value, body: Value) -> Reply {
    api.put("/user", body).session(tokens).await
}

async fn sign_in(api: &Api, email: &str, password: &str) -> Reply {
    let body = json!({ "email": email, "password": password });
    api.post("/token?grant_type=password", body).await
}

async fn verify(api: &Api, email: &str) -> Reply {
    let code = api.mail_to(email).await.otp();
    let body = json!({ "type": "email_change", "email": email, "token": code });
    api.post("/verify", body).await
}

#[tokio::test]
async fn the_user_is_read_from_the_database() {
    let (api, tokens) = ann(&[]).await;
    api.execute("update auth.users set raw_user_meta_data = '{\"nick\":\"new\"}'")
        .await;

    let user = api.get("/user").session(&tokens).await.ok();

    assert_eq!(user["user_metadata"], json!({ "nick": "new" }));
    assert_eq!(user["identities"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn only_a_good_token_of_a_user_opens_it() {
    let (api, tokens) = ann(&[]).await;
    let id = tokens["user"]["id"].as_str().expect("an id");
    let exp = api.now().unix_timestamp() + 100;

    api.get("/user").await.expect_error_text(
        401,
        "no_authorization",
        "This endpoint requires a valid Bearer token",
    );
    api.get("/user")
        .header("authorization", "Basic eDp5")
        .await
        .expect_error(401, "no_authorization");
    api.get("/user")
        .bearer("not.a.token")
        .await
        .expect_error(403, "bad_jwt");
    api.get("/user")
        .bearer(&sign(&json!({ "role": "anon", "exp": exp })))
        .await
        .expect_error(403, "bad_jwt");
    api.get("/user")
        .bearer(&sign(
            &json!({ "sub": "me", "role": "authenticated", "exp": exp }),
        ))
        .await
        .expect_error(400, "bad_jwt");
    let stranger = json!({
        "sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated", "exp": exp,
    });
    api.get("/user")
        .bearer(&sign(&stranger))
        .await
        .expect_error(403, "user_not_found");
    let other_session = json!({
        "sub": id, "role": "authenticated", "exp": exp,
        "session_id": "11111111-1111-4111-8111-111111111111",
    });
    api.get("/user")
        .bearer(&sign(&other_session))
        .await
        .expect_error(403, "session_not_found");
    let reply = api.get("/user").header("x-jwt-aud", "others");
    reply
        .session(&tokens)
        .await
        .expect_error(400, "validation_failed");
    api.advance(Duration::from_secs(3601));
    let reply = api.get("/user").session(&tokens).await;
    reply.expect_error(403, "bad_jwt");
    let text = reply.json()["message"].to_string();
    assert!(
        text.contains("invalid JWT: unable to parse or verify signature"),
        "{text}"
    );
}

/// A token with `alg: none`, or with another algorithm.
#[tokio::test]
async fn tokens_cannot_choose_how_they_are_checked() {
    let (api, tokens) = ann(&[]).await;
    let token = tokens["access_token"].as_str().expect("a token");
    let (_, rest) = token.split_once('.').expect("three parts");
    let (payload, signature) = rest.split_once('.').expect("three parts");
    for header in [
        r#"{"alg":"none","typ":"JWT"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"typ":"JWT"}"#,
    ] {
        let header = data_encoding::BASE64URL_NOPAD.encode(header.as_bytes());
        for signature in ["", signature] {
            let forged = format!("{header}.{payload}.{signature}");
            let reply = api.get("/user").bearer(&forged).await;
            assert!(
                reply.status == 401 || reply.status == 403,
                "{header}: {reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn metadata_is_merged_one_level_deep_and_null_removes() {
    let (api, tokens) = ann(&[]).await;
    let first = json!({ "data": { "a": { "x": 1 }, "b": [1], "c": "stays" } });
    put(&api, &tokens, first).await.ok();

    let second = json!({ "data": { "a": { "y": 2 }, "b": null } });
    let user = put(&api, &tokens, second).await.ok();

    let metadata = &user["user_metadata"];
    assert_eq!(metadata["a"], json!({ "y": 2 }));
    assert!(metadata.get("b").is_none());
    assert_eq!(metadata["c"], "stays");
    put(&api, &tokens, json!({ "app_metadata": { "admin": true } }))
        .await
        .expect_error(403, "not_admin");
}

#[tokio::test]
async fn a_new_password_signs_out_every_other_device() {
    let (api, tokens) = ann(&[]).await;
    let other = sign_in(&api, "ann@mail.dev", PASSWORD).await.ok();
    api.post("/recover", json!({ "email": "ann@mail.dev" }))
        .await
        .ok();
    let pending = api.mail_to("ann@mail.dev").await.token_hash();

    put(&api, &tokens, json!({ "password": PASSWORD }))
        .await
        .expect_error(422, "same_password");
    put(&api, &tokens, json!({ "password": "x" }))
        .await
        .expect_error(422, "weak_password");
    put(&api, &tokens, json!({ "password": "battery staple" }))
        .await
        .ok();

    api.get("/user").session(&tokens).await.ok();
    api.get("/user")
        .session(&other)
        .await
        .expect_error(403, "session_not_found");
    sign_in(&api, "ann@mail.dev", PASSWORD)
        .await
        .expect_error(400, "invalid_credentials");
    sign_in(&api, "ann@mail.dev", "battery staple").await.ok();
    let body = json!({ "type": "recovery", "token_hash": pending });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
    let log = api.audit().await;
    assert!(log.contains(&"user_updated_password".to_owned()), "{log:?}");
}

#[tokio::test]
async fn an_old_session_must_prove_itself_again() {
    let (api, tokens) = ann(&[
        OFTEN,
        ("auth.email.secure_password_change", "true"),
        ("auth.jwt_expiry", "604800"),
    ])
    .await;
    let new = json!({ "password": "battery staple" });
    api.advance(Duration::from_secs(24 * 3600 + 1));

    put(&api, &tokens, new.clone())
        .await
        .expect_error(400, "reauthentication_needed");
    api.get("/reauthenticate").session(&tokens).await.ok();
    let nonce = api.mail_to("ann@mail.dev").await.otp();
    put(
        &api,
        &tokens,
        json!({ "password": "battery staple", "nonce": "wrong" }),
    )
    .await
    .expect_error(422, "reauthentication_not_valid");
    let right = json!({ "password": "battery staple", "nonce": nonce });
    put(&api, &tokens, right).await.ok();
    // Once only.
    let again = json!({ "password": "another one", "nonce": nonce });
    put(&api, &tokens, again)
        .await
        .expect_error(422, "reauthentication_not_valid");
}

#[tokio::test]
async fn the_present_password_may_be_asked_for() {
    let (api, tokens) = ann(&[("auth.email.require_current_password", "true")]).await;

    put(&api, &tokens, json!({ "password": "battery staple" }))
        .await
        .expect_error(400, "current_password_required");
    let body = json!({ "password": "battery staple", "current_password": "a guess" });
    put(&api, &tokens, body)
        .await
        .expect_error(400, "current_password_invalid");
    let body = json!({ "password": "battery staple", "current_password": PASSWORD });
    put(&api, &tokens, body).await.ok();
}

#[tokio::test]
async fn a_change_of_address_is_confirmed_at_both() {
    let settings = [
        OFTEN,
        ("auth.email.enable_confirmations", "true"),
        ("auth.email.notification.email_changed.enabled", "true"),
    ];
    let api = Api::start(&settings).await;
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/signup", body).await.ok();
    let code = api.mail_to("ann@mail.dev").await.otp();
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    let tokens = api.post("/verify", body).await.ok();

    let user = put(&api, &tokens, json!({ "email": "New@mail.dev" }))
        .await
        .ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["new_email"], "new@mail.dev");
    assert!(user["email_change_sent_at"].is_string());

    let half = verify(&api, "new@mail.dev").await.ok();
    assert_eq!(half["code"], "200");
    assert!(half.get("access_token").is_none());
    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");

    let whole = verify(&api, "ann@mail.dev").await.ok();
    assert_eq!(whole["user"]["email"], "new@mail.dev");
    assert!(whole["user"].get("new_email").is_none());
    let identity = &whole["user"]["identities"][0];
    assert_eq!(identity["email"], "new@mail.dev");
    assert_eq!(identity["identity_data"]["email_verified"], true);
    assert_eq!(
        api.mail_to("ann@mail.dev").await.template(),
        "email_changed_notification"
    );
    sign_in(&api, "new@mail.dev", PASSWORD).await.ok();
    sign_in(&api, "ann@mail.dev", PASSWORD)
        .await
        .expect_error(400, "invalid_credentials");
}

#[tokio::test]
async fn one_confirmation_suffices_where_the_project_has_it_so() {
    let (api, tokens) = ann(&[("auth.email.double_confirm_changes", "false")]).await;
    put(&api, &tokens, json!({ "email": "new@mail.dev" }))
        .await
        .ok();

    let tokens = verify(&api, "new@mail.dev").await.ok();

    assert_eq!(tokens["user"]["email"], "new@mail.dev");
}

#[tokio::test]
async fn an_address_of_another_user_is_rejected_now_and_later() {
    let (api, tokens) = ann(&[OFTEN, ("auth.email.double_confirm_changes", "false")]).await;
    api.sign_up("eve@mail.dev", PASSWORD).await;
    put(&api, &tokens, json!({ "email": "eve@mail.dev" }))
        .await
        .expect_error(422, "email_exists");

    put(&api, &tokens, json!({ "email": "new@mail.dev" }))
        .await
        .ok();
    api.sign_up("new@mail.dev", PASSWORD).await;
    verify(&api, "new@mail.dev")
        .await
        .expect_error(403, "otp_expired");
}

#[tokio::test]
async fn anonymous_users_become_permanent_and_keep_their_id() {
    let anonymous = ("auth.enable_anonymous_sign_ins", "true");
    let api = Api::start(&[anonymous]).await;
    let tokens = api.post("/signup", json!({})).await.ok();
    put(&api, &tokens, json!({ "password": PASSWORD }))
        .await
        .expect_error(422, "validation_failed");

    let user = put(&api, &tokens, json!({ "email": "ann@mail.dev" }))
        .await
        .ok();

    assert_eq!(user["id"], tokens["user"]["id"]);
    assert_eq!(user["is_anonymous"], false);
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["app_metadata"]["providers"], json!(["email"]));

    // With confirmations enabled, only after the confirmation.
    let api = Api::start(&[anonymous, ("auth.email.enable_confirmations", "true")]).await;
    let tokens = api.post("/signup", json!({})).await.ok();
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    let user = put(&api, &tokens, body).await.ok();
    assert_eq!(user["is_anonymous"], true);
    let whole = verify(&api, "ann@mail.dev").await.ok();
    assert_eq!(whole["user"]["is_anonymous"], false);
    assert_eq!(whole["user"]["id"], tokens["user"]["id"]);
    sign_in(&api, "ann@mail.dev", PASSWORD).await.ok();
}

#[tokio::test]
async fn people_see_and_end_their_own_sessions_only() {
    let (api, tokens) = ann(&[]).await;
    let other = sign_in(&api, "ann@mail.dev", PASSWORD).await.ok();
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;

    let list = api.get("/user/sessions").session(&tokens).await.ok();

    let list = list.as_array().expect("a list").clone();
    assert_eq!(list.len(), 2);
    let current: Vec<&Value> = list.iter().map(|session| &session["current"]).collect();
    assert_eq!(current, [false, true], "newest first");
    assert_eq!(list[0]["amr"][0]["method"], "password");
    assert_eq!(list[0]["aal"], "aal1");
    assert_eq!(list[0]["ip"], "127.0.0.1");
    assert!(list[0]["refreshed_at"].is_null());
    let end = |id: &str, who: &Value| api.delete(&format!("/user/sessions/{id}")).session(who);
    let id = list[0]["id"].as_str().expect("an id");
    for (id, who) in [
        (id, &eve),
        ("nonsense", &tokens),
        ("11111111-1111-4111-8111-111111111111", &tokens),
    ] {
        end(id, who).await.expect_error(404, "validation_failed");
    }
    assert_eq!(end(id, &tokens).await.status, 204);
    api.get("/user")
        .session(&other)
        .await
        .expect_error(403, "session_not_found");
    api.get("/user").session(&tokens).await.ok();
}

#[tokio::test]
async fn of_very_many_sessions_the_newest_are_listed_and_the_current_one() {
    let (api, tokens) = ann(&[]).await;
    api.execute(
        "insert into auth.sessions (id, user_id, created_at, aal)
           select gen_random_uuid(), u.id, u.created_at + i * interval '1 minute', 'aal1'
           from auth.users u, generate_series(1, 300) i;",
    )
    .await;

    let list = api.get("/user/sessions").session(&tokens).await.ok();

    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), 200);
    let times: Vec<&str> = list
        .iter()
        .map(|session| session["created_at"].as_str().expect("a time"))
        .collect();
    assert!(times.is_sorted_by(|newer, older| newer > older));
    let last = list.last().expect("one");
    assert_eq!(last["current"], true);
    assert_eq!(last["amr"][0]["method"], "password");
    assert_eq!(list[0]["amr"], json!([]));
}

#[tokio::test]
async fn people_delete_themselves_soon_after_they_signed_in_or_with_proof() {
    let (api, tokens) = ann(&[]).await;
    api.advance(Duration::from_secs(301));
    let delete = |body: Value| api.delete("/user").json(&body).session(&tokens);

    delete(json!({}))
        .await
        .expect_error(400, "reauthentication_needed");
    delete(json!({ "nonce": "000000x" }))
        .await
        .expect_error(422, "reauthentication_not_valid");
    api.get("/reauthenticate").session(&tokens).await.ok();
    let nonce = api.mail_to("ann@mail.dev").await.otp();
    let reply = delete(json!({ "nonce": nonce })).await;
    assert_eq!(reply.status, 204, "{reply:?}");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);

    let (api, tokens) = ann(&[("plinth.account.self_delete", "soft")]).await;
    let reply = api.delete("/user").session(&tokens).await;
    assert_eq!(reply.status, 204, "{reply:?}");
    let row = api.value("select to_jsonb(u) from auth.users u", &[]).await;
    assert!(row["deleted_at"].is_string());
    assert_ne!(row["email"], "ann@mail.dev");
    assert_eq!(row["encrypted_password"], "");
    sign_in(&api, "ann@mail.dev", PASSWORD)
        .await
        .expect_error(400, "invalid_credentials");

    let (api, tokens) = ann(&[("plinth.account.self_delete", "off")]).await;
    api.delete("/user")
        .session(&tokens)
        .await
        .expect_error(404, "feature_disabled");
}
