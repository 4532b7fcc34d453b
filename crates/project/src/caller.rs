//! Who sent a request. A [`Caller`] is the only way to a project's data.
//!
//! The edge refuses nobody: a missing, bad or expired credential is a value
//! (`Result<Caller, CallerError>`), and each service decides whether its route needs one and
//! answers in its own format.

use std::sync::Arc;

use http::{HeaderMap, header::AUTHORIZATION};
use plinth_token::{
    ANON_ROLE, ClaimRules, KeySet, TokenError, VerifiedToken, claims_of_role, credential_hash,
};

use crate::{ApiKey, Project, ProjectKeys, S3Pair};

/// Whoever sent the request, with the role and the claims that Postgres is told.
#[derive(Debug, Clone)]
pub struct Caller {
    role: Arc<str>,
    claims: Arc<str>,
    proof: Proof,
}

/// What the caller showed.
#[derive(Debug, Clone)]
pub enum Proof {
    /// An opaque API key.
    ApiKey(Arc<ApiKey>),
    /// A signed token: a user's access token or a legacy key.
    Token(VerifiedToken),
    /// A signature made with the secret key of a pair.
    S3(Arc<S3Pair>),
    /// Nothing, where a service admits that.
    Nothing,
}

/// Why there is no [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallerError {
    /// Neither `apikey` nor `Authorization: Bearer` was sent.
    #[error("no API key and no access token was sent")]
    Missing,
    /// An opaque key that this project does not know, or that was revoked.
    #[error("this API key is unknown, or was revoked")]
    UnknownApiKey,
    /// One of the two legacy keys, which an operator switched off.
    #[error("legacy API keys are disabled for this project")]
    LegacyKeyDisabled,
    /// A token that does not verify.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// Everything a request showed, for services that treat the two headers differently.
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
        let bearer = match bearer == api_key {
            true => key_caller.clone(),
            false => bearer.map(|text| Caller::verify(project, text, now)),
        };
        Self {
            api_key: key_caller,
            bearer,
        }
    }

    /// Whoever shows this token or key, for services that take it in another form.
    pub fn read_bearer(project: &Project, text: &str, now: i64) -> Result<Caller, CallerError> {
        Caller::verify(project, text, now)
    }

    /// The same, where tokens of the project's secret may have HS384 and HS512 too.
    pub fn read_bearer_of_any_hash(
        project: &Project,
        text: &str,
        now: i64,
    ) -> Result<Caller, CallerError> {
        Caller::verify_with(project, text, now, KeySet::with_longer_hashes)
    }

    /// The bearer decides where there is one; else the API key.
    pub fn caller(&self) -> Result<Caller, CallerError> {
        match (&self.bearer, &self.api_key) {
            (Some(bearer), _) => bearer.clone(),
            (None, Some(api_key)) => api_key.clone(),
            (None, None) => Err(CallerError::Missing),
        }
    }
}

/// The token of a `Bearer` header, whose scheme is matched in any case. Other schemes are none
/// of ours.
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header
        .trim_start()
        .split_once(' ')
        .unwrap_or((header.trim(), ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Caller {
    /// Tokens are verified first, because nearly every request carries one and verified ones are
    /// remembered; whatever is no token of ours may still be a key that is known by its hash.
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

    /// Whoever showed this token, with the role that the service's own rules find in it.
    ///
    /// A verified token is the only thing that a caller can be made of; whether it may be used
    /// now ([`VerifiedToken::check`]) is to be settled before.
    pub fn from_verified(token: VerifiedToken, role: &str) -> Self {
        // Policies read the role from the claims too, so it must stand there.
        let claims = token.claims_text_as(role).into();
        Self {
            role: role.into(),
            claims,
            proof: Proof::Token(token),
        }
    }

    /// Whoever showed nothing. The role is what the operator chose for strangers; it must never
    /// come from a request.
    pub fn anonymous(role: &str) -> Self {
        Self {
            role: role.into(),
            claims: claims_of_role(role).into(),
            proof: Proof::Nothing,
        }
    }

    /// A service itself, for work that it has decided about. As with [`Caller::anonymous`], the
    /// role must never come from a request.
    pub fn of_service(role: &str) -> Self {
        Self::anonymous(role)
    }

    /// Whoever signed a request with this pair; that the signature is good is to be settled before.
    pub fn from_s3_pair(pair: Arc<S3Pair>) -> Self {
        Self {
            role: pair.role.clone(),
            claims: pair.claims.clone(),
            proof: Proof::S3(pair),
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

    /// The claims as JSON text, with `role` among them.
    pub fn claims(&self) -> &str {
        &self.claims
    }

    /// What the caller showed.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// The verified token, when it was one.
    pub fn token(&self) -> Option<&VerifiedToken> {
        match &self.proof {
            Proof::Token(token) => Some(token),
            Proof::ApiKey(_) | Proof::S3(_) | Proof::Nothing => None,
        }
    }

    /// In whose name the caller acts, if in anybody's.
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
