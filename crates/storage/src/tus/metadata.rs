//! `Upload-Metadata`: what the client declares about the file (storage contract §5).
//!
//! Pairs of a key and a value in Base64, in the client's order; unknown keys are kept and returned.
//! The header is stored as it is rendered here.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::HeaderValue;
use serde_json::Value;

use super::error::invalid_header;
use crate::{
    error::StorageError,
    objects::{DEFAULT_CACHE_CONTROL, DEFAULT_TYPE},
    request::ObjectPath,
};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UploadMetadata(Vec<(String, Vec<u8>)>);

impl UploadMetadata {
    /// From the header of a new upload.
    pub(super) fn from_header(header: Option<&HeaderValue>) -> Result<Self, StorageError> {
        let header =
            header.ok_or_else(|| StorageError::invalid_request("Metadata header is required"))?;
        let text = header
            .to_str()
            .map_err(|_| invalid_header("upload-metadata"))?;
        let mut metadata = Self::parse(text).ok_or_else(|| invalid_header("upload-metadata"))?;
        metadata.normalize_cache_control();
        let is_header = |text: &str| HeaderValue::from_str(text).is_ok();
        match metadata.text("contentType") {
            Some(kind) if !is_header(kind) => Err(invalid_header("upload-metadata")),
            _ => Ok(metadata),
        }
    }

    /// From the row of an upload.
    pub(super) fn from_stored(text: &str) -> Self {
        Self::parse(text).unwrap_or(Self(Vec::new()))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
        for pair in text.split(',') {
            let (key, value) = match pair.trim().split_once(' ') {
                Some((key, value)) => (key, BASE64.decode(value.trim()).ok()?),
                None => (pair.trim(), Vec::new()),
            };
            let is_new = pairs.iter().all(|(other, _)| other != key);
            let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_new || !is_key {
                return None;
            }
            pairs.push((key.to_owned(), value));
        }
        Some(Self(pairs))
    }

    /// Seconds become a directive; anything else means that the file must not be cached.
    fn normalize_cache_control(&mut self) {
        let seconds = self.text("cacheControl").unwrap_or_default();
        let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let directive = if is_number {
            format!("max-age={seconds}")
        } else {
            DEFAULT_CACHE_CONTROL.to_owned()
        };
        match self.0.iter_mut().find(|(key, _)| key == "cacheControl") {
            Some((_, value)) => *value = directive.into(),
            None => self.0.push(("cacheControl".to_owned(), directive.into())),
        }
    }

    /// As a header.
    pub(super) fn render(&self) -> String {
        let pair = |(key, value): &(String, Vec<u8>)| {
            if value.is_empty() {
                key.clone()
            } else {
                format!("{key} {}", BASE64.encode(value))
            }
        };
        self.0.iter().map(pair).collect::<Vec<_>>().join(",")
    }

    /// The object that the upload becomes.
    pub(super) fn object_path(&self) -> Result<ObjectPath, StorageError> {
        let required = |key: &str| {
            let value = self.text(key).filter(|text| !text.is_empty());
            value.map(str::to_owned).ok_or_else(|| {
                StorageError::invalid_request(format!("Upload-Metadata must have {key}"))
            })
        };
        Ok(ObjectPath {
            bucket: required("bucketName")?,
            key: required("objectName")?,
        })
    }

    /// The MIME type, if declared.
    pub(super) fn declared_type(&self) -> Option<&str> {
        self.text("contentType").filter(|kind| !kind.is_empty())
    }

    pub(super) fn content_type(&self) -> &str {
        self.declared_type().unwrap_or(DEFAULT_TYPE)
    }

    pub(super) fn cache_control(&self) -> &str {
        self.text("cacheControl").unwrap_or(DEFAULT_CACHE_CONTROL)
    }

    /// JSON; anything else is ignored.
    pub(super) fn user_metadata(&self) -> Option<Value> {
        serde_json::from_str(self.text("metadata")?).ok()
    }

    fn text(&self, key: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(found, _)| found == key)?;
        std::str::from_utf8(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Option<UploadMetadata> {
        UploadMetadata::from_header(Some(&HeaderValue::from_static(text))).ok()
    }

    #[test]
    fn pairs_keep_their_order_and_unknown_keys() {
        let check = |text, stored: &str| {
            let metadata = read(text).expect("good metadata");
            assert_eq!(metadata.render(), stored);
            assert_eq!(UploadMetadata::from_stored(stored), metadata);
        };
        check(
            "bucketName Yg==,x-own 8J+agA==,objectName a2V5,cacheControl MzYwMA==",
            "bucketName Yg==,x-own 8J+agA==,objectName a2V5,cacheControl bWF4LWFnZT0zNjAw",
        );
        check("flag", "flag,cacheControl bm8tY2FjaGU=");
        check("flag ,other", "flag,other,cacheControl bm8tY2FjaGU=");
        check("a Yg", "a Yg==,cacheControl bm8tY2FjaGU=");
        check("a /w==", "a /w==,cacheControl bm8tY2FjaGU=");
    }

    #[test]
    fn an_invalid_header_is_rejected() {
        for text in [
            "",
            ",",
            "a,,b",
            "a Yg==,a Yg==",
            "a not-base64!",
            "a Yg== c",
            "bucketName Yg==,",
            "contentType dGV4dC9wbGFpbg0KeDogeQ==",
        ] {
            assert!(read(text).is_none(), "{text:?}");
        }
        assert!(UploadMetadata::from_header(None).is_err());
    }

    #[test]
    fn only_seconds_become_a_max_age() {
        let check = |text, stored| {
            assert_eq!(
                read(text).expect("metadata").cache_control(),
                stored,
                "{text}"
            );
        };
        check("cacheControl MzYwMA==", "max-age=3600");
        check("cacheControl cHVibGlj", "no-cache");
        check("cacheControl LTE=", "no-cache");
        check("cacheControl", "no-cache");
        check("a", "no-cache");
    }

    #[test]
    fn known_keys_are_found() {
        let metadata =
            read("bucketName Yg==,objectName YS9i,contentType aW1hZ2UvcG5n,metadata eyJhIjoxfQ==");
        let metadata = metadata.expect("good metadata");
        assert_eq!(metadata.object_path().expect("a path").joined(), "b/a/b");
        assert_eq!(metadata.content_type(), "image/png");
        assert_eq!(
            metadata.user_metadata(),
            Some(serde_json::json!({ "a": 1 }))
        );

        let metadata = read("bucketName Yg==,metadata bm9uc2Vuc2U=").expect("good metadata");
        assert!(metadata.object_path().is_err());
        assert_eq!(metadata.declared_type(), None);
        assert_eq!(metadata.content_type(), "application/octet-stream");
        assert_eq!(metadata.user_metadata(), None);
    }
}
