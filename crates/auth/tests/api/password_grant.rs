//! `POST /token?grant_type=password` (auth contract §2.3).

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Api, AuthReply, Reply, Requests, Sql, USUAL_HASHES};

const PASSWORD: &str = "correct horse";

async fn sign_in(api: &Api, email: &str, password: &str) -> Reply {
    let body = json!({ "email": email, "password": password });
    api.post("/token?grant_type=password", body).await
}

#[tokio::test]
async fn the_right_password_gives_a_session() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;

    let reply = sign_in(&api, "ANN@mail.dev", PASSWORD).await;

    let tokens = reply.ok();
    assert_eq!(tokens["user"]["email"], "ann@mail.dev");
    assert_eq!(tokens["token_type"], "bearer");
    assert!(tokens.get("weak_password").is_none());
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(api.count("select count(*) from auth.sessions").await, 2);
    let entry = api
        .value(
            "select payload from auth.audit_log_entries order by created_at desc, ctid desc limit 1",
            &[],
        )
        .await;
    assert_eq!(entry["action"], "login");
    assert_eq!(entry["traits"], json!({ "provider": "email" }));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_look_alike() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;

    let wrong = sign_in(&api, "ann@mail.dev", "a guess").await;
    let unknown = sign_in(&api, "eve@mail.dev", "a guess").await;

    for reply in [&wrong, &unknown] {
        reply.expect_error_text(400, "invalid_credentials", "Invalid login credentials");
    }
    assert_eq!(wrong.body, unknown.body);
}

/// Compares the minima of interleaved attempts, which load can only lengthen: with enough of them, both
/// come near to what the work takes.
#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_take_as_long() {
    const MAX_ATTEMPTS: usize = 60;
    let unlimited = ("auth.rate_limit.sign_in_sign_ups", "1000");
    let api = Api::start(&[USUAL_HASHES, unlimited]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    let mut shortest = [f64::INFINITY; 2];

    for attempt in 1..=MAX_ATTEMPTS {
        for (email, shortest) in ["ann@mail.dev", "eve@mail.dev"].iter().zip(&mut shortest) {
            let start = Instant::now();
            sign_in(&api, email, "a guess").await.expect_status(400);
            *shortest = shortest.min(start.elapsed().as_secs_f64());
        }
        let [known, unknown] = shortest;
        let is_alike = (0.5..2.0).contains(&(known / unknown));
        if attempt >= 3 && is_alike {
            return;
        }
    }

    let [known, unknown] = shortest;
    panic!("{known} s, {unknown} s");
}

#[tokio::test]
async fn what_stands_in_the_way_is_said() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    let grant = |body: Value| api.post("/token?grant_type=password", body);

    grant(json!({}))
        .await
        .expect_error(400, "validation_failed");
    grant(json!({ "email": "a@b.c", "phone": "123", "password": "x" }))
        .await
        .expect_error(400, "validation_failed");
    grant(json!({ "phone": "123", "password": "x" }))
        .await
        .expect_error(422, "phone_provider_disabled");
    api.execute("update auth.users set email_confirmed_at = null")
        .await;
    sign_in(&api, "ann@mail.dev", PASSWORD)
        .await
        .expect_error_text(400, "email_not_confirmed", "Email not confirmed");
    sign_in(&api, "ann@mail.dev", "a guess")
        .await
        .expect_error(400, "invalid_credentials");
    api.execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;
    sign_in(&api, "ann@mail.dev", PASSWORD)
        .await
        .expect_error(400, "user_banned");
    api.execute("update auth.users set banned_until = null, encrypted_password = ''")
        .await;
    sign_in(&api, "ann@mail.dev", "")
        .await
        .expect_error(400, "invalid_credentials");
}

#[tokio::test]
async fn other_grants_are_unknown() {
    let api = Api::start(&[]).await;

    for path in ["/token", "/token?grant_type=", "/token?grant_type=magic"] {
        api.post(path, json!({ "grant_type": "password" }))
            .await
            .expect_error_text(400, "invalid_credentials", "unsupported_grant_type");
    }
}

#[tokio::test]
async fn wallet_sign_ins_are_disabled() {
    let api = Api::start(&[]).await;

    api.post("/token?grant_type=web3", json!({ "chain": "solana" }))
        .await
        .expect_error_text(422, "web3_provider_disabled", "Web3 provider is disabled");
}

#[tokio::test]
async fn a_password_that_has_become_too_weak_is_reported() {
    let api = Api::start(&[("auth.minimum_password_length", "20")]).await;
    api.execute(
        "insert into auth.users (instance_id, id, aud, role, email, encrypted_password,
           email_confirmed_at, created_at, updated_at)
         values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated',
           'authenticated', 'ann@mail.dev', extensions.crypt('correct horse',
           extensions.gen_salt('bf', 6)), now(), now(), now())",
    )
    .await;

    let tokens = sign_in(&api, "ann@mail.dev", PASSWORD).await.ok();

    assert_eq!(tokens["weak_password"]["reasons"], json!(["length"]));
}

/// Seed files insert users with pgcrypto, without instance, identities or tokens.
#[tokio::test]
async fn users_of_a_seed_sign_in_and_their_hash_is_renewed() {
    let api = Api::start(&[USUAL_HASHES]).await;
    api.execute(
        "insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at)
         values (gen_random_uuid(), 'authenticated', 'authenticated', 'seed@mail.dev',
           extensions.crypt('correct horse', extensions.gen_salt('bf', 4)), now())",
    )
    .await;

    let tokens = sign_in(&api, "seed@mail.dev", PASSWORD).await.ok();

    assert_eq!(tokens["user"]["identities"], json!([]));
    assert_eq!(tokens["user"]["phone"], "");
    assert_eq!(tokens["user"]["app_metadata"], json!({}));
    let hash = api
        .value("select to_jsonb(encrypted_password) from auth.users", &[])
        .await;
    assert!(hash.as_str().expect("text").contains("$10$"), "{hash}");
    sign_in(&api, "seed@mail.dev", PASSWORD).await.ok();
}
