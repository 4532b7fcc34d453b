//! What buckets and objects may be called (storage contract §2, §13).

use crate::error::StorageError;

/// As long as any store takes.
const MAX_KEY_BYTES: usize = 1024;
const MAX_BUCKET_CHARACTERS: usize = 100;
/// Names that end so belong to another kind of bucket.
const RESERVED_SUFFIX: &str = "--table-s3";

/// Refuses what no object may be called.
pub(crate) fn check_key(key: &str) -> Result<(), StorageError> {
    let is_good = !key.is_empty()
        && key.len() <= MAX_KEY_BYTES
        && key.bytes().all(|byte| byte == b'/' || is_name_byte(byte))
        && !key.split('/').any(|segment| matches!(segment, "." | ".."));
    match is_good {
        true => Ok(()),
        false => Err(StorageError::invalid_key(key)),
    }
}

/// Refuses a bucket in a path that cannot exist, before anybody looks for it.
pub(crate) fn check_bucket(name: &str) -> Result<(), StorageError> {
    let is_good =
        (1..=MAX_BUCKET_CHARACTERS).contains(&name.len()) && name.bytes().all(is_name_byte);
    match is_good {
        true => Ok(()),
        false => Err(StorageError::invalid_bucket_name()),
    }
}

/// Refuses what no bucket may be called from now on.
pub(crate) fn check_new_bucket(name: &str) -> Result<(), StorageError> {
    check_bucket(name)?;
    match name.trim() != name || name.ends_with(RESERVED_SUFFIX) {
        true => Err(StorageError::invalid_bucket_name()),
        false => Ok(()),
    }
}

/// Letters, digits and the signs that every store and every URL can carry.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_!.*'() &$=@;:+,?-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ascii_without_steps_upwards() {
        for key in [
            "a",
            "a/b.txt",
            "/a//b/",
            "a b+c,d;e:f?g=@h$&'()*!-_",
            "..a/b..",
        ] {
            assert!(check_key(key).is_ok(), "{key}");
        }
        let long = "a".repeat(MAX_KEY_BYTES + 1);
        for key in [
            "", ".", "..", "a/../b", "./a", "a/.", "ä", "a#b", "a%b", "a~b", "a\\b", "a\0b",
            "a\"b", "a\nb", &long,
        ] {
            assert!(check_key(key).is_err(), "{key:?}");
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
        assert!(check_bucket(" a").is_ok(), "older ones can be reached");
    }
}
