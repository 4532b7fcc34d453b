//! Text messages.

use plinth_token::Secret;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{MINUTE, variables::Variables};
use crate::config::{SmsConfig, SmsProvider, TestNumbers, otp_length};

/// Providers, and the prefix of their variables.
const PROVIDERS: [(&str, &str); 5] = [
    ("twilio", "TWILIO"),
    ("twilio_verify", "TWILIO_VERIFY"),
    ("messagebird", "MESSAGEBIRD"),
    ("textlocal", "TEXTLOCAL"),
    ("vonage", "VONAGE"),
];

pub(super) fn read(v: &mut Variables) -> SmsConfig {
    let codes = v.pairs("SMS_TEST_OTP", ':');
    let valid_until = v.read("SMS_TEST_OTP_VALID_UNTIL", "a time of RFC 3339", |text| {
        OffsetDateTime::parse(text, &Rfc3339).ok()
    });
    let is_needed =
        v.flag("EXTERNAL_PHONE_ENABLED", false) && v.text("HOOK_SEND_SMS_URI").is_none();
    SmsConfig {
        is_autoconfirmed: v.flag("SMS_AUTOCONFIRM", false),
        min_interval: v.duration_or_if_zero("SMS_MAX_FREQUENCY", MINUTE),
        otp_lifetime: match v.seconds("SMS_OTP_EXP", MINUTE) {
            span if span.is_zero() => MINUTE,
            span => span,
        },
        otp_length: otp_length(v.number("SMS_OTP_LENGTH", 6) as usize),
        template: v.text_or("SMS_TEMPLATE", "Your code is {{ .Code }}"),
        test_numbers: TestNumbers::new(codes, valid_until),
        provider: provider(v, is_needed),
    }
}

/// Reads the variables of one provider.
struct Account<'a> {
    v: &'a mut Variables,
    name: &'static str,
    is_needed: bool,
    is_chosen: bool,
}

impl Account<'_> {
    fn optional(&mut self, field: &str) -> Option<String> {
        self.v.text(&format!("SMS_{}_{field}", self.name))
    }

    fn text(&mut self, field: &str) -> Option<String> {
        let value = self.optional(field);
        if value.is_none() && self.is_chosen && self.is_needed {
            let name = format!("SMS_{}_{field}", self.name);
            self.v
                .add_problem_with(&name, "is needed to sign in by phone");
        }
        value
    }

    fn secret(&mut self, field: &str) -> Option<Secret> {
        self.text(field).map(Secret::from)
    }
}

/// Reads the variables of every provider, so that none of them counts as unknown.
fn provider(v: &mut Variables, is_needed: bool) -> Option<SmsProvider> {
    let chosen = v.text("SMS_PROVIDER").unwrap_or_default();
    if !chosen.is_empty() && !PROVIDERS.iter().any(|(name, _)| *name == chosen) {
        v.add_problem_with(
            "SMS_PROVIDER",
            format!("{chosen:?} is none of twilio, twilio_verify, messagebird, textlocal, vonage"),
        );
    }
    let mut found = None;
    for (name, prefix) in PROVIDERS {
        let is_chosen = name == chosen;
        let mut account = Account {
            v: &mut *v,
            name: prefix,
            is_needed,
            is_chosen,
        };
        let provider = read_account(name, &mut account);
        if is_chosen {
            found = provider;
        }
    }
    found
}

fn read_account(name: &str, account: &mut Account<'_>) -> Option<SmsProvider> {
    match name {
        "twilio" => {
            let (sid, token) = (account.text("ACCOUNT_SID"), account.secret("AUTH_TOKEN"));
            let (service, content) = (
                account.text("MESSAGE_SERVICE_SID"),
                account.optional("CONTENT_SID"),
            );
            Some(SmsProvider::Twilio {
                base_url: SmsProvider::TWILIO_URL.to_owned(),
                account_sid: sid?,
                auth_token: token?,
                message_service_sid: service?,
                content_sid: content,
            })
        }
        "twilio_verify" => {
            let (sid, token) = (account.text("ACCOUNT_SID"), account.secret("AUTH_TOKEN"));
            let service = account.text("MESSAGE_SERVICE_SID");
            Some(SmsProvider::TwilioVerify {
                base_url: SmsProvider::TWILIO_VERIFY_URL.to_owned(),
                account_sid: sid?,
                auth_token: token?,
                message_service_sid: service?,
            })
        }
        "messagebird" => {
            let (key, originator) = (account.secret("ACCESS_KEY"), account.text("ORIGINATOR"));
            Some(SmsProvider::MessageBird {
                base_url: SmsProvider::MESSAGEBIRD_URL.to_owned(),
                access_key: key?,
                originator: originator?,
            })
        }
        "textlocal" => {
            let (key, sender) = (account.secret("API_KEY"), account.text("SENDER"));
            Some(SmsProvider::Textlocal {
                base_url: SmsProvider::TEXTLOCAL_URL.to_owned(),
                api_key: key?,
                sender: sender?,
            })
        }
        _ => {
            let (key, secret) = (account.secret("API_KEY"), account.secret("API_SECRET"));
            let from = account.text("FROM");
            Some(SmsProvider::Vonage {
                base_url: SmsProvider::VONAGE_URL.to_owned(),
                api_key: key?,
                api_secret: secret?,
                from: from?,
            })
        }
    }
}
