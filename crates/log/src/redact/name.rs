//! Which names stand for secrets.

use std::borrow::Cow;

/// Names that are secrets wherever they occur inside a longer name.
const ANYWHERE: [&str; 9] = [
    "accesstoken",
    "apikey",
    "authorization",
    "codeverifier",
    "cookie",
    "passw",
    "refreshtoken",
    "secret",
    "tokenhash",
];

/// Names that are secrets when a longer name ends with them.
const AT_THE_END: [&str; 9] = [
    "credential",
    "credentials",
    "jwt",
    "key",
    "otp",
    "passphrase",
    "pwd",
    "signature",
    "token",
];

/// Names that are secrets only alone.
const ALONE: [&str; 3] = ["pass", "sig", "totp"];

/// [`ANYWHERE`] with the letters of each name.
const ANYWHERE_WITH_LETTERS: [(&str, u32); ANYWHERE.len()] = {
    let mut all = [("", 0); ANYWHERE.len()];
    let mut n = 0;
    while n < all.len() {
        let name = ANYWHERE[n].as_bytes();
        let mut letters = 0;
        let mut at = 0;
        while at < name.len() {
            letters |= letter_bit(name[at]);
            at += 1;
        }
        all[n] = (ANYWHERE[n], letters);
        n += 1;
    }
    all
};

/// A bit for each letter, and one for all digits.
const fn letter_bit(lower_case: u8) -> u32 {
    match lower_case {
        b'a'..=b'z' => 1 << (lower_case - b'a'),
        _ => 1 << 31,
    }
}

/// Whether a field, header or parameter of this name carries a secret.
///
/// Case and punctuation do not matter: `Set-Cookie`, `set_cookie` and `setCookie` are one name.
pub fn is_secret_name(name: &str) -> bool {
    // Every field of every record is asked for, so this takes no memory for names of usual length.
    let mut short = [0; 64];
    let mut long = Vec::new();
    let compact = match short.get_mut(..name.len()) {
        Some(room) => room,
        None => {
            long.resize(name.len(), 0);
            &mut long[..]
        }
    };
    let alphanumeric = name.bytes().filter(u8::is_ascii_alphanumeric);
    let mut len = 0;
    let mut letters = 0;
    for (place, letter) in compact.iter_mut().zip(alphanumeric) {
        *place = letter.to_ascii_lowercase();
        letters |= letter_bit(*place);
        len += 1;
    }
    let compact = &compact[..len];
    // Few names have all letters of another, so hardly any is searched for one.
    let is_part = |(part, needed): (&str, u32)| {
        let mut windows = compact.windows(part.len());
        letters & needed == needed && windows.any(|window| window == part.as_bytes())
    };
    ANYWHERE_WITH_LETTERS.into_iter().any(is_part)
        || AT_THE_END
            .iter()
            .any(|end| compact.ends_with(end.as_bytes()))
        || ALONE.iter().any(|name| compact == name.as_bytes())
}

/// Whether a URL parameter of this (percent-encoded) name carries a secret: one-time codes travel
/// as `code` there, while a field `code` is an error code.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let name = percent_decode(name);
    name.eq_ignore_ascii_case("code") || is_secret_name(&name)
}

/// Decodes what is ASCII; other bytes cannot be part of a name we know.
fn percent_decode(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return name.into();
    }
    let mut decoded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        rest = match after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) if byte.is_ascii() => {
                decoded.push(char::from(byte));
                &after[2..]
            }
            _ => after,
        };
    }
    decoded.push_str(rest);
    decoded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_in_every_spelling() {
        for name in [
            "authorization",
            "Proxy-Authorization",
            "apikey",
            "X-Api-Key",
            "cookie",
            "set-cookie",
            "setCookie",
            "password",
            "new_password",
            "passwd",
            "token",
            "access_token",
            "refreshToken",
            "token_hash",
            "secret",
            "client_secret",
            "key",
            "service_role_key",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "otp",
            "JWT",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn everyday_names_keep_their_values() {
        for name in [
            "status",
            "path",
            "user.id",
            "duration_ms",
            "token_type",
            "key_id",
            "code",
            "method",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn encoded_parameter_names_do_not_slip_through() {
        assert!(is_secret_parameter("pass%77ord"));
        assert!(is_secret_parameter("%61pikey"));
        assert!(is_secret_parameter("code"));
        assert!(!is_secret_parameter("select%"));
        assert!(!is_secret_parameter("%zz%c3%a9%"));
    }
}
