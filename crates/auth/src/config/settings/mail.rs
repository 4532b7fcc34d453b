//! Mail and its templates.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use plinth_settings::{
    MemberKey, SettingKey, Settings, Source,
    keys::{auth_email, plinth_account, plinth_auth},
};

use super::{duration, owned, seconds, secret};
use crate::config::{Brand, MailConfig, SmtpConfig, TemplateSource, otp_length};

const DEFAULT_SMTP_PORT: u16 = 587;

pub(super) fn read(settings: &Settings) -> MailConfig {
    let mut texts = Texts::default();
    for name in settings.members(auth_email::TEMPLATES) {
        texts.add(settings, TEMPLATE, name, name);
    }
    let mut notifications = Vec::new();
    for name in settings.members(auth_email::NOTIFICATIONS) {
        texts.add(
            settings,
            NOTIFICATION,
            name,
            &format!("{name}_notification"),
        );
        if settings.get(auth_email::NOTIFICATION_ENABLED.of(name)) {
            notifications.push(name.to_owned());
        }
    }
    MailConfig {
        is_autoconfirmed: !settings.get(auth_email::ENABLE_CONFIRMATIONS),
        allows_unverified_sign_ins: settings.get(plinth_auth::EMAIL_ALLOW_UNVERIFIED_SIGN_INS),
        is_change_confirmed_twice: settings.get(auth_email::DOUBLE_CONFIRM_CHANGES),
        otp_lifetime: seconds(settings, auth_email::OTP_EXPIRY),
        otp_length: otp_length(settings.get(auth_email::OTP_LENGTH)),
        min_interval: duration(settings, auth_email::MAX_FREQUENCY),
        paths: settings.get(plinth_auth::EMAIL_URL_PATHS).clone(),
        subjects: texts.subjects,
        templates: texts.bodies,
        notifications,
        external_hosts: settings.get(plinth_auth::EMAIL_EXTERNAL_HOSTS).to_vec(),
        authorized_addresses: settings
            .get(plinth_auth::EMAIL_AUTHORIZED_ADDRESSES)
            .to_vec(),
        is_validation_extended: settings.get(plinth_auth::EMAIL_EXTENDED_VALIDATION),
        blocked_mail_servers: settings
            .get(plinth_auth::EMAIL_BLOCKED_MAIL_SERVERS)
            .to_vec(),
        brand: brand(settings),
        smtp: smtp(settings),
    }
}

fn brand(settings: &Settings) -> Brand {
    let default = Brand::default();
    Brand {
        name: owned(settings, plinth_account::TITLE),
        accent: owned(settings, plinth_account::ACCENT).unwrap_or(default.accent),
    }
}

fn smtp(settings: &Settings) -> Option<SmtpConfig> {
    if !settings.get(auth_email::SMTP_ENABLED) {
        return None;
    }
    let headers = settings.get(plinth_auth::EMAIL_SMTP_HEADERS);
    let sender_address = owned(settings, auth_email::SMTP_ADMIN_EMAIL)?;
    Some(SmtpConfig {
        host: owned(settings, auth_email::SMTP_HOST)?,
        port: settings
            .get(auth_email::SMTP_PORT)
            .unwrap_or(DEFAULT_SMTP_PORT),
        user: owned(settings, auth_email::SMTP_USER),
        password: secret(settings, auth_email::SMTP_PASS),
        sender_name: owned(settings, auth_email::SMTP_SENDER_NAME)
            .or_else(|| owned(settings, plinth_account::TITLE))
            .unwrap_or_default(),
        sender_address,
        headers: headers.clone().into_iter().collect(),
    })
}

/// The settings of one mail's text.
#[derive(Clone, Copy)]
struct TextKeys {
    subject: MemberKey<Option<String>>,
    content: MemberKey<Option<String>>,
    content_path: MemberKey<Option<PathBuf>>,
}

const TEMPLATE: TextKeys = TextKeys {
    subject: auth_email::TEMPLATE_SUBJECT,
    content: auth_email::TEMPLATE_CONTENT,
    content_path: auth_email::TEMPLATE_CONTENT_PATH,
};

const NOTIFICATION: TextKeys = TextKeys {
    subject: auth_email::NOTIFICATION_SUBJECT,
    content: auth_email::NOTIFICATION_CONTENT,
    content_path: auth_email::NOTIFICATION_CONTENT_PATH,
};

#[derive(Default)]
struct Texts {
    subjects: BTreeMap<String, String>,
    bodies: BTreeMap<String, TemplateSource>,
}

impl Texts {
    /// What the settings of `name` say about the mail `mail`.
    fn add(&mut self, settings: &Settings, keys: TextKeys, name: &str, mail: &str) {
        if let Some(subject) = settings.get(keys.subject.of(name)) {
            self.subjects.insert(mail.to_owned(), subject.to_owned());
        }
        let written = settings.get(keys.content.of(name));
        let text = match written {
            Some(text) => Some(text.to_owned()),
            None => from_file(settings, keys.content_path.of(name)),
        };
        if let Some(text) = text {
            self.bodies
                .insert(mail.to_owned(), TemplateSource::Text(text));
        }
    }
}

/// The text of the file that a setting names; without it the mail keeps Plinth's own words.
fn from_file(settings: &Settings, key: SettingKey<'_, Option<PathBuf>>) -> Option<String> {
    let path = settings.get(key)?;
    let text = places(&settings.source_of(key), path)
        .into_iter()
        .map(fs::read_to_string)
        .reduce(Result::or)?;
    text.inspect_err(|error| {
        tracing::warn!("{key}: {} cannot be read: {error}", path.display());
    })
    .ok()
}

/// The Supabase CLI resolves paths from the project's folder; paths relative to `config.toml` are
/// common too.
fn places(source: &Source, path: &Path) -> Vec<PathBuf> {
    let Source::File(file) = source else {
        return vec![path.to_owned()];
    };
    let beside = file.parent();
    let folders = [beside.and_then(Path::parent), beside];
    folders
        .into_iter()
        .flatten()
        .map(|folder| folder.join(path))
        .collect()
}
