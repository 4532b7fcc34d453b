//! Addresses and numbers in the one form in which they are stored (auth contract §1.2).

use crate::AuthError;

const MAX_EMAIL_BYTES: usize = 255;
const MAX_LABEL_BYTES: usize = 63;

/// Where somebody can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contact {
    /// Lower-case.
    Email(String),
    /// Digits alone.
    Phone(String),
}

impl Contact {
    /// The address or number itself.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Email(text) | Self::Phone(text) => text,
        }
    }

    /// The way in that it stands for.
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

/// A lower-case address, if it is one.
pub(crate) fn email(text: &str) -> Result<String, AuthError> {
    match is_email(text) {
        true => Ok(text.to_lowercase()),
        false => Err(AuthError::invalid(
            "Unable to validate email address: invalid format",
        )),
    }
}

/// A number of digits alone, if it is one.
pub(crate) fn phone(text: &str) -> Result<String, AuthError> {
    let digits = bare_phone(text);
    let is_number = (2..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    match is_number {
        true => Ok(digits),
        false => Err(AuthError::invalid(
            "Invalid phone number format (E.164 required)",
        )),
    }
}

/// Without one leading `+` and without spaces; it may be anything else still.
pub(crate) fn bare_phone(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    text.chars().filter(|c| *c != ' ').collect()
}

/// As HTML's own e-mail fields have it; a domain without a dot is one.
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
