//! Mails: content, delivery, and rejected recipients (auth contract §7).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Behaviour, MailServer, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");

/// Settings for a local server, and others.
async fn with_server(server: &MailServer, more: &[(&str, &str)]) -> Api {
    let port = server.port.to_string();
    let mut settings = vec![
        CONFIRM,
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", "127.0.0.1"),
        ("auth.email.smtp.port", port.as_str()),
        ("auth.email.smtp.admin_email", "office@site.test"),
        ("auth.email.smtp.sender_name", "Büro, \"Site\""),
    ];
    settings.extend_from_slice(more);
    Api::start(&settings).await
}

fn ann() -> Value {
    json!({ "email": "ann@mail.dev", "password": "correct horse" })
}

#[tokio::test]
async fn a_mail_server_gets_the_whole_mail() {
    let server = MailServer::start(Behaviour {
        asks_for_password: true,
        ..Behaviour::default()
    })
    .await;
    let api = with_server(
        &server,
        &[
            ("auth.email.smtp.user", "me"),
            ("auth.email.smtp.pass", "geheim"),
            ("plinth.auth.email.smtp_headers", "X-Kind=$messageType"),
        ],
    )
    .await;

    api.post("/signup", ann()).await.ok();

    let mails = server.received();
    let [mail] = mails.as_slice() else {
        panic!("one mail: {mails:?}");
    };
    assert_eq!(mail.from, "office@site.test");
    assert_eq!(mail.to, ["ann@mail.dev"]);
    assert_eq!(mail.login, Some(("me".to_owned(), "geheim".to_owned())));
    let header = |name: &str| mail.header(name).unwrap_or_default();
    assert_eq!(header("Subject"), "Confirm your email address");
    assert_eq!(header("To"), "ann@mail.dev");
    assert_eq!(header("X-Kind"), "confirmation");
    assert!(header("From").ends_with("<office@site.test>"), "{mail:?}");
    assert!(header("Message-ID").ends_with("@api.test>"), "{mail:?}");
    assert!(!header("Date").is_empty());
    assert!(header("Content-Type").starts_with("multipart/alternative"));
    let html = mail.part("text/html; charset=utf-8");
    let text = mail.part("text/plain; charset=utf-8");
    assert!(
        html.contains("http://api.test/auth/v1/verify?token="),
        "{html}"
    );
    assert!(
        text.contains("http://api.test/auth/v1/verify?token="),
        "{text}"
    );
    assert!(api.mails().await.is_empty(), "it went out, so none is kept");
}

#[tokio::test]
async fn the_mail_of_a_reauthentication_is_named_as_in_gotrue() {
    let server = MailServer::start(Behaviour::default()).await;
    let headers = ("plinth.auth.email.smtp_headers", "X-Kind=$messageType");
    let autoconfirm = ("auth.email.enable_confirmations", "false");
    let api = with_server(&server, &[headers, autoconfirm]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;

    api.get("/reauthenticate").session(&tokens).await.ok();

    let mails = server.received();
    let kinds: Vec<_> = mails
        .iter()
        .filter_map(|mail| mail.header("X-Kind"))
        .collect();
    assert_eq!(kinds, ["reauthenticate"]);
}

#[tokio::test]
async fn a_rejected_mail_rolls_back_the_request() {
    let server = MailServer::start(Behaviour {
        rejects_recipients: true,
        ..Behaviour::default()
    })
    .await;
    let api = with_server(&server, &[]).await;

    let reply = api.post("/signup", ann()).await;

    let text = "Error sending confirmation email";
    reply.expect_error_text(500, "unexpected_failure", text);
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_undoes_the_request() {
    let port = MailServer::start(Behaviour::default())
        .await
        .port
        .to_string();
    let api = Api::start(&[
        CONFIRM,
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", "127.0.0.1"),
        ("auth.email.smtp.port", &port),
        ("auth.email.smtp.admin_email", "office@site.test"),
    ])
    .await;

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(500, "unexpected_failure");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn tls_that_is_offered_is_used_or_nothing_is_sent() {
    let server = MailServer::start(Behaviour {
        breaks_tls: true,
        ..Behaviour::default()
    })
    .await;
    let api = with_server(&server, &[]).await;

    api.post("/signup", ann())
        .await
        .expect_error(500, "unexpected_failure");

    assert!(server.received_lines().contains(&"STARTTLS".to_owned()));
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_password_goes_to_another_machine_only_in_tls() {
    let server = MailServer::start(Behaviour {
        asks_for_password: true,
        ..Behaviour::default()
    })
    .await;
    let api = with_server(
        &server,
        &[
            // Also local, but not by a loopback name.
            ("auth.email.smtp.host", "127.0.0.2"),
            ("auth.email.smtp.user", "me"),
            ("auth.email.smtp.pass", "geheim"),
        ],
    )
    .await;

    api.post("/signup", ann())
        .await
        .expect_error(500, "unexpected_failure");

    let lines = server.received_lines();
    assert!(
        lines.iter().all(|line| !line.starts_with("AUTH")),
        "{lines:?}"
    );
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn what_users_write_about_themselves_stays_text() {
    let api = Api::start(&[
        CONFIRM,
        (
            "auth.email.template.confirmation.subject",
            "Hello {{ .Data.name }}",
        ),
        (
            "auth.email.template.confirmation.content",
            "<p title=\"{{ .Data.name }}\">{{ .Data.name }}</p>\
             <a href=\"{{ .Data.site }}\">{{ .Token }}</a>",
        ),
    ])
    .await;

    let body = json!({
        "email": "ann@mail.dev",
        "password": "correct horse",
        "data": {
            "name": "Ann\r\nBcc: all@mail.dev\r\n\r\n<img src=x onerror=\"steal()\">",
            "site": "javascript:steal()",
        },
    });
    api.post("/signup", body).await.ok();

    let mail = &api.mails().await[0];
    let html = mail["html"].as_str().expect("a page");
    assert!(!html.contains("<img"), "{html}");
    assert!(!html.contains("javascript"), "{html}");
    assert_eq!(html.matches('"').count(), 4, "{html}");
    let subject = mail["subject"].as_str().expect("a subject");
    assert!(!subject.contains(['\r', '\n']), "{subject:?}");
}

#[tokio::test]
async fn a_subject_cannot_bring_headers_of_its_own() {
    let server = MailServer::start(Behaviour::default()).await;
    let api = with_server(
        &server,
        &[(
            "auth.email.template.confirmation.subject",
            "Grüße {{ .Data.name }}",
        )],
    )
    .await;

    let mut body = ann();
    body["data"] = json!({ "name": "x\r\nBcc: all@mail.dev\r\n\r\nbody" });
    api.post("/signup", body).await.ok();

    let mails = server.received();
    assert_eq!(mails[0].header("Bcc"), None, "{}", mails[0].data);
    assert_eq!(mails[0].to, ["ann@mail.dev"]);
    let subject = mails[0].header("Subject").expect("a subject");
    assert!(subject.starts_with("=?utf-8?"), "{subject}");
}

#[tokio::test]
async fn words_that_do_not_work_give_way_to_the_default() {
    let api = Api::start(&[
        CONFIRM,
        ("auth.email.template.confirmation.subject", "{{ if }}"),
        ("auth.email.template.confirmation.content", "{{ .Token"),
    ])
    .await;

    api.post("/signup", ann()).await.ok();

    let mail = &api.mails().await[0];
    assert_eq!(mail["subject"], "Confirm your email address");
    assert!(
        mail["html"]
            .as_str()
            .is_some_and(|html| html.contains("<h1"))
    );
}

#[tokio::test]
async fn only_authorized_addresses_get_mail_where_there_are_some() {
    let api = Api::start(&[
        CONFIRM,
        ("plinth.auth.email.authorized_addresses", "Ann@mail.dev"),
    ])
    .await;

    let sign_up = async |email: &str| {
        let body = json!({ "email": email, "password": "correct horse" });
        api.post("/signup", body).await
    };
    sign_up("ann+label@mail.dev").await.ok();
    sign_up("bob@mail.dev").await.expect_error_text(
        400,
        "email_address_not_authorized",
        "Email address \"bob@mail.dev\" cannot be used as it is not authorized",
    );

    assert_eq!(api.mails().await.len(), 1);
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn undeliverable_addresses_are_rejected_if_configured() {
    let api = Api::start(&[CONFIRM, ("plinth.auth.email.extended_validation", "true")]).await;

    let body = json!({ "email": "ann@example.com", "password": "correct horse" });
    let reply = api.post("/signup", body).await;

    let text = "Email address \"ann@example.com\" is invalid";
    reply.expect_error_text(400, "email_address_invalid", text);
}

#[tokio::test]
async fn a_project_sends_so_many_mails_an_hour() {
    let server = MailServer::start(Behaviour::default()).await;
    let api = with_server(&server, &[("auth.rate_limit.email_sent", "2")]).await;
    let sign_up = async |name: &str| {
        let body = json!({ "email": format!("{name}@mail.dev"), "password": "correct horse" });
        api.post("/signup", body).await
    };

    sign_up("a").await.ok();
    sign_up("b").await.ok();
    let rejected = sign_up("c").await;
    rejected.expect_error_text(
        429,
        "over_email_send_rate_limit",
        "email rate limit exceeded",
    );
    api.advance(Duration::from_secs(3601));
    sign_up("c").await.ok();

    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn links_name_the_host_a_request_came_through_if_it_is_listed() {
    let api = Api::start(&[CONFIRM, ("plinth.auth.email.external_hosts", "b.test")]).await;
    let sign_up = async |name: &str, host: &str| {
        let body = json!({ "email": format!("{name}@mail.dev"), "password": "correct horse" });
        let call = api.post("/signup", body).header("x-forwarded-host", host);
        call.await.ok();
    };

    sign_up("a", "b.test").await;
    sign_up("b", "evil.test").await;

    let mails = api.mails().await;
    let link = |at: usize| mails[at]["links"][0].as_str().expect("a link").to_owned();
    assert!(
        link(0).starts_with("https://b.test/auth/v1/verify?"),
        "{}",
        link(0)
    );
    assert!(
        link(1).starts_with("http://api.test/auth/v1/verify?"),
        "{}",
        link(1)
    );
}

#[tokio::test]
async fn links_to_the_confirm_page_carry_the_token_itself() {
    let api = Api::start(&[CONFIRM, ("plinth.account.path", "/account")]).await;

    let target = "http://api.test/account/confirm";
    let path = format!("/signup?redirect_to={target}");
    api.post(&path, ann()).await.ok();

    let mail = &api.mails().await[0];
    let link = mail["links"][0].as_str().expect("a link");
    assert!(link.starts_with(&format!("{target}?token_hash=")), "{link}");
    assert!(link.ends_with("&type=signup"), "{link}");
}

#[tokio::test]
async fn notices_are_sent_only_where_they_are_wanted() {
    for (wanted, expected) in [("false", 0), ("true", 1)] {
        let api = Api::start(&[("auth.email.notification.password_changed.enabled", wanted)]).await;
        let session = api.sign_up("ann@mail.dev", "correct horse").await;

        let body = json!({ "password": "another horse" });
        api.put("/user", body).session(&session).await.ok();

        let mails = api.mails().await;
        assert_eq!(mails.len(), expected, "{mails:?}");
        if let Some(mail) = mails.first() {
            assert_eq!(mail["template"], "password_changed_notification");
            assert_eq!(mail["subject"], "Your password was changed");
            assert_eq!(mail["recipient"], "ann@mail.dev");
            assert_eq!(mail["otp"], Value::Null);
        }
    }
}

#[tokio::test]
async fn a_notice_that_fails_fails_nothing_else() {
    let api = Api::start(&[("auth.email.notification.password_changed.enabled", "true")]).await;
    let session = api.sign_up("ann@mail.dev", "correct horse").await;
    api.execute(
        "alter table plinth.mailbox add check (template <> 'password_changed_notification')",
    )
    .await;

    let body = json!({ "password": "another horse" });
    api.put("/user", body).session(&session).await.ok();

    let body = json!({ "email": "ann@mail.dev", "password": "another horse" });
    api.post("/token?grant_type=password", body).await.ok();
    assert!(api.mails().await.is_empty());
}

#[tokio::test]
async fn a_change_of_address_is_confirmed_at_both() {
    let api = Api::start(&[]).await;
    let session = api.sign_up("ann@mail.dev", "correct horse").await;

    let body = json!({ "email": "new@mail.dev" });
    api.put("/user", body).session(&session).await.ok();

    let mails = api.mails().await;
    let to: Vec<&Value> = mails.iter().map(|mail| &mail["recipient"]).collect();
    assert_eq!(to, ["new@mail.dev", "ann@mail.dev"]);
    for mail in &mails {
        assert_eq!(mail["template"], "email_change");
        let link = mail["links"][0].as_str().expect("a link");
        assert!(link.contains("&type=email_change&"), "{link}");
        let text = mail["text"].as_str().expect("a text");
        assert!(text.contains("ann@mail.dev to new@mail.dev"), "{text}");
    }
    assert_ne!(mails[0]["otp"], mails[1]["otp"]);
}

/// A function that records its payload.
const HOOK: &str = "
    create table public.hook_calls (payload jsonb);
    create function public.tell(event jsonb) returns jsonb language plpgsql security definer as
      'begin insert into public.hook_calls values (event); return ''{}''; end';
    grant execute on function public.tell to supabase_auth_admin;";

async fn with_hook(hook: &str, more: &[(&str, &str)]) -> Api {
    let enabled = format!("auth.hook.{hook}.enabled");
    let uri = format!("auth.hook.{hook}.uri");
    let mut settings = vec![
        (enabled.as_str(), "true"),
        (uri.as_str(), "pg-functions://postgres/public/tell"),
    ];
    settings.extend_from_slice(more);
    let api = Api::start(&settings).await;
    api.execute(HOOK).await;
    api
}

#[tokio::test]
async fn a_hook_sends_mails_in_our_place() {
    let api = with_hook("send_email", &[CONFIRM]).await;

    api.post("/signup", ann()).await.ok();

    assert!(api.mails().await.is_empty());
    let payload = api
        .value("select payload from public.hook_calls", &[])
        .await;
    assert_eq!(payload["user"]["email"], "ann@mail.dev");
    assert_eq!(payload["metadata"]["name"], "send-email");
    let data = &payload["email_data"];
    let hash = api.link_token("confirmation_token").await;
    assert_eq!(data["token_hash"], hash);
    assert_eq!(data["token"].as_str().map(str::len), Some(6));
    let rest = json!({
        "redirect_to": "http://localhost:3000",
        "email_action_type": "signup",
        "site_url": "http://api.test/auth/v1",
        "token_new": "", "token_hash_new": "", "old_email": "", "old_phone": "",
        "provider": "", "factor_type": "",
    });
    for (name, value) in rest.as_object().expect("an object") {
        assert_eq!(&data[name], value, "{name}");
    }
}

#[tokio::test]
async fn the_hook_gets_a_change_of_address_with_crossed_names() {
    let api = with_hook("send_email", &[]).await;
    let session = api.sign_up("ann@mail.dev", "correct horse").await;

    let body = json!({ "email": "new@mail.dev" });
    api.put("/user", body).session(&session).await.ok();

    let payload = api
        .value("select payload from public.hook_calls", &[])
        .await;
    let user = api.value("select to_jsonb(u) from auth.users u", &[]).await;
    let data = &payload["email_data"];
    assert_eq!(payload["user"]["email"], "ann@mail.dev");
    assert_eq!(payload["user"]["new_email"], "new@mail.dev");
    assert_eq!(data["email_action_type"], "email_change");
    let new = api.link_token("email_change_token_new").await;
    let current = api.link_token("email_change_token_current").await;
    assert_eq!(
        (&data["token_hash"], &data["token_hash_new"]),
        (&json!(new), &json!(current))
    );
    let hash = |email: &str, token: &Value| {
        let otp = token.as_str().expect("digits");
        sha224(&format!("{email}{otp}"))
    };
    let (new, current) = (&data["token_new"], &data["token"]);
    assert_eq!(user["email_change_token_new"], hash("new@mail.dev", new));
    assert_eq!(
        user["email_change_token_current"],
        hash("ann@mail.dev", current)
    );
}

#[tokio::test]
async fn the_hook_gets_one_token_where_one_confirmation_is_enough() {
    let api = with_hook(
        "send_email",
        &[("auth.email.double_confirm_changes", "false")],
    )
    .await;
    let session = api.sign_up("ann@mail.dev", "correct horse").await;

    let body = json!({ "email": "new@mail.dev" });
    api.put("/user", body).session(&session).await.ok();

    let payload = api
        .value("select payload from public.hook_calls", &[])
        .await;
    let data = &payload["email_data"];
    let otp = data["token"].as_str().expect("digits");
    let user = api.value("select to_jsonb(u) from auth.users u", &[]).await;
    let digits = sha224(&format!("new@mail.dev{otp}"));
    assert_eq!(user["email_change_token_new"], digits);
    let link = api.link_token("email_change_token_new").await;
    assert_eq!(data["token_hash"], link);
    assert_eq!(data["token_new"], "");
    assert_eq!(data["token_hash_new"], "");
}

/// Lower-case hex of SHA-224.
fn sha224(text: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA224, text.as_bytes());
    data_encoding::HEXLOWER.encode(digest.as_ref())
}
