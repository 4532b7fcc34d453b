//! Client contract §1.9, §1.12, §1.13 and §3.2: what is sent and stored, and the events.

use plinth_client::auth::{
    Channel, EmailOtp, ErrorCode, FromRedirect, Otp, PhoneOtp, Provider, RedirectType, Resend,
    SignUp, Sso, pkce,
};
use plinth_client::{AuthError, SessionStore};
use serde_json::{Value, json};

use crate::support::{Bench, KEY, NOW_S, Reply, received_events, rejected, token_response};

const TOKEN: &str = "POST /auth/v1/token";

fn signed_in() -> Reply {
    Reply::json(200, token_response("new", NOW_S + 3600))
}

/// The verifier that waits in the fixed place.
async fn latest_verifier(bench: &Bench) -> String {
    let text = bench
        .store
        .get(&format!("{KEY}-code-verifier"))
        .await
        .expect("a stored secret")
        .expect("a stored secret");
    serde_json::from_str(&text).expect("a stored secret")
}

#[tokio::test]
async fn signing_up_sends_the_challenge_and_may_wait_for_a_confirmation() {
    let bench = Bench::new();
    bench.server.on(
        "POST /auth/v1/signup",
        [Reply::json(200, json!({ "id": "u" }))],
    );
    let client = bench.client();

    let sign_up = client
        .auth()
        .sign_up()
        .email("a@b.c")
        .password("p")
        .captcha("c");
    let sign_up = sign_up
        .data(&json!({ "n": 1 }))
        .redirect_to("https://app.test/?x=1");
    let SignUp::ConfirmationSent(user) = sign_up.send().await.unwrap() else {
        panic!("no user is signed in yet");
    };

    assert_eq!(user.id(), "u");
    let asked = bench.server.last();
    assert_eq!(asked.query, "redirect_to=https%3A%2F%2Fapp.test%2F%3Fx%3D1");
    let verifier = latest_verifier(&bench).await;
    assert_eq!(
        asked.json(),
        json!({
            "email": "a@b.c",
            "password": "p",
            "data": { "n": 1 },
            "gotrue_meta_security": { "captcha_token": "c" },
            "code_challenge": pkce::challenge_of(&verifier),
            "code_challenge_method": "s256",
        })
    );
}

#[tokio::test]
async fn signing_up_at_once_leaves_no_pending_flow() {
    let bench = Bench::new();
    bench.server.on("POST /auth/v1/signup", [signed_in()]);
    let client = bench.client();

    let signed_up = client
        .auth()
        .sign_up()
        .email("a@b.c")
        .password("p")
        .send()
        .await
        .unwrap();

    assert!(matches!(signed_up, SignUp::Session(_)));
    assert_eq!(bench.store.keys(), [KEY]);
}

#[tokio::test]
async fn s52_a_sign_in_that_cannot_start_leaves_no_state() {
    let bench = Bench::new();
    for route in ["signup", "otp", "recover", "resend", "sso"] {
        let route = format!("POST /auth/v1/{route}");
        bench
            .server
            .on(&route, [rejected(429, "over_email_send_rate_limit")]);
    }
    let auth = bench.client().auth().clone();
    let email = "a@b.c".to_owned();

    auth.sign_up()
        .email("a@b.c")
        .password("p")
        .send()
        .await
        .unwrap_err();
    auth.sign_in_with_otp()
        .email("a@b.c")
        .send()
        .await
        .unwrap_err();
    auth.reset_password_for_email("a@b.c")
        .send()
        .await
        .unwrap_err();
    auth.resend(Resend::Signup { email })
        .send()
        .await
        .unwrap_err();
    auth.sign_in_with_sso(Sso::Domain("b.c".to_owned()))
        .send()
        .await
        .unwrap_err();

    assert_eq!(bench.server.asked().len(), 5);
    assert!(bench.store.keys().is_empty());
}

#[tokio::test]
async fn neither_an_address_nor_a_phone_is_rejected_here() {
    let bench = Bench::new();
    let auth = bench.client().auth().clone();

    for error in [
        auth.sign_up()
            .password("p")
            .send()
            .await
            .map(drop)
            .unwrap_err(),
        auth.sign_in_with_password()
            .password("p")
            .send()
            .await
            .map(drop)
            .unwrap_err(),
        auth.sign_in_with_otp().send().await.map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, AuthError::InvalidInput(_)), "{error:?}");
        assert_eq!(error.status(), Some(400));
    }
    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s85_a_weak_password_is_reported_beside_the_session() {
    let bench = Bench::new();
    let mut response = token_response("new", NOW_S + 3600);
    response["weak_password"] = json!({ "message": "too short", "reasons": ["length"] });
    bench.server.on(TOKEN, [Reply::json(200, response)]);
    let client = bench.client();

    let sign_in = client
        .auth()
        .sign_in_with_password()
        .phone("491")
        .password("p");
    let signed_in = sign_in.send().await.unwrap();

    assert_eq!(signed_in.weak_password.unwrap().reasons, ["length"]);
    let asked = bench.server.last();
    assert_eq!(asked.query, "grant_type=password");
    assert_eq!(asked.json(), json!({ "phone": "491", "password": "p" }));
    assert!(
        bench
            .stored_session()
            .await
            .unwrap()
            .member("weak_password")
            .is_some()
    );
}

#[tokio::test]
async fn a_response_without_a_session_is_an_error() {
    let bench = Bench::new();
    let responses = [
        Reply::json(200, json!({ "id": "u" })),
        Reply::text(200, "<html>"),
        Reply::json(
            200,
            json!({ "access_token": "a", "refresh_token": "r", "expires_in": 60 }),
        ),
    ];
    bench.server.on(TOKEN, responses);
    let auth = bench.client().auth().clone();
    let sign_in = || {
        auth.sign_in_with_password()
            .email("a@b.c")
            .password("p")
            .send()
    };

    assert!(matches!(
        sign_in().await,
        Err(AuthError::InvalidTokenResponse)
    ));
    let unreadable = sign_in().await.unwrap_err();
    assert!(matches!(unreadable, AuthError::Retryable { status: 0, .. }));
    assert!(matches!(
        sign_in().await,
        Err(AuthError::InvalidTokenResponse)
    ));
    assert_eq!(bench.stored().await, None);
}

#[tokio::test]
async fn links_and_codes_are_sent_by_mail_or_phone() {
    let bench = Bench::new();
    bench.server.on(
        "POST /auth/v1/otp",
        [Reply::json(200, json!({ "message_id": "m1" }))],
    );
    let auth = bench.client().auth().clone();

    auth.sign_in_with_otp()
        .email("a@b.c")
        .create_user(false)
        .send()
        .await
        .unwrap();
    let by_mail = bench.server.last().json();
    assert_eq!(
        (&by_mail["email"], &by_mail["create_user"]),
        (&json!("a@b.c"), &json!(false))
    );
    assert!(by_mail["code_challenge"].is_string());

    let sent = auth
        .sign_in_with_otp()
        .phone("491")
        .channel(Channel::Whatsapp)
        .send()
        .await;
    assert_eq!(sent.unwrap().as_deref(), Some("m1"));
    assert_eq!(
        bench.server.last().json(),
        json!({ "phone": "491", "create_user": true, "channel": "whatsapp" })
    );
}

#[tokio::test]
async fn s63_codes_are_verified_and_say_what_they_were_for() {
    let otp = |kind| Otp::Email {
        email: "a@b.c".to_owned(),
        token: "123456".to_owned(),
        kind,
    };
    let phone = Otp::Phone {
        phone: "491".to_owned(),
        token: "1".to_owned(),
        kind: PhoneOtp::PhoneChange,
    };
    let hash = Otp::TokenHash {
        token_hash: "h".to_owned(),
        kind: EmailOtp::Recovery,
    };
    let by_mail = |kind: &str| json!({ "email": "a@b.c", "token": "123456", "type": kind });
    for (otp, body, event) in [
        (otp(EmailOtp::Email), by_mail("email"), "SIGNED_IN"),
        (
            otp(EmailOtp::Recovery),
            by_mail("recovery"),
            "PASSWORD_RECOVERY",
        ),
        (
            phone,
            json!({ "phone": "491", "token": "1", "type": "phone_change" }),
            "SIGNED_IN",
        ),
        (
            hash,
            json!({ "token_hash": "h", "type": "recovery" }),
            "PASSWORD_RECOVERY",
        ),
    ] {
        let bench = Bench::new();
        bench.server.on("POST /auth/v1/verify", [signed_in()]);
        let client = bench.client();
        let mut events = client.auth().events();
        received_events(&mut events).await;

        let verified = client.auth().verify_otp(otp).send().await.unwrap();

        assert_eq!(bench.stored_session().await, verified.session);
        assert_eq!(bench.server.last().json(), body);
        assert_eq!(received_events(&mut events).await, [event]);
    }
}

#[tokio::test]
async fn s63_half_of_an_address_change_is_neither_user_nor_session() {
    let bench = Bench::new();
    let half = json!({ "msg": "Confirmation link accepted.", "code": 200 });
    bench
        .server
        .on("POST /auth/v1/verify", [Reply::json(200, half)]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    let otp = Otp::TokenHash {
        token_hash: "h".to_owned(),
        kind: EmailOtp::EmailChange,
    };

    let verified = client.auth().verify_otp(otp).send().await.unwrap();

    assert!(verified.session.is_none() && verified.user.is_none());
    assert!(received_events(&mut events).await.is_empty());
}

#[tokio::test]
async fn s64_the_providers_page_is_named_without_a_request() {
    let bench = Bench::new();
    let client = bench.client();

    let start = client.auth().sign_in_with_oauth(Provider::Github);
    let start = start
        .redirect_to("https://app.example.com/auth/callback")
        .scopes("repo gist");
    let start = start
        .query_param("prompt", "consent")
        .build()
        .await
        .unwrap();

    let challenge = pkce::challenge_of(&latest_verifier(&bench).await);
    assert_eq!(
        start.url,
        format!(
            "https://abc.example.co/auth/v1/authorize?provider=github\
             &redirect_to=https%3A%2F%2Fapp.example.com%2Fauth%2Fcallback&scopes=repo+gist\
             &code_challenge={challenge}&code_challenge_method=s256&prompt=consent"
        )
    );
    assert!(pkce::is_flow_id(&start.flow_id));
    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s53_the_code_is_exchanged_with_the_secret_of_its_flow() {
    let bench = Bench::new();
    bench.server.on(TOKEN, [signed_in()]);
    let client = bench
        .builder()
        .append_flow_id(true)
        .auto_refresh(false)
        .build()
        .unwrap();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    let begin = || {
        client
            .auth()
            .sign_in_with_oauth(Provider::Google)
            .redirect_to("app:/cb")
            .build()
    };
    let first = begin().await.unwrap();
    let first_verifier = latest_verifier(&bench).await;
    begin().await.unwrap();
    assert!(
        first
            .url
            .contains(&format!("sb_flow_id%3D{}", first.flow_id))
    );

    let back = format!("app:/cb?code=the-code&sb_flow_id={}", first.flow_id);
    let from = client.auth().session_from_redirect(&back).await.unwrap();

    let FromRedirect::SignedIn(exchanged) = from else {
        panic!("not signed in");
    };
    assert_eq!(exchanged.redirect_type, RedirectType::SignIn);
    let asked = bench.server.last();
    assert_eq!(asked.query, "grant_type=pkce");
    let body = json!({ "auth_code": "the-code", "code_verifier": first_verifier });
    assert_eq!(asked.json(), body);
    assert_eq!(received_events(&mut events).await, ["SIGNED_IN"]);
    assert!(
        !bench
            .store
            .keys()
            .iter()
            .any(|key| key.contains(&first.flow_id))
    );
}

#[tokio::test]
async fn s53_recovery_is_recognised_by_the_stored_secret() {
    let bench = Bench::new();
    bench
        .server
        .on("POST /auth/v1/recover", [Reply::json(200, json!({}))]);
    bench.server.on(TOKEN, [signed_in()]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    client
        .auth()
        .reset_password_for_email("a@b.c")
        .send()
        .await
        .unwrap();
    assert!(latest_verifier(&bench).await.ends_with("/recovery"));

    let exchanged = client.auth().exchange_code("c").send().await.unwrap();

    assert_eq!(exchanged.redirect_type, RedirectType::Recovery);
    assert_eq!(
        bench.server.last().json()["code_verifier"]
            .as_str()
            .unwrap()
            .len(),
        112
    );
    assert_eq!(received_events(&mut events).await, ["PASSWORD_RECOVERY"]);
}

#[tokio::test]
async fn s53_without_a_secret_no_request_is_sent_and_a_failure_uses_it_up() {
    let bench = Bench::new();
    bench.server.on(TOKEN, [rejected(400, "bad_code_verifier")]);
    let auth = bench.client().auth().clone();

    let error = auth.exchange_code("c").send().await.unwrap_err();
    assert!(matches!(error, AuthError::VerifierMissing));
    assert_eq!(
        (error.status(), error.code()),
        (Some(400), Some(ErrorCode::PkceCodeVerifierNotFound))
    );
    assert!(auth.exchange_code("c").flow_id("no").send().await.is_err());
    assert!(bench.server.asked().is_empty());

    let start = auth
        .sign_in_with_oauth(Provider::Google)
        .build()
        .await
        .unwrap();
    let rejected = auth
        .exchange_code("c")
        .flow_id(&start.flow_id)
        .send()
        .await
        .unwrap_err();
    assert_eq!(rejected.code(), Some(ErrorCode::BadCodeVerifier));
    assert!(bench.store.keys().is_empty());
}

#[tokio::test]
async fn s56_errors_in_the_url_are_reported_and_keep_the_session() {
    let bench = Bench::new();
    let stored = bench.store_session(3600).await;
    let auth = bench.client().auth().clone();

    let back =
        "https://a.test/#error=access_denied&error_code=otp_expired&error_description=Too+late";
    let error = auth.session_from_redirect(back).await.unwrap_err();

    assert_eq!(error.to_string(), "Too late");
    assert!(matches!(
        error,
        AuthError::Redirect { error, code, .. } if error == "access_denied" && code == "otp_expired"
    ));
    let error = auth
        .session_from_redirect("https://a.test/?error_description=x")
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        AuthError::Redirect { error, code, .. }
            if error == "unspecified_error" && code == "unspecified_code"
    ));
    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn s57_tokens_in_a_url_are_never_taken() {
    let bench = Bench::new();
    let auth = bench.client().auth().clone();

    let back = "https://a.test/#access_token=a&refresh_token=r&expires_in=3600&token_type=bearer";
    let error = auth.session_from_redirect(back).await.unwrap_err();
    assert!(matches!(error, AuthError::CodeExchange(_)));
    let error = auth
        .session_from_redirect("https://a.test/")
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(500));

    let message = auth
        .session_from_redirect("https://a.test/#message=Half+done")
        .await
        .unwrap();
    assert!(matches!(message, FromRedirect::Message(text) if text == "Half done"));
    assert_eq!(bench.stored().await, None);
}

#[tokio::test]
async fn an_organisations_page_is_asked_for() {
    let bench = Bench::new();
    bench.server.on(
        "POST /auth/v1/sso",
        [Reply::json(200, json!({ "url": "https://idp.test/" }))],
    );
    let auth = bench.client().auth().clone();

    let start = auth
        .sign_in_with_sso(Sso::Provider("id".to_owned()))
        .redirect_to("app:/cb");
    let start = start.send().await.unwrap();

    assert_eq!(start.url, "https://idp.test/");
    let body = bench.server.last().json();
    assert_eq!(
        (&body["provider_id"], &body["redirect_to"]),
        (&json!("id"), &json!("app:/cb"))
    );
    assert_eq!(body["skip_http_redirect"], true);
    assert_eq!(body["code_challenge_method"], "s256");
}

#[tokio::test]
async fn id_tokens_sign_in_or_link() {
    let bench = Bench::new();
    bench.server.on(TOKEN, [signed_in()]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let request = client
        .auth()
        .sign_in_with_id_token(Provider::Apple, "t")
        .nonce("n");
    request.access_token("a").send().await.unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "provider": "apple", "id_token": "t", "nonce": "n", "access_token": "a" })
    );

    client
        .auth()
        .link_id_token(Provider::Other("custom:x".to_owned()), "t")
        .send()
        .await
        .unwrap();
    let asked = bench.server.last();
    assert_eq!(asked.json()["link_identity"], true);
    let stored = bench.stored_session().await.unwrap();
    let bearer = format!("Bearer {}", stored.access_token());
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(
        received_events(&mut events).await,
        ["SIGNED_IN", "USER_UPDATED"]
    );
}

#[tokio::test]
async fn s77_linking_asks_for_the_address_and_an_error_leaves_no_slot() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let good = Reply::json(200, json!({ "url": "https://github.test/" }));
    let route = "GET /auth/v1/user/identities/authorize";
    bench
        .server
        .on(route, [good, rejected(404, "manual_linking_disabled")]);
    let auth = bench.client().auth().clone();

    let start = auth.link_identity(Provider::Github).build().await.unwrap();
    assert_eq!(start.url, "https://github.test/");
    let query = bench.server.last().query;
    assert!(query.starts_with("provider=github&") && query.ends_with("&skip_http_redirect=true"));

    let pending = bench.store.keys();
    auth.link_identity(Provider::Github)
        .build()
        .await
        .unwrap_err();
    // The latest verifier belonged to the rejected flow and is removed with it.
    let left: Vec<String> = pending
        .into_iter()
        .filter(|key| !key.ends_with("token-code-verifier"))
        .collect();
    assert_eq!(bench.store.keys(), left);
}

#[tokio::test]
async fn anonymous_users_sign_in_without_an_address() {
    let bench = Bench::new();
    bench.server.on("POST /auth/v1/signup", [signed_in()]);

    bench
        .client()
        .auth()
        .sign_in_anonymously()
        .captcha("c")
        .send()
        .await
        .unwrap();

    assert_eq!(
        bench.server.last().json(),
        json!({ "data": {}, "gotrue_meta_security": { "captcha_token": "c" } })
    );
    assert_eq!(bench.store.keys(), [KEY]);
}

#[tokio::test]
async fn s68_to_s70_a_second_factor_from_enrolment_to_the_new_session() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let totp = json!({ "qr_code": "<svg/>", "secret": "S", "uri": "otpauth://totp/x" });
    let factor = json!({ "id": "f", "type": "totp", "friendly_name": "phone", "totp": totp });
    bench
        .server
        .on("POST /auth/v1/factors", [Reply::json(200, factor)]);
    let challenge = json!({ "id": "c", "type": "totp", "expires_at": 1 });
    bench.server.on(
        "POST /auth/v1/factors/f/challenge",
        [Reply::json(200, challenge)],
    );
    let response = r#"{"access_token":"a","refresh_token":"r2","expires_in":60,"user":{"id":"u"}}"#;
    bench.server.on(
        "POST /auth/v1/factors/f/verify",
        [Reply::text(200, response)],
    );
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    let mfa = client.auth().mfa();

    let enrolled = mfa.enroll_totp("phone").await.unwrap();
    assert_eq!(
        enrolled.totp.as_ref().unwrap().qr_code,
        "data:image/svg+xml;utf-8,<svg/>"
    );
    assert!(!format!("{enrolled:?}").contains("otpauth"));
    mfa.challenge_and_verify("f", "123456").await.unwrap();

    assert_eq!(
        bench.server.last().json(),
        json!({ "challenge_id": "c", "code": "123456" })
    );
    // S2: after a factor, the end comes first.
    let expected = format!("{{\"expires_at\":{},{}", NOW_S + 60, &response[1..]);
    assert_eq!(bench.stored().await.unwrap(), expected);
    assert_eq!(
        received_events(&mut events).await,
        ["MFA_CHALLENGE_VERIFIED"]
    );
}

#[tokio::test]
async fn s70_after_removing_a_factor_the_token_is_made_current() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench.server.on(
        "DELETE /auth/v1/factors/f",
        [Reply::json(200, json!({ "id": "f" }))],
    );
    bench.server.on(TOKEN, [signed_in()]);

    bench.client().auth().mfa().unenroll("f").await.unwrap();

    assert_eq!(bench.server.routes(), ["DELETE /auth/v1/factors/f", TOKEN]);
}

#[tokio::test]
async fn s72_the_level_is_known_without_a_request_unless_the_user_is_not_stored() {
    let bench = Bench::new();
    let client = bench.client();
    let anonymous = client.auth().mfa().assurance_level().await.unwrap();
    assert_eq!((anonymous.current, anonymous.next), (None, None));

    let stored = bench.store_session(3600).await;
    let level = client.auth().mfa().assurance_level().await.unwrap();
    assert_eq!(
        (level.current.as_deref(), level.next.as_deref()),
        (Some("aal1"), Some("aal1"))
    );
    assert!(bench.server.asked().is_empty());

    let factors = json!([{ "id": "f", "factor_type": "totp", "status": "verified" }]);
    bench.server.on(
        "GET /auth/v1/user",
        [Reply::json(200, json!({ "id": "u", "factors": factors }))],
    );
    bench
        .store
        .set(KEY, stored.without_user().to_json())
        .await
        .unwrap();
    let level = client.auth().mfa().assurance_level().await.unwrap();
    assert!(level.needs_second_factor());
}

#[tokio::test]
async fn s74_a_security_key_is_registered_in_one_go() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let factor = json!({ "id": "f", "type": "webauthn" });
    bench
        .server
        .on("POST /auth/v1/factors", [Reply::json(200, factor)]);
    let options = json!({ "publicKey": { "challenge": "x" } });
    let webauthn = json!({ "type": "create", "credential_options": options });
    let challenge = json!({ "id": "c", "type": "webauthn", "webauthn": webauthn });
    bench.server.on(
        "POST /auth/v1/factors/f/challenge",
        [Reply::json(200, challenge)],
    );
    bench
        .server
        .on("POST /auth/v1/factors/f/verify", [signed_in()]);
    let mfa = bench.client().auth().mfa();

    let ceremony = async |asked: Value| {
        assert_eq!(asked, options);
        Ok(json!({ "id": "credential" }))
    };
    mfa.register_webauthn("key", "a.test", &["https://a.test"], ceremony)
        .await
        .unwrap();

    assert_eq!(
        bench.server.last().json(),
        json!({
            "challenge_id": "c",
            "webauthn": {
                "type": "create",
                "credential_response": { "id": "credential" },
                "rpId": "a.test",
                "rpOrigins": ["https://a.test"],
            },
        })
    );
}

#[tokio::test]
async fn s74_a_new_ceremony_aborts_the_one_before() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let webauthn = json!({ "type": "request", "credential_options": {} });
    let challenge = json!({ "id": "c", "type": "webauthn", "webauthn": webauthn });
    let challenge = Reply::json(200, challenge);
    bench.server.on(
        "POST /auth/v1/factors/f/challenge",
        [challenge.clone(), challenge],
    );
    bench
        .server
        .on("POST /auth/v1/factors/f/verify", [signed_in()]);
    let mfa = bench.client().auth().mfa();
    let (asked, is_asked) = tokio::sync::oneshot::channel();

    let first = mfa.authenticate_webauthn("f", "a.test", &[], async |_| {
        asked.send(()).unwrap();
        std::future::pending().await
    });
    let second = async {
        is_asked.await.unwrap();
        let ceremony = async |_| Ok(json!({ "id": "credential" }));
        mfa.authenticate_webauthn("f", "a.test", &[], ceremony)
            .await
    };
    let (first, second) = tokio::join!(first, second);

    assert!(
        matches!(first, Err(AuthError::CeremonyAborted)),
        "{first:?}"
    );
    second.unwrap();
    let verified = bench.server.routes().into_iter();
    assert_eq!(
        verified.filter(|route| route.ends_with("/verify")).count(),
        1
    );
}

#[tokio::test]
async fn s75_passkeys_are_made_used_renamed_and_removed() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let options = Reply::json(
        200,
        json!({ "challenge_id": "c", "options": {}, "expires_at": 1 }),
    );
    bench.server.on(
        "POST /auth/v1/passkeys/registration/options",
        [options.clone()],
    );
    bench
        .server
        .on("POST /auth/v1/passkeys/authentication/options", [options]);
    let passkey = Reply::json(200, json!({ "id": "p", "friendly_name": "key" }));
    bench.server.on(
        "POST /auth/v1/passkeys/registration/verify",
        [passkey.clone()],
    );
    bench.server.on(
        "POST /auth/v1/passkeys/authentication/verify",
        [signed_in()],
    );
    bench.server.on("PATCH /auth/v1/passkeys/p", [passkey]);
    bench.server.on(
        "GET /auth/v1/passkeys",
        [Reply::json(200, json!([{ "id": "p" }]))],
    );
    bench
        .server
        .on("DELETE /auth/v1/passkeys/p", [Reply::text(204, "")]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    let passkeys = client.auth().passkeys();

    let asked = passkeys.start_registration().await.unwrap();
    passkeys
        .verify_registration(&asked.challenge_id, json!({ "id": "x" }))
        .await
        .unwrap();
    let body = bench.server.last().json();
    assert_eq!(
        body,
        json!({ "challenge_id": "c", "credential": { "id": "x" } })
    );
    passkeys.rename("p", "key").await.unwrap();
    assert_eq!(
        bench.server.last().json(),
        json!({ "friendly_name": "key" })
    );
    assert_eq!(passkeys.list().await.unwrap().len(), 1);
    passkeys.delete("p").await.unwrap();

    let asked = passkeys.start_authentication(None).await.unwrap();
    passkeys
        .verify_authentication(&asked.challenge_id, json!({}))
        .await
        .unwrap();
    assert_eq!(received_events(&mut events).await, ["SIGNED_IN"]);
    assert_eq!(
        bench.stored_session().await.unwrap().refresh_token(),
        "refresh-new"
    );
}

#[tokio::test]
async fn a_request_may_have_a_limit_and_headers_of_its_own() {
    let bench = Bench::auto_advancing();
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    bench.server.on(TOKEN, [signed_in().behind(&gate)]);
    let client = bench.client();
    let sign_in = || {
        client
            .auth()
            .sign_in_with_password()
            .email("a@b.c")
            .password("p")
    };

    let request = sign_in()
        .timeout(std::time::Duration::from_secs(1))
        .header("x-app", "mine");
    let error = request.send().await.unwrap_err();

    assert!(
        error.is_retryable() && error.to_string().contains("timed out"),
        "{error}"
    );
    assert_eq!(bench.server.last().header("x-app"), Some("mine"));
    assert!(sign_in().header("bad name", "x").send().await.is_err());
}
