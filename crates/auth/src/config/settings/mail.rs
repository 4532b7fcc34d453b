//! Mail and its texts.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use plinth_settings::{Settings, Source, join_path};

use super::{count, duration, owned, seconds, secret};
use crate::config::{MailConfig, SmtpConfig, TemplateSource, otp_length};

const DEFAULT_SMTP_PORT: u16 = 587;

pub(super) fn read(settings: &Settings) -> MailConfig {
    let mut texts = Texts::default();
    for name in settings.entries("auth.email.template") {
        texts.add(settings, "template", name, name);
    }
    let mut notifications = Vec::new();
    for name in settings.entries("auth.email.notification") {
        texts.add(
            settings,
            "notification",
            name,
            &format!("{name}_notification"),
        );
        if settings.bool(&member("notification", name, "enabled")) {
            notifications.push(name.to_owned());
        }
    }
    let list = |name: &str| settings.list(&format!("plinth.auth.email.{name}")).to_vec();
    MailConfig {
        is_autoconfirmed: !settings.bool("auth.email.enable_confirmations"),
        allows_unverified_sign_ins: settings.bool("plinth.auth.email.allow_unverified_sign_ins"),
        is_change_confirmed_twice: settings.bool("auth.email.double_confirm_changes"),
        otp_lifetime: seconds(settings, "auth.email.otp_expiry"),
        otp_length: otp_length(count(settings, "auth.email.otp_length")),
        min_interval: duration(settings, "auth.email.max_frequency"),
        paths: settings.table("plinth.auth.email.url_paths").clone(),
        subjects: texts.subjects,
        templates: texts.bodies,
        notifications,
        external_hosts: list("external_hosts"),
        authorized_addresses: list("authorized_addresses"),
        is_validation_extended: settings.bool("plinth.auth.email.extended_validation"),
        blocked_mail_servers: list("blocked_mail_servers"),
        smtp: smtp(settings),
    }
}

fn smtp(settings: &Settings) -> Option<SmtpConfig> {
    if !settings.bool("auth.email.smtp.enabled") {
        return None;
    }
    let headers = settings.table("plinth.auth.email.smtp_headers");
    let sender_address = owned(settings, "auth.email.smtp.admin_email")?;
    Some(SmtpConfig {
        host: owned(settings, "auth.email.smtp.host")?,
        port: settings
            .opt_port("auth.email.smtp.port")
            .unwrap_or(DEFAULT_SMTP_PORT),
        user: owned(settings, "auth.email.smtp.user"),
        password: secret(settings, "auth.email.smtp.pass"),
        sender_name: owned(settings, "auth.email.smtp.sender_name").unwrap_or_default(),
        sender_address,
        headers: headers.clone().into_iter().collect(),
    })
}

#[derive(Default)]
struct Texts {
    subjects: BTreeMap<String, String>,
    bodies: BTreeMap<String, TemplateSource>,
}

impl Texts {
    /// What the member `name` of `table` says about the mail `mail`.
    fn add(&mut self, settings: &Settings, table: &str, name: &str, mail: &str) {
        if let Some(subject) = settings.opt_text(&member(table, name, "subject")) {
            self.subjects.insert(mail.to_owned(), subject.to_owned());
        }
        let written = settings.opt_text(&member(table, name, "content"));
        let text = match written {
            Some(text) => Some(text.to_owned()),
            None => from_file(settings, &member(table, name, "content_path")),
        };
        if let Some(text) = text {
            self.bodies
                .insert(mail.to_owned(), TemplateSource::Text(text));
        }
    }
}

fn member(table: &str, name: &str, field: &str) -> String {
    join_path(["auth", "email", table, name, field])
}

/// The text of the file that a setting names; without it the mail keeps Plinth's own words.
fn from_file(settings: &Settings, setting: &str) -> Option<String> {
    let path = settings.opt_path(setting)?;
    let text = places(&settings.source(setting), path)
        .into_iter()
        .map(fs::read_to_string)
        .reduce(Result::or)?;
    text.inspect_err(|error| {
        tracing::warn!("{setting}: {} cannot be read: {error}", path.display());
    })
    .ok()
}

/// The official tool looks from the project's folder; people also write paths as seen from
/// `config.toml` beside them.
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
