//! Valid names of buckets and objects (storage contract §2, §13).

use crate::error::StorageError;

/// The limit of S3.
const MAX_KEY_BYTES: usize = 1024;
const MAX_BUCKET_CHARACTERS: usize = 100;
/// Reserved for another kind of bucket.
const RESERVED_SUFFIX: &str = "--table-s3";

/// Which characters the name of an object may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRules {
    /// Those that the hosted service accepts.
    Compatible,
    /// All that can be sent to S3 clients: the characters of XML 1.0.
    Unicode,
}

impl KeyRules {
    fn accepts(self, character: char) -> bool {
        match self {
            Self::Compatible => character == '/' || u8::try_from(character).is_ok_and(is_name_byte),
            Self::Unicode => {
                matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
            }
        }
    }
}

/// Rejects an invalid name of an object.
pub(crate) fn check_key(key: &str, rules: KeyRules) -> Result<(), StorageError> {
    let is_good = !key.is_empty()
        && key.len() <= MAX_KEY_BYTES
        && key.chars().all(|character| rules.accepts(character))
        && !key.split('/').any(|segment| matches!(segment, "." | ".."));
    if is_good {
        Ok(())
    } else {
        Err(StorageError::invalid_key(key))
    }
}

/// Rejects a bucket that cannot exist, before it is looked up.
pub(crate) fn check_bucket(name: &str) -> Result<(), StorageError> {
    let is_good =
        (1..=MAX_BUCKET_CHARACTERS).contains(&name.len()) && name.bytes().all(is_name_byte);
    if is_good {
        Ok(())
    } else {
        Err(StorageError::invalid_bucket_name())
    }
}

/// Rejects an invalid name of a new bucket.
pub(crate) fn check_new_bucket(name: &str) -> Result<(), StorageError> {
    check_bucket(name)?;
    if name.trim() != name || name.ends_with(RESERVED_SUFFIX) {
        Err(StorageError::invalid_bucket_name())
    } else {
        Ok(())
    }
}

/// Letters, digits, and punctuation that works in every store and every URL.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_!.*'() &$=@;:+,?-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ascii_without_dot_segments() {
        for key in [
            "a",
            "a/b.txt",
            "/a//b/",
            "a b+c,d;e:f?g=@h$&'()*!-_",
            "..a/b..",
        ] {
            for rules in [KeyRules::Compatible, KeyRules::Unicode] {
                assert!(check_key(key, rules).is_ok(), "{key}");
            }
        }
        let long = "a".repeat(MAX_KEY_BYTES + 1);
        for key in [
            "", ".", "..", "a/../b", "./a", "a/.", "ä", "a#b", "a%b", "a~b", "a\\b", "a\0b",
            "a\"b", "a\nb", &long,
        ] {
            assert!(check_key(key, KeyRules::Compatible).is_err(), "{key:?}");
        }
    }

    #[test]
    fn with_unicode_all_characters_of_xml_are_accepted() {
        let longest = "ä".repeat(MAX_KEY_BYTES / 2);
        for key in [
            "ä",
            "a#b",
            "a%b",
            "a~b",
            "a\\b",
            "a\"b",
            "日本語/файл.txt",
            "😀",
            "e\u{301}",
            "<a&b>",
            "a\r\n\tb",
            "a\u{7f}\u{85}b",
            &longest,
        ] {
            assert!(check_key(key, KeyRules::Unicode).is_ok(), "{key}");
        }
        let long = format!("{longest}a");
        for key in [
            "", ".", "a/../b", "./ä", "a\0b", "a\u{1f}b", "\u{fffe}", "\u{ffff}", &long,
        ] {
            assert!(check_key(key, KeyRules::Unicode).is_err(), "{key:?}");
        }
    }

    #[test]
    fn buckets_have_one_segment_and_at_most_a_hundred_characters() {
        let longest = "b".repeat(100);
        for name in ["b", "My bucket", "a.b-c_d", &longest] {
            assert!(check_new_bucket(name).is_ok(), "{name}");
        }
        let too_long = "b".repeat(101);
        for name in ["", "a/b", "ü", "a#", &too_long, " a", "a ", "x--table-s3"] {
            assert!(check_new_bucket(name).is_err(), "{name:?}");
        }
        assert!(check_bucket(" a").is_ok(), "existing ones stay usable");
    }
}
