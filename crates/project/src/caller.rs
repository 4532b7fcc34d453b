//! The caller of a request: role and verified claims. Data of a project is accessed as a [`Caller`].
//!
//! The edge rejects no request: a missing, invalid or expired credential is a value
//! (`Result<Caller, CallerError>`), and each service decides whether its route needs a caller and
//! renders the error in its own format.

use std::sync::Arc;

use http::{HeaderMap, header::AUTHORIZATION};
use plinth_token::{
    ANON_ROLE, ClaimRules, KeySet, TokenError, VerifiedToken, claims_of_role, credential_hash,
};

use crate::{ApiKey, Project, ProjectKeys, S3Pair};

/// Role and claims of a request, as PostgreSQL receives them.
#[derive(Debug, Clone)]
pub struct Caller {
    role: Arc<str>,
    claims: Arc<str>,
    proof: Proof,
}

/// The verified credential.
#[derive(Debug, Clone)]
pub enum Proof {
    /// An opaque API key.
    ApiKey(Arc<ApiKey>),
    /// A signed token: a user's access token or a legacy key.
    Token(VerifiedToken),
    /// A signature with the secret key of an S3 credential.
    S3(Arc<S3Pair>),
    /// No credential, where a service allows that.
    Nothing,
}

/// Why there is no [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallerError {
    /// Neither `apikey` nor `Authorization: Bearer` was sent.
    #[error("no API key and no access token was sent")]
    Missing,
    /// An unknown or revoked opaque key.
    #[error("this API key is unknown, or was revoked")]
    UnknownApiKey,
    /// A legacy key, which an operator disabled.
    #[error("legacy API keys are disabled for this project")]
    LegacyKeyDisabled,
    /// An invalid token.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// Both credentials of a request, for services that treat the two headers differently.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// From the `apikey` header, or the `apikey` query parameter.
    pub api_key: Option<Result<Caller, CallerError>>,
    /// From `Authorization: Bearer`.
    pub bearer: Option<Result<Caller, CallerError>>,
}

impl Credentials {
    /// Reads and verifies both headers. `query_key` is the `apikey` of the query string.
    pub fn read(project: &Project, headers: &HeaderMap, query_key: Option<&str>, now: i64) -> Self {
        let header_key = headers.get("apikey").and_then(|value| value.to_str().ok());
        let api_key = header_key
            .or(query_key)
            .map(str::trim)
            .filter(|key| !key.is_empty());
        let bearer = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(bearer_token);
        let key_caller = api_key.map(|text| Caller::verify(project, text, now));
        // Clients without a session send their key as both.
        let bearer = if bearer == api_key {
            key_caller.clone()
        } else {
            bearer.map(|text| Caller::verify(project, text, now))
        };
        Self {
            api_key: key_caller,
            bearer,
        }
    }

    /// Verifies a token or key that a service received in another way than a header.
    pub fn read_bearer(project: &Project, text: &str, now: i64) -> Result<Caller, CallerError> {
        Caller::verify(project, text, now)
    }

    /// The same, but HS384 and HS512 are accepted for the project's shared secret too.
    pub fn read_bearer_with_longer_hashes(
        project: &Project,
        text: &str,
        now: i64,
    ) -> Result<Caller, CallerError> {
        Caller::verify_with(project, text, now, KeySet::with_longer_hashes)
    }

    /// The bearer token's caller if there is one, else the API key's.
    pub fn caller(&self) -> Result<Caller, CallerError> {
        match (&self.bearer, &self.api_key) {
            (Some(bearer), _) => bearer.clone(),
            (None, Some(api_key)) => api_key.clone(),
            (None, None) => Err(CallerError::Missing),
        }
    }
}

/// The token of a `Bearer` header; the scheme is case-insensitive. Other schemes are ignored.
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header
        .trim_start()
        .split_once(' ')
        .unwrap_or((header.trim(), ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Caller {
    /// Tokens are verified first, because nearly every request has one and verified ones are cached;
    /// a text that is no valid token may still be a configured API key.
    fn verify(project: &Project, text: &str, now: i64) -> Result<Self, CallerError> {
        Self::verify_with(project, text, now, |keys| keys)
    }

    fn verify_with(
        project: &Project,
        text: &str,
        now: i64,
        choose: impl Fn(&KeySet) -> &KeySet,
    ) -> Result<Self, CallerError> {
        let keys = project.keys();
        let is_opaque = text.starts_with("sb_");
        if !is_opaque {
            match project.tokens().verify(choose(&keys.keyset), text) {
                Ok(token) => return Self::from_token(&keys, token, text, now),
                Err(error) if keys.api_keys.is_empty() => return Err(error.into()),
                Err(error) => {
                    let key = find_key(&keys, text, now);
                    return key.map(Self::from_api_key).ok_or(CallerError::Token(error));
                }
            }
        }
        find_key(&keys, text, now)
            .map(Self::from_api_key)
            .ok_or(CallerError::UnknownApiKey)
    }

    /// The caller with this token, and the role that the service's own rules find in it.
    ///
    /// Its validity in time ([`VerifiedToken::check`]) has to be checked before.
    pub fn from_verified(token: VerifiedToken, role: &str) -> Self {
        // Policies read the role from the claims too.
        let claims = token.claims_text_as(role).into();
        Self {
            role: role.into(),
            claims,
            proof: Proof::Token(token),
        }
    }

    /// The caller without a credential. The role is configured and must never come from a request.
    pub fn anonymous(role: &str) -> Self {
        Self {
            role: role.into(),
            claims: claims_of_role(role).into(),
            proof: Proof::Nothing,
        }
    }

    /// The service itself. As with [`Caller::anonymous`], the role must never come from a request.
    pub fn for_service(role: &str) -> Self {
        Self::anonymous(role)
    }

    /// The caller with this S3 credential; the signature has to be verified before.
    pub fn from_s3_pair(pair: Arc<S3Pair>) -> Self {
        Self {
            role: pair.role.clone(),
            claims: pair.claims.clone(),
            proof: Proof::S3(pair),
        }
    }

    /// Somebody whom an operator wants to look at a database as: a role, and claims as JSON text with
    /// that role among them. The operator's right to do so has to be checked before.
    pub fn impersonated(role: &str, claims: &str) -> Self {
        Self {
            role: role.into(),
            claims: claims.into(),
            proof: Proof::Nothing,
        }
    }

    fn from_api_key(key: Arc<ApiKey>) -> Self {
        Self {
            role: key.role.clone(),
            claims: key.claims.clone(),
            proof: Proof::ApiKey(key),
        }
    }

    fn from_token(
        keys: &ProjectKeys,
        token: VerifiedToken,
        text: &str,
        now: i64,
    ) -> Result<Self, CallerError> {
        token.check(&ClaimRules::rest(now))?;
        let may_be_legacy = !keys.disabled_legacy.is_empty() && token.sub().is_none();
        if may_be_legacy && keys.disabled_legacy.contains(&credential_hash(text)) {
            return Err(CallerError::LegacyKeyDisabled);
        }
        let role = token.role().unwrap_or(ANON_ROLE).to_owned();
        Ok(Self::from_verified(token, &role))
    }

    /// The Postgres role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The Postgres role, shared.
    pub fn shared_role(&self) -> Arc<str> {
        Arc::clone(&self.role)
    }

    /// The claims as JSON text, with `role` among them.
    pub fn claims(&self) -> &str {
        &self.claims
    }

    /// The verified credential.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// The verified token, if the credential is one.
    pub fn token(&self) -> Option<&VerifiedToken> {
        match &self.proof {
            Proof::Token(token) => Some(token),
            Proof::ApiKey(_) | Proof::S3(_) | Proof::Nothing => None,
        }
    }

    /// The user's id, if the caller acts for a user.
    pub fn sub(&self) -> Option<&str> {
        match &self.proof {
            Proof::Token(token) => token.sub(),
            Proof::S3(pair) => pair.sub.as_deref(),
            Proof::ApiKey(_) | Proof::Nothing => None,
        }
    }
}

fn find_key(keys: &ProjectKeys, text: &str, now: i64) -> Option<Arc<ApiKey>> {
    let key = keys.api_keys.get(&credential_hash(text))?;
    key.valid_until
        .is_none_or(|until| now < until)
        .then(|| key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_scheme_is_matched_in_any_case() {
        assert_eq!(bearer_token("Bearer abc"), Some("abc"));
        assert_eq!(bearer_token("bEARER  abc "), Some("abc"));
        assert_eq!(bearer_token("Bearer"), Some(""));
        assert_eq!(bearer_token("Basic abc"), None);
    }

    #[test]
    fn an_anonymous_caller_has_its_role_and_nothing_else() {
        let caller = Caller::anonymous("web_anon");

        assert_eq!(caller.role(), "web_anon");
        assert_eq!(caller.claims(), r#"{"role":"web_anon"}"#);
        assert!(caller.token().is_none());
    }

    #[test]
    fn a_callers_claims_carry_the_role_that_was_found() {
        let keys = plinth_token::KeySet::builder()
            .legacy_secret("reallyreallyreallyreallyverysafe")
            .build()
            .expect("a good secret");
        let text = keys
            .sign(&serde_json::json!({ "sub": "u1", "app": { "role": "editor" } }))
            .expect("signed");
        let token = keys.verify(&text).expect("genuine");

        let caller = Caller::from_verified(token, "editor");

        assert_eq!(caller.role(), "editor");
        let claims: serde_json::Value = serde_json::from_str(caller.claims()).expect("JSON");
        assert_eq!(claims["role"], "editor");
        assert_eq!(claims["sub"], "u1");
    }
}
