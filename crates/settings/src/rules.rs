//! Rules between settings, such as: a provider that is enabled needs its credentials.

use std::collections::BTreeSet;
use std::path::PathBuf;

use url::Url;

use crate::key::{Key, SettingKey};
use crate::keys::{
    api, auth, auth_email, auth_external, auth_hook, auth_sms, plinth, plinth_account,
    plinth_storage,
};
use crate::path::SettingPath;
use crate::problem::{Findings, Place};
use crate::profile_field::ProfileField;
use crate::settings::Settings;
use crate::value::Value;

/// A switch, and the settings that must be set while it is on.
type Needs = (Key<bool>, &'static [&'static str]);

const AUTH_NEEDS: &[Needs] = &[
    // User and password are not required: a relay in the local network needs neither.
    (
        auth_email::SMTP_ENABLED,
        &[
            auth_email::SMTP_HOST.path(),
            auth_email::SMTP_PORT.path(),
            auth_email::SMTP_ADMIN_EMAIL.path(),
        ],
    ),
    (
        auth::CAPTCHA_ENABLED,
        &[auth::CAPTCHA_PROVIDER.path(), auth::CAPTCHA_SECRET.path()],
    ),
    (
        auth::THIRD_PARTY_FIREBASE_ENABLED,
        &[auth::THIRD_PARTY_FIREBASE_PROJECT_ID.path()],
    ),
    (
        auth::THIRD_PARTY_AUTH0_ENABLED,
        &[auth::THIRD_PARTY_AUTH0_TENANT.path()],
    ),
    (
        auth::THIRD_PARTY_AWS_COGNITO_ENABLED,
        &[
            auth::THIRD_PARTY_AWS_COGNITO_USER_POOL_ID.path(),
            auth::THIRD_PARTY_AWS_COGNITO_USER_POOL_REGION.path(),
        ],
    ),
    (
        auth::THIRD_PARTY_CLERK_ENABLED,
        &[auth::THIRD_PARTY_CLERK_DOMAIN.path()],
    ),
    (
        auth::THIRD_PARTY_WORKOS_ENABLED,
        &[auth::THIRD_PARTY_WORKOS_ISSUER_URL.path()],
    ),
];

/// SMS providers in the order of preference: the first one that is switched on is used, and only
/// that one must be complete.
const SMS_NEEDS: &[Needs] = &[
    (
        auth_sms::TWILIO_ENABLED,
        &[
            auth_sms::TWILIO_ACCOUNT_SID.path(),
            auth_sms::TWILIO_MESSAGE_SERVICE_SID.path(),
            auth_sms::TWILIO_AUTH_TOKEN.path(),
        ],
    ),
    (
        auth_sms::TWILIO_VERIFY_ENABLED,
        &[
            auth_sms::TWILIO_VERIFY_ACCOUNT_SID.path(),
            auth_sms::TWILIO_VERIFY_MESSAGE_SERVICE_SID.path(),
            auth_sms::TWILIO_VERIFY_AUTH_TOKEN.path(),
        ],
    ),
    (
        auth_sms::MESSAGEBIRD_ENABLED,
        &[
            auth_sms::MESSAGEBIRD_ORIGINATOR.path(),
            auth_sms::MESSAGEBIRD_ACCESS_KEY.path(),
        ],
    ),
    (
        auth_sms::TEXTLOCAL_ENABLED,
        &[
            auth_sms::TEXTLOCAL_SENDER.path(),
            auth_sms::TEXTLOCAL_API_KEY.path(),
        ],
    ),
    (
        auth_sms::VONAGE_ENABLED,
        &[
            auth_sms::VONAGE_FROM.path(),
            auth_sms::VONAGE_API_KEY.path(),
            auth_sms::VONAGE_API_SECRET.path(),
        ],
    ),
];

/// Settings that make sense only together.
const PAIRS: &[(&str, &str)] = &[
    (api::TLS_CERT_PATH.path(), api::TLS_KEY_PATH.path()),
    (plinth::TLS_CERT_FILE.path(), plinth::TLS_KEY_FILE.path()),
];

/// What an S3 store needs besides its address, for which Amazon's is the default.
const S3_NEEDS: [&str; 3] = [
    plinth_storage::S3_BUCKET.path(),
    plinth_storage::S3_ACCESS_KEY.path(),
    plinth_storage::S3_SECRET_KEY.path(),
];
/// The smallest part that S3 stores accept.
const MIN_S3_PART_BYTES: u64 = 5 * 1024 * 1024;

/// Providers that also work with ID tokens alone, without a secret.
const WITHOUT_SECRET: [&str; 2] = ["apple", "google"];

/// Checks the rules. `unresolved` are settings that refer to a variable which is not set: they
/// count as set, because the missing variable is reported on its own.
pub(crate) fn check(
    settings: &Settings,
    unresolved: &BTreeSet<&SettingPath>,
    findings: &mut Findings,
) {
    let mut checker = Checker {
        settings,
        unresolved,
        findings,
    };
    if settings.get(auth::ENABLED) {
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
    if settings.get(plinth_storage::BACKEND) == "s3" {
        checker.check_s3_store();
    }
}

struct Checker<'a> {
    settings: &'a Settings,
    unresolved: &'a BTreeSet<&'a SettingPath>,
    findings: &'a mut Findings,
}

impl Checker<'_> {
    fn check_auth(&mut self) {
        let settings = self.settings;
        let sms = SMS_NEEDS.iter().find(|(switch, _)| settings.get(*switch));
        for (switch, needs) in AUTH_NEEDS.iter().chain(sms) {
            let needs = needs.iter().map(|path| SettingPath::parse(path));
            self.require_all(*switch, needs);
        }
        for name in settings.members(auth_hook::HOOKS) {
            let uri = auth_hook::URI.of(name).setting_path();
            self.require_all(auth_hook::ENABLED.of(name), [uri]);
        }
        for name in settings.members(auth_external::PROVIDERS) {
            let client_id = auth_external::CLIENT_ID.of(name).setting_path();
            let secret = auth_external::SECRET.of(name).setting_path();
            let secret = (!WITHOUT_SECRET.contains(&name)).then_some(secret);
            let needs = [client_id].into_iter().chain(secret);
            self.require_all(auth_external::ENABLED.of(name), needs);
        }
    }

    /// The account pages: the logo is a URL or a path, the profile fields are valid.
    fn check_account(&mut self) {
        let settings = self.settings;
        let logo = settings.get(plinth_account::LOGO);
        if logo.is_some_and(|logo| !logo.starts_with('/') && Url::parse(logo).is_err()) {
            let expected = "expected a URL, or a path that begins with a slash.";
            self.reject(plinth_account::LOGO, expected);
        }
        // The typed look-up leaves out what is not valid.
        let fields = settings.value_by_path(&plinth_account::PROFILE_FIELDS.setting_path());
        if let Some(Value::Records(records)) = fields {
            for problem in records.iter().filter_map(|r| ProfileField::parse(r).err()) {
                self.reject(plinth_account::PROFILE_FIELDS, problem);
            }
        }
    }

    fn check_s3_store(&mut self) {
        let backend = plinth_storage::BACKEND.setting_path();
        for need in S3_NEEDS {
            self.require(&backend, &SettingPath::parse(need));
        }
        if self.settings.get(plinth_storage::TUS_PART_SIZE) < MIN_S3_PART_BYTES {
            self.reject(
                plinth_storage::TUS_PART_SIZE,
                "S3 stores require parts of at least 5MiB.",
            );
        }
    }

    fn reject<T>(&mut self, key: Key<T>, message: &str) {
        let path = key.setting_path();
        let place = self.place_of(&path);
        self.findings
            .error(place, &path, format!("{path}: {message}"));
    }

    fn require_all(
        &mut self,
        switch: SettingKey<'_, bool>,
        needs: impl IntoIterator<Item = SettingPath>,
    ) {
        if self.settings.get(switch) {
            for need in needs {
                self.require(&switch.setting_path(), &need);
            }
        }
    }

    fn is_set(&self, path: &SettingPath) -> bool {
        self.unresolved.contains(path) || self.settings.value_by_path(path).is_some()
    }

    fn require(&mut self, because: &SettingPath, needed: &SettingPath) {
        if self.is_set(needed) {
            return;
        }
        let place = self.place_of(because);
        let because = match self.settings.value_by_path(because) {
            Some(value) => format!("{because} = {value}"),
            None => because.to_string(),
        };
        self.findings
            .error(place, needed, format!("{because} also needs {needed}."));
    }

    /// Where a setting is written. Defaults break no rule, so there is such a place.
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
