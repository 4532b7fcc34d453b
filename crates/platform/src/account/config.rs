//! Settings of a project that the account pages use.

use std::collections::BTreeMap;

use plinth_project::FromSettings;
use plinth_settings::{
    Key, Settings, WrittenUrl,
    keys::{auth, auth_email, auth_mfa, auth_sms, plinth_account, plinth_auth},
    password_characters,
};
use serde::Serialize;

use super::application::Application;

/// Default maximum length of a profile field.
const DEFAULT_MAX_CHARS: u16 = 200;

/// `[plinth.account]`, and rules of the auth service that the pages show in their forms.
#[derive(Debug, Clone)]
pub(super) struct AccountConfig {
    /// Where the pages are, without a slash at its end; empty at the root.
    pub(super) path: String,
    /// `None`: the pages say "Your account" in their language.
    pub(super) title: Option<String>,
    /// A URL, or a path on the same host.
    pub(super) logo: Option<String>,
    pub(super) application: Application,
    pub(super) page: PageConfig,
}

/// The part that is written into the page as JSON.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageConfig {
    pub(super) accent: Option<String>,
    /// The first one is for browsers that want none of them.
    pub(super) languages: Vec<String>,
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

/// The captcha widget.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Captcha {
    pub(super) provider: String,
    key: String,
}

#[derive(Debug, Clone, Serialize)]
struct ProfileField {
    key: String,
    label: String,
    /// By language.
    labels: BTreeMap<String, String>,
    required: bool,
    max: u16,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Password {
    min_length: usize,
    /// A password needs a character of each of these sets.
    characters: &'static [&'static str],
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Email {
    code_length: usize,
    double_confirm: bool,
    magic_link: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sms {
    code_length: usize,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Mfa {
    totp: bool,
    phone: bool,
    phone_code_length: usize,
    web_authn: bool,
}

impl FromSettings for AccountConfig {
    fn from_settings(settings: &Settings) -> Self {
        let owned = |key: Key<Option<String>>| settings.get(key).map(str::to_owned);
        let url = |key: Key<Option<WrittenUrl>>| {
            let url = settings.get(key);
            url.map(|url| url.as_written().to_owned())
        };
        let path = settings.get(plinth_account::PATH);
        Self {
            path: path.trim_end_matches('/').to_owned(),
            title: owned(plinth_account::TITLE),
            logo: owned(plinth_account::LOGO),
            application: Application::from_settings(settings),
            page: PageConfig {
                accent: owned(plinth_account::ACCENT),
                languages: settings.get(plinth_account::LANGUAGES).to_vec(),
                support_url: url(plinth_account::SUPPORT_URL),
                terms_url: url(plinth_account::TERMS_URL),
                privacy_url: url(plinth_account::PRIVACY_URL),
                consent: settings.get(plinth_account::CONSENT),
                profile_fields: profile_fields(settings),
                self_delete: settings.get(plinth_account::SELF_DELETE) != "off",
                password: Password {
                    min_length: settings.get(auth::MINIMUM_PASSWORD_LENGTH).max(6),
                    characters: password_characters(Some(
                        settings.get(auth::PASSWORD_REQUIREMENTS),
                    )),
                },
                email: Email {
                    code_length: settings.get(auth_email::OTP_LENGTH),
                    double_confirm: settings.get(auth_email::DOUBLE_CONFIRM_CHANGES),
                    magic_link: settings.get(plinth_auth::EMAIL_MAGIC_LINK),
                },
                sms: Sms {
                    code_length: settings.get(auth_sms::OTP_LENGTH),
                },
                mfa: Mfa {
                    totp: settings.get(auth_mfa::TOTP_ENROLL_ENABLED),
                    phone: settings.get(auth_mfa::PHONE_ENROLL_ENABLED),
                    phone_code_length: settings.get(auth_mfa::PHONE_OTP_LENGTH),
                    web_authn: settings.get(auth_mfa::WEB_AUTHN_ENROLL_ENABLED),
                },
                manual_linking: settings.get(auth::ENABLE_MANUAL_LINKING),
                captcha: captcha(settings),
            },
        }
    }
}

/// Without a site key the pages cannot show a captcha, and the auth service rejects their requests.
fn captcha(settings: &Settings) -> Option<Captcha> {
    let is_on = settings.get(auth::CAPTCHA_ENABLED);
    let provider = settings.get(auth::CAPTCHA_PROVIDER).filter(|_| is_on)?;
    let key = settings.get(plinth_account::CAPTCHA_KEY)?;
    Some(Captcha {
        provider: provider.to_owned(),
        key: key.to_owned(),
    })
}

fn profile_fields(settings: &Settings) -> Vec<ProfileField> {
    let fields = settings.get(plinth_account::PROFILE_FIELDS).into_iter();
    fields
        .map(|field| ProfileField {
            key: field.key,
            label: field.label,
            labels: field.labels,
            required: field.is_required,
            max: field.max_length.unwrap_or(DEFAULT_MAX_CHARS),
        })
        .collect()
}
