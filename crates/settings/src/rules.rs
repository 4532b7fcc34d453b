//! What a setting asks of others: a service that is switched on needs its credentials.

use std::collections::BTreeSet;
use std::path::PathBuf;

use url::Url;

use crate::path::SettingPath;
use crate::problem::{Findings, Place};
use crate::settings::Settings;

/// Tables with a switch `enabled`, and the settings beside it that must then be set.
const NEEDS: &[(&str, &[&str])] = &[
    // User and password are left out on purpose: a relay in one's own network asks for neither.
    ("auth.email.smtp", &["host", "port", "admin_email"]),
    ("auth.captcha", &["provider", "secret"]),
    ("auth.third_party.firebase", &["project_id"]),
    ("auth.third_party.auth0", &["tenant"]),
    (
        "auth.third_party.aws_cognito",
        &["user_pool_id", "user_pool_region"],
    ),
    ("auth.third_party.clerk", &["domain"]),
    ("auth.third_party.workos", &["issuer_url"]),
];

/// SMS providers in the order of preference: the first one that is switched on is used, and only
/// that one must be complete.
const SMS_NEEDS: &[(&str, &[&str])] = &[
    (
        "auth.sms.twilio",
        &["account_sid", "message_service_sid", "auth_token"],
    ),
    (
        "auth.sms.twilio_verify",
        &["account_sid", "message_service_sid", "auth_token"],
    ),
    ("auth.sms.messagebird", &["originator", "access_key"]),
    ("auth.sms.textlocal", &["sender", "api_key"]),
    ("auth.sms.vonage", &["from", "api_key", "api_secret"]),
];

/// Settings that make sense only together.
const PAIRS: &[(&str, &str)] = &[
    ("api.tls.cert_path", "api.tls.key_path"),
    ("plinth.tls.cert_file", "plinth.tls.key_file"),
];

/// What an S3 store needs besides its address, which Amazon's has by itself.
const S3_NEEDS: [&str; 3] = ["bucket", "access_key", "secret_key"];
/// The shortest part that S3 stores take.
const LEAST_S3_PART: u64 = 5 * 1024 * 1024;

/// Providers that also work with ID tokens alone, without a secret.
const WITHOUT_SECRET: [&str; 2] = ["apple", "google"];

/// Checks the rules. `promised` are settings that refer to a variable that is not set: they were
/// meant to be there, and the missing variable is reported on its own.
pub(crate) fn check(
    settings: &Settings,
    promised: &BTreeSet<&SettingPath>,
    findings: &mut Findings,
) {
    let mut checker = Checker {
        settings,
        promised,
        findings,
    };
    if settings.bool("auth.enabled") {
        checker.check_auth();
    }
    for (one, other) in PAIRS {
        for (given, needed) in [(one, other), (other, one)] {
            let given = SettingPath::parse(given);
            if checker.is_set(&given) {
                checker.require(&given, &SettingPath::parse(needed));
            }
        }
    }
    checker.check_account();
    if settings.text("plinth.storage.backend") == "s3" {
        checker.check_s3_store();
    }
}

struct Checker<'a> {
    settings: &'a Settings,
    promised: &'a BTreeSet<&'a SettingPath>,
    findings: &'a mut Findings,
}

impl Checker<'_> {
    fn check_auth(&mut self) {
        for (table, needs) in NEEDS {
            self.require_all(&SettingPath::parse(table), needs);
        }
        let sms = SMS_NEEDS
            .iter()
            .find(|(table, _)| self.is_on(&SettingPath::parse(table)));
        if let Some((table, needs)) = sms {
            self.require_all(&SettingPath::parse(table), needs);
        }
        let settings = self.settings;
        for name in settings.entries("auth.hook") {
            self.require_all(&SettingPath::parse("auth.hook").child(name), &["uri"]);
        }
        for name in settings.entries("auth.external") {
            let needs: &[&str] = match WITHOUT_SECRET.contains(&name) {
                true => &["client_id"],
                false => &["client_id", "secret"],
            };
            self.require_all(&SettingPath::parse("auth.external").child(name), needs);
        }
    }

    /// The account pages: a logo that can be found, and fields that can be asked for.
    fn check_account(&mut self) {
        let settings = self.settings;
        let logo = settings.opt_text("plinth.account.logo");
        if logo.is_some_and(|logo| !logo.starts_with('/') && Url::parse(logo).is_err()) {
            let expected = "expected a URL, or a path that begins with a slash.";
            self.refuse("plinth.account.logo", expected);
        }
        for field in settings.records("plinth.account.profile_fields") {
            let has = |name: &str| field.get(name).is_some_and(|text| !text.trim().is_empty());
            let fits = |name: &str, fits: fn(&str) -> bool| field.get(name).is_none_or(|t| fits(t));
            let problem = match () {
                () if !has("key") || !has("label") => "every field needs a key and a label.",
                () if !fits("required", |text| matches!(text, "true" | "false")) => {
                    "required is true or false."
                }
                () if !fits("max", |text| text.parse().is_ok_and(|max: u16| max > 0)) => {
                    "max is a whole number from 1 to 65535."
                }
                () => continue,
            };
            self.refuse("plinth.account.profile_fields", problem);
        }
    }

    fn check_s3_store(&mut self) {
        let backend = SettingPath::parse("plinth.storage.backend");
        let table = SettingPath::parse("plinth.storage.s3");
        for need in S3_NEEDS {
            self.require(&backend, &table.child(need));
        }
        let part_size = "plinth.storage.tus.part_size";
        if self.settings.bytes(part_size) < LEAST_S3_PART {
            self.refuse(part_size, "an S3 store takes parts of at least 5MiB.");
        }
    }

    fn refuse(&mut self, path: &str, message: &str) {
        let path = SettingPath::parse(path);
        let place = self.place_of(&path);
        self.findings
            .error(place, &path, format!("{path}: {message}"));
    }

    fn require_all(&mut self, table: &SettingPath, needs: &[&str]) {
        if self.is_on(table) {
            for need in needs {
                self.require(&table.child("enabled"), &table.child(need));
            }
        }
    }

    fn is_on(&self, table: &SettingPath) -> bool {
        self.settings.bool(&table.child("enabled").to_string())
    }

    fn is_set(&self, path: &SettingPath) -> bool {
        self.promised.contains(path) || self.settings.value(&path.to_string()).is_some()
    }

    fn require(&mut self, because: &SettingPath, needed: &SettingPath) {
        if self.is_set(needed) {
            return;
        }
        let place = self.place_of(because);
        let value = self.settings.value(&because.to_string());
        let because = match value {
            Some(value) => format!("{because} = {value}"),
            None => because.to_string(),
        };
        self.findings
            .error(place, needed, format!("{because} also needs {needed}."));
    }

    /// Only what somebody wrote asks for something, so the place is known.
    fn place_of(&self, path: &SettingPath) -> Place {
        self.settings
            .place_at(path)
            .cloned()
            .unwrap_or_else(|| Place::File {
                path: PathBuf::from("config.toml"),
                line: None,
                column: None,
            })
    }
}
