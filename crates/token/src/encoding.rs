//! Base64url, hexadecimal and SHA-256: the few encodings that all credentials share.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Base64url without padding, the spelling that JWTs use.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url without padding. Strict: only the canonical encoding is accepted, so that a signed
/// token cannot be respelled.
pub(crate) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// What is stored of an API key or access token so that it can be looked up: the SHA-256 of its
/// text in lower-case hexadecimal.
///
/// It takes any text, because keys given in a configuration file may have a form of their own.
/// No salt is needed: unlike passwords, these texts are random and long.
pub fn credential_hash(text: &str) -> String {
    hex(&sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_hash_is_the_published_sha_256() {
        assert_eq!(
            credential_hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn base64url_has_one_spelling_only() {
        assert_eq!(from_base64url("_-8").as_deref(), Some(&[0xff, 0xef][..]));
        for other in ["_-8=", "/+8", "_-9", "_ -8", "_"] {
            assert_eq!(from_base64url(other), None, "{other}");
        }
    }
}
