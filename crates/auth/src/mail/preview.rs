//! A mail rendered with sample data, for operators who write a template (console contract N94).
//!
//! The same engine as for real mails. No token in it is valid, and nothing is stored or sent.

use std::sync::Arc;

use plinth_project::{AdministrationError, RenderedTemplate, TemplatePreview};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    EmailChange, Notification, Token, TokenMail, TokenMailKind, custom_templates, data, defaults,
    kind::Kind,
    message::one_line,
    plain_text::{self, PlainText},
};
use crate::{model::User, request::RequestContext, template::Template};

const EMAIL: &str = "ada@example.com";
const NEW_EMAIL: &str = "ada.new@example.com";
const PHONE: &str = "491701234567";
const OTP: &str = "123456";
const TOKEN_HASH: &str = "sample-token-hash";

/// Longer templates are rejected, as those that are fetched are.
const MAX_TEMPLATE_BYTES: usize = 1_000_000;
/// Some mail programs cut the HTML part here.
const MAX_HTML_BYTES: usize = 102 * 1024;
/// Longer subjects are cut in most lists.
const MAX_SUBJECT_CHARS: usize = 78;

/// Renders a template that may not be saved yet.
pub(crate) async fn preview(
    context: &RequestContext,
    preview: &TemplatePreview,
) -> Result<RenderedTemplate, AdministrationError> {
    let kind = Kind::from_template(&preview.template).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::template).join(", ");
        invalid(format!(
            "template: {:?} is none of {names}",
            preview.template
        ))
    })?;
    let data = merged(sample(context, kind), &preview.data);
    let (subject, body) = templates(context, kind, preview).await?;
    let subject = subject.render_text(&data);
    let subject = subject.map_err(|error| invalid(format!("subject: {error}")))?;
    let html = body.render_html(&data);
    let html = html.map_err(|error| invalid(format!("body: {error}")))?;
    let plain = plain_text::extract(&html);
    let subject = one_line(&subject);
    let warnings = warnings(kind, &data, &subject, &html, &plain);
    Ok(RenderedTemplate {
        subject,
        html,
        warnings,
        text: plain.text,
        links: plain.links,
        variables: match data {
            Value::Object(variables) => variables,
            _ => Map::new(),
        },
    })
}

/// Those of the request, else those that are saved, else the default ones.
async fn templates(
    context: &RequestContext,
    kind: Kind,
    preview: &TemplatePreview,
) -> Result<(Template, Arc<Template>), AdministrationError> {
    let given = |what: &str, text: &Option<String>| {
        let text = text.as_deref();
        let parsed = text.map(|text| {
            if text.len() > MAX_TEMPLATE_BYTES {
                return Err(invalid(format!(
                    "{what}: it is longer than {MAX_TEMPLATE_BYTES} bytes"
                )));
            }
            Template::parse(text).map_err(|error| invalid(format!("{what}: {error}")))
        });
        parsed.transpose()
    };
    let subject = given("subject", &preview.subject)?;
    let body = given("body", &preview.body)?.map(Arc::new);
    let saved = match (&subject, &body) {
        (Some(_), Some(_)) => custom_templates::CustomTemplates::default(),
        _ => custom_templates::load(context, kind).await,
    };
    let default = defaults::for_kind(kind);
    let subject = subject.or(saved.subject);
    let body = body.or(saved.body);
    Ok((
        subject.unwrap_or_else(|| default.subject.clone()),
        body.unwrap_or_else(|| Arc::new(default.body.clone())),
    ))
}

fn merged(mut data: Value, own: &Map<String, Value>) -> Value {
    for (name, value) in own {
        data[name] = value.clone();
    }
    data
}

/// The data of a mail of this kind to someone who does not exist.
fn sample(context: &RequestContext, kind: Kind) -> Value {
    let user = &sample_user(context);
    let redirect_to = context.config.site();
    let of_token = |kind| {
        let mail = TokenMail {
            kind,
            user,
            to: EMAIL,
            otp: OTP,
            token_hash: TOKEN_HASH,
            redirect_to,
        };
        data::of_token_mail(context, &mail)
    };
    let of_notification =
        |notification: Notification<'_>| data::of_notification(context, user, EMAIL, &notification);
    match kind {
        Kind::Confirmation => of_token(TokenMailKind::Confirmation),
        Kind::Recovery => of_token(TokenMailKind::Recovery),
        Kind::MagicLink => of_token(TokenMailKind::MagicLink),
        Kind::Invite => of_token(TokenMailKind::Invite),
        Kind::Reauthentication => of_token(TokenMailKind::Reauthentication),
        Kind::EmailChange => {
            let token = Token {
                otp: OTP,
                hash: TOKEN_HASH,
            };
            let change = EmailChange {
                user,
                new_email: NEW_EMAIL,
                new: token.clone(),
                current: None,
                redirect_to,
            };
            data::of_change(context, &change, NEW_EMAIL, &token)
        }
        Kind::PasswordChanged => of_notification(Notification::PasswordChanged),
        Kind::EmailChanged => of_notification(Notification::EmailChanged {
            old_email: "ada.old@example.com",
        }),
        Kind::PhoneChanged => of_notification(Notification::PhoneChanged {
            old_phone: "491709876543",
        }),
        Kind::IdentityLinked => {
            of_notification(Notification::IdentityLinked { provider: "google" })
        }
        Kind::IdentityUnlinked => {
            of_notification(Notification::IdentityUnlinked { provider: "google" })
        }
        Kind::FactorEnrolled => of_notification(Notification::FactorEnrolled {
            factor_type: "totp",
        }),
        Kind::FactorUnenrolled => of_notification(Notification::FactorUnenrolled {
            factor_type: "totp",
        }),
    }
}

fn sample_user(context: &RequestContext) -> User {
    let object = |value: Value| match value {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    User {
        id: Uuid::nil(),
        aud: context.config.jwt.audience.clone(),
        role: context.config.jwt.default_role.clone(),
        email: EMAIL.to_owned(),
        email_confirmed_at: None,
        encrypted_password: String::new(),
        invited_at: None,
        confirmation_token: String::new(),
        confirmation_sent_at: None,
        recovery_token: String::new(),
        recovery_sent_at: None,
        email_change: String::new(),
        email_change_token_new: String::new(),
        email_change_token_current: String::new(),
        email_change_sent_at: None,
        email_change_confirm_status: 0,
        phone: PHONE.to_owned(),
        phone_confirmed_at: None,
        phone_change: String::new(),
        phone_change_token: String::new(),
        phone_change_sent_at: None,
        reauthentication_token: String::new(),
        reauthentication_sent_at: None,
        last_sign_in_at: None,
        app_metadata: object(json!({ "provider": "email", "providers": ["email"] })),
        user_metadata: object(json!({ "full_name": "Ada Example", "name": "Ada Example" })),
        created_at: context.now,
        updated_at: context.now,
        confirmed_at: None,
        banned_until: None,
        deleted_at: None,
        is_sso_user: false,
        is_anonymous: false,
    }
}

/// What a recipient would miss, and what filters dislike.
fn warnings(kind: Kind, data: &Value, subject: &str, html: &str, plain: &PlainText) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |text: &str| warnings.push(text.to_owned());
    let otp = data["Token"].as_str().unwrap_or(OTP);
    let has_code = plain.text.contains(otp);
    // In a link, or in the address of a link that the template builds itself.
    let hash = data["TokenHash"].as_str().unwrap_or(TOKEN_HASH);
    let has_link = plain.links.iter().any(|link| link.contains(hash));
    let is_token_mail = !data["Token"].is_null();
    match kind {
        Kind::Reauthentication if !has_code => {
            warn("The code is missing: {{ .Token }}");
        }
        Kind::Reauthentication => {}
        _ if is_token_mail && !has_code && !has_link => {
            warn("Neither a link nor a code is in it: {{ .ConfirmationURL }} or {{ .Token }}");
        }
        _ => {}
    }
    if subject.is_empty() {
        warn("The subject is empty");
    }
    if subject.chars().count() > MAX_SUBJECT_CHARS {
        warn("The subject is longer than 78 characters, so most programs cut it");
    }
    let letters: Vec<char> = subject.chars().filter(|c| c.is_alphabetic()).collect();
    if letters.len() > 5 && letters.iter().all(|c| c.is_uppercase()) || subject.contains("!!") {
        warn("Capital letters only and rows of exclamation marks look like spam");
    }
    if html.len() > MAX_HTML_BYTES {
        warn("The HTML part is larger than 102 KB, so some programs cut it");
    }
    if html.to_ascii_lowercase().contains("<script") {
        warn("Mail programs run no scripts; filters reject mails that have some");
    }
    if plain.text.trim().is_empty() {
        warn("There is no text that a screen reader or a program without HTML could show");
    }
    let is_plain_http = |link: &String| {
        let host = link.strip_prefix("http://");
        host.is_some_and(|host| !host.starts_with("localhost") && !host.starts_with("127.0.0.1"))
    };
    if plain.links.iter().any(is_plain_http) {
        warn("A link is not encrypted (http://)");
    }
    warnings
}

fn invalid(reason: String) -> AdministrationError {
    AdministrationError::Invalid(reason)
}
