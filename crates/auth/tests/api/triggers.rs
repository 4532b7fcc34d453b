//! Errors of user-defined triggers, in any statement (auth contract §1.3).

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");

/// Creates a trigger that rejects changes of users for which `condition` is true.
async fn create_rejecting_trigger(api: &Api, event: &str, condition: &str, errcode: &str) {
    let row = if event == "delete" { "old" } else { "new" };
    api.execute(&format!(
        "create function public.refuse() returns trigger language plpgsql as $$
           begin
             if {condition} then
               raise exception 'not you' using errcode = '{errcode}', detail = 'why', hint = 'ask';
             end if;
             return {row};
           end $$;
         create trigger refuse before {event} on auth.users
           for each row execute function public.refuse();"
    ))
    .await;
}

#[track_caller]
fn shows(reply: &Reply, status: u16, sqlstate: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let expected = json!({
        "code": sqlstate, "message": "not you", "detail": "why", "hint": "ask",
    });
    assert_eq!(reply.json(), expected, "{reply:?}");
}

async fn sign_in(api: &Api, is_old: bool) -> Reply {
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let call = api.post("/token?grant_type=password", body);
    if is_old {
        call.old_version().await
    } else {
        call.await
    }
}

#[tokio::test]
async fn a_trigger_may_reject_a_sign_in() {
    for (errcode, status, code) in [
        ("P0001", 500, "unexpected_failure"),
        ("23514", 500, "unexpected_failure"),
        ("PT402", 402, "unknown"),
        ("PT599", 599, "unknown"),
    ] {
        let api = Api::start(&[]).await;
        api.sign_up("ann@mail.dev", "correct horse").await;
        let condition = "new.last_sign_in_at is distinct from old.last_sign_in_at";
        create_rejecting_trigger(&api, "update", condition, errcode).await;

        shows(&sign_in(&api, true).await, status, errcode);
        sign_in(&api, false).await.expect_error(status, code);
    }
}

#[tokio::test]
async fn a_trigger_may_reject_a_confirmation() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let condition = "new.email_confirmed_at is not null";
    create_rejecting_trigger(&api, "update", condition, "PT409").await;
    let code = api.mail_to("ann@mail.dev").await.otp();
    let verify = || {
        let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
        api.post("/verify", body)
    };

    shows(&verify().old_version().await, 409, "PT409");
    let reply = verify().await;
    reply.expect_error_text(409, "unknown", "not you");
    assert_eq!(reply.header("x-supabase-api-version"), Some("2024-01-01"));
}

#[tokio::test]
async fn only_a_chosen_status_shows_the_triggers_text_to_newer_clients() {
    for (errcode, status, code, text) in [
        ("PT422", 422, "unknown", "not you"),
        ("PT503", 503, "unknown", "Database error saving new user"),
        (
            "P0001",
            500,
            "unexpected_failure",
            "Database error saving new user",
        ),
    ] {
        let api = Api::start(&[]).await;
        create_rejecting_trigger(&api, "insert", "true", errcode).await;
        let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });

        let reply = api.post("/signup", body).await;

        reply.expect_error_text(status, code, text);
    }
}

#[tokio::test]
async fn a_trigger_may_reject_self_deletion() {
    let api = Api::start(&[("plinth.account.self_delete", "hard")]).await;
    let tokens: Value = api.sign_up("ann@mail.dev", "correct horse").await;
    create_rejecting_trigger(&api, "delete", "true", "P0001").await;

    let reply = api.delete("/user").session(&tokens).old_version().await;

    shows(&reply, 500, "P0001");
    let reply = api.delete("/user").session(&tokens).await;
    reply.expect_error(500, "unexpected_failure");
}
