//! Argon2 hashes in PHC string format: `$argon2id$v=19$m=65536,t=3,p=2$<salt>$<hash>`.

use argon2::{Algorithm, Argon2, Params, Version};
use data_encoding::BASE64_NOPAD;
use subtle::ConstantTimeEq;

/// Limits of one comparison: a GiB of memory, twenty passes, sixteen lanes.
const MAX_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 20;
const MAX_LANES: u32 = 16;
const MAX_HASH_BYTES: usize = 512;

pub(super) struct ArgonHash {
    algorithm: Algorithm,
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl ArgonHash {
    /// Only `argon2i` and `argon2id` of version 19, within the limits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        let mut next = || parts.next();
        let (empty, algorithm, version) = (next()?, next()?, next()?);
        let (params, salt, hash) = (next()?, next()?, next()?);
        if !empty.is_empty() || version != "v=19" || next().is_some() {
            return None;
        }
        let algorithm = match algorithm {
            "argon2i" => Algorithm::Argon2i,
            "argon2id" => Algorithm::Argon2id,
            _ => return None,
        };
        let decode = |text: &str| BASE64_NOPAD.decode(text.as_bytes()).ok();
        let (salt, hash) = (decode(salt)?, decode(hash)?);
        let is_long_enough = !salt.is_empty() && hash.len() <= MAX_HASH_BYTES;
        Some(Self {
            algorithm,
            params: is_long_enough.then(|| parse_params(params, hash.len()))??,
            salt,
            hash,
        })
    }

    pub(super) fn is_of(&self, password: &str) -> bool {
        let argon = Argon2::new(self.algorithm, Version::V0x13, self.params.clone());
        let mut made = vec![0; self.hash.len()];
        let computed = argon.hash_password_into(password.as_bytes(), &self.salt, &mut made);
        computed.is_ok() && bool::from(made.ct_eq(&self.hash))
    }
}

/// `m=…,t=…,p=…` in this order and nothing more.
fn parse_params(text: &str, hash_bytes: usize) -> Option<Params> {
    let mut fields = text.split(',');
    let mut number = |name: &str, at_most: u32| -> Option<u32> {
        let digits = fields.next()?.strip_prefix(name)?;
        digits.parse().ok().filter(|number| *number <= at_most)
    };
    let kib = number("m=", MAX_KIB)?;
    let passes = number("t=", MAX_PASSES)?;
    let lanes = number("p=", MAX_LANES)?;
    if fields.next().is_some() {
        return None;
    }
    // Other implementations silently round up to eight blocks per lane.
    Params::new(kib.max(8 * lanes), passes, lanes, Some(hash_bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the reference implementation's own tests.
    const ID: &str =
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    const I: &str =
        "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8";

    #[test]
    fn known_hashes_are_of_their_passwords() {
        for text in [ID, I] {
            let hash = ArgonHash::parse(text).expect(text);
            assert!(hash.is_of("password"), "{text}");
            assert!(!hash.is_of("passw0rd"), "{text}");
        }
    }

    #[test]
    fn other_kinds_and_excesses_are_rejected() {
        for (from, to) in [
            ("argon2id", "argon2d"),
            ("v=19", "v=16"),
            ("v=19$", ""),
            ("m=256", "m=1048577"),
            ("t=2", "t=21"),
            ("t=2", "t=0"),
            ("p=1", "p=17"),
            ("p=1", "p=0"),
            ("p=1", "p=1,keyid=AA"),
            ("m=256,t=2", "t=2,m=256"),
            ("c29tZXNhbHQ", ""),
            ("c29tZXNhbHQ", "?"),
            ("nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4", ""),
            ("i/4", "i/4$x"),
        ] {
            let text = ID.replacen(from, to, 1);
            assert_ne!(text, ID);
            assert!(ArgonHash::parse(&text).is_none(), "{text}");
        }
    }
}
