//! Encoding of a value: base64url with a prefix, or as is (C4, C7).

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::IgnoredAny;

/// Prefix of a base64url value (K9).
pub const VALUE_PREFIX: &str = "base64-";

/// How values are written. Both are always read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// `base64-` and base64url, the default of `@supabase/ssr`.
    #[default]
    Base64Url,
    /// The text itself, as old versions wrote it.
    Raw,
}

/// Tolerates what the reference's decoder does: trailing bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

impl Encoding {
    pub(crate) fn encode(self, item: &str) -> String {
        match self {
            Self::Raw => item.to_owned(),
            Self::Base64Url => {
                let mut value = String::with_capacity(VALUE_PREFIX.len() + item.len() * 4 / 3 + 3);
                value.push_str(VALUE_PREFIX);
                LENIENT.encode_string(item, &mut value);
                value
            }
        }
    }
}

/// Decodes a joined cookie text. A text without prefix is returned as is; one with the prefix that is not
/// the base64url of JSON counts as absent.
pub(crate) fn decode(text: String) -> Option<String> {
    match text.strip_prefix(VALUE_PREFIX) {
        None => Some(text),
        Some(payload) => {
            let item = String::from_utf8(decode_base64url(payload)?).ok()?;
            is_json(&item).then_some(item)
        }
    }
}

fn decode_base64url(payload: &str) -> Option<Vec<u8>> {
    let is_skipped = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'=');
    let payload = if payload.bytes().any(is_skipped) {
        let cached = payload.bytes().filter(|byte| !is_skipped(*byte)).collect();
        Cow::Owned(cached)
    } else {
        Cow::Borrowed(payload.as_bytes())
    };
    // Six trailing bits are dropped, but must be of the alphabet.
    let (payload, stray) = payload.split_at(payload.len() - usize::from(payload.len() % 4 == 1));
    if !stray
        .iter()
        .all(|byte| URL_SAFE.as_str().as_bytes().contains(byte))
    {
        return None;
    }
    LENIENT.decode(payload).ok()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(decode(text.to_owned()).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_largest_values_that_fit_one_cookie_are_known() {
        // C10: 2379 bytes become 3179 characters and 2380 become 3181; 3180 cannot occur.
        assert_eq!(Encoding::Base64Url.encode(&"x".repeat(2379)).len(), 3179);
        assert_eq!(Encoding::Base64Url.encode(&"x".repeat(2380)).len(), 3181);
    }

    #[test]
    fn a_text_without_prefix_is_left_alone() {
        check("garbage", Some("garbage"));
        check("BASE64-eyJhIjoxfQ", Some("BASE64-eyJhIjoxfQ"));
        check("", Some(""));
    }

    #[test]
    fn the_decoder_forgives_what_the_reference_forgives_and_nothing_else() {
        check("base64-eyJh\t \r\nIjoxfQ==", Some(r#"{"a":1}"#));
        check("base64-eyJhYiI6MTJ9A", Some(r#"{"ab":12}"#));
        check("base64-eyJhYiI6MTJ9*", None);
        check("base64-eyJhIjoxfR", Some(r#"{"a":1}"#));
        check("base64-eyJhIjoi+/8ifQ", None);
        check("base64-é", None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in any::<String>()) {
            let item = serde_json::Value::from(text).to_string();
            prop_assert_eq!(decode(Encoding::Base64Url.encode(&item)), Some(item.clone()));
            prop_assert_eq!(decode(Encoding::Raw.encode(&item)), Some(item));
        }

        #[test]
        fn any_payload_may_be_decoded_without_a_panic(payload in any::<String>()) {
            _ = decode(format!("{VALUE_PREFIX}{payload}"));
        }
    }
}
