//! Signed URLs, readable without credentials for a limited time.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::request::{Call, RequestContext};
use super::{Files, StorageError, Transform, path};
use crate::call_options::{CallOptions, with_call_options};

/// A file and its signed URL.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedUrl {
    /// The file.
    pub path: String,
    /// Its URL, or the error.
    pub url: Result<String, String>,
}

/// The URL contains a token and stays out of logs.
impl std::fmt::Debug for SignedUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut url = formatter.debug_struct("SignedUrl");
        url.field("path", &self.path);
        if let Err(error) = &self.url {
            url.field("error", error);
        }
        url.finish_non_exhaustive()
    }
}

/// Signing an address; see [`Files::signed_url`].
#[must_use = "nothing is sent before `send`"]
pub struct SignedUrlRequest {
    context: RequestContext,
    bucket: String,
    path: String,
    valid_for: Duration,
    transform: Transform,
    extras: Extras,
    options: CallOptions,
}

/// Signing addresses; see [`Files::signed_urls`].
#[must_use = "nothing is sent before `send`"]
pub struct SignedUrlsRequest {
    context: RequestContext,
    bucket: String,
    paths: Vec<String>,
    valid_for: Duration,
    extras: Extras,
    options: CallOptions,
}

/// Additional query parameters.
#[derive(Default)]
struct Extras {
    download: Option<String>,
    cache_nonce: Option<String>,
}

with_call_options!(SignedUrlRequest, SignedUrlsRequest);

macro_rules! with_extras {
    ($($builder:ty),*) => {$(
        impl $builder {
            /// Makes browsers download the file under this name; `""` is its own name.
            pub fn download(mut self, name: impl Into<String>) -> Self {
                self.extras.download = Some(name.into());
                self
            }

            /// Adds a cache-busting parameter.
            pub fn cache_nonce(mut self, nonce: impl Into<String>) -> Self {
                self.extras.cache_nonce = Some(nonce.into());
                self
            }
        }
    )*};
}

with_extras!(SignedUrlRequest, SignedUrlsRequest);

impl SignedUrlRequest {
    pub(super) fn new(files: &Files, path: &str, valid_for: Duration) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path.to_owned(),
            valid_for,
            transform: Transform::new(),
            extras: Extras::default(),
            options: CallOptions::default(),
        }
    }

    /// Transforms an image.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// Requests the URL.
    pub async fn send(self) -> Result<String, StorageError> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(rename = "signedURL")]
            signed_url: String,
        }

        let object = path::object(&self.bucket, &self.path)?;
        let mut body = json!({ "expiresIn": seconds(self.valid_for) });
        if !self.transform.is_empty() {
            body["transform"] = json!(self.transform);
        }
        let call = Call::new(Method::POST, format!("object/sign/{object}")).json(&body)?;
        let body: Body = self.context.json(call, &self.options).await?;
        let (url, _) = absolute(&self.context.root(), &body.signed_url)?;
        Ok(self.extras.added_to(url))
    }
}

impl SignedUrlsRequest {
    pub(super) fn new(files: &Files, paths: Vec<String>, valid_for: Duration) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            paths,
            valid_for,
            extras: Extras::default(),
            options: CallOptions::default(),
        }
    }

    /// Requests the URLs, in the order of the paths.
    pub async fn send(self) -> Result<Vec<SignedUrl>, StorageError> {
        #[derive(Deserialize)]
        struct Entry {
            path: Option<String>,
            error: Option<String>,
            #[serde(rename = "signedURL")]
            signed_url: Option<String>,
        }

        let place = format!("object/sign/{}", path::bucket(&self.bucket)?);
        let body = json!({ "expiresIn": seconds(self.valid_for), "paths": self.paths });
        let call = Call::new(Method::POST, place).json(&body)?;
        let entries: Vec<Entry> = self.context.json(call, &self.options).await?;
        let root = self.context.root();
        let url = |entry: Entry| {
            let url = match entry.signed_url {
                Some(signed) => Ok(self.extras.added_to(absolute(&root, &signed)?.0)),
                None => Err(entry.error.unwrap_or_default()),
            };
            let path = entry.path.unwrap_or_default();
            Ok(SignedUrl { path, url })
        };
        entries.into_iter().map(url).collect()
    }
}

impl Extras {
    fn added_to(&self, url: String) -> String {
        let download = self.download.as_deref().map(|name| ("download", name));
        let nonce = self
            .cache_nonce
            .as_deref()
            .map(|nonce| ("cacheNonce", nonce));
        match path::query(download.into_iter().chain(nonce)) {
            query if query.is_empty() => url,
            query => format!("{url}&{query}"),
        }
    }
}

/// Servers count in whole seconds, at least one.
fn seconds(time: Duration) -> u64 {
    let begun = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(begun).max(1)
}

/// The URL and token of a response, where the token follows the raw path. The last `?token=` counts, because a path
/// may contain one, too.
pub(super) fn absolute<'a>(root: &str, signed: &'a str) -> Result<(String, &'a str), StorageError> {
    let parts = signed.rsplit_once("?token=");
    let (path, token) = parts.ok_or_else(|| StorageError::unreadable("there is no token in it"))?;
    let url = format!("{root}{}?token={token}", path::encode(path));
    Ok((url, token.split('&').next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_becomes_a_url() {
        let check = |signed: &str, expected: &str, token: &str| {
            let (url, found) = absolute("http://h/storage/v1", signed).unwrap();
            assert_eq!(url, format!("http://h/storage/v1{expected}"));
            assert_eq!(found, token);
        };

        check(
            "/object/sign/b/a.txt?token=x.y",
            "/object/sign/b/a.txt?token=x.y",
            "x.y",
        );
        check(
            "/object/sign/b/a b?.txt?token=t",
            "/object/sign/b/a%20b%3F.txt?token=t",
            "t",
        );
        check(
            "/o/b/a?token=z?token=t&v=1",
            "/o/b/a%3Ftoken=z?token=t&v=1",
            "t",
        );
        assert!(absolute("http://h", "/object/sign/b/a.txt").is_err());
    }

    #[test]
    fn seconds_are_whole_and_at_least_one() {
        assert_eq!(seconds(Duration::ZERO), 1);
        assert_eq!(seconds(Duration::from_millis(1)), 1);
        assert_eq!(seconds(Duration::from_secs(60)), 60);
        assert_eq!(seconds(Duration::from_millis(60_001)), 61);
        assert_eq!(seconds(Duration::MAX), u64::MAX);
    }
}
