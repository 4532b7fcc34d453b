//! `encodeURIComponent` and its inverse, which every cookie value passes through (C5, C12).

use std::borrow::Cow;

const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Whether a byte stands for itself.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte)
}

/// Everything but letters, digits and ``-_.!~*'()`` as `%XX`, byte by byte.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    if text.bytes().all(is_unreserved) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + text.len() / 2);
    for byte in text.bytes() {
        if is_unreserved(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(UPPER_HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(UPPER_HEX[usize::from(byte & 15)]));
        }
    }
    Cow::Owned(encoded)
}

/// The text behind the escapes; nothing when an escape is broken or gives no UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let (digits, after) = after.split_first_chunk::<2>()?;
            decoded.push(hex_value(digits[0])? << 4 | hex_value(digits[1])?);
            rest = after;
        } else {
            decoded.push(byte);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_must_be_is_escaped() {
        let plain = "AZaz09-_.!~*'()";
        assert!(matches!(encode(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(
            encode("{\"é\":1}%+/ "),
            "%7B%22%C3%A9%22%3A1%7D%25%2B%2F%20"
        );
    }

    #[test]
    fn broken_escapes_are_noticed() {
        for text in ["%", "%4", "%zz", "a%E4%BD", "%C0%80", "%ED%A0%80"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode("%e4%BD%a0").as_deref(), Some("你"));
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in any::<String>()) {
            let encoded = encode(&text);
            prop_assert!(encoded.bytes().all(|byte| is_unreserved(byte) || byte == b'%'));
            let decoded = decode(&encoded);
            prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
        }

        #[test]
        fn anything_may_be_decoded_without_a_panic(text in "[%0-9a-fA-Fg-é]{0,64}") {
            _ = decode(&text);
        }
    }
}
