//! How often things may be asked and sent, how long and how large (auth contract §1.2, §7.3, §8.1).

use std::time::Duration;

use serde_json::json;

use crate::support::Api;

const MANY: usize = 31;

fn unknown() -> serde_json::Value {
    json!({ "email": "nobody@mail.dev" })
}

/// Sends the request until it is refused; how many went through.
async fn until_refused(send: impl AsyncFn() -> crate::support::Reply) -> usize {
    for count in 0..200 {
        let reply = send().await;
        if reply.status == 429 {
            reply.refuses(429, "over_request_rate_limit");
            return count;
        }
    }
    panic!("never refused");
}

#[tokio::test]
async fn thirty_requests_may_come_at_once_and_one_more_every_ten_seconds() {
    let api = Api::start(&[]).await;
    let recover = async || api.post("/recover", unknown()).await;

    assert_eq!(until_refused(recover).await, 30);

    api.post("/recover", unknown()).from("192.0.2.9").await.ok();
    api.post(
        "/otp",
        json!({ "email": "n@mail.dev", "create_user": false }),
    )
    .await
    .refuses(422, "otp_disabled");
    api.advance(Duration::from_secs(10));
    assert_eq!(until_refused(recover).await, 1);
    api.advance(Duration::from_secs(24 * 3600));
    assert_eq!(until_refused(recover).await, 30, "no more is saved up");
}

#[tokio::test]
async fn settings_choose_the_rate() {
    let api = Api::start(&[("auth.rate_limit.sign_in_sign_ups", "300")]).await;
    let recover = async || api.post("/recover", unknown()).await;

    assert_eq!(until_refused(recover).await, 30, "at once");
    api.advance(Duration::from_secs(10));
    assert_eq!(until_refused(recover).await, 10);
}

/// None of these gets further than to what is wrong with it, and all of them count.
#[tokio::test]
async fn whatever_sends_something_has_a_bucket_of_its_own() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let update = async || {
        let call = api.put("/user", json!({ "password": "" }));
        call.session(&tokens).await
    };

    api.advance(Duration::from_secs(300));
    for path in ["/signup", "/otp", "/magiclink", "/recover", "/resend"] {
        let ask = async || api.post(path, json!({ "email": "nobody" })).await;
        assert_eq!(until_refused(ask).await, 30, "{path}");
    }
    assert_eq!(until_refused(update).await, 30);
    api.advance(Duration::from_secs(10));
    assert_eq!(until_refused(update).await, 1, "thirty per five minutes");
}

#[tokio::test]
async fn sign_ins_of_every_kind_share_one_bucket() {
    let api = Api::start(&[]).await;
    let sign_in = |grant: &'static str| {
        let api = &api;
        async move || {
            let body = json!({
                "email": "nobody@mail.dev", "password": "a guess", "auth_code": "a guess",
                "code_verifier": "a guess", "provider": "google", "id_token": "a guess",
            });
            api.post(&format!("/token?grant_type={grant}"), body).await
        }
    };

    for grant in ["password", "pkce", "id_token"] {
        api.advance(Duration::from_secs(300));
        assert_eq!(until_refused(sign_in(grant)).await, 30, "{grant}");
        for other in ["password", "pkce", "id_token"] {
            assert_eq!(until_refused(sign_in(other)).await, 0, "{grant}, {other}");
        }
    }
    api.advance(Duration::from_secs(10));
    let guess = sign_in("password");
    assert_eq!(until_refused(guess).await, 5, "150 per five minutes");
}

/// Clients take a refusal for the end of their session (client contract S96).
#[tokio::test]
async fn refreshes_are_counted_by_session_and_never_by_address() {
    let api = Api::start(&[("auth.rate_limit.token_refresh", "30")]).await;
    let (one, other) = (
        api.sign_up("ann@mail.dev", "correct horse").await,
        api.sign_up("bob@mail.dev", "correct horse").await,
    );
    let refresh = |token: serde_json::Value| {
        let api = &api;
        async move || {
            let body = json!({ "refresh_token": token });
            api.post("/token?grant_type=refresh_token", body).await
        }
    };
    let (one, other) = (one["refresh_token"].clone(), other["refresh_token"].clone());

    // Neither sign-ins from the same address nor guesses count.
    let body = json!({ "email": "ann@mail.dev", "password": "a guess" });
    let guess = async || api.post("/token?grant_type=password", body.clone()).await;
    assert_eq!(until_refused(guess).await, 30);
    assert_eq!(until_refused(refresh(json!("aaaaaaaaaaaa"))).await, 30);
    assert_eq!(until_refused(refresh(one.clone())).await, 30);

    let refresh_other = refresh(other);
    for _ in 0..8 {
        refresh_other().await.ok();
        api.advance(Duration::from_secs(26) / 8);
    }
    assert_eq!(until_refused(refresh(one)).await, 2, "26 seconds later");
}

#[tokio::test]
async fn anonymous_sign_ups_are_counted_by_the_hour() {
    let api = Api::start(&[
        ("auth.enable_anonymous_sign_ins", "true"),
        ("auth.rate_limit.anonymous_users", "2"),
    ])
    .await;
    let sign_up = async || api.post("/signup", json!({})).await;

    assert_eq!(until_refused(sign_up).await, 2);
    api.advance(Duration::from_secs(1800));
    assert_eq!(until_refused(sign_up).await, 1);
}

#[tokio::test]
async fn a_header_names_the_client_where_settings_say_so() {
    let api = Api::start(&[("plinth.auth.rate_limit.client_header", "X-Real-Client")]).await;
    let recover = |client: &'static str| {
        let api = &api;
        async move || {
            let call = api.post("/recover", unknown());
            call.header("x-real-client", client).await
        }
    };

    assert_eq!(until_refused(recover("one")).await, 30);
    assert_eq!(until_refused(recover("two, one")).await, 30);
    assert_eq!(
        until_refused(recover("two")).await,
        0,
        "the first value counts"
    );
}

#[tokio::test]
async fn no_client_may_try_codes_without_end() {
    let api = Api::start(&[]).await;
    let body = json!({ "type": "email", "email": "ann@mail.dev", "token": "123456" });

    for _ in 1..MANY {
        let reply = api.post("/verify", body.clone()).await;
        reply.refuses(403, "otp_expired");
    }
    let reply = api.post("/verify", body).await;
    reply.refuses(429, "over_request_rate_limit");
}

#[tokio::test]
async fn passkeys_and_registrations_of_applications_are_counted_too() {
    let api = Api::start(&[
        ("auth.passkey.enabled", "true"),
        ("auth.oauth_server.enabled", "true"),
        ("auth.oauth_server.allow_dynamic_registration", "true"),
    ])
    .await;

    for path in [
        "/passkeys/authentication/options",
        "/oauth/clients/register",
    ] {
        let ask = async || api.post(path, json!({})).await;
        assert_eq!(until_refused(ask).await, 30, "{path}");
    }
    api.advance(Duration::from_secs(30));
    let register = async || api.post("/oauth/clients/register", json!({})).await;
    assert_eq!(until_refused(register).await, 1, "ten per five minutes");
}

#[tokio::test]
async fn the_whole_project_sends_so_many_mails_in_an_hour() {
    let api = Api::start(&[
        ("auth.email.enable_confirmations", "true"),
        ("auth.rate_limit.email_sent", "2"),
    ])
    .await;
    let sign_up = async |name: &str| {
        let body = json!({ "email": format!("{name}@mail.dev"), "password": "correct horse" });
        api.post("/signup", body).await
    };

    sign_up("a").await.ok();
    sign_up("b").await.ok();
    let reply = sign_up("c").await;
    reply.refuses(429, "over_email_send_rate_limit");
    assert_eq!(api.count("select count(*) from auth.users").await, 2);

    api.advance(Duration::from_secs(3600));
    sign_up("c").await.ok();
}

#[tokio::test]
async fn a_body_may_have_a_mebibyte() {
    let api = Api::start(&[]).await;

    let body = json!({ "email": "a@mail.dev", "data": "x".repeat(1 << 20) });
    let reply = api.post("/recover", body).await;

    reply.refuses(413, "request_entity_too_large");
}
