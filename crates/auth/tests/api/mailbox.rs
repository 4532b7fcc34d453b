//! The development mailbox: contents, limits and access.

use serde_json::json;
use tokio_postgres::error::SqlState;

use crate::support::{Api, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");

#[tokio::test]
async fn without_a_mail_server_mails_land_in_the_mailbox() {
    let api = Api::start(&[CONFIRM]).await;

    let body = json!({ "email": "Ann@Mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();

    let mails = api.mails().await;
    let [mail] = mails.as_slice() else {
        panic!("one mail: {mails:?}");
    };
    assert_eq!(mail["sender"], "no-reply@localhost");
    assert_eq!(mail["recipient"], "ann@mail.dev");
    assert_eq!(mail["subject"], "Confirm your email address");
    assert_eq!(mail["template"], "confirmation");
    let otp = mail["otp"].as_str().expect("a code");
    assert_eq!(otp.len(), 6);
    let hash = api.link_token("confirmation_token").await;
    let link = format!(
        "http://api.test/auth/v1/verify?token={hash}&type=signup&redirect_to=http://localhost:3000"
    );
    assert_eq!(mail["links"], json!([link]));
    let text = mail["text"].as_str().expect("a text");
    assert!(text.contains(otp) && text.contains(&link), "{text}");
    let html = mail["html"].as_str().expect("a page");
    assert!(html.contains(otp), "{html}");
    assert!(html.contains(&link.replace('&', "&amp;")), "{html}");
}

#[tokio::test]
async fn a_mail_of_a_failed_request_is_not_stored() {
    let api = Api::start(&[CONFIRM]).await;
    api.execute(
        "create function public.refuse() returns trigger language plpgsql as
           'begin raise exception ''no''; end';
         create trigger refuse before insert on auth.audit_log_entries
           for each row execute function public.refuse();",
    )
    .await;

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let reply = api.post("/signup", body).await;

    assert_eq!(reply.status, 500, "{reply:?}");
    assert!(api.mails().await.is_empty());
}

#[tokio::test]
async fn a_service_alone_writes_into_a_mailbox_only_if_there_is_one() {
    let api = Api::start(&[CONFIRM]).await.standalone();
    let sign_up = async |name: &str| {
        let body = json!({ "email": format!("{name}@mail.dev"), "password": "correct horse" });
        api.post("/signup", body).await.ok();
    };

    sign_up("a").await;
    api.execute("revoke usage on schema plinth from supabase_auth_admin")
        .await;
    sign_up("b").await;
    api.execute("drop function plinth.keep_mail").await;
    sign_up("c").await;
    let to = api
        .value("select jsonb_agg(recipient) from plinth.mailbox", &[])
        .await;
    api.execute("drop schema plinth cascade").await;
    sign_up("d").await;

    assert_eq!(to, json!(["a@mail.dev"]));
    assert_eq!(api.count("select count(*) from auth.users").await, 4);
}

#[tokio::test]
async fn the_newest_five_hundred_mails_stay() {
    let api = Api::start(&[]).await;

    api.execute(
        "set role supabase_auth_admin;
         select plinth.keep_mail(now(), 'a', 'b', n::text, 't', 'h', 't', '{}', null)
         from generate_series(1, 520) as n;",
    )
    .await;

    assert_eq!(api.count("select count(*) from plinth.mailbox").await, 500);
    let oldest = "select min(subject::bigint) from plinth.mailbox";
    assert_eq!(api.count(oldest).await, 21);
}

#[tokio::test]
async fn large_mails_push_old_ones_out() {
    let api = Api::start(&[]).await;

    api.execute(
        "set role supabase_auth_admin;
         select plinth.keep_mail(now(), 'a', 'b', n::text, 't', repeat('x', 4000000), '', '{}', null)
         from generate_series(1, 12) as n;",
    )
    .await;

    let bytes = api.count("select sum(bytes) from plinth.mailbox").await;
    assert!(bytes <= 37_000_000, "{bytes}");
    let newest = "select max(subject::bigint) from plinth.mailbox";
    assert_eq!(api.count(newest).await, 12);
}

#[tokio::test]
async fn no_database_role_may_read_it() {
    let api = Api::start(&[]).await;

    for role in [
        "anon",
        "authenticated",
        "service_role",
        "postgres",
        "supabase_auth_admin",
    ] {
        let client = api.db.connect_as(role).await;
        let read = client.query("select html from plinth.mailbox", &[]).await;
        let error = read.expect_err(role);
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{role}"
        );
        if role != "supabase_auth_admin" {
            let keep = "select plinth.keep_mail(now(), '', '', '', '', '', '', '{}', null)";
            let error = client.query(keep, &[]).await.expect_err(role);
            assert_eq!(
                error.code(),
                Some(&SqlState::INSUFFICIENT_PRIVILEGE),
                "{role}"
            );
        }
    }
}
