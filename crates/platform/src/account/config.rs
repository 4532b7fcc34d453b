//! What the account pages have to know of a project's settings.

use plinth_project::FromSettings;
use plinth_settings::{Settings, password_characters};
use serde::Serialize;

/// Longest text of a field that says nothing else.
const USUAL_MAX: u16 = 200;

/// `[plinth.account]`, and the rules of the auth service that the pages tell people beforehand.
#[derive(Debug, Clone)]
pub(super) struct AccountConfig {
    /// Where the pages are, without a slash at its end; empty at the root.
    pub(super) path: String,
    pub(super) title: String,
    /// A URL, or a path on the same host.
    pub(super) logo: Option<String>,
    pub(super) shown: Shown,
}

/// What is written into the page as it is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    accent: Option<String>,
    support_url: Option<String>,
    terms_url: Option<String>,
    privacy_url: Option<String>,
    consent: bool,
    profile_fields: Vec<ProfileField>,
    self_delete: bool,
    password: Password,
    email: Email,
    sms: Sms,
    mfa: Mfa,
    manual_linking: bool,
    pub(super) captcha: Option<Captcha>,
}

/// The check that no program fills in a form.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Captcha {
    pub(super) provider: String,
    key: String,
}

#[derive(Debug, Clone, Serialize)]
struct ProfileField {
    key: String,
    label: String,
    required: bool,
    max: u16,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Password {
    min_length: i64,
    /// From each of these sets a password needs a character.
    characters: &'static [&'static str],
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Email {
    code_length: i64,
    double_confirm: bool,
    magic_link: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sms {
    code_length: i64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Mfa {
    totp: bool,
    phone: bool,
    phone_code_length: i64,
    web_authn: bool,
}

impl FromSettings for AccountConfig {
    fn from_settings(settings: &Settings) -> Self {
        let owned = |path: &str| settings.opt_text(path).map(str::to_owned);
        let path = settings.text("plinth.account.path");
        Self {
            path: path.trim_end_matches('/').to_owned(),
            title: settings.text("plinth.account.title").to_owned(),
            logo: owned("plinth.account.logo"),
            shown: Shown {
                accent: owned("plinth.account.accent"),
                support_url: owned("plinth.account.support_url"),
                terms_url: owned("plinth.account.terms_url"),
                privacy_url: owned("plinth.account.privacy_url"),
                consent: settings.bool("plinth.account.consent"),
                profile_fields: profile_fields(settings),
                self_delete: settings.text("plinth.account.self_delete") != "off",
                password: Password {
                    min_length: settings.integer("auth.minimum_password_length").max(6),
                    characters: password_characters(
                        settings.opt_text("auth.password_requirements"),
                    ),
                },
                email: Email {
                    code_length: settings.integer("auth.email.otp_length"),
                    double_confirm: settings.bool("auth.email.double_confirm_changes"),
                    magic_link: settings.bool("plinth.auth.email.magic_link"),
                },
                sms: Sms {
                    code_length: settings.integer("auth.sms.otp_length"),
                },
                mfa: Mfa {
                    totp: settings.bool("auth.mfa.totp.enroll_enabled"),
                    phone: settings.bool("auth.mfa.phone.enroll_enabled"),
                    phone_code_length: settings.integer("auth.mfa.phone.otp_length"),
                    web_authn: settings.bool("auth.mfa.web_authn.enroll_enabled"),
                },
                manual_linking: settings.bool("auth.enable_manual_linking"),
                captcha: captcha(settings),
            },
        }
    }
}

/// Without a public key the pages cannot ask, and the service refuses their requests.
fn captcha(settings: &Settings) -> Option<Captcha> {
    let is_on = settings.bool("auth.captcha.enabled");
    let provider = settings
        .opt_text("auth.captcha.provider")
        .filter(|_| is_on)?;
    let key = settings.opt_text("plinth.account.captcha_key")?;
    Some(Captcha {
        provider: provider.to_owned(),
        key: key.to_owned(),
    })
}

fn profile_fields(settings: &Settings) -> Vec<ProfileField> {
    let records = settings.records("plinth.account.profile_fields").iter();
    records
        .map(|record| {
            let text = |name: &str| record.get(name).cloned().unwrap_or_default();
            ProfileField {
                key: text("key"),
                label: text("label"),
                required: text("required") == "true",
                max: text("max").parse().unwrap_or(USUAL_MAX),
            }
        })
        .collect()
}
