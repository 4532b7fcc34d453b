//! Challenge and verify with an authenticator app.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql, claims};

#[tokio::test]
async fn the_right_code_raises_the_session() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let issued = challenge(&api, &session, &factor).await;
    assert_eq!(
        issued,
        json!({
            "id": issued["id"], "type": "totp", "expires_at": api.now().unix_timestamp() + 300,
        })
    );

    let code = code(&api, &factor, 0);
    let raised = verify(&api, &session, &factor, &issued, &code).await.ok();

    let before = claims(session["access_token"].as_str().expect("a token"));
    let after = claims(raised["access_token"].as_str().expect("a token"));
    assert_eq!(before["aal"], "aal1");
    assert_eq!(after["aal"], "aal2");
    assert_eq!(after["session_id"], before["session_id"]);
    let methods: Vec<_> = after["amr"].as_array().expect("methods").iter().collect();
    assert_eq!(methods.len(), 2);
    assert_eq!(methods[0]["method"], "totp");
    assert_eq!(methods[1]["method"], "password");
    assert_eq!(raised["token_type"], "bearer");
    assert_ne!(raised["refresh_token"], session["refresh_token"]);
    assert_eq!(raised["user"]["factors"][0]["status"], "verified");
    assert!(raised["user"]["factors"][0]["last_challenged_at"].is_string());
    let audit = api.audit().await;
    assert!(audit.contains(&"challenge_created".to_owned()));
    assert!(audit.contains(&"verification_attempted".to_owned()));

    let refreshed = refresh(&api, &raised).await.ok();
    let refreshed = claims(refreshed["access_token"].as_str().expect("a token"));
    assert_eq!(refreshed["aal"], "aal2");
    assert_eq!(refreshed["amr"], after["amr"]);
}

#[tokio::test]
async fn no_token_of_before_stands_for_the_higher_assurance() {
    for kind in ["chained", "counted"] {
        for seconds in [0, 11] {
            let (api, first) = ann(&[("plinth.auth.refresh_tokens.kind", kind)]).await;
            let second = refresh(&api, &first).await.ok();
            let (_, raised) = with_app(&api, &second).await;
            api.advance(Duration::from_secs(seconds));

            for old in [&first, &second] {
                let reply = refresh(&api, old).await;
                assert_eq!(reply.status, 400, "{kind} after {seconds} s: {reply:?}");
            }
            // Neither is a sign that the newer tokens were stolen.
            let later = refresh(&api, &raised).await.ok();
            refresh(&api, &later).await.ok();
        }
    }
}

#[tokio::test]
async fn a_token_from_before_the_upgrade_and_the_factor_does_not_end_the_session() {
    let (api, first) = ann(&[]).await;
    let api = api.restarted(&[
        ("plinth.auth.refresh_tokens.kind", "counted"),
        ("plinth.auth.refresh_tokens.upgrade_percentage", "100"),
    ]);
    let second = refresh(&api, &first).await.ok();
    let (_, raised) = with_app(&api, &second).await;
    api.advance(Duration::from_secs(11));

    let reply = refresh(&api, &first).await;

    reply.expect_error(400, "refresh_token_already_used");
    refresh(&api, &raised).await.ok();
}

/// It is not taken for one that was last used long ago.
#[tokio::test]
async fn a_token_from_before_the_factor_is_used_and_not_idle() {
    let idle = ("auth.sessions.inactivity_timeout", "1h");
    let (api, first) = ann(&[idle]).await;
    let (_, raised) = with_app(&api, &first).await;

    let reply = refresh(&api, &first).await;

    reply.expect_error(400, "refresh_token_already_used");
    refresh(&api, &raised).await.ok();
}

#[tokio::test]
async fn a_newer_token_that_is_used_twice_still_ends_the_session() {
    for kind in ["chained", "counted"] {
        let (api, first) = ann(&[("plinth.auth.refresh_tokens.kind", kind)]).await;
        let (_, raised) = with_app(&api, &first).await;
        let second = refresh(&api, &raised).await.ok();
        let third = refresh(&api, &second).await.ok();
        api.advance(Duration::from_secs(11));

        let reply = refresh(&api, &raised).await;

        reply.expect_error(400, "refresh_token_already_used");
        assert_eq!(refresh(&api, &third).await.status, 400, "{kind}");
    }
}

#[tokio::test]
async fn other_sessions_without_the_factor_end() {
    let (api, session) = ann(&[]).await;
    let other = sign_in(&api).await;
    let (_, raised) = with_app(&api, &session).await;

    api.get("/user")
        .session(&other)
        .await
        .expect_error(403, "session_not_found");
    refresh(&api, &other)
        .await
        .expect_error(400, "refresh_token_not_found");
    api.get("/user").session(&raised).await.ok();

    // Sessions that verified the factor remain.
    let later = sign_in(&api).await;
    let factor = json!({ "id": raised["user"]["factors"][0]["id"] });
    let secret = api
        .value("select to_jsonb(secret) from auth.mfa_factors", &[])
        .await;
    let app = json!({ "totp": { "secret": secret } });
    let code = code(&api, &app, 0);
    prove(&api, &later, &factor, &code).await.ok();
    api.get("/user").session(&raised).await.ok();
}

#[tokio::test]
async fn unconfirmed_factors_of_the_same_kind_go() {
    let (api, session) = ann(&[("auth.mfa.web_authn.enroll_enabled", "true")]).await;
    enrol(&api, &session, "given up").await;
    let key = json!({ "factor_type": "webauthn", "friendly_name": "key" });
    api.post("/factors", key).session(&session).await.ok();

    let (_, raised) = with_app(&api, &session).await;

    let expected = [("key", "unverified"), ("app", "verified")];
    let expected = expected.map(|(name, status)| (name.to_owned(), status.to_owned()));
    assert_eq!(statuses(&api, &raised).await, expected);
}

#[tokio::test]
async fn clocks_may_be_a_step_apart() {
    for (steps, is_good) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
        let (api, session) = ann(&[]).await;
        let factor = enrol(&api, &session, "app").await;
        let code = code(&api, &factor, steps);

        let reply = prove(&api, &session, &factor, &code).await;

        if is_good {
            reply.ok();
        } else {
            reply.expect_error_text(422, "mfa_verification_failed", "Invalid TOTP code entered");
        }
    }
}

#[tokio::test]
async fn a_code_counts_once() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let shown = code(&api, &factor, 0);
    let raised = prove(&api, &session, &factor, &shown).await.ok();

    // Neither again nor an older one, in any session.
    let thief = sign_in(&api).await;
    for code in [shown, code(&api, &factor, -1)] {
        let reply = prove(&api, &thief, &factor, &code).await;
        reply.expect_error(422, "mfa_verification_failed");
    }

    api.advance(Duration::from_secs(30));
    let next = code(&api, &factor, 0);
    prove(&api, &raised, &factor, &next).await.ok();
}

#[tokio::test]
async fn a_code_counts_once_also_when_shown_many_times_at_once() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let shown = code(&api, &factor, 0);
    let mut issued = Vec::new();
    for _ in 0..6 {
        issued.push(challenge(&api, &session, &factor).await);
    }

    let requests = issued
        .iter()
        .map(|issued| verify(&api, &session, &factor, issued, &shown));
    let replies = futures_util::future::join_all(requests).await;

    let good = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(good, 1, "{replies:?}");
}

#[tokio::test]
async fn a_challenge_is_verified_once_from_the_same_address_in_time() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let issued = challenge(&api, &session, &factor).await;
    let code_now = code(&api, &factor, 0);
    let body = json!({ "challenge_id": issued["id"], "code": code_now });

    let elsewhere = api.post(&path(&factor, "/verify"), body.clone());
    let reply = elsewhere.session(&session).client_ip("10.1.2.3").await;
    reply.expect_error(422, "mfa_ip_address_mismatch");

    let unknown = json!({ "id": "00000000-0000-0000-0000-000000000001" });
    let reply = verify(&api, &session, &factor, &unknown, &code_now).await;
    reply.expect_error(422, "mfa_factor_not_found");

    let raised = verify(&api, &session, &factor, &issued, &code_now)
        .await
        .ok();
    let reply = verify(&api, &raised, &factor, &issued, &code_now).await;
    reply.expect_error(422, "mfa_ip_address_mismatch");

    let issued = challenge(&api, &raised, &factor).await;
    api.advance(Duration::from_secs(301));
    let late = code(&api, &factor, 0);
    let reply = verify(&api, &raised, &factor, &issued, &late).await;
    reply.expect_error(422, "mfa_challenge_expired");
}

#[tokio::test]
async fn a_challenge_of_another_factor_does_not_count() {
    let (api, session) = ann(&[]).await;
    let (one, raised) = with_app(&api, &session).await;
    let other = enrol(&api, &raised, "other").await;
    let issued = challenge(&api, &raised, &one).await;
    let code = code(&api, &other, 0);

    let reply = verify(&api, &raised, &other, &issued, &code).await;

    reply.expect_error(422, "mfa_factor_not_found");
}

#[tokio::test]
async fn bad_requests_say_what_is_wrong() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let issued = challenge(&api, &session, &factor).await;

    let reply = verify(&api, &session, &factor, &issued, "").await;
    reply.expect_error(400, "validation_failed");
    for code in ["000", "abcdef", "１２３４５６", "0000000"] {
        let reply = verify(&api, &session, &factor, &issued, code).await;
        reply.expect_error(422, "mfa_verification_failed");
    }
    let body = json!({ "challenge_id": "no id", "code": "000000" });
    let reply = api
        .post(&path(&factor, "/verify"), body)
        .session(&session)
        .await;
    reply.expect_error(400, "bad_json");
    for tail in ["/challenge", "/verify"] {
        let bad = api.post(&format!("/factors/nonsense{tail}"), json!({ "code": "1" }));
        bad.session(&session)
            .await
            .expect_error(404, "validation_failed");
        let bad = api.post(&format!("/factors/%ff{tail}"), json!({ "code": "1" }));
        bad.session(&session)
            .await
            .expect_error(404, "validation_failed");
    }
}

#[tokio::test]
async fn factors_of_others_are_unknown() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let eve = api.sign_up("eve@mail.dev", PASSWORD).await;

    for tail in ["/challenge", "/verify"] {
        let call = api.post(&path(&factor, tail), json!({ "code": "000000" }));
        call.session(&eve)
            .await
            .expect_error(404, "mfa_factor_not_found");
    }
    let reply = api.delete(&path(&factor, "")).session(&eve).await;
    reply.expect_error(404, "mfa_factor_not_found");
}

#[tokio::test]
async fn verification_can_be_switched_off() {
    let (api, session) = ann(&[("auth.mfa.totp.verify_enabled", "false")]).await;
    let factor = enrol(&api, &session, "app").await;
    for tail in ["/challenge", "/verify"] {
        let call = api.post(&path(&factor, tail), json!({ "code": "000000" }));
        let reply = call.session(&session).await;
        reply.expect_error(422, "mfa_totp_verify_not_enabled");
    }
}

#[tokio::test]
async fn guesses_are_limited_even_from_many_addresses() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let issued = challenge(&api, &session, &factor).await;
    let body = json!({ "challenge_id": issued["id"], "code": "000000" });
    let mut rejected = 0;
    for number in 0..40 {
        let call = api.post(&path(&factor, "/verify"), body.clone());
        let reply = call
            .session(&session)
            .client_ip(&format!("10.0.0.{number}"))
            .await;
        match reply.status.as_u16() {
            429 => rejected += 1,
            _ => drop(reply.expect_error(422, "mfa_ip_address_mismatch")),
        }
    }
    assert_eq!(rejected, 10);
}

#[tokio::test]
async fn a_hook_that_rejects_signs_out_everywhere() {
    let api = Api::start(&[
        ("auth.hook.mfa_verification_attempt.enabled", "true"),
        (
            "auth.hook.mfa_verification_attempt.uri",
            "pg-functions://postgres/public/hook",
        ),
    ])
    .await;
    settle(&api);
    api.execute(
        "create table public.hook_calls (event jsonb);
         grant insert on public.hook_calls to supabase_auth_admin;
         create function public.hook(event jsonb) returns jsonb language plpgsql as $body$
         begin
           insert into public.hook_calls values (event);
           if (event->>'valid')::boolean then return '{\"decision\": \"continue\"}'; end if;
           return '{\"decision\": \"reject\", \"message\": \"not you\"}';
         end $body$;
         grant execute on function public.hook to supabase_auth_admin;",
    )
    .await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let factor = enrol(&api, &session, "app").await;
    let right = code(&api, &factor, 0);
    let session = prove(&api, &session, &factor, &right).await.ok();

    let reply = prove(&api, &session, &factor, "000000").await;

    reply.expect_error_text(403, "mfa_verification_rejected", "not you");
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
    let recorded = api
        .value("select event from public.hook_calls limit 1", &[])
        .await;
    assert_eq!(recorded["user_id"], session["user"]["id"]);
    assert_eq!(recorded["factor_id"], factor["id"]);
    assert_eq!(recorded["factor_type"], "totp");
    assert_eq!(recorded["valid"], true);
}

#[tokio::test]
async fn the_owner_is_notified_of_a_new_factor_once() {
    let notice = (
        "auth.email.notification.mfa_factor_enrolled.enabled",
        "true",
    );
    let (api, session) = ann(&[notice]).await;
    let (factor, raised) = with_app(&api, &session).await;
    api.advance(Duration::from_secs(60));
    let next = code(&api, &factor, 0);
    prove(&api, &raised, &factor, &next).await.ok();

    let mails = api.mails().await;

    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].to_string().contains("ann@mail.dev"));
}
