//! The settings of the storage service for one project (storage contract §14.7).

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::{
    Secret, Settings,
    keys::{plinth_storage, storage},
};

use crate::{blobs::GcTiming, names::KeyRules};

/// A project's settings of the storage service.
#[derive(Debug, Clone)]
pub struct StorageConfig {
    /// Whether the service is switched on.
    pub(crate) is_enabled: bool,
    /// Largest file in bytes, in any protocol.
    pub(crate) file_size_limit: u64,
    /// Largest file in a single request of the REST protocol.
    pub(crate) standard_size_limit: u64,
    /// Lifetime of a signed upload URL.
    pub(crate) signed_upload_expiry: Duration,
    /// Lifetime of a resumable upload.
    pub(crate) resumable_expiry: Duration,
    /// How long to wait for the lease of a resumable upload.
    pub(crate) resumable_lock_wait: Duration,
    /// Signs URLs, instead of the key of the project.
    pub(crate) url_signing_key: Option<Secret>,
    /// Most objects that a bucket may have to be emptied.
    pub(crate) empty_bucket_max: i64,
    /// `s-maxage` of downloads, in seconds; 0 for none.
    pub(crate) s_maxage: i64,
    /// Whether the S3 protocol is enabled.
    pub(crate) has_s3: bool,
    /// The region of S3 signatures.
    pub(crate) s3_region: String,
    /// Which names objects may have.
    pub(crate) key_rules: KeyRules,
    /// `statement_timeout` in PostgreSQL.
    pub(crate) statement_timeout: Duration,
    /// When blobs become garbage.
    pub(crate) gc: GcTiming,
    /// Image transformation.
    pub(crate) images: ImagesConfig,
}

/// The limits of image transformation.
#[derive(Debug, Clone)]
pub(crate) struct ImagesConfig {
    pub(crate) is_enabled: bool,
    /// Largest width or height of a result.
    pub(crate) max_dimension: u32,
    /// Largest source, in pixels and in bytes.
    pub(crate) max_pixels: u64,
    pub(crate) max_bytes: u64,
}

impl FromSettings for StorageConfig {
    fn from_settings(settings: &Settings) -> Self {
        let file_size_limit = settings.get(storage::FILE_SIZE_LIMIT);
        let standard = settings.get(plinth_storage::FILE_SIZE_LIMIT_STANDARD);
        Self {
            is_enabled: settings.get(storage::ENABLED),
            file_size_limit,
            standard_size_limit: standard.map_or(file_size_limit, |own| own.min(file_size_limit)),
            signed_upload_expiry: settings.get(plinth_storage::SIGNED_UPLOAD_EXPIRY),
            resumable_expiry: settings.get(plinth_storage::TUS_EXPIRY),
            resumable_lock_wait: settings.get(plinth_storage::TUS_LOCK_WAIT),
            url_signing_key: settings.get(plinth_storage::URL_SIGNING_KEY).cloned(),
            empty_bucket_max: settings.get(plinth_storage::EMPTY_BUCKET_MAX),
            s_maxage: settings.get(plinth_storage::S_MAXAGE),
            has_s3: settings.get(storage::S3_PROTOCOL_ENABLED),
            s3_region: settings.get(plinth_storage::S3_PROTOCOL_REGION).to_owned(),
            key_rules: if settings.get(plinth_storage::UNICODE_KEYS) {
                KeyRules::Unicode
            } else {
                KeyRules::Compatible
            },
            statement_timeout: settings.get(plinth_storage::STATEMENT_TIMEOUT),
            gc: GcTiming {
                grace_period: settings.get(plinth_storage::GC_GRACE),
                upload_timeout: settings.get(plinth_storage::GC_LONGEST_UPLOAD),
            },
            images: ImagesConfig {
                is_enabled: settings.get(storage::IMAGE_TRANSFORMATION_ENABLED),
                max_dimension: u32::try_from(settings.get(plinth_storage::IMAGES_MAX_DIMENSION))
                    .unwrap_or(u32::MAX),
                max_pixels: settings.get(plinth_storage::IMAGES_MAX_PIXELS),
                max_bytes: settings.get(plinth_storage::IMAGES_MAX_BYTES),
            },
        }
    }
}
