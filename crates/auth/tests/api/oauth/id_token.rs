//! `POST /token?grant_type=id_token` (auth contract §2.3).

use serde_json::{Value, json};

use super::{CONFIRM, LINKING, identity, idp::CLIENT_ID, idp::Idp, providers, start};
use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql, claims};

/// SHA-256 of "raw-nonce".
fn nonce_hash() -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"raw-nonce");
    data_encoding::HEXLOWER.encode(hash.as_ref())
}

async fn google(more: &[(&str, &str)]) -> (Api, Idp) {
    let (api, idp) = start("google", more).await;
    idp.publish(&idp.url);
    (api, idp)
}

fn token_claims(api: &Api, idp: &Idp) -> Value {
    let now = api.now().unix_timestamp();
    json!({
        "iss": idp.url, "aud": CLIENT_ID, "sub": "9", "iat": now, "exp": now + 600,
        "email": "ann@mail.dev", "email_verified": true, "name": "Ann",
    })
}

fn with(claims: Value, name: &str, value: Value) -> Value {
    let mut claims = claims;
    claims[name] = value;
    claims
}

async fn sign_in(api: &Api, body: Value) -> Reply {
    api.post("/token?grant_type=id_token", body).await
}

#[track_caller]
fn expect_error(reply: &Reply, error: &str, description: &str) {
    assert_eq!(reply.status, 400, "{reply:?}");
    let expected = json!({ "error": error, "error_description": description });
    assert_eq!(reply.json(), expected, "{reply:?}");
    reply.expect_header("x-supabase-api-version", "2024-01-01");
}

#[tokio::test]
async fn a_good_token_signs_in() {
    let (api, idp) = google(&[CONFIRM]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));

    let body = json!({ "provider": "google", "id_token": id_token });
    let tokens = sign_in(&api, body.clone()).await.ok();

    assert_eq!(tokens["token_type"], "bearer");
    assert!(tokens.get("provider_token").is_none());
    let access = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(access["amr"][0]["method"], "oauth");
    assert_eq!(tokens["user"]["email"], "ann@mail.dev");
    let data = &identity(&tokens["user"], "google")["identity_data"];
    assert_eq!(data["full_name"], "Ann");
    assert_eq!(data["email_verified"], true);
    assert_eq!(api.audit().await, ["user_signedup"]);
    let again = sign_in(&api, body).await.ok();
    assert_eq!(again["user"]["id"], tokens["user"]["id"]);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let (api, idp) = google(&[]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));
    let error = "invalid request";

    expect_error(&sign_in(&api, json!({})).await, error, "id_token required");
    expect_error(
        &sign_in(&api, json!({ "provider": "google" })).await,
        error,
        "id_token required",
    );
    let text = "provider or client_id and issuer required";
    expect_error(
        &sign_in(&api, json!({ "id_token": id_token })).await,
        error,
        text,
    );
    let half = json!({ "id_token": id_token, "issuer": "x" });
    expect_error(&sign_in(&api, half).await, error, text);
}

/// Anybody can send such texts, and each request would hold up to two others.
#[tokio::test]
async fn wrong_texts_cost_no_request_to_the_provider() {
    let (api, idp) = google(&[]).await;
    let good = token_claims(&api, &idp);
    let expired = api.now().unix_timestamp() - 60;
    let other = with(good.clone(), "iss", json!("https://elsewhere.test"));

    for text in [
        "nonsense".to_owned(),
        "a.b.c".to_owned(),
        "e30.e30.".to_owned(),
        crate::support::sign(&good),
        idp.sign(&other),
        idp.sign(&with(good.clone(), "exp", json!(expired))),
    ] {
        let body = json!({ "provider": "google", "id_token": text });
        expect_error(
            &sign_in(&api, body).await,
            "invalid request",
            "Bad ID token",
        );
    }
    let theirs = idp.sign(&with(good.clone(), "aud", json!("theirs")));
    let body = json!({ "provider": "google", "id_token": theirs });
    let text = "Unacceptable audience in id_token: [theirs]";
    expect_error(&sign_in(&api, body).await, "invalid request", text);

    assert_eq!(idp.count_requests(), 0);
    let body = json!({ "provider": "google", "id_token": idp.sign(&good) });
    sign_in(&api, body).await.ok();
    assert_eq!(idp.count_requests(), 2, "discovery and keys");
}

#[tokio::test]
async fn a_nonce_has_to_be_the_one_that_was_hashed() {
    let (api, idp) = google(&[]).await;
    let plain = idp.sign(&token_claims(&api, &idp));
    let hashed = with(token_claims(&api, &idp), "nonce", json!(nonce_hash()));
    let hashed = idp.sign(&hashed);
    let bare = with(token_claims(&api, &idp), "nonce", json!("raw-nonce"));
    let bare = idp.sign(&bare);
    let sign_in_with = async |token: &str, nonce: &str| {
        let body = json!({ "provider": "google", "id_token": token, "nonce": nonce });
        sign_in(&api, body).await
    };
    let both = "Passed nonce and nonce in id_token should either both exist or not.";

    expect_error(
        &sign_in_with(&plain, "raw-nonce").await,
        "invalid request",
        both,
    );
    expect_error(&sign_in_with(&hashed, "").await, "invalid request", both);
    expect_error(
        &sign_in_with(&hashed, "other").await,
        "invalid nonce",
        "Nonces mismatch",
    );
    expect_error(
        &sign_in_with(&hashed, &nonce_hash()).await,
        "invalid nonce",
        "Nonces mismatch",
    );
    expect_error(
        &sign_in_with(&bare, "raw-nonce").await,
        "invalid nonce",
        "Nonces mismatch",
    );
    sign_in_with(&hashed, "raw-nonce").await.ok();
    sign_in_with(&plain, "").await.ok();
}

#[tokio::test]
async fn a_nonce_need_not_be_checked_where_the_project_says_so() {
    let (api, idp) = google(&[("auth.external.google.skip_nonce_check", "true")]).await;
    let hashed = with(token_claims(&api, &idp), "nonce", json!(nonce_hash()));

    let body = json!({ "provider": "google", "id_token": idp.sign(&hashed) });
    sign_in(&api, body).await.ok();
}

#[tokio::test]
async fn an_invalid_token_is_rejected_whatever_is_wrong_with_it() {
    let (api, idp) = google(&[]).await;
    let now = api.now().unix_timestamp();
    let signed = |name: &str, value: Value| idp.sign(&with(token_claims(&api, &idp), name, value));
    let stranger = Idp::start().await;
    let public = idp.public_key();
    let secret = public["x"].as_str().expect("a coordinate");
    let shared = plinth_token::SigningKey::from_shared_secret(secret.as_bytes(), None);
    let shared = shared
        .expect("a key")
        .sign(&token_claims(&api, &idp))
        .expect("a token");
    let encode = |text: String| data_encoding::BASE64URL_NOPAD.encode(text.as_bytes());
    let header = encode(json!({ "alg": "none", "typ": "JWT" }).to_string());
    let unsigned = format!("{header}.{}.", encode(token_claims(&api, &idp).to_string()));

    for token in [
        "x".to_owned(),
        "a.b.c".to_owned(),
        signed("iss", json!("https://evil.test")),
        signed("exp", json!(now - 3600)),
        signed("exp", json!("soon")),
        signed("exp", Value::Null),
        stranger.sign(&token_claims(&api, &idp)),
        shared,
        unsigned,
    ] {
        let body = json!({ "provider": "google", "id_token": token });
        expect_error(
            &sign_in(&api, body).await,
            "invalid request",
            "Bad ID token",
        );
    }
    for (audience, shown) in [(json!("else"), "[else]"), (json!(["a", "b"]), "[a b]")] {
        let body = json!({ "provider": "google", "id_token": signed("aud", audience) });
        let text = format!("Unacceptable audience in id_token: {shown}");
        expect_error(&sign_in(&api, body).await, "invalid request", &text);
    }
    let body = json!({ "provider": "google", "id_token": signed("sub", json!("")) });
    expect_error(
        &sign_in(&api, body).await,
        "invalid request",
        "Missing sub claim in id_token",
    );
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn every_client_id_of_the_project_is_an_audience() {
    let ids = ("auth.external.google.client_id", "web, android ,ios");
    let (api, idp) = google(&[ids]).await;

    for (audience, is_ours) in [
        ("web", true),
        ("android", true),
        ("ios", true),
        ("x", false),
    ] {
        let claims = with(token_claims(&api, &idp), "aud", json!(audience));
        let body = json!({ "provider": "google", "id_token": idp.sign(&claims) });
        assert_eq!(
            sign_in(&api, body).await.status == 200,
            is_ours,
            "{audience}"
        );
    }
    // Google's SDKs put the platform's client here.
    let mut claims = with(token_claims(&api, &idp), "aud", json!("web"));
    claims["azp"] = json!("another-platform");
    let body = json!({ "provider": "google", "id_token": idp.sign(&claims) });
    sign_in(&api, body).await.ok();
}

#[tokio::test]
async fn an_access_token_has_to_belong_to_the_id_token() {
    let (api, idp) = google(&[]).await;
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"access");
    let half = data_encoding::BASE64URL_NOPAD.encode(&hash.as_ref()[..16]);
    let with_hash = idp.sign(&with(token_claims(&api, &idp), "at_hash", json!(half)));
    let without = idp.sign(&token_claims(&api, &idp));
    let sign_in_with = async |token: &str, access: &str| {
        let body = json!({ "provider": "google", "id_token": token, "access_token": access });
        sign_in(&api, body).await
    };

    expect_error(
        &sign_in_with(&with_hash, "other").await,
        "invalid request",
        "Bad ID token",
    );
    sign_in_with(&with_hash, "access").await.ok();
    sign_in_with(&with_hash, "").await.ok();
    sign_in_with(&without, "other").await.ok();
}

#[tokio::test]
async fn disabled_or_unknown_providers_are_rejected() {
    let (api, idp) = google(&[("auth.external.google.enabled", "false")]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));

    let body = json!({ "provider": "google", "id_token": id_token });
    sign_in(&api, body)
        .await
        .expect_error(400, "provider_disabled");
    for body in [
        json!({ "provider": "github", "id_token": id_token }),
        json!({ "provider": "nobody", "id_token": id_token }),
        json!({ "provider": "linkedin_oidc", "id_token": id_token }),
        json!({ "issuer": "https://evil.test", "client_id": "c", "id_token": id_token }),
        json!({ "provider": "custom:none", "id_token": id_token }),
        json!({ "provider": "azure", "id_token": id_token }),
    ] {
        sign_in(&api, body)
            .await
            .expect_error(400, "validation_failed");
    }
}

#[tokio::test]
async fn an_issuer_of_another_provider_is_rejected() {
    let (api, idp) = google(&[]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));

    let wrong = json!({ "provider": "google", "issuer": "https://x.test", "id_token": id_token });
    sign_in(&api, wrong)
        .await
        .expect_error(400, "validation_failed");
    let right = json!({ "provider": "google", "issuer": idp.url, "id_token": id_token });
    sign_in(&api, right).await.ok();
}

#[tokio::test]
async fn listed_issuers_are_taken_for_the_client_that_is_named() {
    let idp = Idp::start().await;
    idp.publish(&idp.url);
    let listed = ("plinth.auth.external.id_token_issuers", idp.url.as_str());
    let api = Api::start(&[listed]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));
    let body =
        |client: &str| json!({ "issuer": idp.url, "client_id": client, "id_token": id_token });

    let tokens = sign_in(&api, body(CLIENT_ID)).await.ok();
    assert_eq!(providers(&tokens["user"]), json!([idp.url]));
    assert_eq!(sign_in(&api, body("else")).await.status, 400);
}

/// An attacker's app at the same provider gets tokens of its users.
#[tokio::test]
async fn a_providers_issuer_is_never_taken_for_a_client_that_the_caller_names() {
    let idp = Idp::start().await;
    let listed = ("plinth.auth.external.id_token_issuers", idp.url.as_str());
    let api = super::start_with(&[("google", &idp)], &[listed]).await;
    idp.publish(&idp.url);
    let theirs = with(token_claims(&api, &idp), "aud", json!("attackers-app"));
    let body = |provider: &str| {
        json!({
            "provider": provider, "issuer": idp.url, "client_id": "attackers-app",
            "id_token": idp.sign(&theirs),
        })
    };

    for provider in ["github", "linkedin_oidc", "twitter"] {
        let reply = sign_in(&api, body(provider)).await;
        reply.expect_error(400, "validation_failed");
    }
    for provider in ["", "google", "nobody"] {
        let text = "Unacceptable audience in id_token: [attackers-app]";
        expect_error(
            &sign_in(&api, body(provider)).await,
            "invalid request",
            text,
        );
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

/// Google and Apple are listed by default.
#[tokio::test]
async fn well_known_issuers_are_taken_for_the_projects_clients_only() {
    let (api, idp) = google(&[]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));
    for issuer in ["https://accounts.google.com", "https://appleid.apple.com"] {
        for provider in ["github", "bitbucket"] {
            let body = json!({
                "provider": provider, "issuer": issuer, "client_id": "attackers-app",
                "id_token": id_token,
            });
            let reply = sign_in(&api, body).await;
            reply.expect_error(400, "validation_failed");
        }
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_not_the_callers_fault() {
    let (api, idp) = start("google", &[]).await;
    let id_token = idp.sign(&token_claims(&api, &idp));

    let body = json!({ "provider": "google", "id_token": id_token });
    sign_in(&api, body)
        .await
        .expect_error(500, "unexpected_failure");
}

#[tokio::test]
async fn people_are_linked_as_in_the_redirect_flow() {
    let (api, idp) = google(&[CONFIRM]).await;
    let id_token = |is_verified: bool| {
        let claims = with(
            token_claims(&api, &idp),
            "email_verified",
            json!(is_verified),
        );
        json!({ "provider": "google", "id_token": idp.sign(&claims) })
    };

    let reply = sign_in(&api, id_token(false)).await;
    reply.expect_error(422, "provider_email_needs_verification");
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    assert_eq!(api.mails().await.len(), 1);
    let tokens = sign_in(&api, id_token(true)).await.ok();
    assert!(tokens["user"]["email_confirmed_at"].is_string());
    api.execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;
    sign_in(&api, id_token(true))
        .await
        .expect_error(403, "user_banned");
}

#[tokio::test]
async fn a_token_may_be_linked_to_the_signed_in_user() {
    let (api, idp) = google(&[]).await;
    let tokens = api.sign_up("bob@mail.dev", "correct horse").await;
    let id_token = idp.sign(&token_claims(&api, &idp));
    let body = json!({ "provider": "google", "id_token": id_token, "link_identity": true });
    let link = || api.post("/token?grant_type=id_token", body.clone());

    link().await.expect_error(401, "no_authorization");
    link().bearer("nonsense").await.expect_error(403, "bad_jwt");
    link().service_role().await.expect_error(403, "bad_jwt");
    let linked = link().session(&tokens).await.ok();
    assert_eq!(linked["user"]["id"], tokens["user"]["id"]);
    assert_eq!(linked["user"]["email"], "bob@mail.dev");
    assert_eq!(providers(&linked["user"]), json!(["email", "google"]));
    link()
        .session(&tokens)
        .await
        .expect_error(422, "identity_already_exists");
}

/// A session alone does not link the identity.
#[tokio::test]
async fn without_link_identity_a_token_only_signs_in() {
    let (api, idp) = google(&[LINKING]).await;
    let tokens = api.sign_up("bob@mail.dev", "correct horse").await;
    let id_token = idp.sign(&token_claims(&api, &idp));
    let body = json!({ "provider": "google", "id_token": id_token });

    let signed_in = api
        .post("/token?grant_type=id_token", body)
        .session(&tokens)
        .await
        .ok();

    assert_ne!(signed_in["user"]["id"], tokens["user"]["id"]);
}

#[tokio::test]
async fn apple_takes_tokens_of_apps_too() {
    let (api, idp) = start(
        "apple",
        &[("plinth.auth.external.ios_bundle_id", "dev.mail.app")],
    )
    .await;
    idp.publish(&idp.url);
    let claims = with(token_claims(&api, &idp), "aud", json!("dev.mail.app"));
    let claims = with(claims, "email_verified", json!("true"));

    let body = json!({ "provider": "apple", "id_token": idp.sign(&claims) });
    let tokens = sign_in(&api, body).await.ok();

    assert_eq!(tokens["user"]["email"], "ann@mail.dev");
}

#[tokio::test]
async fn facebooks_nonces_are_not_compared() {
    let (api, idp) = start("facebook", &[]).await;
    idp.publish(&idp.url);
    let claims = with(token_claims(&api, &idp), "nonce", json!("whatever"));

    let body = json!({ "provider": "facebook", "id_token": idp.sign(&claims) });
    let tokens = sign_in(&api, body).await.ok();

    assert_eq!(identity(&tokens["user"], "facebook")["id"], "9");
}
