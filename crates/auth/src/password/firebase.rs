//! Firebase's scrypt: the hash is a project key encrypted with the derived key.
//! `$fbscrypt$v=1,n=14,r=8,p=1,ss=<separator>,sk=<signer key>$<salt>$<hash>`.

use aes::Aes256;
use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit, StreamCipher},
};
use data_encoding::BASE64;
use subtle::ConstantTimeEq;

/// Limits of one comparison: a GiB of memory, and sixteen times the work for it.
const MAX_BYTES: u64 = 1 << 30;
const MAX_LANES: u32 = 16;

pub(super) struct FirebaseHash {
    params: scrypt::Params,
    salt: Vec<u8>,
    signer_key: Vec<u8>,
    hash: Vec<u8>,
}

impl FirebaseHash {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("$fbscrypt$")?.split('$');
        let (fields, salt, hash) = (parts.next()?, parts.next()?, parts.next()?);
        if salt.is_empty() || hash.is_empty() || parts.next().is_some() {
            return None;
        }
        let mut fields = fields.split(',').peekable();
        if fields.next()? != "v=1" {
            return None;
        }
        let mut number = |name: &str| -> Option<u32> {
            let digits = fields.next()?.strip_prefix(name)?;
            digits.parse().ok()
        };
        let params = params(number("n=")?, number("r=")?, number("p=")?)?;
        let mut key = |name: &str| -> Option<Vec<u8>> {
            match fields.next_if(|field| field.starts_with(name)) {
                Some(field) => decode(&field[name.len()..]),
                None => Some(Vec::new()),
            }
        };
        let (separator, signer_key) = (key("ss=")?, key("sk=")?);
        let mut salt = decode(salt)?;
        salt.extend(separator);
        let hash = decode(hash)?;
        // Without a signer key every password would have the same, empty hash.
        let is_whole = fields.next().is_none() && !signer_key.is_empty();
        is_whole.then_some(Self {
            params,
            salt,
            signer_key,
            hash,
        })
    }

    pub(super) fn is_of(&self, password: &str) -> bool {
        let mut key = [0; 32];
        let derived = scrypt::scrypt(password.as_bytes(), &self.salt, &self.params, &mut key);
        if derived.is_err() {
            return false;
        }
        let mut made = self.signer_key.clone();
        Ctr128BE::<Aes256>::new(&key.into(), &[0; 16].into()).apply_keystream(&mut made);
        made.ct_eq(&self.hash).into()
    }
}

fn params(log_n: u32, r: u32, p: u32) -> Option<scrypt::Params> {
    let n = 1_u64.checked_shl(log_n)?;
    let bytes = n.checked_mul(128)?.checked_mul(u64::from(r))?;
    let is_bounded = log_n > 0 && (1..=MAX_BYTES).contains(&bytes) && (1..=MAX_LANES).contains(&p);
    let log_n = u8::try_from(log_n).ok()?;
    is_bounded.then(|| scrypt::Params::new(log_n, r, p).ok())?
}

fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample of Firebase's own scrypt tool.
    const SAMPLE: &str = "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,\
        sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==\
        $42xEC+ixf3L2lw==\
        $lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";

    #[test]
    fn a_known_hash_is_of_its_password() {
        let hash = FirebaseHash::parse(SAMPLE).expect("a good hash");

        assert!(hash.is_of("user1password"));
        assert!(!hash.is_of("user2password"));
    }

    #[test]
    fn incomplete_or_excessive_hashes_are_rejected() {
        for (from, to) in [
            ("v=1", "v=2"),
            ("n=14", "n=0"),
            ("n=14", "n=64"),
            ("n=14", "n=4294967297"),
            ("r=8", "r=0"),
            ("r=8", "r=4294967295"),
            ("p=1", "p=0"),
            ("p=1", "p=17"),
            ("ss=Bw==", "ss=?"),
            ("sk=jxs", "sx=jxs"),
            ("$42xEC+ixf3L2lw==", "$"),
            ("$42xEC+ixf3L2lw==", ""),
            ("AdRuid5lQ==", "?"),
        ] {
            let text = SAMPLE.replacen(from, to, 1);
            assert_ne!(text, SAMPLE);
            assert!(FirebaseHash::parse(&text).is_none(), "{text}");
        }
    }
}
