//! RSA keys between their two spellings: JSON Web Key members and DER (RFC 8017 A.1.2).

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeyPairComponents, KeySize, PublicKeyComponents};
use zeroize::Zeroizing;

use crate::algorithm::Algorithm;
use crate::encoding::base64url;
use crate::error::KeyError;
use crate::jwk::{Jwk, PrivateMember, SIGN_AND_VERIFY, private_member, public_member};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;

/// The DER form of a private key, after verifying that all its numbers belong together.
pub(crate) fn private_key_der(jwk: &Jwk) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let (n, e) = public_numbers(jwk)?;
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n, e },
        d: private_member("d", jwk.d.as_ref())?,
        p: private_member("p", jwk.p.as_ref())?,
        q: private_member("q", jwk.q.as_ref())?,
        dP: private_member("dp", jwk.dp.as_ref())?,
        dQ: private_member("dq", jwk.dq.as_ref())?,
        qInv: private_member("qi", jwk.qi.as_ref())?,
    };
    let key = KeyPair::from_components(&components).map_err(|_| KeyError::InvalidKey)?;
    to_rsa_private_key(&key)
}

/// Modulus and exponent without leading zero bytes, which some programs write.
pub(crate) fn public_numbers(jwk: &Jwk) -> Result<(Vec<u8>, Vec<u8>), KeyError> {
    let without_zeros = |bytes: Vec<u8>| bytes.into_iter().skip_while(|byte| *byte == 0).collect();
    let n = without_zeros(public_member("n", jwk.n.as_ref())?);
    let e = without_zeros(public_member("e", jwk.e.as_ref())?);
    Ok((n, e))
}

/// A new key of 2048 bits, as a private JSON Web Key.
pub(crate) fn generate(algorithm: Algorithm, kid: String) -> Result<Jwk, KeyError> {
    let key = KeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::SigningFailed)?;
    let der = to_rsa_private_key(&key)?;
    let [n, e, d, p, q, dp, dq, qi] = private_numbers(&der).ok_or(KeyError::InvalidKey)?;
    Ok(Jwk {
        n: Some(base64url(n)),
        e: Some(base64url(e)),
        d: PrivateMember::encode(d),
        p: PrivateMember::encode(p),
        q: PrivateMember::encode(q),
        dp: PrivateMember::encode(dp),
        dq: PrivateMember::encode(dq),
        qi: PrivateMember::encode(qi),
        ..Jwk::new(algorithm, Some(kid), &SIGN_AND_VERIFY)
    })
}

fn to_rsa_private_key(key: &KeyPair) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let pkcs8: Pkcs8V1Der<'static> = key.as_der().map_err(|_| KeyError::InvalidKey)?;
    let inner = inside_pkcs8(pkcs8.as_ref()).ok_or(KeyError::InvalidKey)?;
    Ok(Zeroizing::new(inner.to_vec()))
}

/// PKCS#8 wraps the key: version, algorithm, and then the key itself in an octet string.
fn inside_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (info, _) = element(SEQUENCE, der)?;
    let (_version, rest) = element(INTEGER, info)?;
    let (_algorithm, rest) = element(SEQUENCE, rest)?;
    let (key, _) = element(OCTET_STRING, rest)?;
    Some(key)
}

/// The eight numbers that follow the version: n, e, d, p, q, dp, dq, qi.
fn private_numbers(der: &[u8]) -> Option<[&[u8]; 8]> {
    let (key, _) = element(SEQUENCE, der)?;
    let (_version, mut rest) = element(INTEGER, key)?;
    let mut numbers = [&[][..]; 8];
    for number in &mut numbers {
        let (value, after) = element(INTEGER, rest)?;
        // DER puts a zero before numbers whose first bit is set; a JSON Web Key does not.
        *number = value.strip_prefix(&[0]).unwrap_or(value);
        rest = after;
    }
    Some(numbers)
}

/// Splits one element of the given type off the front: its content and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_or_foreign_der_is_rejected_instead_of_misread() {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = to_rsa_private_key(&key).unwrap();
        assert!(private_numbers(&der).is_some());

        for length in 0..der.len() {
            assert!(private_numbers(&der[..length]).is_none(), "cut at {length}");
        }
        assert!(inside_pkcs8(&der).is_none());
        assert!(element(SEQUENCE, &[SEQUENCE, 0x84, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn a_key_whose_numbers_do_not_belong_together_is_rejected() {
        let one = generate(Algorithm::Rs256, "one".into()).unwrap();
        let two = generate(Algorithm::Rs256, "two".into()).unwrap();

        let mixed = Jwk {
            n: two.n.clone(),
            ..one.clone()
        };

        assert!(private_key_der(&one).is_ok());
        assert_eq!(private_key_der(&mixed).unwrap_err(), KeyError::InvalidKey);
    }
}
