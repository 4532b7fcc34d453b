//! Converts JSON Web Keys to the signature library's keys, and generates new ones.
//!
//! Every key is checked here once, when it is read: points lie on their curve, halves belong
//! together, numbers are long enough.

use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin, EcPrivateKeyBin};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING,
    ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;
use jsonwebtoken::{DecodingKey, EncodingKey};
use zeroize::Zeroizing;

use crate::algorithm::Algorithm;
use crate::encoding::base64url;
use crate::error::KeyError;
use crate::jwk::{Jwk, PrivateMember, SIGN_AND_VERIFY, private_member, public_member};
use crate::rsa;

/// Private key.
pub(crate) enum Signer {
    Library(jsonwebtoken::Algorithm, EncodingKey),
    /// P-521, which the library lacks.
    P521(EcdsaKeyPair),
}

/// Public key or shared secret.
pub(crate) enum Verifier {
    Library(jsonwebtoken::Algorithm, DecodingKey),
    P521(UnparsedPublicKey<Vec<u8>>),
}

// Both name the crypto provider: a process-wide default could be changed by any other crate.

impl Signer {
    pub(crate) fn new(jwk: &Jwk, algorithm: Algorithm) -> Result<Self, KeyError> {
        match algorithm.to_library() {
            Some(known) => Ok(Self::Library(known, encoding_key(jwk, algorithm)?)),
            None => ec_key_pair(jwk, &P521).map(Self::P521),
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match self {
            Self::Library(algorithm, key) => (DEFAULT_PROVIDER.signer_factory)(algorithm, key)
                .map_err(|_| KeyError::SigningFailed)?
                .try_sign(message)
                .map_err(|_| KeyError::SigningFailed),
            Self::P521(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message);
                let signature = signature.map_err(|_| KeyError::SigningFailed)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }
}

impl Verifier {
    pub(crate) fn new(jwk: &Jwk, algorithm: Algorithm) -> Result<Self, KeyError> {
        match algorithm.to_library() {
            Some(known) => Ok(Self::Library(known, decoding_key(jwk, algorithm)?)),
            None => {
                let key = UnparsedPublicKey::new(P521.verifying, ec_public_point(jwk, &P521)?);
                Ok(Self::P521(key))
            }
        }
    }

    /// Whether the signature is this key's over the message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &Vec<u8>) -> bool {
        match self {
            Self::Library(algorithm, key) => (DEFAULT_PROVIDER.verifier_factory)(algorithm, key)
                .is_ok_and(|verifier| verifier.verify(message, signature).is_ok()),
            Self::P521(key) => key.verify(message, signature).is_ok(),
        }
    }
}

fn encoding_key(jwk: &Jwk, algorithm: Algorithm) -> Result<EncodingKey, KeyError> {
    match algorithm {
        Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
            Ok(EncodingKey::from_secret(&shared_secret(jwk)?))
        }
        Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 => {
            Ok(EncodingKey::from_rsa_der(&rsa::private_key_der(jwk)?))
        }
        Algorithm::Es256 => ec_encoding_key(jwk, &P256),
        Algorithm::Es384 => ec_encoding_key(jwk, &P384),
        Algorithm::Es512 => ec_encoding_key(jwk, &P521),
        Algorithm::EdDsa => {
            let seed = private_member("d", jwk.d.as_ref())?;
            let public = public_member("x", jwk.x.as_ref())?;
            let pkcs8 = Ed25519KeyPair::from_seed_and_public_key(&seed, &public)
                .map_err(|_| KeyError::InvalidKey)?
                .to_pkcs8()
                .map_err(|_| KeyError::InvalidKey)?;
            Ok(EncodingKey::from_ed_der(pkcs8.as_ref()))
        }
    }
}

fn decoding_key(jwk: &Jwk, algorithm: Algorithm) -> Result<DecodingKey, KeyError> {
    match algorithm {
        Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
            Ok(DecodingKey::from_secret(&shared_secret(jwk)?))
        }
        Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 => {
            let (n, e) = rsa::public_numbers(jwk)?;
            RsaPublicKeyComponents { n: &n, e: &e }
                .to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
                .map_err(|_| KeyError::InvalidKey)?;
            // The check above does not look at the length; a key this short would never verify.
            if n.len() < MIN_RSA_BYTES {
                return Err(KeyError::InvalidKey);
            }
            Ok(DecodingKey::from_rsa_raw_components(&n, &e))
        }
        Algorithm::Es256 => ec_decoding_key(jwk, &P256),
        Algorithm::Es384 => ec_decoding_key(jwk, &P384),
        Algorithm::Es512 => ec_decoding_key(jwk, &P521),
        Algorithm::EdDsa => {
            let point = public_member("x", jwk.x.as_ref())?;
            let parsed = UnparsedPublicKey::new(&ED25519, &point).parse();
            parsed.map_err(|_| KeyError::InvalidKey)?;
            Ok(DecodingKey::from_ed_der(&point))
        }
    }
}

const MIN_RSA_BYTES: usize = 2048 / 8;

fn shared_secret(jwk: &Jwk) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let secret = private_member("k", jwk.k.as_ref())?;
    if secret.is_empty() {
        return Err(KeyError::EmptySecret);
    }
    Ok(secret)
}

/// Parameters of an elliptic curve.
struct Curve {
    coordinate_bytes: usize,
    signing: &'static EcdsaSigningAlgorithm,
    verifying: &'static EcdsaVerificationAlgorithm,
}

static P256: Curve = Curve {
    coordinate_bytes: 32,
    signing: &ECDSA_P256_SHA256_FIXED_SIGNING,
    verifying: &ECDSA_P256_SHA256_FIXED,
};

static P384: Curve = Curve {
    coordinate_bytes: 48,
    signing: &ECDSA_P384_SHA384_FIXED_SIGNING,
    verifying: &ECDSA_P384_SHA384_FIXED,
};

static P521: Curve = Curve {
    coordinate_bytes: 66,
    signing: &ECDSA_P521_SHA512_FIXED_SIGNING,
    verifying: &ECDSA_P521_SHA512_FIXED,
};

fn ec_encoding_key(jwk: &Jwk, curve: &Curve) -> Result<EncodingKey, KeyError> {
    let pkcs8 = ec_key_pair(jwk, curve)?.to_pkcs8v1();
    let pkcs8 = pkcs8.map_err(|_| KeyError::InvalidKey)?;
    Ok(EncodingKey::from_ec_der(pkcs8.as_ref()))
}

fn ec_key_pair(jwk: &Jwk, curve: &Curve) -> Result<EcdsaKeyPair, KeyError> {
    let private = private_member("d", jwk.d.as_ref())?;
    let private = Zeroizing::new(left_padded(&private, curve.coordinate_bytes)?);
    let point = ec_point(jwk, curve)?;
    EcdsaKeyPair::from_private_key_and_public_key(curve.signing, &private, &point)
        .map_err(|_| KeyError::InvalidKey)
}

fn ec_decoding_key(jwk: &Jwk, curve: &Curve) -> Result<DecodingKey, KeyError> {
    Ok(DecodingKey::from_ec_der(&ec_public_point(jwk, curve)?))
}

/// The public point, which lies on the curve.
fn ec_public_point(jwk: &Jwk, curve: &Curve) -> Result<Vec<u8>, KeyError> {
    let point = ec_point(jwk, curve)?;
    let parsed = UnparsedPublicKey::new(curve.verifying, &point).parse();
    parsed.map_err(|_| KeyError::InvalidKey)?;
    Ok(point)
}

/// The public point in the uncompressed form: `04`, x, y.
fn ec_point(jwk: &Jwk, curve: &Curve) -> Result<Vec<u8>, KeyError> {
    let x = left_padded(&public_member("x", jwk.x.as_ref())?, curve.coordinate_bytes)?;
    let y = left_padded(&public_member("y", jwk.y.as_ref())?, curve.coordinate_bytes)?;
    Ok([&[4][..], &x, &y].concat())
}

/// Some programs drop leading zeros of a coordinate, which violates the standard but is harmless.
fn left_padded(bytes: &[u8], length: usize) -> Result<Vec<u8>, KeyError> {
    let missing = length
        .checked_sub(bytes.len())
        .ok_or(KeyError::InvalidKey)?;
    Ok([&vec![0; missing], bytes].concat())
}

/// A new P-256 key as a private JSON Web Key.
pub(crate) fn generate_p256(kid: String) -> Result<Jwk, KeyError> {
    let pair = EcdsaKeyPair::generate(P256.signing).map_err(|_| KeyError::InvalidKey)?;
    let private: EcPrivateKeyBin<'static> = pair
        .private_key()
        .as_be_bytes()
        .map_err(|_| KeyError::InvalidKey)?;
    let (x, y) = pair.public_key().as_ref()[1..].split_at(P256.coordinate_bytes);
    Ok(Jwk {
        crv: Some("P-256".to_owned()),
        x: Some(base64url(x)),
        y: Some(base64url(y)),
        d: PrivateMember::encode(private.as_ref()),
        ..Jwk::new(Algorithm::Es256, Some(kid), &SIGN_AND_VERIFY)
    })
}

/// A new Ed25519 key as a private JSON Web Key.
pub(crate) fn generate_ed25519(kid: String) -> Result<Jwk, KeyError> {
    let pair = Ed25519KeyPair::generate().map_err(|_| KeyError::InvalidKey)?;
    let seed = pair.seed().map_err(|_| KeyError::InvalidKey)?;
    let seed: Curve25519SeedBin<'static> = seed.as_be_bytes().map_err(|_| KeyError::InvalidKey)?;
    Ok(Jwk {
        crv: Some("Ed25519".to_owned()),
        x: Some(base64url(pair.public_key().as_ref())),
        d: PrivateMember::encode(seed.as_ref()),
        ..Jwk::new(Algorithm::EdDsa, Some(kid), &SIGN_AND_VERIFY)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::encoding::from_base64url;

    /// The example of RFC 7515 §A.4.
    #[test]
    fn p521_signs_and_checks_as_the_standard_shows() {
        let jwk: Jwk = serde_json::from_value(json!({
            "kty": "EC",
            "crv": "P-521",
            "x": "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
            "y": "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
            "d": "AY5pb7A0UFiB3RELSD64fTLOSV_jazdF7fLYyuTw8lOfRhWg6Y6rUrPAxerEzgdRhajnu0ferB0d53vM9mE15j2C",
        }))
        .unwrap();
        let message = b"eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA";
        let signature = "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
        let checker = Verifier::new(&jwk, Algorithm::Es512).unwrap();

        assert!(checker.verifies(message, &from_base64url(signature).unwrap()));
        let signer = Signer::new(&jwk, Algorithm::Es512).unwrap();
        let own = signer.sign(message).unwrap();
        assert!(checker.verifies(message, &own));
        assert!(!checker.verifies(b"another message", &own));
    }
}
