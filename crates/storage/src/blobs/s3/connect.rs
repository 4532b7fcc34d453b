//! The connection to an S3 store: address, credentials, timeouts and retries.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectStore as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};
use plinth_project::FromSettings;
use plinth_settings::{Key, Secret, Settings, keys::plinth_storage as keys};
use tokio::time::timeout;
use url::{Host, Url};

use super::error::{describe, error_code};

/// Most parts of an upload, in any store.
const MAX_PARTS: u64 = 10_000;
/// Part sizes are whole multiples of this.
const PART_STEP: u64 = 1024 * 1024;
/// How long the start of the server waits for the store.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// For stores that have no regions.
const DEFAULT_REGION: &str = "us-east-1";

/// The settings of an S3 store.
#[derive(Debug, Clone)]
pub struct S3StoreConfig {
    /// Its URL; without one it is Amazon's.
    pub endpoint: Option<Url>,
    /// Its region.
    pub region: Option<String>,
    /// The bucket, which must exist.
    pub bucket: String,
    /// The prefix of all keys in the bucket.
    pub prefix: Option<String>,
    /// Whether the bucket is in the path of URLs, not in the host.
    pub forces_path_style: bool,
    /// The access key id.
    pub access_key: Secret,
    /// The secret access key.
    pub secret_key: Secret,
    /// Bytes per part of a multipart upload, at least.
    pub part_size: u64,
    /// How long a request may go without a byte of response.
    pub timeout: Duration,
}

impl FromSettings for S3StoreConfig {
    fn from_settings(settings: &Settings) -> Self {
        let text = |key: Key<Option<String>>| settings.get(key).map(str::to_owned);
        let secret = |key: Key<Option<Secret>>| settings.get(key).cloned();
        Self {
            endpoint: settings.get(keys::S3_ENDPOINT).map(|url| url.url().clone()),
            region: text(keys::S3_REGION),
            // The settings are only valid with these.
            bucket: text(keys::S3_BUCKET).unwrap_or_default(),
            prefix: text(keys::S3_PREFIX),
            forces_path_style: settings.get(keys::S3_FORCE_PATH_STYLE),
            access_key: secret(keys::S3_ACCESS_KEY).unwrap_or_else(|| Secret::new("")),
            secret_key: secret(keys::S3_SECRET_KEY).unwrap_or_else(|| Secret::new("")),
            part_size: settings.get(keys::TUS_PART_SIZE),
            timeout: settings.get(keys::S3_TIMEOUT),
        }
    }
}

/// A bucket in an S3 store, for all projects. Cheap to clone.
#[derive(Clone)]
pub struct S3Store(Arc<Bucket>);

struct Bucket {
    client: AmazonS3,
    /// Deletes in bulk, which not every store supports.
    bulk: AmazonS3,
    name: String,
    prefix: String,
    part_size: u64,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum S3StoreError {
    /// The settings contradict each other.
    #[error("the S3 store cannot be used: {0}")]
    InvalidSettings(String),
    /// There is no such bucket.
    #[error("the S3 store has no bucket named {0}; create it, or correct plinth.storage.s3.bucket")]
    NoBucket(String),
    /// The credentials are not accepted.
    #[error(
        "the S3 store rejects plinth.storage.s3.access_key and secret_key for the bucket {bucket}: {code}"
    )]
    AccessDenied {
        /// The bucket.
        bucket: String,
        /// The error code of the store.
        code: String,
    },
    /// The bucket is in another region.
    #[error(
        "the bucket {bucket} is not in that region: {code}; correct plinth.storage.s3.region or endpoint"
    )]
    WrongRegion {
        /// The bucket.
        bucket: String,
        /// The error code of the store.
        code: String,
    },
}

impl S3Store {
    /// Sends no request yet.
    pub fn new(config: &S3StoreConfig) -> Result<Self, S3StoreError> {
        let is_plain = |url: &Url| url.scheme() == "http";
        let client = ClientOptions::new()
            .with_allow_http(config.endpoint.as_ref().is_some_and(is_plain))
            // A transfer may take any time while bytes flow.
            .with_timeout_disabled()
            .with_connect_timeout(config.timeout.min(Duration::from_secs(5)))
            .with_read_timeout(config.timeout);
        let region = config.region.as_deref().unwrap_or(DEFAULT_REGION);
        let mut builder = AmazonS3Builder::new()
            .with_client_options(client)
            .with_retry(retry_config(config.timeout))
            .with_bucket_name(&config.bucket)
            .with_region(region)
            .with_access_key_id(config.access_key.expose())
            .with_secret_access_key(config.secret_key.expose());
        let (endpoint, is_virtual) = address(config);
        builder = builder.with_virtual_hosted_style_request(is_virtual);
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let build = |builder: AmazonS3Builder| {
            let client = builder.build();
            client.map_err(|error| S3StoreError::InvalidSettings(error.to_string()))
        };
        let client = build(builder.clone().with_disable_bulk_delete(true))?;
        let bulk = build(builder)?;
        let prefix = config.prefix.as_deref().unwrap_or_default();
        Ok(Self(Arc::new(Bucket {
            client,
            bulk,
            name: config.bucket.clone(),
            prefix: prefix.trim_matches('/').to_owned(),
            part_size: config.part_size,
        })))
    }

    /// Whether the bucket exists and accepts the credentials. A store that is unavailable may come
    /// back: that is logged and no error.
    pub async fn check(&self) -> Result<(), S3StoreError> {
        let prefix = Path::from(self.prefix());
        let mut list = self.client().list(Some(&prefix));
        match timeout(CHECK_TIMEOUT, list.next()).await {
            Ok(None | Some(Ok(_))) => Ok(()),
            Ok(Some(Err(error))) => self.classify(&error),
            Err(_) => {
                tracing::warn!(
                    "the S3 store does not respond (timeout); files are unavailable until it does"
                );
                Ok(())
            }
        }
    }

    fn classify(&self, error: &Error) -> Result<(), S3StoreError> {
        let bucket = self.0.name.clone();
        let code = error_code(error).unwrap_or_default();
        match code.as_str() {
            "NoSuchBucket" => Err(S3StoreError::NoBucket(bucket)),
            "AccessDenied" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" => {
                Err(S3StoreError::AccessDenied { bucket, code })
            }
            "PermanentRedirect" | "AuthorizationHeaderMalformed" => {
                Err(S3StoreError::WrongRegion { bucket, code })
            }
            _ => {
                let cause = describe(error);
                tracing::warn!("files are unavailable until the S3 store recovers: {cause}");
                Ok(())
            }
        }
    }

    pub(super) fn client(&self) -> &AmazonS3 {
        &self.0.client
    }

    /// For bulk deletion.
    pub(super) fn bulk(&self) -> &AmazonS3 {
        &self.0.bulk
    }

    pub(super) fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// The part size for a blob of at most `max_size` bytes: an upload has at most 10,000 parts.
    pub(super) fn part_size(&self, max_size: u64) -> usize {
        let needed = max_size.div_ceil(MAX_PARTS).div_ceil(PART_STEP) * PART_STEP;
        usize::try_from(needed.max(self.0.part_size)).unwrap_or(usize::MAX)
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3Store").field(&self.0.name).finish()
    }
}

/// Retries for a store that is busy for a moment; the client must not wait for long.
fn retry_config(timeout: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 3,
        retry_timeout: timeout,
    }
}

/// Stores that require virtual-hosted-style URLs. All others accept path style, and self-hosted
/// ones rarely have a DNS name for each bucket.
const VIRTUAL_HOSTED: [&str; 3] = ["amazonaws.com", "aliyuncs.com", "myqcloud.com"];

/// The address that requests go to, and whether the bucket is part of its host.
fn address(config: &S3StoreConfig) -> (Option<String>, bool) {
    let Some(endpoint) = &config.endpoint else {
        return (None, !config.forces_path_style);
    };
    let is_of = |store: &&str| match endpoint.host() {
        Some(Host::Domain(name)) => name.ends_with(*store),
        _ => false,
    };
    let plain = endpoint.as_str().trim_end_matches('/').to_owned();
    if config.forces_path_style || !VIRTUAL_HOSTED.iter().any(is_of) {
        return (Some(plain), false);
    }
    let mut host = endpoint.clone();
    let name = format!(
        "{}.{}",
        config.bucket,
        endpoint.host_str().unwrap_or_default()
    );
    match host.set_host(Some(&name)) {
        Ok(()) => (Some(host.as_str().trim_end_matches('/').to_owned()), true),
        // Not every bucket name can be part of a host name.
        Err(_) => (Some(plain), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: Option<&str>) -> S3StoreConfig {
        S3StoreConfig {
            endpoint: endpoint.map(|url| Url::parse(url).expect("a URL")),
            region: None,
            bucket: "files".to_owned(),
            prefix: None,
            forces_path_style: false,
            access_key: Secret::new("who"),
            secret_key: Secret::new("a-secret-that-must-not-be-logged"),
            part_size: 8 * PART_STEP,
            timeout: Duration::from_secs(30),
        }
    }

    #[test]
    fn the_bucket_is_in_the_host_where_it_must_be() {
        let check = |endpoint: Option<&str>, forced: bool, url: Option<&str>, is_virtual: bool| {
            let config = S3StoreConfig {
                forces_path_style: forced,
                ..config(endpoint)
            };
            assert_eq!(address(&config), (url.map(str::to_owned), is_virtual));
        };
        check(None, false, None, true);
        check(None, true, None, false);
        let named = Some("https://s3.eu-west-1.amazonaws.com/");
        let with_bucket = Some("https://files.s3.eu-west-1.amazonaws.com");
        check(named, false, with_bucket, true);
        check(
            named,
            true,
            named.map(|url| url.trim_end_matches('/')),
            false,
        );
        for own in ["http://minio:9000", "https://s3.example.com"] {
            check(Some(own), false, Some(own), false);
        }
        let numbered = Some("http://127.0.0.1:9000");
        check(numbered, false, numbered, false);
        check(
            Some("http://[::1]:9000"),
            false,
            Some("http://[::1]:9000"),
            false,
        );
    }

    #[test]
    fn long_files_have_long_parts() {
        let store = S3Store::new(&config(None)).expect("good settings");
        let mib = 1024 * 1024;
        assert_eq!(store.part_size(0), 8 * mib);
        assert_eq!(store.part_size(50 << 30), 8 * mib);
        assert_eq!(store.part_size(500 << 30), 52 * mib);
        assert!(store.part_size(500 << 30) as u64 * MAX_PARTS >= 500 << 30);
    }

    #[test]
    fn debug_output_does_not_contain_the_keys() {
        let config = config(None);
        let store = S3Store::new(&config).expect("good settings");
        let debug = format!("{config:?} {store:?}");
        assert!(
            !debug.contains("a-secret-that-must-not-be-logged"),
            "{debug}"
        );
        assert!(!debug.contains("who"), "{debug}");
    }
}
