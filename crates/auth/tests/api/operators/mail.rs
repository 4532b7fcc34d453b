//! Test mails and previews of templates.

use plinth_project::{
    MailDelivery, MailServerSettings, MailTest, MailTestResult, RenderedTemplate, TemplatePreview,
};
use serde_json::{Map, Value, json};

use super::expect_invalid;
use crate::support::{Api, Behaviour, MailServer, Sql};

async fn test_mail(api: &Api, to: &str, smtp: Option<MailServerSettings>) -> MailTestResult {
    let (users, call) = api.administration();
    let test = MailTest {
        to: to.to_owned(),
        smtp,
    };
    users.test_mail(&call, &test).await.expect("a result")
}

fn settings(port: u16, user: Option<&str>, pass: Option<&str>) -> MailServerSettings {
    MailServerSettings {
        host: "127.0.0.1".to_owned(),
        port,
        user: user.map(str::to_owned),
        pass: pass.map(str::to_owned),
        admin_email: "office@site.test".to_owned(),
        sender_name: Some("Office".to_owned()),
    }
}

#[tokio::test]
async fn without_a_mail_server_the_mailbox_gets_the_mail() {
    let api = Api::start(&[]).await;

    let result = test_mail(&api, "Ops@Mail.dev", None).await;

    assert!(result.is_delivered && result.dialogue.is_empty());
    assert_eq!(result.delivery, MailDelivery::Mailbox);
    let mails = api.mails().await;
    assert_eq!(
        (mails.len(), &mails[0]["recipient"]),
        (1, &json!("ops@mail.dev"))
    );
}

#[tokio::test]
async fn the_dialogue_with_the_server_is_shown() {
    let api = Api::start(&[]).await;
    let server = MailServer::start(Behaviour {
        asks_for_password: true,
        ..Behaviour::default()
    })
    .await;
    let given = settings(server.port, Some("me"), Some("geheim"));

    let result = test_mail(&api, "ops@mail.dev", Some(given)).await;

    assert!(result.is_delivered, "{result:?}");
    assert_eq!(result.delivery, MailDelivery::Smtp);
    let sent: Vec<&str> = result
        .dialogue
        .iter()
        .map(|step| step.sent.as_str())
        .collect();
    assert!(sent[0].starts_with("connect to 127.0.0.1:"), "{sent:?}");
    assert!(sent.contains(&"AUTH as me"), "{sent:?}");
    assert!(sent.contains(&"RCPT TO:<ops@mail.dev>"), "{sent:?}");
    assert!(!json!(result).to_string().contains("geheim"));
    let received = server.received();
    assert_eq!(received[0].to, ["ops@mail.dev"]);
    assert_eq!(
        received[0].login,
        Some(("me".to_owned(), "geheim".to_owned()))
    );
}

#[tokio::test]
async fn a_rejection_is_a_result() {
    let api = Api::start(&[]).await;
    let server = MailServer::start(Behaviour {
        rejects_recipients: true,
        ..Behaviour::default()
    })
    .await;

    let result = test_mail(
        &api,
        "ops@mail.dev",
        Some(settings(server.port, None, None)),
    )
    .await;

    assert!(!result.is_delivered);
    let last = result.dialogue.last().expect("a step");
    assert_eq!(last.sent, "RCPT TO:<ops@mail.dev>");
    assert!(last.received.contains("550"), "{last:?}");
    assert_eq!(result.error.as_deref(), Some(last.received.as_str()));

    let nobody = test_mail(&api, "ops@mail.dev", Some(settings(1, None, None))).await;
    assert!(
        !nobody.is_delivered && nobody.dialogue.len() == 1,
        "{nobody:?}"
    );
}

/// The saved password must not be sent to a server that someone names here.
#[tokio::test]
async fn the_saved_password_goes_to_the_saved_server_only() {
    let offered = Behaviour {
        asks_for_password: true,
        ..Behaviour::default()
    };
    let (saved, other) = (
        MailServer::start(offered.clone()).await,
        MailServer::start(offered).await,
    );
    let port = saved.port.to_string();
    let api = Api::start(&[
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", "127.0.0.1"),
        ("auth.email.smtp.port", &port),
        ("auth.email.smtp.user", "me"),
        ("auth.email.smtp.pass", "geheim"),
        ("auth.email.smtp.admin_email", "office@site.test"),
    ])
    .await;
    let login = Some(("me".to_owned(), "geheim".to_owned()));

    test_mail(&api, "ops@mail.dev", None).await;
    test_mail(
        &api,
        "ops@mail.dev",
        Some(settings(saved.port, Some("me"), None)),
    )
    .await;
    test_mail(
        &api,
        "ops@mail.dev",
        Some(settings(other.port, Some("me"), None)),
    )
    .await;

    let logins: Vec<_> = saved
        .received()
        .into_iter()
        .map(|mail| mail.login)
        .collect();
    assert_eq!(logins, [login.clone(), login.clone()]);
    let elsewhere = other.received();
    assert!(elsewhere.iter().all(|mail| mail.login != login));
}

#[tokio::test]
async fn an_address_must_be_one() {
    let api = Api::start(&[]).await;
    let (users, call) = api.administration();
    for to in ["", "nobody", "a@b.dev\r\nBcc: c@d.dev"] {
        let test = MailTest {
            to: to.to_owned(),
            smtp: None,
        };
        expect_invalid(users.test_mail(&call, &test).await, "email address");
    }
    assert!(api.mails().await.is_empty());
}

fn of(template: &str) -> TemplatePreview {
    TemplatePreview {
        template: template.to_owned(),
        subject: None,
        body: None,
        data: Map::new(),
    }
}

async fn preview(api: &Api, preview: TemplatePreview) -> RenderedTemplate {
    let (users, call) = api.administration();
    let rendered = users.preview_template(&call, &preview).await;
    rendered.expect("a rendered template")
}

#[tokio::test]
async fn every_default_template_is_complete() {
    let api = Api::start(&[]).await;
    for template in [
        "confirmation",
        "recovery",
        "magic_link",
        "invite",
        "email_change",
        "reauthentication",
        "password_changed_notification",
        "email_changed_notification",
        "phone_changed_notification",
        "identity_linked_notification",
        "identity_unlinked_notification",
        "mfa_factor_enrolled_notification",
        "mfa_factor_unenrolled_notification",
    ] {
        let rendered = preview(&api, of(template)).await;

        let warnings: Vec<&String> = rendered
            .warnings
            .iter()
            .filter(|text| !text.contains("http://"))
            .collect();
        assert!(warnings.is_empty(), "{template}: {warnings:?}");
        assert!(!rendered.text.is_empty() && !rendered.subject.is_empty());
        assert_eq!(rendered.variables["SiteURL"], "http://localhost:3000");
    }
    assert_eq!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );
    assert!(api.mails().await.is_empty());
}

#[tokio::test]
async fn an_unsaved_template_is_rendered_as_it_would_be_sent() {
    let api = Api::start(&[]).await;
    let own = TemplatePreview {
        subject: Some("Hello\r\nBcc: x {{ .Data.full_name }}".to_owned()),
        body: Some(
            "<h1>{{ .Data.greeting }}</h1><a href=\"{{ .ConfirmationURL }}\">go</a>".to_owned(),
        ),
        data: match json!({ "Data": { "full_name": "Zoë", "greeting": "<script>alert(1)</script>" } })
        {
            Value::Object(data) => data,
            _ => unreachable!(),
        },
        ..of("confirmation")
    };

    let rendered = preview(&api, own).await;

    assert_eq!(rendered.subject, "Hello Bcc: x Zoë");
    assert!(
        rendered.html.contains("&lt;script&gt;"),
        "{}",
        rendered.html
    );
    assert!(rendered.links[0].contains("sample-token-hash"));
    let unencrypted = "A link is not encrypted (http://)";
    assert_eq!(rendered.warnings, [unencrypted]);
}

#[tokio::test]
async fn what_a_recipient_would_miss_is_named() {
    let api = Api::start(&[]).await;
    let warnings = async |template: &str, subject: &str, body: &str| {
        let own = TemplatePreview {
            subject: Some(subject.to_owned()),
            body: Some(body.to_owned()),
            ..of(template)
        };
        preview(&api, own).await.warnings.join("; ")
    };

    let none = warnings("recovery", "Hi", "<p>Hello</p>").await;
    assert!(none.contains("{{ .ConfirmationURL }}"), "{none}");
    assert_eq!(warnings("recovery", "Hi", "<p>{{ .Token }}</p>").await, "");
    let code = warnings("reauthentication", "Hi", "<p>Hello</p>").await;
    assert!(code.contains("{{ .Token }}"), "{code}");
    let own_link = "<a href=\"https://a.test/?t={{ .TokenHash }}\">go</a>";
    assert_eq!(warnings("magic_link", "Hi", own_link).await, "");
    let loud = warnings("invite", "FREE MONEY!!", "{{ .Token }}<script>x</script>").await;
    assert!(loud.contains("spam") && loud.contains("scripts"), "{loud}");
    let empty = warnings("password_changed_notification", "", "").await;
    assert!(
        empty.contains("subject is empty") && empty.contains("no text"),
        "{empty}"
    );
}

#[tokio::test]
async fn a_mistake_is_named_with_its_line() {
    let api = Api::start(&[]).await;
    let (users, call) = api.administration();
    let with = |subject: Option<&str>, body: Option<&str>| TemplatePreview {
        subject: subject.map(str::to_owned),
        body: body.map(str::to_owned),
        ..of("invite")
    };
    let cases = [
        (with(None, Some("one\ntwo {{ if }}")), "body: line 2"),
        (with(Some("{{ .A"), None), "subject: line 1"),
        (with(None, Some("{{ template \"x\" }}")), "body: line 1"),
        (with(None, Some("{{ $missing }}")), "body: "),
        (of("nothing"), "template:"),
    ];
    for (own, part) in cases {
        expect_invalid(users.preview_template(&call, &own).await, part);
    }
    let huge = with(None, Some(&"x".repeat(1_000_001)));
    expect_invalid(users.preview_template(&call, &huge).await, "longer");
    let endless = "{{ range .Data.list }}{{ range $.Data.list }}{{ range $.Data.list }}xxxxxxxxxx\
                   {{ end }}{{ end }}{{ end }}";
    let list: Vec<u32> = (0..200).collect();
    let Value::Object(data) = json!({ "Data": { "list": list } }) else {
        unreachable!()
    };
    let loop_ = TemplatePreview {
        data,
        ..with(None, Some(endless))
    };
    expect_invalid(users.preview_template(&call, &loop_).await, "too long");
}
