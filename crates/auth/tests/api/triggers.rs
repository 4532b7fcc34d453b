//! What people's own triggers say, whichever statement they refuse (auth contract §1.3).

use serde_json::{Value, json};

use crate::support::{Api, Reply};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");

/// Refuses changes of the users' table in which `condition` is true.
async fn refuse(api: &Api, event: &str, condition: &str, errcode: &str) {
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
    match is_old {
        true => call.old_version().await,
        false => call.await,
    }
}

#[tokio::test]
async fn a_sign_in_may_be_refused() {
    for (errcode, status, code) in [
        ("P0001", 500, "unexpected_failure"),
        ("23514", 500, "unexpected_failure"),
        ("PT402", 402, "unknown"),
    ] {
        let api = Api::start(&[]).await;
        api.sign_up("ann@mail.dev", "correct horse").await;
        let condition = "new.last_sign_in_at is distinct from old.last_sign_in_at";
        refuse(&api, "update", condition, errcode).await;

        shows(&sign_in(&api, true).await, status, errcode);
        sign_in(&api, false).await.refuses(status, code);
    }
}

#[tokio::test]
async fn a_confirmation_may_be_refused() {
    let api = Api::start(&[CONFIRM]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let condition = "new.email_confirmed_at is not null";
    refuse(&api, "update", condition, "PT409").await;
    let code = api.mail_to("ann@mail.dev").await.otp();
    let verify = || {
        let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
        api.post("/verify", body)
    };

    shows(&verify().old_version().await, 409, "PT409");
    verify().await.refuses(409, "unknown");
}

#[tokio::test]
async fn people_may_be_kept_from_deleting_themselves() {
    let api = Api::start(&[("plinth.account.self_delete", "hard")]).await;
    let tokens: Value = api.sign_up("ann@mail.dev", "correct horse").await;
    refuse(&api, "delete", "true", "P0001").await;

    let reply = api.delete("/user").session(&tokens).old_version().await;

    shows(&reply, 500, "P0001");
    let reply = api.delete("/user").session(&tokens).await;
    reply.refuses(500, "unexpected_failure");
}
