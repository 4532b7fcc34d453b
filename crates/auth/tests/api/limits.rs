//! Rate limits, time limit and size limit (auth contract §1.2, §7.3, §8.1).

use std::time::Duration;

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

const MANY: usize = 31;

fn unknown() -> serde_json::Value {
    json!({ "email": "nobody@mail.dev" })
}

/// Sends the request until it is rejected; returns the number of accepted ones.
async fn count_until_rejected(send: impl AsyncFn() -> crate::support::Reply) -> usize {
    for count in 0..200 {
        let reply = send().await;
        if reply.status == 429 {
            reply.expect_error(429, "over_request_rate_limit");
            return count;
        }
    }
    panic!("never rejected");
}

#[tokio::test]
async fn thirty_requests_may_come_at_once_and_one_more_every_ten_seconds() {
    let api = Api::start(&[]).await;
    let recover = async || api.post("/recover", unknown()).await;

    assert_eq!(count_until_rejected(recover).await, 30);

    api.post("/recover", unknown())
        .client_ip("192.0.2.9")
        .await
        .ok();
    api.post(
        "/otp",
        json!({ "email": "n@mail.dev", "create_user": false }),
    )
    .await
    .expect_error(422, "otp_disabled");
    api.advance(Duration::from_secs(10));
    assert_eq!(count_until_rejected(recover).await, 1);
    api.advance(Duration::from_secs(24 * 3600));
    assert_eq!(
        count_until_rejected(recover).await,
        30,
        "no more is saved up"
    );
}

#[tokio::test]
async fn settings_choose_the_rate() {
    let api = Api::start(&[("auth.rate_limit.sign_in_sign_ups", "300")]).await;
    let recover = async || api.post("/recover", unknown()).await;

    assert_eq!(count_until_rejected(recover).await, 30, "at once");
    api.advance(Duration::from_secs(10));
    assert_eq!(count_until_rejected(recover).await, 10);
}

/// Invalid requests count too.
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
        assert_eq!(count_until_rejected(ask).await, 30, "{path}");
    }
    assert_eq!(count_until_rejected(update).await, 30);
    api.advance(Duration::from_secs(10));
    assert_eq!(
        count_until_rejected(update).await,
        1,
        "thirty per five minutes"
    );
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
        assert_eq!(count_until_rejected(sign_in(grant)).await, 30, "{grant}");
        for other in ["password", "pkce", "id_token"] {
            assert_eq!(
                count_until_rejected(sign_in(other)).await,
                0,
                "{grant}, {other}"
            );
        }
    }
    api.advance(Duration::from_secs(10));
    let guess = sign_in("password");
    assert_eq!(count_until_rejected(guess).await, 5, "150 per five minutes");
}

/// Clients take a rejection for the end of their session (client contract S96).
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

    // Sign-ins and guesses from the same address do not count.
    let body = json!({ "email": "ann@mail.dev", "password": "a guess" });
    let guess = async || api.post("/token?grant_type=password", body.clone()).await;
    assert_eq!(count_until_rejected(guess).await, 30);
    assert_eq!(
        count_until_rejected(refresh(json!("aaaaaaaaaaaa"))).await,
        30
    );
    assert_eq!(count_until_rejected(refresh(one.clone())).await, 30);

    let refresh_other = refresh(other);
    for _ in 0..8 {
        refresh_other().await.ok();
        api.advance(Duration::from_secs(26) / 8);
    }
    assert_eq!(
        count_until_rejected(refresh(one)).await,
        2,
        "26 seconds later"
    );
}

#[tokio::test]
async fn anonymous_sign_ups_are_counted_by_the_hour() {
    let api = Api::start(&[
        ("auth.enable_anonymous_sign_ins", "true"),
        ("auth.rate_limit.anonymous_users", "2"),
    ])
    .await;
    let sign_up = async || api.post("/signup", json!({})).await;

    assert_eq!(count_until_rejected(sign_up).await, 2);
    api.advance(Duration::from_secs(1800));
    assert_eq!(count_until_rejected(sign_up).await, 1);
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

    assert_eq!(count_until_rejected(recover("one")).await, 30);
    assert_eq!(count_until_rejected(recover("two, one")).await, 30);
    assert_eq!(
        count_until_rejected(recover("two")).await,
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
        reply.expect_error(403, "otp_expired");
    }
    let reply = api.post("/verify", body).await;
    reply.expect_error(429, "over_request_rate_limit");
}

const SHARED: (&str, &str) = ("plinth.auth.rate_limit.shared", "true");

#[tokio::test]
async fn nodes_count_guesses_together_where_settings_say_so() {
    let code = json!({ "type": "email", "email": "ann@mail.dev", "token": "123456" });
    let password = json!({ "email": "ann@mail.dev", "password": "a guess" });
    let refresh = json!({ "refresh_token": "aaaaaaaaaaaa" });
    for (settings, on_other_node) in [(vec![SHARED], 0), (vec![], 30)] {
        for (path, body) in [
            ("/verify", &code),
            ("/token?grant_type=password", &password),
        ] {
            let api = Api::start(&settings).await;
            let other = api.another_node(&settings).await;
            let guess = async |api: &Api| api.post(path, body.clone()).await;

            assert_eq!(count_until_rejected(async || guess(&api).await).await, 30);
            let accepted = count_until_rejected(async || guess(&other).await).await;

            assert_eq!(accepted, on_other_node, "{path} {settings:?}");
        }
    }

    let api = Api::start(&[SHARED]).await;
    let other = api.another_node(&[SHARED]).await;
    let guess = async |api: &Api| {
        let call = api.post("/token?grant_type=refresh_token", refresh.clone());
        call.await
    };
    assert_eq!(count_until_rejected(async || guess(&api).await).await, 150);
    assert_eq!(count_until_rejected(async || guess(&other).await).await, 0);
    // Ten seconds bring back five.
    api.advance(Duration::from_secs(10));
    assert_eq!(count_until_rejected(async || guess(&other).await).await, 5);
    assert_eq!(count_until_rejected(async || guess(&api).await).await, 0);

    api.advance(Duration::from_secs(2 * 3600 + 1));
    let left = "select count(*) from plinth.auth_rate_limits";
    assert_eq!(api.count(left).await, 1);
    api.clean_up().await;
    assert_eq!(api.count(left).await, 0);
}

#[tokio::test]
async fn concurrent_requests_of_several_nodes_take_each_token_once() {
    let api = Api::start(&[SHARED]).await;
    let other = api.another_node(&[SHARED]).await;
    let body = json!({ "type": "email", "email": "ann@mail.dev", "token": "123456" });
    let guesses = (0..50).map(|number| {
        let node = if number % 2 == 0 { &api } else { &other };
        node.post("/verify", body.clone())
    });

    let calls = guesses.map(|call| async move { call.await.status.as_u16() });
    let statuses = futures_util::future::join_all(calls).await;

    let accepted = statuses.iter().filter(|status| **status == 403).count();
    assert_eq!(accepted, 30, "{statuses:?}");
}

#[tokio::test]
async fn refreshes_of_a_session_are_counted_by_all_nodes() {
    let api = Api::start(&[SHARED]).await;
    let other = api.another_node(&[SHARED]).await;
    let mut tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    for number in 0..150 {
        let node = if number % 2 == 0 { &api } else { &other };
        let body = json!({ "refresh_token": tokens["refresh_token"] });
        let reply = node.post("/token?grant_type=refresh_token", body).await;
        tokens = reply.ok();
    }

    let body = json!({ "refresh_token": tokens["refresh_token"] });
    let reply = api.post("/token?grant_type=refresh_token", body).await;

    reply.expect_error(429, "over_request_rate_limit");
}

/// The official local stack has no limits by address.
#[tokio::test]
async fn on_a_developers_machine_limits_by_address_are_those_that_were_configured() {
    let many = async |api: &Api, client: &str| {
        for _ in 0..40 {
            let call = api.post("/recover", unknown()).client_ip(client);
            if call.await.status == 429 {
                return false;
            }
        }
        true
    };
    let api = Api::start(&[]).await.local();
    assert!(many(&api, "127.0.0.1").await);
    assert!(!many(&api, "192.0.2.1").await, "forwarded from elsewhere");
    let by_proxy = async || {
        let call = api.post("/recover", unknown()).client_ip("127.0.0.1");
        call.header("forwarded", "for=192.0.2.1").await
    };
    assert_eq!(count_until_rejected(by_proxy).await, 30, "through a tunnel");
    let header = ("plinth.auth.rate_limit.client_header", "X-Real-Client");
    let behind_proxy = Api::start(&[header]).await.local();
    assert!(!many(&behind_proxy, "127.0.0.1").await, "behind a proxy");
    let written = ("auth.rate_limit.sign_in_sign_ups", "30");
    let api = Api::start(&[written]).await.local();
    assert!(
        many(&api, "127.0.0.1").await,
        "the default, as init writes it"
    );
    let changed = ("auth.rate_limit.sign_in_sign_ups", "29");
    let api = Api::start(&[changed]).await.local();
    assert!(!many(&api, "127.0.0.1").await);
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
        assert_eq!(count_until_rejected(ask).await, 30, "{path}");
    }
    api.advance(Duration::from_secs(30));
    let register = async || api.post("/oauth/clients/register", json!({})).await;
    assert_eq!(
        count_until_rejected(register).await,
        1,
        "ten per five minutes"
    );
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
    reply.expect_error(429, "over_email_send_rate_limit");
    assert_eq!(api.count("select count(*) from auth.users").await, 2);

    api.advance(Duration::from_secs(3600));
    sign_up("c").await.ok();
}

#[tokio::test]
async fn a_body_may_have_a_mebibyte() {
    let api = Api::start(&[]).await;

    let body = json!({ "email": "a@mail.dev", "data": "x".repeat(1 << 20) });
    let reply = api.post("/recover", body).await;

    reply.expect_error(413, "request_entity_too_large");
}
