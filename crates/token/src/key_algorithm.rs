//! Which algorithm a JSON Web Key signs with.

use crate::{algorithm::Algorithm, error::KeyError};

/// The algorithm of a JSON Web Key: the one it names, else the default of its type.
pub(crate) fn algorithm_of_key(
    kty: &str,
    crv: Option<&str>,
    alg: Option<&str>,
) -> Result<Algorithm, KeyError> {
    let usual = match (kty, crv) {
        ("oct", _) => Algorithm::Hs256,
        ("RSA", _) => Algorithm::Rs256,
        ("EC", Some("P-256")) => Algorithm::Es256,
        ("EC", Some("P-384")) => Algorithm::Es384,
        ("EC", Some("P-521")) => Algorithm::Es512,
        ("OKP", Some("Ed25519")) => Algorithm::EdDsa,
        ("EC" | "OKP", None) => return Err(KeyError::MissingMember("crv")),
        ("EC" | "OKP", Some(crv)) => return Err(KeyError::UnsupportedCurve(crv.to_owned())),
        _ => return Err(KeyError::UnsupportedKeyType(kty.to_owned())),
    };
    let Some(alg) = alg else { return Ok(usual) };

    let named =
        Algorithm::from_name(alg).ok_or_else(|| KeyError::UnsupportedAlgorithm(alg.to_owned()))?;
    if named.key_type() != kty || (kty != "oct" && kty != "RSA" && named != usual) {
        return Err(KeyError::AlgorithmMismatch {
            kty: kty.to_owned(),
            algorithm: named,
        });
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_names_no_algorithm_gets_the_usual_one() {
        let check = |kty, crv, expected| {
            assert_eq!(algorithm_of_key(kty, crv, None).unwrap(), expected);
        };

        check("oct", None, Algorithm::Hs256);
        check("RSA", None, Algorithm::Rs256);
        check("EC", Some("P-256"), Algorithm::Es256);
        check("EC", Some("P-384"), Algorithm::Es384);
        check("EC", Some("P-521"), Algorithm::Es512);
        check("OKP", Some("Ed25519"), Algorithm::EdDsa);
    }

    #[test]
    fn a_key_may_not_claim_an_algorithm_of_another_type_or_curve() {
        let rejects = |kty, crv, alg| algorithm_of_key(kty, crv, Some(alg)).unwrap_err();

        assert!(matches!(
            rejects("RSA", None, "HS256"),
            KeyError::AlgorithmMismatch { .. }
        ));
        assert!(matches!(
            rejects("EC", Some("P-256"), "ES384"),
            KeyError::AlgorithmMismatch { .. }
        ));
        assert!(matches!(
            rejects("EC", Some("secp256k1"), "ES256K"),
            KeyError::UnsupportedCurve(_)
        ));
        assert!(matches!(
            rejects("RSA", None, "RSA-OAEP"),
            KeyError::UnsupportedAlgorithm(_)
        ));
        assert!(matches!(
            rejects("XYZ", None, "HS256"),
            KeyError::UnsupportedKeyType(_)
        ));
        assert!(matches!(
            rejects("EC", None, "ES256"),
            KeyError::MissingMember("crv")
        ));
    }
}
