//! Addresses and phone numbers in their stored form (auth contract §1.2).

use crate::AuthError;

const MAX_EMAIL_BYTES: usize = 255;
const MAX_LABEL_BYTES: usize = 63;

/// An address or phone number of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contact {
    /// Lower-case.
    Email(String),
    /// Only digits.
    Phone(String),
}

impl Contact {
    /// The address or number itself.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Email(text) | Self::Phone(text) => text,
        }
    }

    /// The provider name of its identity.
    pub(crate) fn provider(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone",
        }
    }

    pub(crate) fn email(&self) -> &str {
        match self {
            Self::Email(text) => text,
            Self::Phone(_) => "",
        }
    }

    pub(crate) fn phone(&self) -> &str {
        match self {
            Self::Email(_) => "",
            Self::Phone(text) => text,
        }
    }
}

/// Validates an address and converts it to lower case.
pub(crate) fn email(text: &str) -> Result<String, AuthError> {
    if is_email(text) {
        Ok(text.to_lowercase())
    } else {
        Err(AuthError::validation_failed(
            "Unable to validate email address: invalid format",
        ))
    }
}

/// Validates a phone number and reduces it to digits.
pub(crate) fn phone(text: &str) -> Result<String, AuthError> {
    let digits = bare_phone(text);
    let is_number = (2..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    if is_number {
        Ok(digits)
    } else {
        Err(AuthError::validation_failed(
            "Invalid phone number format (E.164 required)",
        ))
    }
}

/// Without a leading `+` and spaces, not validated.
pub(crate) fn bare_phone(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    text.chars().filter(|c| *c != ' ').collect()
}

/// By the rules of HTML's e-mail fields, so a domain needs no dot.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    text.len() <= MAX_EMAIL_BYTES
        && !local.is_empty()
        && local.bytes().all(is_local)
        && domain.split('.').all(is_label)
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_BYTES).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_lower_cased() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(email(text).ok().as_deref(), expected, "{text}");
        };
        check("Ann@Mail.dev", Some("ann@mail.dev"));
        check("a+b@localhost", Some("a+b@localhost"));
        check("o'neil@a-b.example", Some("o'neil@a-b.example"));
        for text in [
            "",
            "@",
            "a@",
            "@b",
            "a@b@c",
            "a b@c",
            "a@-b",
            "a@b-",
            "a@b..c",
            "a@b.",
            "ü@b.c",
            "a@b\r\nBcc: x@y.z",
            "a@b.c\n",
        ] {
            check(text, None);
        }
        check(&format!("{}@b.c", "a".repeat(252)), None);
        check(&format!("a@{}.c", "b".repeat(64)), None);
    }

    #[test]
    fn numbers_lose_their_plus_and_spaces() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(phone(text).ok().as_deref(), expected, "{text}");
        };
        check("+1 555 123 4567", Some("15551234567"));
        check("15551234567", Some("15551234567"));
        for text in ["", "+", "0123", "++15", "1", "1555-123", "1234567890123456"] {
            check(text, None);
        }
    }
}
