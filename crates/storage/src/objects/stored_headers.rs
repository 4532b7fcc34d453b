//! Headers of downloads that S3 clients give with an object, kept in its metadata.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, EXPIRES},
};
use serde_json::{Value, json};

/// Each header, and its name in the metadata.
const NAMES: [(HeaderName, &str); 4] = [
    (CONTENT_DISPOSITION, "contentDisposition"),
    (CONTENT_ENCODING, "contentEncoding"),
    (CONTENT_LANGUAGE, "contentLanguage"),
    (EXPIRES, "expires"),
];

/// How S3 clients send a body, not how it is stored.
const TRANSFER_ENCODING: &str = "aws-chunked";

/// `Content-Disposition`, `-Encoding`, `-Language` and `Expires` of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoredHeaders([Option<String>; 4]);

impl StoredHeaders {
    /// Those that the metadata of an object has.
    pub(crate) fn from_metadata(metadata: Option<&Value>) -> Self {
        let text = |(_, key): &(HeaderName, &str)| {
            let text = metadata?.get(*key)?.as_str()?;
            Some(text.to_owned())
        };
        Self(NAMES.each_ref().map(text))
    }

    /// Adds a header, if it is one of these. Its name is in lower case.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let Some(index) = NAMES.iter().position(|(known, _)| known == name) else {
            return;
        };
        let value = if NAMES[index].0 == CONTENT_ENCODING {
            without_transfer_encoding(value)
        } else {
            value.trim().to_owned()
        };
        self.0[index] = Some(value).filter(|value| !value.is_empty());
    }

    pub(crate) fn write_to(&self, metadata: &mut Value) {
        for ((_, key), value) in NAMES.iter().zip(&self.0) {
            if let Some(value) = value {
                metadata[*key] = json!(value);
            }
        }
    }

    /// Adds them to a response, except where it has them already. Names of files are often sent
    /// as UTF-8, and come back so; what cannot be a header is left out.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        for ((name, _), value) in NAMES.iter().zip(&self.0) {
            let value = value
                .as_ref()
                .map(|text| HeaderValue::from_bytes(text.as_bytes()));
            if let Some(Ok(value)) = value
                && !headers.contains_key(name)
            {
                headers.insert(name, value);
            }
        }
    }

    /// Removes them from metadata that is to be replaced.
    pub(crate) fn remove_from(metadata: &mut Value) {
        if let Some(metadata) = metadata.as_object_mut() {
            for (_, key) in NAMES {
                metadata.remove(key);
            }
        }
    }
}

fn without_transfer_encoding(value: &str) -> String {
    let codings = value.split(',').map(str::trim);
    let stored = codings
        .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(TRANSFER_ENCODING));
    stored.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_kept_and_come_back() {
        let mut given = StoredHeaders::default();
        given.add("content-encoding", "gzip");
        given.add("content-disposition", "inline; filename=\"a b\"");
        given.add("x-other", "nothing");
        let mut metadata = json!({ "size": 1 });
        given.write_to(&mut metadata);
        let expected = json!({
            "size": 1,
            "contentEncoding": "gzip",
            "contentDisposition": "inline; filename=\"a b\"",
        });
        assert_eq!(metadata, expected);
        assert_eq!(StoredHeaders::from_metadata(Some(&metadata)), given);

        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_DISPOSITION, "attachment;".parse().expect("a value"));
        given.add_to(&mut headers);
        assert_eq!(headers[CONTENT_ENCODING], "gzip");
        assert_eq!(headers[CONTENT_DISPOSITION], "attachment;");
        assert_eq!(headers.len(), 2);
        StoredHeaders::remove_from(&mut metadata);
        assert_eq!(metadata, json!({ "size": 1 }));
    }

    #[test]
    fn a_name_in_utf8_comes_back_and_control_characters_do_not() {
        let mut given = StoredHeaders::default();
        given.add("content-disposition", "attachment; filename=\"日本.txt\"");
        given.add("content-language", "a\nb");
        let mut headers = HeaderMap::new();
        given.add_to(&mut headers);
        let value = headers[CONTENT_DISPOSITION].as_bytes();
        assert_eq!(value, "attachment; filename=\"日本.txt\"".as_bytes());
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn the_encoding_of_the_transfer_is_not_the_objects() {
        let stored = |value: &str| {
            let mut headers = StoredHeaders::default();
            headers.add("content-encoding", value);
            headers.0[1].clone()
        };
        assert_eq!(stored("aws-chunked"), None);
        assert_eq!(stored("aws-chunked,gzip").as_deref(), Some("gzip"));
        assert_eq!(stored("br, AWS-Chunked").as_deref(), Some("br"));
        assert_eq!(stored(""), None);
    }

    #[test]
    fn nothing_is_read_from_metadata_of_other_forms() {
        for metadata in [json!(null), json!("x"), json!({ "expires": 7 })] {
            let read = StoredHeaders::from_metadata(Some(&metadata));
            assert_eq!(read, StoredHeaders::default());
        }
    }
}
