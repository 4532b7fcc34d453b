//! Legacy API keys: long-lived HS256 tokens that carry nothing but a role.
//!
//! The claims are those of the hosted service: `iss`, `ref`, `role`, `iat`, `exp` and no `sub`.
//! Self-hosted set-ups leave `ref` out.

use serde::Serialize;

use crate::encoding::base64url;
use crate::error::KeyError;
use crate::random;
use crate::secret::Secret;
use crate::signing_key::SigningKey;

/// How long a legacy key lasts: ten years, in seconds.
pub const LEGACY_KEY_LIFETIME: i64 = 10 * 365 * 24 * 60 * 60;

/// The least that a shared secret should have; HS256 is no stronger than its secret.
pub const MIN_JWT_SECRET_BYTES: usize = 32;

#[derive(Serialize)]
struct LegacyKeyClaims<'a> {
    iss: &'static str,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    project_ref: Option<&'a str>,
    role: &'a str,
    iat: i64,
    exp: i64,
}

/// Issues the legacy key of a role, signed with the project's shared secret.
///
/// Keys given the same times are the same text, so a project's keys can be derived again instead
/// of being stored.
pub fn issue_legacy_key(
    secret: &Secret,
    role: &str,
    project_ref: Option<&str>,
    issued_at: i64,
    expires_at: i64,
) -> Result<Secret, KeyError> {
    let key = SigningKey::from_shared_secret(secret.expose().as_bytes(), None)?;
    let claims = LegacyKeyClaims {
        iss: "supabase",
        project_ref,
        role,
        iat: issued_at,
        exp: expires_at,
    };
    key.sign(&claims).map(Secret::new)
}

/// A new shared secret: 54 base64url characters of 40 random bytes.
pub fn generate_jwt_secret() -> Secret {
    Secret::new(base64url(&random::bytes::<40>()[..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::keyset::KeySet;
    use crate::verified::ClaimRules;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn a_legacy_key_carries_a_role_and_lasts_ten_years() {
        let secret = generate_jwt_secret();
        let end = NOW + LEGACY_KEY_LIFETIME;
        let keys = KeySet::builder()
            .legacy_secret(secret.expose().as_bytes())
            .build()
            .unwrap();

        let key = issue_legacy_key(&secret, "anon", Some("abc"), NOW, end).unwrap();
        let token = keys.verify(key.expose()).unwrap();

        let expected =
            json!({ "iss": "supabase", "ref": "abc", "role": "anon", "iat": NOW, "exp": end });
        assert_eq!(json!(token.claims()), expected);
        assert_eq!(token.sub(), None);
        assert_eq!(token.kid(), None);
        assert!(token.check(&ClaimRules::exact(end - 1)).is_ok());
        assert!(token.check(&ClaimRules::exact(end)).is_err());
    }

    #[test]
    fn the_same_inputs_give_the_same_key_and_no_ref_means_no_claim() {
        let secret = Secret::new("super-secret-jwt-token-with-at-least-32-characters-long");
        let issue = || issue_legacy_key(&secret, "service_role", None, NOW, NOW + 1).unwrap();

        let keys = KeySet::builder()
            .legacy_secret(secret.expose().as_bytes())
            .build()
            .unwrap();
        let token = keys.verify(issue().expose()).unwrap();

        assert_eq!(issue(), issue());
        assert!(!token.claims().contains_key("ref"));
    }

    #[test]
    fn a_generated_secret_is_long_url_safe_and_new() {
        let secret = generate_jwt_secret();

        assert!(secret.expose().len() >= 40);
        assert!(
            secret
                .expose()
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        );
        assert_ne!(secret, generate_jwt_secret());
    }

    #[test]
    fn an_empty_secret_signs_nothing() {
        let result = issue_legacy_key(&Secret::new(""), "anon", None, NOW, NOW + 1);

        assert_eq!(result.unwrap_err(), KeyError::EmptySecret);
    }
}
