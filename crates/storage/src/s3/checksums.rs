//! What clients say about the bytes that they send, checked while they come.

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

enum Running {
    Crc32(CrcDigest<'static, u32, Fast>),
    Crc32c(CrcDigest<'static, u32, Fast>),
    Crc64(CrcDigest<'static, u64, Fast>),
    Sha(Sha),
}

impl Running {
    fn of_name(name: &str) -> Option<Self> {
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
    running: Vec<(&'static str, Running)>,
    /// What they must be; those of a trailer come last.
    expected: Vec<(&'static str, String)>,
    md5: Option<(Md5, String)>,
    /// Of the body as it was signed.
    signed: Option<(Sha, String)>,
}

impl Checksums {
    /// What the headers say, and what they announce for the trailer.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        let mut checksums = Self::default();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        for name in NAMES {
            if let Some(value) = text(&format!("{PREFIX}{name}")) {
                checksums.run(name);
                checksums.expected.push((name, value.to_owned()));
            }
        }
        for name in announced(headers) {
            checksums.run(name);
        }
        let md5 = text("content-md5").map(|value| (Md5::new(), value.to_owned()));
        Self { md5, ..checksums }
    }

    /// The whole body must have this SHA-256.
    pub(super) fn expect_signed(&mut self, hash: String) {
        self.signed = Some((Sha::new(&SHA256), hash));
    }

    fn run(&mut self, name: &'static str) {
        let is_new = !self.running.iter().any(|(found, _)| *found == name);
        if let Some(running) = Running::of_name(name).filter(|_| is_new) {
            self.running.push((name, running));
        }
    }

    /// What the trailer says.
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
        for (_, running) in &mut self.running {
            running.update(bytes);
        }
        if let Some((md5, _)) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some((sha, _)) = &mut self.signed {
            sha.update(bytes);
        }
    }

    /// Refuses bytes that are not what was announced; gives the checksums as headers.
    pub(super) fn finish(self) -> Result<Vec<(HeaderName, HeaderValue)>, StorageError> {
        if let Some((sha, expected)) = self.signed
            && hex(sha.finish().as_ref()) != expected
        {
            let message = "The body has another SHA-256 than x-amz-content-sha256 says";
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
        let mut found = Vec::new();
        for (name, running) in self.running {
            let value = running.finish();
            let mut said = self.expected.iter().filter(|(known, _)| *known == name);
            if said.any(|(_, expected)| expected.trim() != value) {
                return Err(bad_digest(&format!("{PREFIX}{name}")));
            }
            let header = HeaderName::try_from(format!("{PREFIX}{name}"));
            let value = HeaderValue::try_from(value);
            found.extend(header.ok().zip(value.ok()));
        }
        Ok(found)
    }
}

/// The checksums that `x-amz-trailer` announces.
pub(super) fn announced(headers: &HeaderMap) -> impl Iterator<Item = &'static str> {
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
    let message = format!("The bytes that came have another {name}");
    StorageError::new(Code::BadDigest, 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values made with Python's zlib and hashlib, and for the other two with the CRC tables of the
    /// catalogue: `123456789` is what all of them are tried with.
    #[test]
    fn checksums_are_those_that_everybody_computes() {
        let check = |name: &str, expected: &str| {
            let mut running = Running::of_name(name).expect("a known name");
            running.update(b"1234");
            running.update(b"56789");
            assert_eq!(running.finish(), expected, "{name}");
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
    fn what_is_announced_must_come() {
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
