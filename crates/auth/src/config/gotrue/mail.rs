//! Mail and its templates.

use std::collections::BTreeMap;

use super::{MINUTE, SECOND, variables::Variables};
use crate::config::{Brand, MailConfig, SmtpConfig, TemplateSource, otp_length};

/// Mails by the suffix of their variables.
const MAILS: [&str; 6] = [
    "INVITE",
    "CONFIRMATION",
    "RECOVERY",
    "EMAIL_CHANGE",
    "MAGIC_LINK",
    "REAUTHENTICATION",
];

const NOTICES: [&str; 7] = [
    "PASSWORD_CHANGED",
    "EMAIL_CHANGED",
    "PHONE_CHANGED",
    "IDENTITY_LINKED",
    "IDENTITY_UNLINKED",
    "MFA_FACTOR_ENROLLED",
    "MFA_FACTOR_UNENROLLED",
];

pub(super) fn read(v: &mut Variables, site_url: &str) -> MailConfig {
    let notices = NOTICES.iter().map(|name| format!("{name}_NOTIFICATION"));
    let names: Vec<String> = MAILS
        .map(str::to_owned)
        .into_iter()
        .chain(notices)
        .collect();
    let templates = by_mail(v, "TEMPLATES", &names);
    let config = MailConfig {
        is_autoconfirmed: v.flag("MAILER_AUTOCONFIRM", false),
        allows_unverified_sign_ins: v.flag("MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", false),
        is_change_confirmed_twice: v.flag("MAILER_SECURE_EMAIL_CHANGE_ENABLED", true),
        otp_lifetime: match v.seconds("MAILER_OTP_EXP", 86_400 * SECOND) {
            span if span.is_zero() => 86_400 * SECOND,
            span => span,
        },
        otp_length: otp_length(v.number("MAILER_OTP_LENGTH", 6) as usize),
        min_interval: v.duration_or_if_zero("SMTP_MAX_FREQUENCY", MINUTE),
        paths: by_mail(v, "URLPATHS", &MAILS[..4]),
        subjects: by_mail(v, "SUBJECTS", &names),
        templates: templates
            .into_iter()
            .map(|(mail, place)| (mail, TemplateSource::Url(absolute(site_url, &place))))
            .collect(),
        notifications: enabled_notices(v),
        external_hosts: v.list("MAILER_EXTERNAL_HOSTS"),
        authorized_addresses: v.list("EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES"),
        is_validation_extended: v.flag("MAILER_EMAIL_VALIDATION_EXTENDED", false),
        blocked_mail_servers: blocked_mail_servers(v),
        brand: Brand::default(),
        smtp: smtp(v),
    };
    if config.is_autoconfirmed && config.allows_unverified_sign_ins {
        v.add_problem(
            "GOTRUE_MAILER_AUTOCONFIRM and GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS cannot \
             both be on",
        );
    }
    config
}

fn by_mail(v: &mut Variables, what: &str, names: &[impl AsRef<str>]) -> BTreeMap<String, String> {
    let names = names.iter().map(AsRef::as_ref);
    names
        .filter_map(|name| {
            let value = v.text(&format!("MAILER_{what}_{name}"))?;
            Some((name.to_lowercase(), value))
        })
        .collect()
}

fn enabled_notices(v: &mut Variables) -> Vec<String> {
    let notices = NOTICES.into_iter();
    notices
        .filter(|name| v.flag(&format!("MAILER_NOTIFICATIONS_{name}_ENABLED"), false))
        .map(str::to_lowercase)
        .collect()
}

/// A path is relative to the site's URL.
fn absolute(site_url: &str, place: &str) -> String {
    if place.starts_with("http") {
        place.to_owned()
    } else {
        format!(
            "{}/{}",
            site_url.trim_end_matches('/'),
            place.trim_start_matches('/')
        )
    }
}

fn blocked_mail_servers(v: &mut Variables) -> Vec<String> {
    let hosts = v.read(
        "MAILER_EMAIL_VALIDATION_BLOCKED_MX",
        "a JSON array of hosts",
        |text| serde_json::from_str(text).ok(),
    );
    hosts.unwrap_or_default()
}

fn smtp(v: &mut Variables) -> Option<SmtpConfig> {
    let host = v.text("SMTP_HOST");
    let port = v.read("SMTP_PORT", "a port", |text| text.parse().ok());
    let (user, password) = (v.text("SMTP_USER"), v.secret("SMTP_PASS"));
    let sender_address = v.text("SMTP_ADMIN_EMAIL");
    let sender_name = v.text("SMTP_SENDER_NAME").unwrap_or_default();
    let headers = headers(v);
    let host = host?;
    if sender_address.is_none() {
        v.add_problem_with("SMTP_ADMIN_EMAIL", "is needed with SMTP_HOST");
    }
    Some(SmtpConfig {
        host,
        port: port.unwrap_or(587),
        user,
        password,
        sender_address: sender_address?,
        sender_name,
        headers,
    })
}

/// `{"name": ["value", …]}`
fn headers(v: &mut Variables) -> Vec<(String, String)> {
    let headers: Option<BTreeMap<String, Vec<String>>> = v.read(
        "SMTP_HEADERS",
        "a JSON object of lists, as in {\"X-Name\": [\"value\"]}",
        |text| serde_json::from_str(text).ok(),
    );
    let headers = headers.unwrap_or_default().into_iter();
    headers
        .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
        .collect()
}
