//! The id in the URL of an upload: `bucket/key/version` in URL-safe Base64.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{blobs::Version, error::StorageError, request::ObjectPath};

/// The id of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UploadId {
    pub(super) path: ObjectPath,
    pub(super) version: Version,
}

impl UploadId {
    pub(super) fn parse(text: &str) -> Result<Self, StorageError> {
        let bad = || StorageError::invalid_request("The upload's id cannot be read");
        let id = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
        let id = String::from_utf8(id).map_err(|_| bad())?;
        let (path, version) = id.rsplit_once('/').ok_or_else(bad)?;
        let (bucket, key) = path.split_once('/').ok_or_else(bad)?;
        Ok(Self {
            path: ObjectPath {
                bucket: bucket.to_owned(),
                key: key.to_owned(),
            },
            version: Version::parse(version).ok_or_else(bad)?,
        })
    }

    pub(super) fn render(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}", self.path.joined(), self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_one_segment_and_come_back() {
        for key in ["a", "a/b/c.txt", "/a//b/", "a?b=c&d+e f"] {
            let id = UploadId {
                path: ObjectPath {
                    bucket: "bucket".to_owned(),
                    key: key.to_owned(),
                },
                version: Version::generate(),
            };
            let text = id.render();
            assert!(!text.contains(['/', '=', '+']), "{text}");
            assert_eq!(UploadId::parse(&text).expect("an id"), id);
        }
    }

    #[test]
    fn anything_else_is_rejected() {
        let encode = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
        for text in [
            String::new(),
            "%%%".to_owned(),
            encode(b"nothing"),
            encode(b"bucket/key/not-a-version"),
            encode(b"bucket/9f0b6bd0-23ae-4c1c-a9d2-3a05a1f1e1a1"),
            encode(&[0xff, 0xfe]),
        ] {
            assert!(UploadId::parse(&text).is_err(), "{text:?}");
        }
    }
}
