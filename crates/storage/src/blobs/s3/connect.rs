//! The store: where it is, who Plinth is there, and how patient Plinth is with it.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectStore as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};
use plinth_project::FromSettings;
use plinth_settings::{Secret, Settings};
use tokio::time::timeout;
use url::{Host, Url};

use super::failure::{code, describe};

/// Most parts of an upload, whatever the store.
const MOST_PARTS: u64 = 10_000;
/// Part sizes are whole multiples of this.
const PART_STEP: u64 = 1024 * 1024;
/// How long a start waits to learn whether the store is there.
const CHECK_DEADLINE: Duration = Duration::from_secs(10);
/// Where a store answers that does not say it.
const USUAL_REGION: &str = "us-east-1";

/// What Plinth must be told about an S3 store.
#[derive(Debug, Clone)]
pub struct S3StoreConfig {
    /// Its address; Amazon's own without one.
    pub endpoint: Option<Url>,
    /// Its region.
    pub region: Option<String>,
    /// The bucket, which is there already.
    pub bucket: String,
    /// What all keys in the bucket begin with.
    pub prefix: Option<String>,
    /// Whether the bucket is named in the path, not in the host.
    pub forces_path_style: bool,
    /// Who Plinth is.
    pub access_key: Secret,
    /// And how it proves that.
    pub secret_key: Secret,
    /// Bytes that are sent at a time.
    pub part_size: u64,
    /// The longest wait for an answer.
    pub timeout: Duration,
}

impl FromSettings for S3StoreConfig {
    fn from_settings(settings: &Settings) -> Self {
        let text = |path| settings.opt_text(path).map(str::to_owned);
        let secret = |path| settings.secret(path).cloned();
        Self {
            endpoint: settings.opt_url("plinth.storage.s3.endpoint"),
            region: text("plinth.storage.s3.region"),
            // Settings without these are not loaded.
            bucket: text("plinth.storage.s3.bucket").unwrap_or_default(),
            prefix: text("plinth.storage.s3.prefix"),
            forces_path_style: settings.bool("plinth.storage.s3.force_path_style"),
            access_key: secret("plinth.storage.s3.access_key").unwrap_or_else(|| Secret::new("")),
            secret_key: secret("plinth.storage.s3.secret_key").unwrap_or_else(|| Secret::new("")),
            part_size: settings.bytes("plinth.storage.tus.part_size"),
            timeout: settings.duration("plinth.storage.s3.timeout"),
        }
    }
}

/// A bucket in an S3 store, for all projects. Cheap to clone.
#[derive(Clone)]
pub struct S3Store(Arc<Bucket>);

struct Bucket {
    client: AmazonS3,
    /// Removes several objects at once, which not every store can.
    bulk: AmazonS3,
    name: String,
    prefix: String,
    part_size: u64,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreProblem {
    /// The settings make no sense together.
    #[error("the S3 store cannot be used: {0}")]
    Settings(String),
    /// The store answers, but there is no such bucket.
    #[error("the S3 store has no bucket named {0}; create it, or correct plinth.storage.s3.bucket")]
    NoBucket(String),
    /// The store answers, but not to us.
    #[error(
        "the S3 store refuses plinth.storage.s3.access_key and secret_key for the bucket {bucket}: {code}"
    )]
    Refused {
        /// The bucket.
        bucket: String,
        /// What the store said.
        code: String,
    },
    /// The bucket is somewhere else.
    #[error(
        "the bucket {bucket} is not in that region: {code}; correct plinth.storage.s3.region or endpoint"
    )]
    Elsewhere {
        /// The bucket.
        bucket: String,
        /// What the store said.
        code: String,
    },
}

impl S3Store {
    /// Nothing is asked of the store yet.
    pub fn new(config: &S3StoreConfig) -> Result<Self, StoreProblem> {
        let is_plain = |url: &Url| url.scheme() == "http";
        let client = ClientOptions::new()
            .with_allow_http(config.endpoint.as_ref().is_some_and(is_plain))
            // Files may take as long as they take, as long as something comes.
            .with_timeout_disabled()
            .with_connect_timeout(config.timeout.min(Duration::from_secs(5)))
            .with_read_timeout(config.timeout);
        let region = config.region.as_deref().unwrap_or(USUAL_REGION);
        let mut builder = AmazonS3Builder::new()
            .with_client_options(client)
            .with_retry(retries(config.timeout))
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
            client.map_err(|error| StoreProblem::Settings(error.to_string()))
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

    /// Whether the bucket is there and lets us in. A store that does not answer may do so later: that
    /// is said in the log and no problem.
    pub async fn check(&self) -> Result<(), StoreProblem> {
        let prefix = Path::from(self.prefix());
        let mut list = self.client().list(Some(&prefix));
        match timeout(CHECK_DEADLINE, list.next()).await {
            Ok(None | Some(Ok(_))) => Ok(()),
            Ok(Some(Err(error))) => self.judge(&error),
            Err(_) => {
                tracing::warn!(
                    "the S3 store does not answer; files cannot be reached until it does"
                );
                Ok(())
            }
        }
    }

    fn judge(&self, error: &Error) -> Result<(), StoreProblem> {
        let bucket = self.0.name.clone();
        let code = code(error).unwrap_or_default();
        match code.as_str() {
            "NoSuchBucket" => Err(StoreProblem::NoBucket(bucket)),
            "AccessDenied" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" => {
                Err(StoreProblem::Refused { bucket, code })
            }
            "PermanentRedirect" | "AuthorizationHeaderMalformed" => {
                Err(StoreProblem::Elsewhere { bucket, code })
            }
            _ => {
                let said = describe(error);
                tracing::warn!("files cannot be reached until the S3 store is well: {said}");
                Ok(())
            }
        }
    }

    pub(super) fn client(&self) -> &AmazonS3 {
        &self.0.client
    }

    /// For removing several objects at once.
    pub(super) fn bulk(&self) -> &AmazonS3 {
        &self.0.bulk
    }

    pub(super) fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// How long the parts of a blob are that has at most so many bytes: no upload has more than
    /// 10,000 of them.
    pub(super) fn part_size(&self, at_most: u64) -> usize {
        let needed = at_most.div_ceil(MOST_PARTS).div_ceil(PART_STEP) * PART_STEP;
        usize::try_from(needed.max(self.0.part_size)).unwrap_or(usize::MAX)
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3Store").field(&self.0.name).finish()
    }
}

/// A store that is busy for a moment is asked again, but a client is not kept waiting for long.
fn retries(patience: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 3,
        retry_timeout: patience,
    }
}

/// Stores that want the bucket in the host. All others take it in the path, and few that people run
/// themselves have a name for each bucket.
const BUCKET_IN_HOST: [&str; 3] = ["amazonaws.com", "aliyuncs.com", "myqcloud.com"];

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
    if config.forces_path_style || !BUCKET_IN_HOST.iter().any(is_of) {
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
        // Not every name of a bucket can be part of a host.
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
            secret_key: Secret::new("a-secret-that-nobody-reads"),
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
        assert!(store.part_size(500 << 30) as u64 * MOST_PARTS >= 500 << 30);
    }

    #[test]
    fn nobody_reads_the_keys_in_a_log() {
        let config = config(None);
        let store = S3Store::new(&config).expect("good settings");
        let seen = format!("{config:?} {store:?}");
        assert!(!seen.contains("a-secret-that-nobody-reads"), "{seen}");
        assert!(!seen.contains("who"), "{seen}");
    }
}
