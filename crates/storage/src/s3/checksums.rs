//! The checksums of a body, verified while it is read.

use aws_lc_rs::digest::{Context as Sha, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use base64::{Engine, engine::general_purpose::STANDARD};
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, CRC_64_NVME, Crc, Digest as CrcDigest, Table};
use http::{HeaderMap, HeaderName, HeaderValue};
use md5::{Digest, Md5};

use crate::{
    error::{Code, StorageError},
    hex::hex,
};

type Fast = Table<16>;
static CRC32: Crc<u32, Fast> = Crc::<u32, Fast>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32, Fast> = Crc::<u32, Fast>::new(&CRC_32_ISCSI);
static CRC64: Crc<u64, Fast> = Crc::<u64, Fast>::new(&CRC_64_NVME);

const PREFIX: &str = "x-amz-checksum-";
const NAMES: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];

enum Hasher {
    Crc32(CrcDigest<'static, u32, Fast>),
    Crc32c(CrcDigest<'static, u32, Fast>),
    Crc64(CrcDigest<'static, u64, Fast>),
    Sha(Sha),
}

impl Hasher {
    fn by_name(name: &str) -> Option<Self> {
        match name {
            "crc32" => Some(Self::Crc32(CRC32.digest())),
            "crc32c" => Some(Self::Crc32c(CRC32C.digest())),
            "crc64nvme" => Some(Self::Crc64(CRC64.digest())),
            "sha1" => Some(Self::Sha(Sha::new(&SHA1_FOR_LEGACY_USE_ONLY))),
            "sha256" => Some(Self::Sha(Sha::new(&SHA256))),
            _ => None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32(digest) | Self::Crc32c(digest) => digest.update(bytes),
            Self::Crc64(digest) => digest.update(bytes),
            Self::Sha(digest) => digest.update(bytes),
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Crc32(digest) | Self::Crc32c(digest) => {
                STANDARD.encode(digest.finalize().to_be_bytes())
            }
            Self::Crc64(digest) => STANDARD.encode(digest.finalize().to_be_bytes()),
            Self::Sha(digest) => STANDARD.encode(digest.finish()),
        }
    }
}

/// The checksums of one body.
#[derive(Default)]
pub(super) struct Checksums {
    hashers: Vec<(&'static str, Hasher)>,
    /// The expected values; those of a trailer come last.
    expected: Vec<(&'static str, String)>,
    md5: Option<(Md5, String)>,
    /// The signed hash of the whole body.
    signed: Option<(Sha, String)>,
}

impl Checksums {
    /// Those of the headers, and those that the headers announce for the trailer.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        let mut checksums = Self::default();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        for name in NAMES {
            if let Some(value) = text(&format!("{PREFIX}{name}")) {
                checksums.start(name);
                checksums.expected.push((name, value.to_owned()));
            }
        }
        for name in trailer_checksums(headers) {
            checksums.start(name);
        }
        let md5 = text("content-md5").map(|value| (Md5::new(), value.to_owned()));
        Self { md5, ..checksums }
    }

    /// The whole body must have this SHA-256.
    pub(super) fn expect_signed(&mut self, hash: String) {
        self.signed = Some((Sha::new(&SHA256), hash));
    }

    fn start(&mut self, name: &'static str) {
        let is_new = !self.hashers.iter().any(|(found, _)| *found == name);
        if let Some(hasher) = Hasher::by_name(name).filter(|_| is_new) {
            self.hashers.push((name, hasher));
        }
    }

    /// Adds the expected values of the trailer.
    pub(super) fn expect_trailer(&mut self, trailer: &[(String, String)]) {
        for (name, value) in trailer {
            let known = NAMES
                .iter()
                .find(|known| name.strip_prefix(PREFIX) == Some(known));
            if let Some(known) = known {
                self.expected.push((known, value.clone()));
            }
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for (_, hasher) in &mut self.hashers {
            hasher.update(bytes);
        }
        if let Some((md5, _)) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some((sha, _)) = &mut self.signed {
            sha.update(bytes);
        }
    }

    /// Compares; gives the checksums as headers.
    pub(super) fn finish(self) -> Result<Vec<(HeaderName, HeaderValue)>, StorageError> {
        if let Some((sha, expected)) = self.signed
            && hex(sha.finish().as_ref()) != expected
        {
            let message = "The SHA-256 of the body does not match x-amz-content-sha256";
            return Err(StorageError::new(
                Code::XAmzContentSHA256Mismatch,
                400,
                message,
            ));
        }
        if let Some((md5, expected)) = self.md5
            && STANDARD.encode(md5.finalize()) != expected.trim()
        {
            return Err(bad_digest("Content-MD5"));
        }
        let mut headers = Vec::new();
        for (name, hasher) in self.hashers {
            let value = hasher.finish();
            let mut expected = self.expected.iter().filter(|(known, _)| *known == name);
            if expected.any(|(_, expected)| expected.trim() != value) {
                return Err(bad_digest(&format!("{PREFIX}{name}")));
            }
            let header = HeaderName::try_from(format!("{PREFIX}{name}"));
            let value = HeaderValue::try_from(value);
            headers.extend(header.ok().zip(value.ok()));
        }
        Ok(headers)
    }
}

/// The checksums that `x-amz-trailer` announces.
pub(super) fn trailer_checksums(headers: &HeaderMap) -> impl Iterator<Item = &'static str> {
    let text = headers
        .get("x-amz-trailer")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    NAMES.into_iter().filter(move |name| {
        text.split(',')
            .any(|announced| announced.trim().strip_prefix(PREFIX) == Some(name))
    })
}

fn bad_digest(name: &str) -> StorageError {
    let message = format!("The body does not match {name}");
    StorageError::new(Code::BadDigest, 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values made with Python's zlib and hashlib, and for the other two with the CRC tables of the
    /// catalogue, of the usual check input `123456789`.
    #[test]
    fn checksums_match_known_values() {
        let check = |name: &str, expected: &str| {
            let mut hasher = Hasher::by_name(name).expect("a known name");
            hasher.update(b"1234");
            hasher.update(b"56789");
            assert_eq!(hasher.finish(), expected, "{name}");
        };
        check("crc32", &STANDARD.encode(0xcbf4_3926_u32.to_be_bytes()));
        check("crc32c", &STANDARD.encode(0xe306_9283_u32.to_be_bytes()));
        check(
            "crc64nvme",
            &STANDARD.encode(0xae8b_1486_0a79_9888_u64.to_be_bytes()),
        );
        check("sha1", "98O8HYCOBHMq32eZZczDTKeuNEE=");
        check("sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=");
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        pairs.collect()
    }

    #[test]
    fn announced_checksums_must_match() {
        let finish = |pairs: &[(&'static str, &'static str)], bytes: &[u8]| {
            let mut checksums = Checksums::of_headers(&headers(pairs));
            checksums.update(bytes);
            checksums.finish().is_ok()
        };
        assert!(finish(
            &[("x-amz-checksum-crc32", "y/Q5Jg==")],
            b"123456789"
        ));
        assert!(!finish(
            &[("x-amz-checksum-crc32", "y/Q5Jg==")],
            b"12345678"
        ));
        let md5 = [("content-md5", "JfnnlDI7RTiF9RgfG2JNCw==")];
        assert!(finish(&md5, b"123456789"));
        assert!(!finish(&md5, b"1234567890"));
        assert!(finish(&[], b"anything"));
    }
}
