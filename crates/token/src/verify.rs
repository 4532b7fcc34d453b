//! Verifies signatures (auth contract §3.2, REST contract §4.1).
//!
//! A token that names a key of the set is verified with that key alone. One that names an unknown key is
//! verified with the legacy secret if it is HS256 (or a longer hash, where accepted), else rejected.
//! One that names no key is tried with every key of its algorithm. The algorithm always has to be the
//! key's own, so that a public key can never be mistaken for a shared secret.

use crate::algorithm::Algorithm;
use crate::compact::CompactToken;
use crate::encoding::from_base64url;
use crate::error::TokenError;
use crate::keyset::KeySet;
use crate::verified::VerifiedToken;
use crate::verifying_key::VerifyingKey;

/// How much of an attacker-chosen name is quoted in an error.
const MAX_QUOTED_CHARS: usize = 200;

impl KeySet {
    /// Verifies a token's signature and reads its claims. Call [`VerifiedToken::check`] to find out whether
    /// it is valid now.
    pub fn verify(&self, token: &str) -> Result<VerifiedToken, TokenError> {
        if token.is_empty() {
            return Err(TokenError::Empty);
        }
        if self.usable().next().is_none() {
            return Err(TokenError::NoKeys);
        }

        let compact = CompactToken::parse(token)?;
        let algorithm = self.accepted_algorithm(&compact.header.alg)?;
        let candidates = self.candidates(compact.header.kid.as_deref(), algorithm)?;
        let message = compact.message.as_bytes();
        if !candidates
            .iter()
            .any(|key| key.verifies(message, &compact.signature))
        {
            return Err(TokenError::BadSignature { algorithm });
        }

        let payload = from_base64url(compact.payload).ok_or(TokenError::ClaimsNotAnObject)?;
        VerifiedToken::read(payload, algorithm, compact.header.kid)
    }

    /// Only algorithms that a usable key has are even considered.
    fn accepted_algorithm(&self, name: &str) -> Result<Algorithm, TokenError> {
        Algorithm::from_name(name)
            .filter(|algorithm| self.uses(*algorithm))
            .ok_or_else(|| TokenError::WrongAlgorithm(shortened(name)))
    }

    fn candidates(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<&VerifyingKey>, TokenError> {
        let Some(kid) = kid else {
            return Ok(self
                .usable()
                .filter(|key| key.algorithm() == algorithm)
                .collect());
        };
        let unsuitable = || TokenError::NoSuitableKey {
            kid: Some(shortened(kid)),
            algorithm,
        };
        match self.by_kid(kid) {
            Some(Ok(key)) if key.algorithm() == algorithm => Ok(vec![key]),
            Some(Ok(_)) => Err(TokenError::WrongAlgorithm(algorithm.name().to_owned())),
            Some(Err(_revoked)) => Err(unsuitable()),
            None => match self.secret(algorithm) {
                Some(secret) => Ok(vec![secret]),
                None if self.is_id_of_secret(kid) => {
                    Err(TokenError::WrongAlgorithm(algorithm.name().to_owned()))
                }
                None => Err(unsuitable()),
            },
        }
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(MAX_QUOTED_CHARS).collect()
}
