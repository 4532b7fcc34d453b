//! Passwords compared with the verifiers that PostgreSQL stores (RFC 5803):
//! `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::secret::Secret;

/// More than PostgreSQL ever writes; a foreign verifier must not keep us busy.
const MAX_ITERATIONS: u32 = 100_000;

/// Whether the verifier is one of this password. `None` where that is unknown: the password has
/// letters beyond ASCII, which SCRAM normalises first, or the verifier costs too much to compute.
///
/// Anything else than a SCRAM verifier (an MD5 hash, say) does not match.
pub fn matches_scram_verifier(password: &Secret, verifier: &str) -> Option<bool> {
    if !password.expose().is_ascii() {
        return None;
    }
    let Some(verifier) = Verifier::parse(verifier) else {
        return Some(false);
    };
    if verifier.iterations.get() > MAX_ITERATIONS {
        return None;
    }
    let stored = verifier.stored_key_of(password);
    Some(stored.ct_eq(&verifier.stored_key).into())
}

struct Verifier {
    iterations: NonZeroU32,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
}

impl Verifier {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (parameters, keys) = rest.split_once('$')?;
        let (iterations, salt) = parameters.split_once(':')?;
        let (stored_key, _) = keys.split_once(':')?;
        Some(Self {
            iterations: iterations.parse().ok()?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: STANDARD.decode(stored_key).ok()?,
        })
    }

    fn stored_key_of(&self, password: &Secret) -> Vec<u8> {
        let mut salted = Zeroizing::new([0; digest::SHA256_OUTPUT_LEN]);
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            self.iterations,
            &self.salt,
            password.expose().as_bytes(),
            &mut salted[..],
        );
        let key = hmac::Key::new(hmac::HMAC_SHA256, &salted[..]);
        let client_key = hmac::sign(&key, b"Client Key");
        digest::digest(&digest::SHA256, client_key.as_ref())
            .as_ref()
            .to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pencil` with the salt of RFC 7677, as PostgreSQL stores it.
    const PENCIL: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
        WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

    fn check(password: &str, verifier: &str, expected: Option<bool>) {
        let matches = matches_scram_verifier(&Secret::new(password), verifier);
        assert_eq!(matches, expected, "{password} {verifier}");
    }

    #[test]
    fn the_password_of_the_published_example_matches_and_no_other() {
        check("pencil", PENCIL, Some(true));
        check("Pencil", PENCIL, Some(false));
        check("", PENCIL, Some(false));
    }

    #[test]
    fn what_is_no_verifier_matches_nothing() {
        for text in [
            "",
            "md5a3556571e93b0d20722ba62be61e8c2d",
            "SCRAM-SHA-256$0:W22ZaJ0SNY7soEsUEjb6gQ==$a:b",
            "SCRAM-SHA-256$4096:%$a:b",
            "SCRAM-SHA-256$4096",
        ] {
            check("pencil", text, Some(false));
        }
    }

    #[test]
    fn costly_verifiers_and_normalised_passwords_are_left_undecided() {
        check("pencil", &PENCIL.replace("$4096:", "$4000000000:"), None);
        check("crayon-é", PENCIL, None);
    }
}
