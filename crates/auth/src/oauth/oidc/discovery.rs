//! Cached discovery documents and key sets of OpenID providers.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use plinth_token::{KeySet, VerifyingKey};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::{
    oauth::{
        http_client::{HttpClient, HttpError},
        ssrf::PublicResolver,
    },
    request::RequestContext,
};

/// Of documents, and of key sets.
const MAX_CACHED: u64 = 1000;
/// The minimum interval between two refreshes for an unknown key.
const MIN_KEY_REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// Caches of discovery documents and key sets.
pub(crate) struct Discovery {
    documents: Cache<String, Cached<Document>>,
    keys: Cache<String, Cached<KeySet>>,
    public_only: reqwest::Client,
}

struct Cached<T> {
    fetched_at: OffsetDateTime,
    value: Arc<T>,
}

impl<T> Clone for Cached<T> {
    fn clone(&self) -> Self {
        Self {
            fetched_at: self.fetched_at,
            value: Arc::clone(&self.value),
        }
    }
}

impl<T> Cached<T> {
    fn is_younger_than(&self, age: Duration, now: OffsetDateTime) -> bool {
        now < self.fetched_at + age
    }
}

/// A discovery document.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::oauth) struct Document {
    pub(in crate::oauth) issuer: String,
    pub(in crate::oauth) authorization_endpoint: String,
    pub(in crate::oauth) token_endpoint: String,
    pub(in crate::oauth) userinfo_endpoint: String,
    pub(in crate::oauth) jwks_uri: String,
    pub(in crate::oauth) token_endpoint_auth_methods_supported: Vec<String>,
}

impl Document {
    pub(in crate::oauth) fn parse(value: Value) -> Result<Self, HttpError> {
        serde_json::from_value(value).map_err(|error| HttpError::Unexpected(error.to_string()))
    }
}

/// The URL of an issuer's discovery document.
pub(in crate::oauth) fn well_known_url(issuer: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    format!("{issuer}/.well-known/openid-configuration")
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            documents: Cache::new(MAX_CACHED),
            keys: Cache::new(MAX_CACHED),
            public_only: crate::outgoing::builder()
                .dns_resolver(Arc::new(PublicResolver))
                .no_proxy()
                .build()
                .expect("the options are fixed"),
        }
    }
}

impl Discovery {
    /// The HTTP client that connects to public addresses only.
    pub(in crate::oauth) fn public_only_client(&self) -> &reqwest::Client {
        &self.public_only
    }

    /// The document of an issuer, from its well-known URL or from `url`.
    pub(in crate::oauth) async fn document(
        &self,
        context: &RequestContext,
        http: &HttpClient<'_>,
        issuer: &str,
        url: Option<&str>,
    ) -> Result<Arc<Document>, HttpError> {
        let url = url.map_or_else(|| well_known_url(issuer), str::to_owned);
        let lifetime = context.config.external.discovery_lifetime;
        if let Some(cached) = self.documents.get(&url)
            && cached.is_younger_than(lifetime, context.now)
        {
            return Ok(cached.value);
        }
        let document = Document::parse(http.json(http.get(&url)?).await?)?;
        if !is_same_issuer(&document.issuer, issuer) {
            let text = format!("the document is that of {:?}", document.issuer);
            return Err(HttpError::Unexpected(text));
        }
        let cached = Cached {
            fetched_at: context.now,
            value: Arc::new(document),
        };
        self.documents.insert(url, cached.clone());
        Ok(cached.value)
    }

    /// Evicts the document of an issuer whose provider changed.
    pub(in crate::oauth) fn evict(&self, issuer: &str, url: Option<&str>) {
        let url = url.map_or_else(|| well_known_url(issuer), str::to_owned);
        self.documents.invalidate(&url);
    }

    /// The keys published at `url`. `is_stale`: a token names a key that is not in the cache.
    pub(super) async fn keys(
        &self,
        context: &RequestContext,
        http: &HttpClient<'_>,
        url: &str,
        is_stale: bool,
    ) -> Result<Arc<KeySet>, HttpError> {
        let lifetime = if is_stale {
            MIN_KEY_REFRESH_INTERVAL
        } else {
            context.config.external.discovery_lifetime
        };
        if let Some(cached) = self.keys.get(url)
            && cached.is_younger_than(lifetime, context.now)
        {
            return Ok(cached.value);
        }
        let keys = parse_key_set(&http.json(http.get(url)?).await?)?;
        let cached = Cached {
            fetched_at: context.now,
            value: Arc::new(keys),
        };
        self.keys.insert(url.to_owned(), cached.clone());
        Ok(cached.value)
    }
}

/// Apple's documents contain either of its two issuers.
fn is_same_issuer(published: &str, requested: &str) -> bool {
    let apple = ["https://appleid.apple.com", "https://account.apple.com"];
    published == requested || (apple.contains(&published) && apple.contains(&requested))
}

/// The asymmetric signature keys. Other keys are skipped.
fn parse_key_set(document: &Value) -> Result<KeySet, HttpError> {
    let Some(Value::Array(published)) = document.get("keys") else {
        return Err(HttpError::Unexpected("there is no list of keys".to_owned()));
    };
    let mut keys: Vec<VerifyingKey> = Vec::new();
    for jwk in published {
        if jwk.get("use").is_some_and(|usage| usage != "sig") {
            continue;
        }
        let Ok(key) = VerifyingKey::from_jwk(jwk) else {
            continue;
        };
        let is_known = key.kid().is_some() && keys.iter().any(|known| known.kid() == key.kid());
        if !key.algorithm().is_symmetric() && !is_known {
            keys.push(key);
        }
    }
    let builder = keys
        .into_iter()
        .fold(KeySet::builder(), |builder, key| builder.foreign_key(key));
    let built = builder.build();
    built.map_err(|error| HttpError::Unexpected(error.to_string()))
}
