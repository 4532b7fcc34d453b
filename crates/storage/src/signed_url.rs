//! Tokens of signed URLs, which permit one upload or download without a credential (storage
//! contract §3.2, §3.7).
//!
//! They are signed with a key of their own, so that none of them passes for an access token. URLs
//! that an older server signed with the project's JWT secret stay valid.

use plinth_token::{ClaimRules, KeySet, TokenError, VerifiedToken};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::{
    error::{Code, StorageError},
    request::{RequestContext, jwt_message},
};

/// The id of the key in a token's header.
const KEY_ID: &str = "storage-url-signing-key";
/// The latest expiry: JSON numbers are exact up to there.
const MAX_EXPIRY: i64 = 9_007_199_254_740_991 / 1000;

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Download,
    Upload,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }
}

/// A token that was verified: its signature, expiry, scope and object.
pub(crate) struct Grant {
    claims: Map<String, Value>,
    /// Its expiry, in Unix seconds.
    pub(crate) expires_at: Option<i64>,
}

impl Grant {
    /// The user who created an upload URL.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.text("owner")
    }

    /// Whether an upload may replace an existing object.
    pub(crate) fn may_replace(&self) -> bool {
        self.claims.get("upsert").and_then(Value::as_bool) == Some(true)
    }

    /// A claim that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }
}

/// Signs a token for `path` (`bucket/key`, decoded), with `claims` in addition to the standard
/// ones.
pub(crate) fn sign(
    context: &RequestContext,
    scope: Scope,
    path: &str,
    lifetime: i64,
    mut claims: Map<String, Value>,
) -> Result<String, StorageError> {
    let issued_at = context.now.unix_timestamp();
    let expires_at = issued_at.checked_add(lifetime);
    let expires_at = expires_at.filter(|second| *second <= MAX_EXPIRY);
    let expires_at = expires_at.ok_or_else(|| StorageError::invalid_parameter("expiresIn"))?;
    claims.insert("url".to_owned(), json!(path));
    claims.insert("scope".to_owned(), json!(scope.name()));
    claims.insert("iat".to_owned(), json!(issued_at));
    claims.insert("exp".to_owned(), json!(expires_at));
    let keys = keys(context)?;
    let signed = keys.legacy_key().map(|key| key.sign(&claims));
    let signed = signed.ok_or_else(|| StorageError::internal("no key to sign URLs with"))?;
    signed.map_err(StorageError::internal)
}

/// Verifies a token: signature and expiry, then its scope, then its `path`.
pub(crate) fn verify(
    context: &RequestContext,
    scope: Scope,
    path: &str,
    token: &str,
) -> Result<Grant, StorageError> {
    let token = verify_signature(context, token).map_err(invalid_jwt)?;
    token
        .check(&ClaimRules::exact(context.now.unix_timestamp()))
        .map_err(invalid_jwt)?;
    let claims = token.claims();
    if scope_of(claims) != Some(scope) {
        let message = format!("Token is not scoped for {}", scope.name());
        return Err(StorageError::invalid_signature(message));
    }
    if claims.get("url").and_then(Value::as_str) != Some(path) {
        return Err(StorageError::invalid_signature("Invalid signature"));
    }
    Ok(Grant {
        claims: claims.clone(),
        expires_at: token.exp(),
    })
}

/// A time as an HTTP date.
pub(crate) fn http_date(second: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp(second).ok()?;
    (time.year() < 10_000 && second >= 0).then(|| httpdate::fmt_http_date(time.into()))
}

fn verify_signature(context: &RequestContext, token: &str) -> Result<VerifiedToken, TokenError> {
    let own = keys(context).map_err(|_| TokenError::NoKeys)?;
    own.verify(token).or_else(|error| {
        context
            .project
            .keys()
            .keyset
            .verify(token)
            .map_err(|_| error)
    })
}

/// Old tokens have no scope; only those for uploads have `upsert`.
fn scope_of(claims: &Map<String, Value>) -> Option<Scope> {
    match claims.get("scope") {
        Some(scope) if scope == Scope::Download.name() => Some(Scope::Download),
        Some(scope) if scope == Scope::Upload.name() => Some(Scope::Upload),
        Some(_) => None,
        None if claims.contains_key("upsert") => Some(Scope::Upload),
        None => Some(Scope::Download),
    }
}

fn keys(context: &RequestContext) -> Result<KeySet, StorageError> {
    let Some(secret) = &context.config.url_signing_key else {
        return Ok(context.project.keys().url_signing.clone());
    };
    let keys = KeySet::builder()
        .legacy_secret(secret.expose())
        .legacy_key_id(KEY_ID);
    keys.build().map_err(StorageError::internal)
}

fn invalid_jwt(error: TokenError) -> StorageError {
    StorageError::new(Code::InvalidJWT, 400, jwt_message(&error))
}
