//! What can be chosen about the storage service for one project (storage contract §14.7).

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::{Secret, Settings};

use crate::blobs::Patience;

/// A project's settings of the storage service.
#[derive(Debug, Clone)]
pub struct StorageConfig {
    /// Whether the service is switched on.
    pub(crate) is_enabled: bool,
    /// Largest file, whatever the protocol.
    pub(crate) file_size_limit: u64,
    /// Largest file in a single request of the REST protocol.
    pub(crate) standard_size_limit: u64,
    /// How long a signed upload URL is good for.
    pub(crate) signed_upload_expiry: Duration,
    /// How long a resumable upload may take.
    pub(crate) resumable_expiry: Duration,
    /// How long another writer of a resumable upload is waited for.
    pub(crate) resumable_lock_wait: Duration,
    /// Signs URLs instead of the project's own key.
    pub(crate) url_signing_key: Option<Secret>,
    /// Most objects that are removed when a bucket is emptied.
    pub(crate) empty_bucket_max: i64,
    /// Seconds that shared caches may keep a file.
    pub(crate) s_maxage: i64,
    /// Whether S3 clients are served.
    pub(crate) has_s3: bool,
    /// The region that S3 clients name.
    pub(crate) s3_region: String,
    /// Longest statement.
    pub(crate) statement_timeout: Duration,
    /// What the collector of bytes waits for.
    pub(crate) patience: Patience,
    /// Images that are made smaller on the way out.
    pub(crate) images: ImagesConfig,
}

/// Images.
#[derive(Debug, Clone)]
pub(crate) struct ImagesConfig {
    pub(crate) is_enabled: bool,
    /// Widest or highest result.
    pub(crate) max_dimension: u32,
    /// Largest source, in pixels and in bytes.
    pub(crate) max_pixels: u64,
    pub(crate) max_bytes: u64,
}

impl FromSettings for StorageConfig {
    fn from_settings(settings: &Settings) -> Self {
        let file_size_limit = settings.bytes("storage.file_size_limit");
        let count = |path| u64::try_from(settings.integer(path)).unwrap_or_default();
        let standard = settings.opt_bytes("plinth.storage.file_size_limit_standard");
        Self {
            is_enabled: settings.bool("storage.enabled"),
            file_size_limit,
            standard_size_limit: standard.map_or(file_size_limit, |own| own.min(file_size_limit)),
            signed_upload_expiry: settings.duration("plinth.storage.signed_upload_expiry"),
            resumable_expiry: settings.duration("plinth.storage.tus.expiry"),
            resumable_lock_wait: settings.duration("plinth.storage.tus.lock_wait"),
            url_signing_key: settings.secret("plinth.storage.url_signing_key").cloned(),
            empty_bucket_max: settings.integer("plinth.storage.empty_bucket_max"),
            s_maxage: settings.integer("plinth.storage.s_maxage"),
            has_s3: settings.bool("storage.s3_protocol.enabled"),
            s3_region: settings
                .text("plinth.storage.s3_protocol.region")
                .to_owned(),
            statement_timeout: settings.duration("plinth.storage.statement_timeout"),
            patience: Patience {
                grace: settings.duration("plinth.storage.gc.grace"),
                longest_upload: settings.duration("plinth.storage.gc.longest_upload"),
            },
            images: ImagesConfig {
                is_enabled: settings.bool("storage.image_transformation.enabled"),
                max_dimension: u32::try_from(count("plinth.storage.images.max_dimension"))
                    .unwrap_or(u32::MAX),
                max_pixels: count("plinth.storage.images.max_pixels"),
                max_bytes: settings.bytes("plinth.storage.images.max_bytes"),
            },
        }
    }
}
