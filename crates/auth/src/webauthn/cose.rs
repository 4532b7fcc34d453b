//! COSE public keys and signature verification: ES256, ES384, ES512, EdDSA (Ed25519) and RS256.

use aws_lc_rs::{
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ED25519,
        EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    },
};
use ciborium::Value;

use super::CeremonyError;

const ES256: i64 = -7;
const EDDSA: i64 = -8;
const ES384: i64 = -35;
const ES512: i64 = -36;
const RS256: i64 = -257;

/// The supported algorithms, the preferred one first.
pub(super) const ALGORITHMS: [i64; 5] = [ES256, EDDSA, RS256, ES384, ES512];

// Labels of RFC 9053.
const KEY_TYPE: i64 = 1;
const ALGORITHM: i64 = 3;
const CURVE: i64 = -1;
const X: i64 = -2;
const Y: i64 = -3;
const MODULUS: i64 = -1;
const EXPONENT: i64 = -2;

/// An ECDSA algorithm with the one curve that WebAuthn allows for it.
pub(super) struct Ecdsa {
    algorithm: i64,
    curve: i64,
    coordinate_bytes: usize,
    verification: &'static EcdsaVerificationAlgorithm,
}

static ECDSA: [Ecdsa; 3] = [
    Ecdsa {
        algorithm: ES256,
        curve: 1,
        coordinate_bytes: 32,
        verification: &ECDSA_P256_SHA256_ASN1,
    },
    Ecdsa {
        algorithm: ES384,
        curve: 2,
        coordinate_bytes: 48,
        verification: &ECDSA_P384_SHA384_ASN1,
    },
    Ecdsa {
        algorithm: ES512,
        curve: 3,
        coordinate_bytes: 66,
        verification: &ECDSA_P521_SHA512_ASN1,
    },
];

pub(super) enum PublicKey {
    Ecdsa(&'static Ecdsa, Vec<u8>),
    EdDsa(Vec<u8>),
    Rs256 { modulus: Vec<u8>, exponent: Vec<u8> },
}

impl PublicKey {
    pub(super) fn parse(cose: &[u8]) -> Result<Self, CeremonyError> {
        Self::read(cose).ok_or(CeremonyError(
            "the public key is malformed or of an unknown kind",
        ))
    }

    fn read(cose: &[u8]) -> Option<Self> {
        let Value::Map(entries) = ciborium::from_reader(cose).ok()? else {
            return None;
        };
        let find = |label: i64| {
            let label = Value::from(label);
            entries.iter().find(|(key, _)| *key == label)
        };
        let number = |label: i64| -> Option<i64> {
            let number = find(label)?.1.as_integer()?;
            number.try_into().ok()
        };
        let bytes = |label: i64| find(label)?.1.as_bytes().cloned();
        let coordinate =
            |label: i64, length: usize| bytes(label).filter(|bytes| bytes.len() == length);
        match (number(KEY_TYPE)?, number(ALGORITHM)?) {
            (2, algorithm) => {
                let ecdsa = ECDSA.iter().find(|ecdsa| ecdsa.algorithm == algorithm)?;
                if number(CURVE)? != ecdsa.curve {
                    return None;
                }
                let mut point = vec![4];
                point.extend(coordinate(X, ecdsa.coordinate_bytes)?);
                point.extend(coordinate(Y, ecdsa.coordinate_bytes)?);
                Some(Self::Ecdsa(ecdsa, point))
            }
            (1, EDDSA) if number(CURVE)? == 6 => coordinate(X, 32).map(Self::EdDsa),
            (3, RS256) => Some(Self::Rs256 {
                modulus: bytes(MODULUS)?,
                exponent: bytes(EXPONENT)?,
            }),
            _ => None,
        }
    }

    pub(super) fn algorithm(&self) -> i64 {
        match self {
            Self::Ecdsa(ecdsa, _) => ecdsa.algorithm,
            Self::EdDsa(_) => EDDSA,
            Self::Rs256 { .. } => RS256,
        }
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), CeremonyError> {
        let verified = match self {
            Self::Ecdsa(ecdsa, point) => {
                UnparsedPublicKey::new(ecdsa.verification, point).verify(message, signature)
            }
            Self::EdDsa(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            Self::Rs256 { modulus, exponent } => PublicKeyComponents {
                n: modulus,
                e: exponent,
            }
            .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
        };
        verified.map_err(|_| CeremonyError("the signature is not the credential's"))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::test_key::TestKey, *};

    #[test]
    fn keys_of_every_kind_verify_what_they_signed() {
        for key in TestKey::of_every_kind() {
            let public = PublicKey::parse(&key.cose()).expect("a good key");
            let signature = key.sign(b"message");

            assert_eq!(public.algorithm(), key.algorithm());
            assert_eq!(public.verify(b"message", &signature), Ok(()));
            assert!(public.verify(b"massage", &signature).is_err());
            assert!(public.verify(b"message", &signature[1..]).is_err());
            assert!(public.verify(b"message", b"").is_err());
        }
    }

    #[test]
    fn a_signature_of_another_key_is_rejected() {
        for (one, other) in TestKey::of_every_kind()
            .iter()
            .zip(TestKey::of_every_kind())
        {
            let public = PublicKey::parse(&one.cose()).expect("a good key");
            assert!(public.verify(b"message", &other.sign(b"message")).is_err());
        }
    }

    #[test]
    fn other_keys_are_rejected() {
        let encode = |entries: Vec<(i64, Value)>| {
            let map = entries.into_iter();
            let map = map.map(|(label, value)| (label.into(), value)).collect();
            let mut bytes = Vec::new();
            ciborium::into_writer(&Value::Map(map), &mut bytes).expect("written");
            bytes
        };
        let point = |length: usize| Value::Bytes(vec![1; length]);
        let key = |kind: i64, algorithm: i64, curve: i64, length: usize| {
            encode(vec![
                (1, kind.into()),
                (3, algorithm.into()),
                (-1, curve.into()),
                (-2, point(length)),
                (-3, point(length)),
            ])
        };
        assert!(PublicKey::parse(&key(2, ES256, 1, 32)).is_ok());
        assert!(PublicKey::parse(&key(2, ES512, 3, 66)).is_ok());
        for cose in [
            key(2, ES256, 2, 32),
            key(2, ES256, 1, 31),
            key(2, ES384, 1, 32),
            key(2, ES384, 1, 48),
            key(2, ES384, 2, 47),
            key(2, ES512, 3, 65),
            key(2, -47, 8, 32),
            key(1, ES256, 1, 32),
            key(1, EDDSA, 1, 32),
            key(3, RS256, 1, 32),
            encode(vec![]),
            Vec::new(),
            vec![0xff; 8],
        ] {
            assert!(PublicKey::parse(&cose).is_err());
        }
    }
}
