//! Random ids, tokens and codes.

use data_encoding::{BASE64URL_NOPAD, Specification};
use std::sync::LazyLock;
use uuid::Uuid;

/// Random bytes.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes)
        .expect("the system's random generator either works or ends the process");
    bytes
}

/// A random UUID.
pub(crate) fn uuid() -> Uuid {
    uuid::Builder::from_random_bytes(bytes()).into_uuid()
}

/// `N` random bytes, base64url-encoded.
pub(crate) fn url_text<const N: usize>() -> String {
    BASE64URL_NOPAD.encode(&bytes::<N>())
}

/// Uniformly distributed decimal digits.
pub(crate) fn digits(length: usize) -> String {
    let mut digits = String::with_capacity(length);
    while digits.len() < length {
        // Bytes above the largest multiple of ten are skipped, which would bias the digits.
        let fair = bytes::<16>().into_iter().filter(|byte| *byte < 250);
        digits.extend(fair.map(|byte| char::from(b'0' + byte % 10)));
    }
    digits.truncate(length);
    digits
}

/// A v1 refresh token: twelve characters of `[a-z2-7]`.
pub(crate) fn short_token() -> String {
    static LOWER_BASE32: LazyLock<data_encoding::Encoding> = LazyLock::new(|| {
        let mut alphabet = Specification::new();
        alphabet
            .symbols
            .push_str("abcdefghijklmnopqrstuvwxyz234567");
        alphabet.encoding().expect("thirty-two different symbols")
    });
    let mut token = LOWER_BASE32.encode(&bytes::<8>());
    token.truncate(12);
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_form_that_clients_know() {
        let token = short_token();
        assert_eq!(token.len(), 12);
        let allowed = |c: char| c.is_ascii_lowercase() || ('2'..='7').contains(&c);
        assert!(token.chars().all(allowed), "{token}");
    }

    #[test]
    fn codes_have_the_length_asked_for() {
        for length in 1..=10 {
            let code = digits(length);
            assert_eq!(code.len(), length);
            assert!(code.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
        }
    }
}
