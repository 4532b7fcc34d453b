//! `/admin/users`: creating, reading, updating and deleting users (auth contract §2.13).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql, sign};

const PASSWORD: &str = "correct horse";

async fn create(api: &Api, body: Value) -> Reply {
    api.post("/admin/users", body).service_role().await
}

/// Creates a user.
async fn created(api: &Api, body: Value) -> Value {
    create(api, body).await.ok()
}

async fn put(api: &Api, user: &Value, body: Value) -> Reply {
    api.put(&path(user), body).service_role().await
}

async fn read(api: &Api, user: &Value) -> Reply {
    api.get(&path(user)).service_role().await
}

async fn delete(api: &Api, user: &Value, body: Value) -> Reply {
    api.delete(&path(user)).service_role().json(&body).await
}

async fn sign_in(api: &Api, email: &str, password: &str) -> Reply {
    let body = json!({ "email": email, "password": password });
    api.post("/token?grant_type=password", body).await
}

fn path(user: &Value) -> String {
    format!("/admin/users/{}", user["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn only_administrators_come_in() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;
    let paths = ["/admin/users", "/admin/audit", "/admin/users/x"];

    for path in paths {
        api.get(path).await.expect_error(401, "no_authorization");
        let reply = api.get(path).session(&ann).await;
        reply.expect_error_text(403, "not_admin", "User not allowed");
        let anon = sign(&json!({ "role": "anon" }));
        api.get(path)
            .bearer(&anon)
            .await
            .expect_error(403, "not_admin");
        let forged = sign(&json!({ "role": "service_role" })).replace('.', ".x");
        api.get(path)
            .bearer(&forged)
            .await
            .expect_error(403, "bad_jwt");
    }
    let admin = sign(&json!({ "role": "supabase_admin", "sub": "not a uuid" }));
    api.get("/admin/users").bearer(&admin).await.ok();
}

#[tokio::test]
async fn a_user_with_an_administrating_role_is_one_as_long_as_the_session_lasts() {
    let api = Api::start(&[]).await;
    api.sign_up("boss@mail.dev", PASSWORD).await;
    api.execute("update auth.users set role = 'supabase_admin'")
        .await;
    let boss = sign_in(&api, "boss@mail.dev", PASSWORD).await.ok();

    api.get("/admin/users").session(&boss).await.ok();
    api.execute("delete from auth.sessions").await;

    let reply = api.get("/admin/users").session(&boss).await;
    reply.expect_error(403, "session_not_found");
}

#[tokio::test]
async fn a_made_user_is_as_it_was_asked_for() {
    let api = Api::start(&[]).await;

    let user = created(
        &api,
        json!({
            "email": "Ann@Mail.dev", "phone": "+1 555 0001", "password": PASSWORD,
            "user_metadata": { "nick": "ann", "none": null }, "app_metadata": { "plan": "pro" },
            "role": "editor", "ban_duration": "none",
        }),
    )
    .await;

    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["phone"], "15550001");
    assert_eq!(user["role"], "editor");
    assert_eq!(user["aud"], "authenticated");
    assert_eq!(
        user["user_metadata"],
        json!({ "nick": "ann", "none": null })
    );
    let metadata = json!({ "provider": "email", "providers": ["email", "phone"], "plan": "pro" });
    assert_eq!(user["app_metadata"], metadata);
    assert_eq!(user["is_anonymous"], false);
    for absent in [
        "email_confirmed_at",
        "confirmed_at",
        "banned_until",
        "invited_at",
    ] {
        assert_eq!(user.get(absent), None, "{absent}");
    }
    let identities = user["identities"].as_array().expect("a list");
    let providers: Vec<&Value> = identities.iter().map(|it| &it["provider"]).collect();
    assert_eq!(providers, ["email", "phone"]);
    assert_eq!(
        identities[0]["identity_data"],
        json!({
            "sub": user["id"], "email": "ann@mail.dev", "email_verified": false,
            "phone_verified": false,
        })
    );
    assert_eq!(read(&api, &user).await.ok(), user);
    assert_eq!(api.audit().await, ["user_signedup"]);
    assert_eq!(api.mails().await, [] as [Value; 0]);
    let wrong = sign_in(&api, "ann@mail.dev", PASSWORD).await;
    wrong.expect_error(400, "email_not_confirmed");
}

#[tokio::test]
async fn a_confirmed_user_can_sign_in_at_once() {
    let api = Api::start(&[("auth.email.enable_confirmations", "true")]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "x", "email_confirm": true });

    let user = created(&api, body).await;

    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(user["user_metadata"], json!({ "email_verified": true }));
    sign_in(&api, "ann@mail.dev", "x").await.ok();
}

#[tokio::test]
async fn hashes_from_elsewhere_are_taken_over() {
    let api = Api::start(&[]).await;
    let hash = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    let body = json!({ "email": "ann@mail.dev", "password_hash": hash, "email_confirm": true });
    created(&api, body).await;

    sign_in(&api, "ann@mail.dev", "U*U").await.ok();
    let wrong = sign_in(&api, "ann@mail.dev", "U*V").await;
    wrong.expect_error(400, "invalid_credentials");
}

#[tokio::test]
async fn an_id_may_be_brought_along_once() {
    let api = Api::start(&[]).await;
    let id = "5b0c8f3e-1111-4222-8333-444455556666";
    let user = created(&api, json!({ "id": id, "email": "ann@mail.dev" })).await;

    assert_eq!(user["id"], id);
    let again = create(&api, json!({ "id": id, "email": "bob@mail.dev" })).await;
    again.expect_error(422, "user_already_exists");
}

#[tokio::test]
async fn bad_accounts_are_not_made() {
    let api = Api::start(&[]).await;
    created(
        &api,
        json!({ "email": "ann@mail.dev", "phone": "15550001" }),
    )
    .await;
    let expect_error = async |body: Value, status: u16, code: &str| {
        let shown = body.to_string();
        let reply = create(&api, body).await;
        assert_eq!(reply.status, status, "{shown}: {reply:?}");
        assert_eq!(reply.json()["code"], code, "{shown}");
    };

    let invalid = "validation_failed";
    expect_error(json!({}), 400, invalid).await;
    expect_error(json!({ "email": "ann" }), 400, invalid).await;
    expect_error(json!({ "phone": "0123" }), 400, invalid).await;
    let email = "new@mail.dev";
    for wrong in [
        json!({ "email": email, "id": "x" }),
        json!({ "email": email, "id": "00000000-0000-0000-0000-000000000000" }),
        json!({ "email": email, "ban_duration": "soon" }),
        json!({ "email": email, "password": "x", "password_hash": "y" }),
        json!({ "email": email, "password_hash": "plain" }),
        json!({ "email": email, "password": "x".repeat(73) }),
        json!({ "email": email, "role": "r".repeat(300) }),
    ] {
        expect_error(wrong, 400, invalid).await;
    }
    let nul = json!({ "email": email, "user_metadata": { "a": "\u{0}" } });
    expect_error(nul, 400, "bad_json").await;
    expect_error(
        json!({ "email": email, "user_metadata": [] }),
        400,
        "bad_json",
    )
    .await;
    expect_error(json!({ "email": "ANN@mail.dev" }), 422, "email_exists").await;
    expect_error(json!({ "phone": "+15550001" }), 422, "phone_exists").await;
    let elsewhere = json!({ "email": "ann@mail.dev", "aud": "other" });
    expect_error(elsewhere, 422, "email_exists").await;
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    assert_eq!(
        api.count("select count(*) from auth.identities").await,
        1 + 1
    );
}

#[tokio::test]
async fn unknown_and_malformed_ids_have_different_errors() {
    let api = Api::start(&[]).await;
    let unknown = json!({ "id": "5b0c8f3e-1111-4222-8333-444455556666" });
    for id in ["x", "5b0c8f3e", "%ff"] {
        let bad = json!({ "id": id });
        read(&api, &bad)
            .await
            .expect_error(404, "validation_failed");
        let reply = put(&api, &bad, json!({})).await;
        reply.expect_error(404, "validation_failed");
        let reply = delete(&api, &bad, json!({})).await;
        reply.expect_error(404, "validation_failed");
    }
    let reply = read(&api, &unknown).await;
    reply.expect_error_text(404, "user_not_found", "User not found");
    let reply = put(&api, &unknown, json!({})).await;
    reply.expect_error(404, "user_not_found");
    let reply = delete(&api, &unknown, json!({})).await;
    reply.expect_error(404, "user_not_found");
}

#[tokio::test]
async fn changes_take_effect_at_once() {
    let api = Api::start(&[]).await;
    let metadata = json!({ "keep": 1, "drop": 2, "deep": { "a": 1 } });
    let user = created(
        &api,
        json!({ "email": "ann@mail.dev", "user_metadata": metadata, "app_metadata": { "x": 1 } }),
    )
    .await;

    let user = put(
        &api,
        &user,
        json!({
            "email": "New@Mail.dev", "phone": "+15550001", "role": "editor",
            "email_confirm": true, "user_metadata": { "drop": null, "deep": { "b": 2 } },
            "app_metadata": { "x": null, "y": 2 },
        }),
    )
    .await
    .ok();

    assert_eq!(user["email"], "new@mail.dev");
    assert_eq!(user["phone"], "15550001");
    assert_eq!(user["role"], "editor");
    assert!(user["email_confirmed_at"].is_string());
    assert_eq!(user.get("phone_confirmed_at"), None);
    let metadata = json!({ "keep": 1, "deep": { "b": 2 }, "email_verified": true });
    assert_eq!(user["user_metadata"], metadata);
    let metadata = json!({ "provider": "email", "providers": ["email"], "y": 2 });
    assert_eq!(user["app_metadata"], metadata);
    let said = |at: usize| &user["identities"][at]["identity_data"];
    assert_eq!(said(0)["email"], "new@mail.dev");
    assert_eq!(said(0)["email_verified"], true);
    assert_eq!(said(1)["phone"], "15550001");
    assert_eq!(said(1)["phone_verified"], false);
    assert_eq!(api.audit().await, ["user_signedup", "user_modified"]);
    assert_eq!(read(&api, &user).await.ok(), user);
}

#[tokio::test]
async fn flags_confirm_and_never_take_back() {
    let api = Api::start(&[]).await;
    let body = json!({ "email": "ann@mail.dev", "email_confirm": true });
    let user = created(&api, body).await;

    let body = json!({ "email_confirm": false, "phone_confirm": null });
    let after = put(&api, &user, body).await.ok();

    assert_eq!(after["email_confirmed_at"], user["email_confirmed_at"]);
}

#[tokio::test]
async fn taken_contacts_are_the_callers_mistake() {
    let api = Api::start(&[]).await;
    created(
        &api,
        json!({ "email": "bob@mail.dev", "phone": "15550002" }),
    )
    .await;
    let ann = created(&api, json!({ "email": "ann@mail.dev" })).await;

    let reply = put(&api, &ann, json!({ "email": "Bob@mail.dev" })).await;
    reply.expect_error(422, "email_exists");
    let reply = put(&api, &ann, json!({ "phone": "+15550002" })).await;
    reply.expect_error(422, "phone_exists");
    put(&api, &ann, json!({ "email": "ann@mail.dev" }))
        .await
        .ok();
    assert_eq!(read(&api, &ann).await.ok()["email"], "ann@mail.dev");
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_and_pending_links() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;
    let user = ann["user"].clone();
    let link = json!({ "type": "recovery", "email": "ann@mail.dev" });
    let link = api.post("/admin/generate_link", link).service_role().await;
    let weak = put(&api, &user, json!({ "password": "x" })).await;
    weak.expect_error(422, "weak_password");

    put(&api, &user, json!({ "password": "new password" }))
        .await
        .ok();

    let reply = api.get("/user").session(&ann).await;
    reply.expect_error(403, "session_not_found");
    let body = json!({ "type": "recovery", "token_hash": link.ok()["hashed_token"] });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
    let old = sign_in(&api, "ann@mail.dev", PASSWORD).await;
    old.expect_error(400, "invalid_credentials");
    sign_in(&api, "ann@mail.dev", "new password").await.ok();
}

#[tokio::test]
async fn a_ban_lasts_as_long_as_it_says() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;
    let user = ann["user"].clone();

    let banned = put(&api, &user, json!({ "ban_duration": "1h30m" }))
        .await
        .ok();

    assert!(banned["banned_until"].is_string());
    api.get("/user")
        .session(&ann)
        .await
        .expect_error(403, "user_banned");
    let reply = sign_in(&api, "ann@mail.dev", PASSWORD).await;
    reply.expect_error(400, "user_banned");
    api.advance(Duration::from_secs(90 * 60));
    sign_in(&api, "ann@mail.dev", PASSWORD).await.ok();

    put(&api, &user, json!({ "ban_duration": "24h" }))
        .await
        .ok();
    let lifted = put(&api, &user, json!({ "ban_duration": "none" }))
        .await
        .ok();
    assert_eq!(lifted.get("banned_until"), None);
    let reply = put(&api, &user, json!({ "ban_duration": "1 day" })).await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn an_anonymous_user_becomes_a_known_one_with_a_confirmed_contact() {
    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let user = api.post("/signup", json!({})).await.ok()["user"].clone();

    let body = json!({ "email": "ann@mail.dev" });
    assert_eq!(put(&api, &user, body).await.ok()["is_anonymous"], true);
    let body = json!({ "email": "ann@mail.dev", "email_confirm": true });
    assert_eq!(put(&api, &user, body).await.ok()["is_anonymous"], false);
}

#[tokio::test]
async fn a_deleted_user_is_gone_with_all_that_hangs_on_it() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;

    let user = ann["user"].clone();
    let reply = api.delete(&path(&user)).service_role().await;

    assert_eq!(reply.ok(), json!({}));
    for table in ["users", "identities", "sessions", "refresh_tokens"] {
        let rows = api
            .count(&format!("select count(*) from auth.{table}"))
            .await;
        assert_eq!(rows, 0, "{table}");
    }
    assert_eq!(
        api.audit().await.last().map(String::as_str),
        Some("user_deleted")
    );
    read(&api, &user).await.expect_error(404, "user_not_found");
}

#[tokio::test]
async fn a_row_that_needs_the_user_keeps_it() {
    let api = Api::start(&[]).await;
    let user = created(&api, json!({ "email": "ann@mail.dev" })).await;
    api.execute(
        "create table public.notes (owner uuid references auth.users (id));
         insert into public.notes select id from auth.users",
    )
    .await;

    let reply = delete(&api, &user, json!({})).await;

    reply.expect_error_text(500, "unexpected_failure", "Database error deleting user");
    read(&api, &user).await.ok();
}

#[tokio::test]
async fn a_soft_delete_leaves_a_row_that_says_nothing() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", PASSWORD).await;
    let user = ann["user"].clone();
    put(&api, &user, json!({ "phone": "15550001" })).await.ok();

    let body = json!({ "should_soft_delete": true });
    assert_eq!(delete(&api, &user, body.clone()).await.ok(), json!({}));

    let blank = read(&api, &user).await.ok();
    assert!(blank["deleted_at"].is_string());
    assert_eq!(blank["user_metadata"], json!({}));
    assert_eq!(blank["app_metadata"], json!({}));
    assert_eq!(blank["email"].as_str().map(str::len), Some(43));
    assert_eq!(blank["phone"].as_str().map(str::len), Some(15));
    let text = blank.to_string();
    assert!(
        !text.contains("ann@mail.dev") && !text.contains("15550001"),
        "{text}"
    );
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
    let sql = "select count(*) from auth.users where coalesce(encrypted_password, '') <> ''";
    assert_eq!(api.count(sql).await, 0);

    // Again changes nothing, and the address is free.
    delete(&api, &user, body).await.ok();
    assert_eq!(read(&api, &user).await.ok(), blank);
    api.sign_up("ann@mail.dev", PASSWORD).await;
}

#[tokio::test]
async fn a_triggers_error_is_shown_to_old_callers_only() {
    let api = Api::start(&[]).await;
    api.execute(
        "create function public.refuse() returns trigger language plpgsql as
           $$ begin raise exception 'not here' using hint = 'elsewhere'; end $$;
         create trigger refuse before insert on auth.users for each row
           execute function public.refuse()",
    )
    .await;
    let body = json!({ "email": "ann@mail.dev" });

    let reply = create(&api, body.clone()).await;
    reply.expect_error_text(
        500,
        "unexpected_failure",
        "Database error creating new user",
    );
    let old = api.post("/admin/users", body).service_role();
    let old = old.old_version().await.json();
    assert_eq!(
        old,
        json!({ "code": "P0001", "message": "not here", "hint": "elsewhere" })
    );
}
