//! Hashes in `encrypted_password`: bcrypt, and imported formats.

use super::{argon::ArgonHash, firebase::FirebaseHash};
use crate::AuthError;

/// Each step doubles the time. 15 takes seconds; above, a few sign-ins would block all hashing
/// threads.
const BCRYPT_COSTS: std::ops::RangeInclusive<u32> = 4..=15;

/// A parsed hash.
pub(super) enum StoredHash {
    Bcrypt { text: String, cost: u32 },
    Argon(ArgonHash),
    Firebase(FirebaseHash),
}

impl StoredHash {
    /// `None` if the hash is unknown or too expensive.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.starts_with("$argon2") {
            return ArgonHash::parse(text).map(Self::Argon);
        }
        if text.starts_with("$fbscrypt") {
            return FirebaseHash::parse(text).map(Self::Firebase);
        }
        let is_known = ["$2a$", "$2b$", "$2y$"]
            .iter()
            .any(|prefix| text.starts_with(prefix));
        let parts: bcrypt::HashParts = is_known.then(|| text.parse().ok())??;
        BCRYPT_COSTS
            .contains(&parts.get_cost())
            .then(|| Self::Bcrypt {
                text: text.to_owned(),
                cost: parts.get_cost(),
            })
    }

    /// Slow.
    pub(super) fn is_of(&self, password: &str) -> bool {
        match self {
            Self::Bcrypt { text, .. } => bcrypt::verify(password, text).unwrap_or(false),
            Self::Argon(hash) => hash.is_of(password),
            Self::Firebase(hash) => hash.is_of(password),
        }
    }

    /// Whether a new hash at `cost` would be better.
    pub(super) fn is_outdated(&self, cost: u32) -> bool {
        match self {
            Self::Bcrypt { cost: spent, .. } => *spent < cost,
            Self::Argon(_) | Self::Firebase(_) => true,
        }
    }
}

/// Rejects an imported hash that no password could be compared with.
pub(crate) fn check_hash(text: &str) -> Result<(), AuthError> {
    match StoredHash::parse(text) {
        Some(_) => Ok(()),
        None => Err(AuthError::validation_failed(
            "password_hash must be a bcrypt (cost 4 to 15), argon2i, argon2id or Firebase scrypt \
             hash",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hash: &str, password: &str, expected: bool) {
        let stored = StoredHash::parse(hash).expect(hash);
        assert_eq!(stored.is_of(password), expected, "{hash} {password}");
    }

    /// Openwall's vectors for crypt_blowfish.
    #[test]
    fn bcrypt_of_every_common_prefix() {
        let hash = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
        check(hash, "U*U", true);
        check(&hash.replacen("$2a$", "$2b$", 1), "U*U", true);
        check(&hash.replacen("$2a$", "$2y$", 1), "U*U", true);
        check(hash, "U*V", false);
        check(
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK",
            "U*U*",
            true,
        );
        check(
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy",
            "",
            true,
        );
    }

    #[test]
    fn invalid_hashes_are_rejected_before_they_are_stored() {
        assert!(check_hash("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW").is_ok());
        for text in [
            "",
            "password",
            "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2a$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2a$16$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2a$99$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyO\u{fc}",
        ] {
            assert!(check_hash(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in r"(\$2a\$|\$argon2id\$|\$fbscrypt\$)?\PC{0,120}") {
            StoredHash::parse(&text);
        }
    }
}
