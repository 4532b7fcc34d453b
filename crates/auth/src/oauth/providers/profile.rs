//! Who came, in one form whatever the provider (auth contract §6.2).

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::spec::{Custom, Emails, Issuer, Mapping, Text, Verified};
use crate::model::Object;

const MAX_EMAIL_BYTES: usize = 255;
const MAX_SUBJECT_BYTES: usize = 1024;

/// Claims that are texts and that everybody means the same by.
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

/// An address that a provider names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oauth) struct Email {
    /// Lower-case.
    pub(in crate::oauth) address: String,
    /// Whether the provider vouches for it.
    pub(in crate::oauth) is_verified: bool,
    pub(in crate::oauth) is_primary: bool,
}

impl Email {
    /// `None` for what cannot be an address.
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

/// A person at a provider.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::oauth) struct Profile {
    /// The provider's name for the person; never empty.
    pub(in crate::oauth) subject: String,
    pub(in crate::oauth) emails: Vec<Email>,
    claims: Object,
}

/// A profile that names nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the provider did not say who came")]
pub(in crate::oauth) struct Nobody;

impl Profile {
    /// Reads what a provider answered. `base` is where it was asked.
    pub(in crate::oauth) fn read(
        mapping: &Mapping,
        answer: &Value,
        base: &str,
    ) -> Result<Self, Nobody> {
        let mut claims = Object::new();
        for (names, source) in mapping.claims {
            let Some(text) = source.read(answer) else {
                continue;
            };
            for name in *names {
                claims.insert((*name).to_owned(), text.clone().into());
            }
        }
        if let Some(issuer) = mapping.issuer.read(answer, base) {
            claims.insert("iss".to_owned(), issuer.into());
        }
        let custom = mapping.custom.read(answer);
        if !custom.is_empty() {
            claims.insert("custom_claims".to_owned(), Value::Object(custom));
        }
        let subject = mapping.subject.read(answer);
        Self::new(subject, mapping.emails.read(answer), claims)
    }

    /// Reads claims that have their usual names.
    pub(in crate::oauth) fn of_claims(raw: &Object) -> Result<Self, Nobody> {
        let mut claims = Object::new();
        for name in TEXT_CLAIMS.iter().chain(&["iss"]) {
            if let Some(text) = raw.get(*name).and_then(text_of) {
                claims.insert((*name).to_owned(), text.into());
            }
        }
        if let Some(time) = raw.get("updated_at").and_then(time_of) {
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
        let subject = raw.get("sub").and_then(text_of);
        Self::new(subject, email.into_iter().collect(), claims)
    }

    fn new(
        subject: Option<String>,
        emails: Vec<Email>,
        mut claims: Object,
    ) -> Result<Self, Nobody> {
        let subject = subject.ok_or(Nobody)?;
        if subject.len() > MAX_SUBJECT_BYTES || subject.contains(char::is_control) {
            return Err(Nobody);
        }
        claims.insert("sub".to_owned(), subject.as_str().into());
        claims.insert("provider_id".to_owned(), subject.as_str().into());
        let mut claims = Value::Object(claims);
        remove_nulls(&mut claims);
        let Value::Object(claims) = claims else {
            return Err(Nobody);
        };
        Ok(Self {
            subject,
            emails,
            claims,
        })
    }

    /// Sets the person's name, which some providers tell apart from the rest.
    pub(in crate::oauth) fn set_name(&mut self, name: &str) {
        for claim in ["name", "full_name"] {
            self.claims.insert(claim.to_owned(), name.into());
        }
    }

    /// The address that the account would have: the primary one, else the last.
    pub(in crate::oauth) fn email(&self) -> Option<&Email> {
        let primary = self.emails.iter().find(|email| email.is_primary);
        primary.or(self.emails.last())
    }

    /// Whether the provider vouches for this address.
    pub(in crate::oauth) fn vouches_for(&self, address: &str) -> bool {
        let mut emails = self.emails.iter();
        emails.any(|email| email.is_verified && email.address == address)
    }

    /// What the identity keeps.
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

impl Text {
    fn read(&self, answer: &Value) -> Option<String> {
        let at = |pointer: &str| answer.pointer(pointer).and_then(text_of);
        match self {
            Self::At(pointer) => at(pointer),
            Self::Words(pointers) => {
                let words: Vec<String> = pointers.iter().filter_map(|word| at(word)).collect();
                (!words.is_empty()).then(|| words.join(" "))
            }
            Self::By(read) => read(answer).filter(|text| !text.is_empty()),
        }
    }
}

impl Issuer {
    fn read(&self, answer: &Value, base: &str) -> Option<String> {
        match self {
            Self::Base => Some(base.to_owned()),
            Self::Below(path) => Some(format!("{base}{path}")),
            Self::Fixed(issuer) => Some((*issuer).to_owned()),
            Self::Claimed => answer.get("iss").and_then(text_of),
        }
    }
}

impl Emails {
    fn read(&self, answer: &Value) -> Vec<Email> {
        match self {
            Self::One(at, verified) => {
                let address = answer.pointer(at).and_then(Value::as_str);
                let is_verified = verified.read(answer);
                let email = address.and_then(|address| Email::new(address, is_verified, true));
                email.into_iter().collect()
            }
            Self::List {
                at,
                is_verified,
                is_primary,
            } => {
                let rows = answer.pointer(at).and_then(Value::as_array);
                let read = |row: &Value| {
                    let flag = |name: &str| row.get(name).is_some_and(is_true);
                    let address = row.get("email").and_then(Value::as_str)?;
                    Email::new(address, flag(is_verified), flag(is_primary))
                };
                rows.into_iter().flatten().filter_map(read).collect()
            }
            Self::By(read) => read(answer),
        }
    }
}

impl Verified {
    fn read(&self, answer: &Value) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::If(pointer) => answer.pointer(pointer).is_some_and(is_true),
            Self::By(read) => read(answer),
        }
    }
}

impl Custom {
    fn read(&self, answer: &Value) -> Object {
        match self {
            Self::Nothing => Object::new(),
            Self::Keys(keys) => {
                let found = keys.iter().filter_map(|(key, pointer)| {
                    let value = answer.pointer(pointer).filter(|value| !value.is_null())?;
                    Some(((*key).to_owned(), value.clone()))
                });
                found.collect()
            }
            Self::AllBut(names) => {
                let mut all = answer.as_object().cloned().unwrap_or_default();
                all.retain(|name, _| !names.contains(&name.as_str()));
                all
            }
            Self::By(read) => read(answer),
        }
    }
}

/// A text that is not empty; numbers count, for some providers number their people.
pub(in crate::oauth) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Some providers write booleans as texts.
pub(in crate::oauth) fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value.as_str().is_some_and(|text| text == "true")
}

/// RFC 3339, or seconds since 1970 as OpenID has it.
fn time_of(value: &Value) -> Option<String> {
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

/// Postgres keeps no text with a zero character in it.
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
