//! The profile of a user at a provider, in one form for all providers (auth contract §6.2).

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::spec::{Custom, Emails, Issuer, Mapping, TextSource, Verified};
use crate::model::Object;

const MAX_EMAIL_BYTES: usize = 255;
const MAX_SUBJECT_BYTES: usize = 1024;

/// Standard claims with string values.
const TEXT_CLAIMS: [&str; 19] = [
    "name",
    "family_name",
    "given_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "phone",
    "full_name",
    "avatar_url",
    "slug",
    "provider_id",
    "user_name",
];

/// An email address from a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oauth) struct Email {
    /// In lower case.
    pub(in crate::oauth) address: String,
    /// Whether the provider has verified it.
    pub(in crate::oauth) is_verified: bool,
    pub(in crate::oauth) is_primary: bool,
}

impl Email {
    /// `None` if it cannot be an address.
    pub(in crate::oauth) fn new(
        address: &str,
        is_verified: bool,
        is_primary: bool,
    ) -> Option<Self> {
        let is_address = address.len() <= MAX_EMAIL_BYTES
            && address.contains('@')
            && !address.contains(|c: char| c.is_whitespace() || c.is_control());
        is_address.then(|| Self {
            address: address.to_lowercase(),
            is_verified,
            is_primary,
        })
    }
}

/// The profile of a user at a provider.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::oauth) struct Profile {
    /// The provider's id of the user; never empty.
    pub(in crate::oauth) subject: String,
    pub(in crate::oauth) emails: Vec<Email>,
    claims: Object,
}

/// A profile without a valid subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the provider sent no valid subject")]
pub(in crate::oauth) struct MissingSubject;

impl Profile {
    /// Reads a provider's response. `base` is the base URL of the call.
    pub(in crate::oauth) fn read(
        mapping: &Mapping,
        response: &Value,
        base: &str,
    ) -> Result<Self, MissingSubject> {
        let mut claims = Object::new();
        for (names, source) in mapping.claims {
            let Some(text) = source.read(response) else {
                continue;
            };
            for name in *names {
                claims.insert((*name).to_owned(), text.clone().into());
            }
        }
        if let Some(issuer) = mapping.issuer.read(response, base) {
            claims.insert("iss".to_owned(), issuer.into());
        }
        let custom = mapping.custom.read(response);
        if !custom.is_empty() {
            claims.insert("custom_claims".to_owned(), Value::Object(custom));
        }
        let subject = mapping.subject.read(response);
        Self::new(subject, mapping.emails.read(response), claims)
    }

    /// Reads claims with standard names.
    pub(in crate::oauth) fn from_claims(raw: &Object) -> Result<Self, MissingSubject> {
        let mut claims = Object::new();
        for name in TEXT_CLAIMS.iter().chain(&["iss"]) {
            if let Some(text) = raw.get(*name).and_then(non_empty_text) {
                claims.insert((*name).to_owned(), text.into());
            }
        }
        if let Some(time) = raw.get("updated_at").and_then(time_text) {
            claims.insert("updated_at".to_owned(), time.into());
        }
        if let Some(Value::Object(custom)) = raw.get("custom_claims") {
            claims.insert("custom_claims".to_owned(), Value::Object(custom.clone()));
        }
        claims.insert(
            "phone_verified".to_owned(),
            raw.get("phone_verified").is_some_and(is_true).into(),
        );
        let is_verified = raw.get("email_verified").is_some_and(is_true);
        let email = raw.get("email").and_then(Value::as_str);
        let email = email.and_then(|address| Email::new(address, is_verified, true));
        let subject = raw.get("sub").and_then(non_empty_text);
        Self::new(subject, email.into_iter().collect(), claims)
    }

    fn new(
        subject: Option<String>,
        emails: Vec<Email>,
        mut claims: Object,
    ) -> Result<Self, MissingSubject> {
        let subject = subject.ok_or(MissingSubject)?;
        if subject.len() > MAX_SUBJECT_BYTES || subject.contains(char::is_control) {
            return Err(MissingSubject);
        }
        claims.insert("sub".to_owned(), subject.as_str().into());
        claims.insert("provider_id".to_owned(), subject.as_str().into());
        let mut claims = Value::Object(claims);
        remove_nulls(&mut claims);
        let Value::Object(claims) = claims else {
            return Err(MissingSubject);
        };
        Ok(Self {
            subject,
            emails,
            claims,
        })
    }

    /// Sets the name, which some providers send separately.
    pub(in crate::oauth) fn set_name(&mut self, name: &str) {
        for claim in ["name", "full_name"] {
            self.claims.insert(claim.to_owned(), name.into());
        }
    }

    /// The address for the user: the primary one, else the last.
    pub(in crate::oauth) fn email(&self) -> Option<&Email> {
        let primary = self.emails.iter().find(|email| email.is_primary);
        primary.or(self.emails.last())
    }

    /// Whether the provider has verified this address.
    pub(in crate::oauth) fn has_verified(&self, address: &str) -> bool {
        let mut emails = self.emails.iter();
        emails.any(|email| email.is_verified && email.address == address)
    }

    /// `identity_data` of the identity.
    pub(in crate::oauth) fn identity_data(&self) -> Object {
        let mut data = self.claims.clone();
        let email = self.email();
        if let Some(email) = email {
            data.insert("email".to_owned(), email.address.as_str().into());
        }
        let is_verified = email.is_some_and(|email| email.is_verified);
        data.insert("email_verified".to_owned(), is_verified.into());
        data.entry("phone_verified").or_insert(false.into());
        data
    }
}

impl TextSource {
    fn read(&self, response: &Value) -> Option<String> {
        let at = |pointer: &str| response.pointer(pointer).and_then(non_empty_text);
        match self {
            Self::At(pointer) => at(pointer),
            Self::Joined(pointers) => {
                let words: Vec<String> = pointers.iter().filter_map(|word| at(word)).collect();
                (!words.is_empty()).then(|| words.join(" "))
            }
            Self::By(read) => read(response).filter(|text| !text.is_empty()),
        }
    }
}

impl Issuer {
    fn read(&self, response: &Value, base: &str) -> Option<String> {
        match self {
            Self::Base => Some(base.to_owned()),
            Self::Below(path) => Some(format!("{base}{path}")),
            Self::Fixed(issuer) => Some((*issuer).to_owned()),
            Self::Claimed => response.get("iss").and_then(non_empty_text),
        }
    }
}

impl Emails {
    fn read(&self, response: &Value) -> Vec<Email> {
        match self {
            Self::One(at, verified) => {
                let address = response.pointer(at).and_then(Value::as_str);
                let is_verified = verified.read(response);
                let email = address.and_then(|address| Email::new(address, is_verified, true));
                email.into_iter().collect()
            }
            Self::List {
                at,
                is_verified,
                is_primary,
            } => {
                let rows = response.pointer(at).and_then(Value::as_array);
                let read = |row: &Value| {
                    let flag = |name: &str| row.get(name).is_some_and(is_true);
                    let address = row.get("email").and_then(Value::as_str)?;
                    Email::new(address, flag(is_verified), flag(is_primary))
                };
                rows.into_iter().flatten().filter_map(read).collect()
            }
            Self::By(read) => read(response),
        }
    }
}

impl Verified {
    fn read(&self, response: &Value) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::If(pointer) => response.pointer(pointer).is_some_and(is_true),
            Self::By(read) => read(response),
        }
    }
}

impl Custom {
    fn read(&self, response: &Value) -> Object {
        match self {
            Self::Nothing => Object::new(),
            Self::Keys(keys) => {
                let found = keys.iter().filter_map(|(key, pointer)| {
                    let value = response.pointer(pointer).filter(|value| !value.is_null())?;
                    Some(((*key).to_owned(), value.clone()))
                });
                found.collect()
            }
            Self::AllBut(names) => {
                let mut all = response.as_object().cloned().unwrap_or_default();
                all.retain(|name, _| !names.contains(&name.as_str()));
                all
            }
            Self::By(read) => read(response),
        }
    }
}

/// A string that is not empty, or a number, which some providers use as ids.
pub(in crate::oauth) fn non_empty_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Some providers send booleans as strings.
pub(in crate::oauth) fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value.as_str().is_some_and(|text| text == "true")
}

/// RFC 3339, or seconds since 1970 as in OpenID Connect.
fn time_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            OffsetDateTime::parse(text, &Rfc3339).ok()?;
            Some(text.clone())
        }
        Value::Number(number) => {
            let seconds = number.as_f64()? as i64;
            let time = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
            time.format(&Rfc3339).ok()
        }
        _ => None,
    }
}

/// PostgreSQL stores no text with a NUL character.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => text.retain(|c| c != '\0'),
        Value::Array(values) => values.iter_mut().for_each(remove_nulls),
        Value::Object(members) => {
            members.retain(|name, _| !name.contains('\0'));
            members.values_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}
