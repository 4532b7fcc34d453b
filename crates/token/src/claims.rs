//! Database role of a token.

use serde_json::json;

use crate::verified::VerifiedToken;

/// The role of callers who are not signed in.
pub const ANON_ROLE: &str = "anon";

/// The role of trusted servers, to which row level security does not apply.
pub const SERVICE_ROLE: &str = "service_role";

/// The role that a token asks for; `anon` when there is no token or it names none.
pub fn role_or_anon(token: Option<&VerifiedToken>) -> &str {
    token.and_then(VerifiedToken::role).unwrap_or(ANON_ROLE)
}

/// The claims of a caller who has a role and nothing else: no token, or an opaque API key.
pub fn claims_of_role(role: &str) -> String {
    json!({ "role": role }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset::KeySet;

    fn token(claims: serde_json::Value) -> VerifiedToken {
        let keys = KeySet::builder()
            .legacy_secret(b"a secret of 32 bytes, at least..")
            .build();
        let keys = keys.unwrap();
        keys.verify(&keys.sign(&claims).unwrap()).unwrap()
    }

    #[test]
    fn the_role_claim_decides_and_its_absence_means_anon() {
        let editor = token(json!({ "role": "editor" }));
        let anonymous = token(json!({ "sub": "1" }));
        let null = token(json!({ "role": null }));

        assert_eq!(role_or_anon(Some(&editor)), "editor");
        assert_eq!(role_or_anon(Some(&anonymous)), "anon");
        assert_eq!(role_or_anon(Some(&null)), "anon");
        assert_eq!(role_or_anon(None), "anon");
    }

    #[test]
    fn claims_of_a_bare_role_are_valid_json_whatever_the_role_is_called() {
        assert_eq!(claims_of_role("anon"), r#"{"role":"anon"}"#);
        assert_eq!(claims_of_role("o\"dd"), r#"{"role":"o\"dd"}"#);
    }
}
