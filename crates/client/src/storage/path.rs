//! Encoding of bucket and file names in URLs.
//!
//! Any name is encoded so that it survives. The exceptions `.` and `..` are rejected: they are resolved however they
//! are encoded, and would change the path.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::StorageError;

/// Characters that `encodeURIComponent` leaves alone.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Characters that `encodeURI` leaves alone, except `?` and `#`, which would end the path.
const PATH: &AsciiSet = &VALUE
    .remove(b';')
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b',');

/// A path as part of a URL; slashes stay.
pub(super) fn encode(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// A query of names and values, without the question mark.
pub(super) fn query<'a>(params: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pair =
        |(name, value): (&str, &str)| format!("{name}={}", utf8_percent_encode(value, VALUE));
    params.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// A bucket's id as one segment of a path.
pub(super) fn bucket(id: &str) -> Result<String, StorageError> {
    if id.is_empty() || id.contains('/') || is_step(id) {
        return Err(StorageError::InvalidInput(
            "a bucket's id must be a name without slashes",
        ));
    }
    Ok(encode(id))
}

/// `bucket/path/of/file`, without slashes before the path.
pub(super) fn object(bucket_id: &str, path: &str) -> Result<String, StorageError> {
    let path = path.trim_start_matches('/');
    if path.is_empty() {
        return Err(StorageError::InvalidInput("the path of a file is empty"));
    }
    if path.split('/').any(is_step) {
        return Err(StorageError::InvalidInput(
            "the path of a file must not have the parts `.` and `..`",
        ));
    }
    Ok(format!("{}/{}", bucket(bucket_id)?, encode(path)))
}

fn is_step(segment: &str) -> bool {
    matches!(segment, "." | "..")
}

/// The normalised path of a file: no empty folders, no leading or trailing slashes.
pub(super) fn clean(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_names_are_spelled_so_that_they_survive() {
        let check = |path: &str, expected: &str| {
            assert_eq!(object("b", path).unwrap(), format!("b/{expected}"));
        };

        check("a b.txt", "a%20b.txt");
        check("100%.txt", "100%25.txt");
        check("a%20b", "a%2520b");
        check("what?.txt", "what%3F.txt");
        check("#1.txt", "%231.txt");
        check("a+b&c=d.txt", "a+b&c=d.txt");
        check("für/日本.txt", "f%C3%BCr/%E6%97%A5%E6%9C%AC.txt");
        check("a\\..\\b", "a%5C..%5Cb");
        check("it's (1)!~*;:@$,.txt", "it's%20(1)!~*;:@$,.txt");
        check("\"<[{|}]>`^\t\n", "%22%3C%5B%7B%7C%7D%5D%3E%60%5E%09%0A");
        check("...", "...");
    }

    #[test]
    fn slashes_before_a_path_are_none_of_it_and_those_inside_are() {
        assert_eq!(object("b", "//a//c/").unwrap(), "b/a//c/");
        assert_eq!(object("a bucket", "x").unwrap(), "a%20bucket/x");
    }

    #[test]
    fn uploads_have_no_empty_folders() {
        let check = |path: &str, expected: &str| assert_eq!(clean(path), expected);

        check("/a/b/", "a/b");
        check("a//b///c", "a/b/c");
        check("//a", "a");
        check("a b/ c", "a b/ c");
        check("/", "");
    }

    #[test]
    fn names_that_would_lead_elsewhere_are_rejected() {
        for path in [
            "",
            "/",
            "..",
            "../bucket/x",
            "a/../../bucket",
            "a/./b",
            "a/..",
        ] {
            assert!(object("b", path).is_err(), "{path}");
        }
        for id in ["", "/", "..", ".", "a/b"] {
            assert!(object(id, "x").is_err(), "{id}");
        }
    }

    #[test]
    fn values_of_a_query_end_where_they_should() {
        let params = [("download", "a b&c=d+e/ü?.txt"), ("x", "")];

        assert_eq!(
            query(params),
            "download=a%20b%26c%3Dd%2Be%2F%C3%BC%3F.txt&x="
        );
    }

    proptest! {
        #[test]
        fn a_url_says_the_path_and_nothing_else(path in "\\PC{1,40}") {
            if let Ok(encoded) = object("b", &path) {
                let url = url::Url::parse(&format!("http://h/object/{encoded}")).unwrap();
                let decoded = percent_encoding::percent_decode_str(url.path()).decode_utf8().unwrap();

                assert_eq!(decoded, format!("/object/b/{}", path.trim_start_matches('/')));
                assert_eq!((url.query(), url.fragment()), (None, None));
            }
        }
    }
}
