//! Sealing secrets at rest with the instance key (console contract F61).
//!
//! A sealed value reads `v1.<key id>.<base64url of nonce, ciphertext and tag>`: the key id shows what is
//! still sealed with an old instance key after a rotation. AES-256-GCM with a random nonce; version,
//! key id and context are authenticated, so that a sealed value cannot be moved to another row.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use crate::encoding::{base64url, from_base64url, hex, sha256};
use crate::error::SealError;
use crate::random;
use crate::secret::Secret;

const VERSION: &str = "v1";
const KEY_BYTES: usize = 32;

/// The key that all nodes share and that is never stored in the database.
pub struct InstanceKey {
    bytes: Zeroizing<[u8; KEY_BYTES]>,
    cipher: RandomizedNonceKey,
    id: String,
}

impl InstanceKey {
    /// A new random key.
    pub fn generate() -> Self {
        Self::from_bytes(random::bytes())
    }

    /// Reads a key written as 64 hexadecimal digits or in base64 (either alphabet, padded or not).
    pub fn from_text(text: &str) -> Result<Self, SealError> {
        let text = text.trim();
        let decoded = Zeroizing::new(
            from_hex(text)
                .or_else(|| from_any_base64(text))
                .ok_or(SealError::InvalidInstanceKey)?,
        );
        let bytes: [u8; KEY_BYTES] = decoded
            .as_slice()
            .try_into()
            .map_err(|_| SealError::InvalidInstanceKey)?;
        Ok(Self::from_bytes(Zeroizing::new(bytes)))
    }

    fn from_bytes(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Self {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &bytes[..])
            .expect("AES-256 takes any key of 32 bytes");
        let id = hex(&sha256(&bytes[..])[..4]);
        Self { bytes, cipher, id }
    }

    /// The key as text, for its file or environment variable.
    pub fn to_text(&self) -> Secret {
        Secret::new(base64url(&self.bytes[..]))
    }

    /// Eight hexadecimal digits that distinguish keys without revealing them.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id of the key that a value was sealed with, if it is a sealed value at all.
    pub fn id_of(sealed: &str) -> Option<&str> {
        split(sealed).map(|(key_id, _)| key_id)
    }

    /// Derives a secret for one purpose, named by the context: deterministic, and without revealing this key
    /// or any other derived secret.
    pub fn derive(&self, context: &str) -> Secret {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.bytes[..]);
        Secret::new(hex(hmac::sign(&key, context.as_bytes()).as_ref()))
    }

    /// Seals a secret for one purpose, named by the context (`project_secret:<ref>:jwt`).
    pub fn seal(&self, context: &str, plaintext: &[u8]) -> String {
        let mut body = Vec::with_capacity(plaintext.len() + AES_256_GCM.tag_len());
        body.extend_from_slice(plaintext);
        let nonce = self
            .cipher
            .seal_in_place_append_tag(self.associated_data(context), &mut body)
            .expect("a secret is far below the cipher's limit of 64 GiB");

        let packed = [nonce.as_ref().as_slice(), &body].concat();
        format!("{VERSION}.{}.{}", self.id, base64url(&packed))
    }

    /// Opens a value of [`InstanceKey::seal`], given the same context.
    pub fn open(&self, context: &str, sealed: &str) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (key_id, packed) = split(sealed).ok_or(SealError::NotSealed)?;
        if key_id != self.id {
            let (sealed_with, ours) = (key_id.to_owned(), self.id.clone());
            return Err(SealError::WrongKey { sealed_with, ours });
        }

        let mut packed = Zeroizing::new(from_base64url(packed).ok_or(SealError::Damaged)?);
        let (nonce, body) = packed
            .split_at_mut_checked(NONCE_LEN)
            .ok_or(SealError::Damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Damaged)?;
        let plaintext = self
            .cipher
            .open_in_place(nonce, self.associated_data(context), body)
            .map_err(|_| SealError::Damaged)?;
        Ok(Zeroizing::new(plaintext.to_vec()))
    }

    /// Opens a sealed text.
    pub fn open_text(&self, context: &str, sealed: &str) -> Result<Secret, SealError> {
        let plaintext = self.open(context, sealed)?;
        let text = std::str::from_utf8(&plaintext).map_err(|_| SealError::NotText)?;
        Ok(Secret::new(text))
    }

    fn associated_data(&self, context: &str) -> Aad<String> {
        Aad::from(format!("plinth.{VERSION}.{}.{context}", self.id))
    }
}

impl fmt::Debug for InstanceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InstanceKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Key id and packed bytes of a sealed value.
fn split(sealed: &str) -> Option<(&str, &str)> {
    let (version, rest) = sealed.split_once('.')?;
    let (key_id, packed) = rest.split_once('.')?;
    let is_key_id = key_id.len() == 8 && key_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (version == VERSION && is_key_id).then_some((key_id, packed))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * KEY_BYTES {
        return None;
    }
    let nibbles: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = Zeroizing::new(nibbles?);
    Some(
        pairs
            .chunks_exact(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect(),
    )
}

fn from_any_base64(text: &str) -> Option<Vec<u8>> {
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&alphabet::STANDARD, lenient);
    let url_safe = GeneralPurpose::new(&alphabet::URL_SAFE, lenient);
    standard
        .decode(text)
        .or_else(|_| url_safe.decode(text))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "project_secret:abcdefghijklmnopqrst:jwt";

    #[test]
    fn what_was_sealed_opens_again() {
        let key = InstanceKey::generate();

        let sealed = key.seal(CONTEXT, b"a shared secret");

        assert_eq!(
            key.open(CONTEXT, &sealed).unwrap().as_slice(),
            b"a shared secret"
        );
        assert_eq!(
            key.open_text(CONTEXT, &sealed).unwrap().expose(),
            "a shared secret"
        );
        assert_eq!(
            key.open(CONTEXT, &key.seal(CONTEXT, b""))
                .unwrap()
                .as_slice(),
            b""
        );
        assert_eq!(InstanceKey::id_of(&sealed), Some(key.id()));
    }

    #[test]
    fn sealing_twice_gives_two_different_values() {
        let key = InstanceKey::generate();

        assert_ne!(key.seal(CONTEXT, b"same"), key.seal(CONTEXT, b"same"));
    }

    #[test]
    fn another_instance_key_is_named_as_the_problem() {
        let (ours, theirs) = (InstanceKey::generate(), InstanceKey::generate());

        let error = ours
            .open(CONTEXT, &theirs.seal(CONTEXT, b"secret"))
            .unwrap_err();

        let expected = SealError::WrongKey {
            sealed_with: theirs.id().into(),
            ours: ours.id().into(),
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn a_sealed_value_cannot_be_opened_in_another_place() {
        let key = InstanceKey::generate();
        let sealed = key.seal("project_secret:one:jwt", b"secret");

        assert_eq!(
            key.open("project_secret:two:jwt", &sealed),
            Err(SealError::Damaged)
        );
    }

    #[test]
    fn a_claimed_key_id_does_not_open_a_foreign_value() {
        let (ours, theirs) = (InstanceKey::generate(), InstanceKey::generate());
        let sealed = theirs
            .seal(CONTEXT, b"secret")
            .replace(theirs.id(), ours.id());

        assert_eq!(ours.open(CONTEXT, &sealed), Err(SealError::Damaged));
    }

    #[test]
    fn every_changed_or_missing_byte_is_noticed() {
        let key = InstanceKey::generate();
        let sealed = key.seal(CONTEXT, b"secret");
        let body_start = sealed.rfind('.').unwrap() + 1;

        for position in body_start..sealed.len() {
            let replacement = if &sealed[position..=position] == "A" {
                "B"
            } else {
                "A"
            };
            let mut damaged = sealed.clone();
            damaged.replace_range(position..=position, replacement);
            assert_eq!(
                key.open(CONTEXT, &damaged),
                Err(SealError::Damaged),
                "at {position}"
            );
            assert_eq!(
                key.open(CONTEXT, &sealed[..position]),
                Err(SealError::Damaged)
            );
        }
    }

    #[test]
    fn a_value_that_was_never_sealed_is_recognised() {
        let key = InstanceKey::generate();

        for text in [
            "",
            "plain",
            "v1.",
            "v1.12345678",
            "v2.12345678.AAAA",
            "v1.1234567x.AAAA",
        ] {
            assert_eq!(key.open(CONTEXT, text), Err(SealError::NotSealed), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_rejected_as_text() {
        let key = InstanceKey::generate();
        let sealed = key.seal(CONTEXT, &[0xff, 0xfe]);

        assert_eq!(key.open_text(CONTEXT, &sealed), Err(SealError::NotText));
    }

    #[test]
    fn an_instance_key_is_read_in_every_usual_spelling() {
        let bytes: Vec<u8> = (200..232).collect();
        let padded = base64::engine::general_purpose::STANDARD.encode(&bytes);
        let upper_hex = hex(&bytes).to_uppercase();
        let spellings = [
            hex(&bytes),
            upper_hex,
            base64url(&bytes),
            padded.clone(),
            format!(" {padded}\n"),
        ];

        let ids: Vec<String> = spellings
            .iter()
            .map(|text| InstanceKey::from_text(text).unwrap().id().to_owned())
            .collect();

        assert!(
            ids.iter().all(|id| *id == hex(&sha256(&bytes)[..4])),
            "{ids:?}"
        );
    }

    #[test]
    fn an_instance_key_survives_being_written_down() {
        let key = InstanceKey::generate();
        let sealed = key.seal(CONTEXT, b"secret");

        let read_back = InstanceKey::from_text(key.to_text().expose()).unwrap();

        assert_eq!(
            read_back.open_text(CONTEXT, &sealed).unwrap().expose(),
            "secret"
        );
    }

    #[test]
    fn an_instance_key_of_the_wrong_length_or_form_is_rejected() {
        for text in [
            "",
            "abc",
            &"0".repeat(63),
            &"g".repeat(64),
            &base64url(&[1; 31]),
        ] {
            let error = InstanceKey::from_text(text).unwrap_err();
            assert_eq!(error, SealError::InvalidInstanceKey, "{text}");
        }
    }

    #[test]
    fn printing_an_instance_key_shows_only_its_id() {
        let key = InstanceKey::generate();

        let printed = format!("{key:?}");

        assert!(printed.contains(key.id()));
        assert!(!printed.contains(key.to_text().expose()));
    }
}
