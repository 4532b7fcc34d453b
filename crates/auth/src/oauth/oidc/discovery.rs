//! Discovery documents and key sets of OpenID providers, kept for a while.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use plinth_token::{KeySet, VerifyingKey};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::{
    oauth::{
        guard::PublicOnly,
        web::{Web, WebError},
    },
    request::Context,
};

/// How many of each kind are kept.
const MAX_KEPT: u64 = 1000;
/// An unknown key is a reason to look for new ones, but not more often than this.
const KEYS_AT_LEAST: Duration = Duration::from_secs(10);

/// What is known of OpenID providers.
pub(crate) struct Discovery {
    documents: Cache<String, Kept<Document>>,
    keys: Cache<String, Kept<KeySet>>,
    guarded: reqwest::Client,
}

struct Kept<T> {
    since: OffsetDateTime,
    what: Arc<T>,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self {
            since: self.since,
            what: Arc::clone(&self.what),
        }
    }
}

impl<T> Kept<T> {
    fn is_younger_than(&self, age: Duration, now: OffsetDateTime) -> bool {
        now < self.since + age
    }
}

/// What a provider publishes about itself.
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
    pub(in crate::oauth) fn of(value: Value) -> Result<Self, WebError> {
        serde_json::from_value(value).map_err(|error| WebError::Unexpected(error.to_string()))
    }
}

/// Where an issuer publishes its document.
pub(in crate::oauth) fn well_known(issuer: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    format!("{issuer}/.well-known/openid-configuration")
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            documents: Cache::new(MAX_KEPT),
            keys: Cache::new(MAX_KEPT),
            guarded: crate::outgoing::builder()
                .dns_resolver(Arc::new(PublicOnly))
                .no_proxy()
                .build()
                .expect("the options are fixed"),
        }
    }
}

impl Discovery {
    /// Reaches public addresses only.
    pub(in crate::oauth) fn guarded_client(&self) -> &reqwest::Client {
        &self.guarded
    }

    /// The document of an issuer, from where it is published or from `url`.
    pub(in crate::oauth) async fn document(
        &self,
        context: &Context,
        web: &Web<'_>,
        issuer: &str,
        url: Option<&str>,
    ) -> Result<Arc<Document>, WebError> {
        let url = url.map_or_else(|| well_known(issuer), str::to_owned);
        let lifetime = context.config.external.discovery_lifetime;
        if let Some(kept) = self.documents.get(&url)
            && kept.is_younger_than(lifetime, context.now)
        {
            return Ok(kept.what);
        }
        let document = Document::of(web.json(web.get(&url)?).await?)?;
        if !is_same_issuer(&document.issuer, issuer) {
            let text = format!("the document is that of {:?}", document.issuer);
            return Err(WebError::Unexpected(text));
        }
        let kept = Kept {
            since: context.now,
            what: Arc::new(document),
        };
        self.documents.insert(url, kept.clone());
        Ok(kept.what)
    }

    /// Forgets what was kept of an issuer whose provider changed.
    pub(in crate::oauth) fn forget(&self, issuer: &str, url: Option<&str>) {
        let url = url.map_or_else(|| well_known(issuer), str::to_owned);
        self.documents.invalidate(&url);
    }

    /// The keys that are published there. `is_stale`: a token names a key that is not among those
    /// that are kept.
    pub(super) async fn keys(
        &self,
        context: &Context,
        web: &Web<'_>,
        url: &str,
        is_stale: bool,
    ) -> Result<Arc<KeySet>, WebError> {
        let lifetime = match is_stale {
            true => KEYS_AT_LEAST,
            false => context.config.external.discovery_lifetime,
        };
        if let Some(kept) = self.keys.get(url)
            && kept.is_younger_than(lifetime, context.now)
        {
            return Ok(kept.what);
        }
        let keys = key_set(&web.json(web.get(url)?).await?)?;
        let kept = Kept {
            since: context.now,
            what: Arc::new(keys),
        };
        self.keys.insert(url.to_owned(), kept.clone());
        Ok(kept.what)
    }
}

/// Apple goes by two names, and its documents by either.
fn is_same_issuer(published: &str, asked: &str) -> bool {
    let apple = ["https://appleid.apple.com", "https://account.apple.com"];
    published == asked || (apple.contains(&published) && apple.contains(&asked))
}

/// Asymmetric keys for signatures. Others, and those we cannot use, are passed over.
fn key_set(document: &Value) -> Result<KeySet, WebError> {
    let Some(Value::Array(published)) = document.get("keys") else {
        return Err(WebError::Unexpected("there is no list of keys".to_owned()));
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
    built.map_err(|error| WebError::Unexpected(error.to_string()))
}
